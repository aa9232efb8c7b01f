//! Runs a [`VectorFunction`] as a DataFusion operator.

use super::{Points, points_schema};
use crate::QueryError;
use crate::context::QueryContext;
use crate::node::{operator, properties};
use datafusion_common::Result;
use datafusion_execution::TaskContext;
use datafusion_physical_plan::stream::RecordBatchStreamAdapter;
use datafusion_physical_plan::{ExecutionPlan, PlanProperties, SendableRecordBatchStream};
use futures::TryStreamExt;
use std::fmt::Debug;
use std::sync::Arc;

/// A function from the points of its operands to points.
pub(crate) trait VectorFunction: Debug + Send + Sync {
    /// Evaluates it; there are as many inputs as the operator has children.
    fn evaluate(&self, inputs: Vec<Points>, context: &QueryContext) -> Result<Points, QueryError>;
}

/// An operator that evaluates a function over series.
pub(crate) struct VectorExec {
    function: Arc<dyn VectorFunction>,
    inputs: Vec<Arc<dyn ExecutionPlan>>,
    context: Arc<QueryContext>,
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
        let batch = async move {
            let gather = |mut stream: SendableRecordBatchStream| async move {
                let mut points = Points::default();
                while let Some(batch) = stream.try_next().await? {
                    points.add(&batch)?;
                }
                Ok::<_, datafusion_common::DataFusionError>(points)
            };
            let inputs = futures::future::try_join_all(streams.into_iter().map(gather)).await?;
            let points = function.evaluate(inputs, &context)?;
            context.check_series(points.series.len())?;
            context.check_points(points.series.iter().map(|s| s.1.len()).sum())?;
            points.into_batch()
        };
        Ok(Box::pin(RecordBatchStreamAdapter::new(
            points_schema(),
            futures::stream::once(batch),
        )))
    }
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
