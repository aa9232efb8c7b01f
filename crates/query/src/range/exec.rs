//! Range aggregation as two DataFusion operators: one per partition turns samples into partial states of cells, one merges the states of all
//! partitions and slides the windows.

use super::cells::{Cells, states_schema};
use super::function::StateKind;
use super::state::{CellState, Ends, Extremes, Moments, Samples, Totals};
use super::{Grid, RangeFunction};
use crate::QueryError;
use crate::context::QueryContext;
use crate::node::{only_child, operator, properties};
use crate::vector::points_schema;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use datafusion_common::Result;
use datafusion_execution::TaskContext;
use datafusion_physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion_physical_plan::stream::RecordBatchStreamAdapter;
use datafusion_physical_plan::{ExecutionPlan, ExecutionPlanProperties, PlanProperties, SendableRecordBatchStream};
use futures::TryStreamExt;
use std::sync::Arc;

/// Most cells that a series can have for each window that holds one of them.
const MOST_CELLS_PER_POINT: usize = 6;

/// Which half of the aggregation an operator does.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Half {
    /// Samples to states, in each partition.
    Partial,
    /// States of all partitions to points.
    Final,
}

/// One half of a range aggregation.
pub(crate) struct RangeExec {
    half: Half,
    function: RangeFunction,
    grid: Grid,
    context: Arc<QueryContext>,
    input: Arc<dyn ExecutionPlan>,
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
            context,
            input,
            properties: properties(schema, partitions),
        }
    }

    fn run(&self, partition: usize, task: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let input = self.input.execute(partition, task)?;
        match self.function.state() {
            StateKind::Totals => self.run_with::<Totals>(input),
            StateKind::Moments => self.run_with::<Moments>(input),
            StateKind::Extremes => self.run_with::<Extremes>(input),
            StateKind::Ends => self.run_with::<Ends>(input),
            StateKind::Samples => self.run_with::<Samples>(input),
        }
    }

    fn run_with<S: CellState>(&self, mut input: SendableRecordBatchStream) -> Result<SendableRecordBatchStream> {
        let (half, function, grid, context) = (self.half, self.function, self.grid, self.context.clone());
        let batch = async move {
            let mut cells = Cells::<S>::default();
            while let Some(batch) = input.try_next().await? {
                match half {
                    Half::Partial => cells.add_samples(&grid, &batch)?,
                    Half::Final => cells.add_states(&batch)?,
                }
                context.check_series(cells.series_count)?;
                // So many cells give more points than are allowed.
                context.check_points(cells.len() / MOST_CELLS_PER_POINT)?;
                if S::GROWS && cells.samples > context.limits.max_samples {
                    return Err(QueryError::Limit(format!(
                        "more than max_samples={} samples would have to be held at once: ask for a shorter time range or fewer streams",
                        context.limits.max_samples
                    ))
                    .into());
                }
            }
            let batch: RecordBatch = match half {
                Half::Partial => cells.into_states()?,
                Half::Final => cells.into_points(&grid, function, &context).await?,
            };
            Ok(batch)
        };
        Ok(Box::pin(RecordBatchStreamAdapter::new(
            self.schema(),
            futures::stream::once(batch),
        )))
    }
}

fn state_columns(function: RangeFunction) -> SchemaRef {
    match function.state() {
        StateKind::Totals => states_schema::<Totals>(),
        StateKind::Moments => states_schema::<Moments>(),
        StateKind::Extremes => states_schema::<Extremes>(),
        StateKind::Ends => states_schema::<Ends>(),
        StateKind::Samples => states_schema::<Samples>(),
    }
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
