//! Runs a [`VectorFunction`] as a DataFusion operator.

use super::{ByTime, Points, points_schema};
use crate::QueryError;
use crate::context::QueryContext;
use crate::node::{operator, properties};
use datafusion_common::{DataFusionError, Result};
use datafusion_execution::TaskContext;
use datafusion_execution::memory_pool::MemoryReservation;
use datafusion_physical_plan::metrics::ExecutionPlanMetricsSet;
use datafusion_physical_plan::stream::RecordBatchStreamAdapter;
use datafusion_physical_plan::{ExecutionPlan, PlanProperties, SendableRecordBatchStream};
use futures::{StreamExt, TryStreamExt};
use std::fmt::Debug;
use std::sync::Arc;

/// A function from the points of its operands to points.
pub(crate) trait VectorFunction: Debug + Send + Sync {
    /// The function as one would write it, without its operands.
    fn describe(&self) -> String;

    /// Evaluates it; there are as many inputs as the operator has children.
    fn evaluate(&self, inputs: Vec<Points>, context: &QueryContext) -> Result<Points, QueryError>;
}

/// An operator that evaluates a function over series.
pub(crate) struct VectorExec {
    pub(crate) function: Arc<dyn VectorFunction>,
    inputs: Vec<Arc<dyn ExecutionPlan>>,
    context: Arc<QueryContext>,
    metrics: ExecutionPlanMetricsSet,
    properties: Arc<PlanProperties>,
}

impl VectorExec {
    /// An operator over these operands, each of which has one partition of points.
    pub(crate) fn plan(
        function: impl VectorFunction + 'static,
        inputs: Vec<Arc<dyn ExecutionPlan>>,
        context: Arc<QueryContext>,
    ) -> Arc<dyn ExecutionPlan> {
        Arc::new(Self::new(Arc::new(function), inputs, context))
    }

    fn new(function: Arc<dyn VectorFunction>, inputs: Vec<Arc<dyn ExecutionPlan>>, context: Arc<QueryContext>) -> Self {
        Self {
            function,
            inputs,
            context,
            metrics: ExecutionPlanMetricsSet::new(),
            properties: properties(points_schema(), 1),
        }
    }

    fn run(&self, task: &Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let streams: Vec<_> = self
            .inputs
            .iter()
            .map(|input| input.execute(0, task.clone()))
            .collect::<Result<_>>()?;
        let (function, context) = (self.function.clone(), self.context.clone());
        let meter = self.context.meter(&self.metrics, 0, "points of a result");
        let batches = async move {
            let operands = streams
                .into_iter()
                .map(|stream| gather(stream, context.reserve("points of an operand")));
            let (inputs, held): (Vec<Points>, Vec<MemoryReservation>) =
                futures::future::try_join_all(operands).await?.into_iter().unzip();
            let points_in: usize = inputs.iter().map(Points::len).sum();
            meter.rows_in(points_in);
            // The same points in order of time, and about as many in the result.
            meter.hold(points_in * (ByTime::POINT_BYTES + 2 * size_of::<(i64, f64)>()))?;
            let mut points = {
                let _busy = meter.busy();
                function.evaluate(inputs, &context)?
            };
            drop(held);
            if context.limits.cut_series && points.truncate(context.limits.max_series) {
                context.cut_series();
            }
            context.check_series(points.series.len())?;
            let points_out = points.len();
            context.check_points(points_out)?;
            meter.rows_out(points_out);
            meter.hold(points.bytes())?;
            let batches = points.into_batches().inspect(move |_| {
                // The reservation lasts until the last batch is gone.
                let _held = &meter;
            });
            Ok::<_, DataFusionError>(futures::stream::iter(batches).boxed())
        };
        Ok(Box::pin(RecordBatchStreamAdapter::new(
            points_schema(),
            futures::stream::once(batches).try_flatten(),
        )))
    }
}

/// All points of an operand, and the memory that they take.
async fn gather(mut stream: SendableRecordBatchStream, held: MemoryReservation) -> Result<(Points, MemoryReservation)> {
    let mut points = Points::default();
    let mut rows = 0;
    while let Some(batch) = stream.try_next().await? {
        points.add(&batch)?;
        rows += batch.num_rows();
        held.try_resize(points.most_bytes(rows))?;
    }
    held.try_resize(points.bytes())?;
    Ok((points, held))
}

impl Debug for VectorExec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "VectorExec: {:?}", self.function)
    }
}

operator!(
    VectorExec,
    "VectorExec",
    children: this => this.inputs.iter().collect(),
    with_children: (this, children) => Self::new(this.function.clone(), children, this.context.clone()),
    execute: (this, _partition, task) => this.run(&task)
);
