//! Range aggregation as two DataFusion operators: one per partition turns samples into partial states of cells, one merges the states of all
//! partitions and slides the windows.

use super::admission::Admission;
use super::cells::{BATCH_ROWS, Cells, states_schema};
use super::function::with_state;
use super::state::CellState;
use super::{Grid, RangeFunction};
use crate::cancel::Turns;
use crate::context::QueryContext;
use crate::meter::Meter;
use crate::node::{only_child, operator, properties};
use crate::vector::points_schema;
use arrow_schema::SchemaRef;
use datafusion_common::{DataFusionError, Result};
use datafusion_execution::TaskContext;
use datafusion_physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion_physical_plan::metrics::ExecutionPlanMetricsSet;
use datafusion_physical_plan::stream::RecordBatchStreamAdapter;
use datafusion_physical_plan::{ExecutionPlan, ExecutionPlanProperties, PlanProperties, SendableRecordBatchStream};
use futures::{StreamExt, TryStreamExt};
use std::sync::Arc;

/// Most cells that a series can have for each window that holds one of them.
const MOST_CELLS_PER_POINT: usize = 6;

/// Which half of the aggregation an operator does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Half {
    /// Samples to states, in each partition.
    Partial,
    /// States of all partitions to points.
    Final,
}

/// One half of a range aggregation.
pub(crate) struct RangeExec {
    pub(crate) half: Half,
    pub(crate) function: RangeFunction,
    pub(crate) grid: Grid,
    context: Arc<QueryContext>,
    admission: Option<Arc<Admission>>,
    input: Arc<dyn ExecutionPlan>,
    metrics: ExecutionPlanMetricsSet,
    properties: Arc<PlanProperties>,
}

impl RangeExec {
    /// The whole aggregation over a scan that gives samples.
    pub(crate) fn plan(
        scan: Arc<dyn ExecutionPlan>,
        grid: Grid,
        function: RangeFunction,
        context: Arc<QueryContext>,
    ) -> Arc<dyn ExecutionPlan> {
        let partial: Arc<dyn ExecutionPlan> = Arc::new(Self::new(Half::Partial, function, grid, context.clone(), scan));
        let gathered = Arc::new(CoalescePartitionsExec::new(partial));
        Arc::new(Self::new(Half::Final, function, grid, context, gathered))
    }

    fn new(
        half: Half,
        function: RangeFunction,
        grid: Grid,
        context: Arc<QueryContext>,
        input: Arc<dyn ExecutionPlan>,
    ) -> Self {
        let (schema, partitions) = match half {
            Half::Partial => (state_columns(function), input.output_partitioning().partition_count()),
            Half::Final => (points_schema(), 1),
        };
        Self {
            half,
            function,
            grid,
            admission: Admission::of(&context),
            context,
            input,
            metrics: ExecutionPlanMetricsSet::new(),
            properties: properties(schema, partitions),
        }
    }

    fn run(&self, partition: usize, task: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let input = self.input.execute(partition, task)?;
        let held = match self.half {
            Half::Partial => "partial states of series",
            Half::Final => "states of series",
        };
        let meter = self.context.meter(&self.metrics, partition, held);
        with_state!(self.function.state(), S => Ok(self.run_with::<S>(input, meter)))
    }

    fn run_with<S: CellState>(&self, mut input: SendableRecordBatchStream, meter: Meter) -> SendableRecordBatchStream {
        let (half, function, grid, context) = (self.half, self.function, self.grid, self.context.clone());
        let admission = self.admission.clone();
        let batches = async move {
            let mut cells = Cells::<S>::of_admitted(admission);
            let mut turns = Turns::default();
            while let Some(batch) = input.try_next().await? {
                meter.rows_in(batch.num_rows());
                {
                    let _busy = meter.busy();
                    match half {
                        Half::Partial => cells.add_samples(&grid, &batch)?,
                        Half::Final => cells.add_states(&batch)?,
                    }
                }
                context.check_series(cells.series_count)?;
                // So many cells give more points than are allowed.
                context.check_points(cells.len() / MOST_CELLS_PER_POINT)?;
                meter.hold(cells.bytes() + batch.get_array_memory_size())?;
                turns.add(batch.num_rows(), &context.cancelled).await?;
            }
            let bytes = cells.bytes();
            if half == Half::Partial {
                meter.hold(bytes)?;
                let mut batches = cells.into_batches(BATCH_ROWS);
                let next = move || {
                    let batch = {
                        let _busy = meter.busy();
                        batches.next()?
                    };
                    meter.rows_out(batch.as_ref().map_or(0, |batch| batch.num_rows()));
                    Some(batch)
                };
                return Ok::<_, DataFusionError>(futures::stream::iter(std::iter::from_fn(next)).boxed());
            }
            meter.hold(bytes + cells.len() * size_of::<usize>())?;
            let cells = cells.into_series(&context).await?;
            let points =
                futures::stream::try_unfold((cells, meter, context), move |(mut cells, meter, context)| async move {
                    let batch = {
                        let _busy = meter.busy();
                        cells.next_points(&grid, function, &context).await?
                    };
                    meter.rows_out(batch.as_ref().map_or(0, |batch| batch.num_rows()));
                    Ok(batch.map(|batch| (batch, (cells, meter, context))))
                });
            Ok(points.boxed())
        };
        Box::pin(RecordBatchStreamAdapter::new(
            self.schema(),
            futures::stream::once(batches).try_flatten(),
        ))
    }
}

fn state_columns(function: RangeFunction) -> SchemaRef {
    with_state!(function.state(), S => states_schema::<S>())
}

impl std::fmt::Debug for RangeExec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "RangeExec: {:?} {:?} windows={}",
            self.half,
            self.function,
            self.grid.windows()
        )
    }
}

operator!(
    RangeExec,
    "RangeExec",
    children: this => vec![&this.input],
    with_children: (this, children) => {
        Self::new(this.half, this.function, this.grid, this.context.clone(), only_child(children)?)
    },
    execute: (this, partition, task) => this.run(partition, task)
);
