//! Range aggregation as two DataFusion operators: one per partition turns samples into partial states of cells, one merges the states of all
//! partitions and slides the windows.

use super::Grid;
use super::sliding::{Merge, Sliding};
use super::totals::Totals;
use crate::context::QueryContext;
use crate::node::{column, only_child, operator, properties, schema};
use crate::vector::points_schema;
use arrow_array::{Float64Array, Int64Array, RecordBatch, UInt32Array, UInt64Array};
use arrow_schema::{DataType, SchemaRef};
use datafusion_common::Result;
use datafusion_execution::TaskContext;
use datafusion_physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion_physical_plan::stream::RecordBatchStreamAdapter;
use datafusion_physical_plan::{ExecutionPlan, ExecutionPlanProperties, PlanProperties, SendableRecordBatchStream};
use futures::TryStreamExt;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// How the totals of a window become a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum RangeFunction {
    /// Number of entries.
    Entries,
    /// Number of entries per second.
    EntriesPerSecond,
    /// Sum of amounts.
    Amount,
    /// Sum of amounts per second.
    AmountPerSecond,
}

impl RangeFunction {
    fn value(self, totals: &Totals, seconds: f64) -> f64 {
        match self {
            RangeFunction::Entries => totals.entries as f64,
            RangeFunction::EntriesPerSecond => totals.entries as f64 / seconds,
            RangeFunction::Amount => totals.amount as f64,
            RangeFunction::AmountPerSecond => totals.amount as f64 / seconds,
        }
    }
}

/// Which half of the aggregation an operator does.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Half {
    /// Samples to states, in each partition.
    Partial,
    /// States of all partitions to points.
    Final { function: RangeFunction, range_ns: i64 },
}

/// One half of a range aggregation.
pub(crate) struct RangeExec {
    half: Half,
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
        range_ns: i64,
        context: Arc<QueryContext>,
    ) -> Arc<dyn ExecutionPlan> {
        let partial: Arc<dyn ExecutionPlan> = Arc::new(Self::new(Half::Partial, grid, context.clone(), scan));
        let gathered = Arc::new(CoalescePartitionsExec::new(partial));
        Arc::new(Self::new(Half::Final { function, range_ns }, grid, context, gathered))
    }

    fn new(half: Half, grid: Grid, context: Arc<QueryContext>, input: Arc<dyn ExecutionPlan>) -> Self {
        let (schema, partitions) = match half {
            Half::Partial => (states_schema(), input.output_partitioning().partition_count()),
            Half::Final { .. } => (points_schema(), 1),
        };
        Self {
            half,
            grid,
            context,
            input,
            properties: properties(schema, partitions),
        }
    }

    fn run(&self, partition: usize, task: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let mut input = self.input.execute(partition, task)?;
        let (half, grid, context) = (self.half, self.grid, self.context.clone());
        let batch = async move {
            let mut cells = Cells::default();
            while let Some(batch) = input.try_next().await? {
                match half {
                    Half::Partial => cells.add_samples(&grid, &batch)?,
                    Half::Final { .. } => cells.add_states(&batch)?,
                }
                context.check_series(cells.series_count)?;
            }
            match half {
                Half::Partial => cells.into_states(),
                Half::Final { function, range_ns } => cells.into_points(&grid, function, range_ns),
            }
        };
        Ok(Box::pin(RecordBatchStreamAdapter::new(
            self.schema(),
            futures::stream::once(batch),
        )))
    }
}

impl std::fmt::Debug for RangeExec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "RangeExec: {:?} windows={}", self.half, self.grid.windows())
    }
}

operator!(
    RangeExec,
    "RangeExec",
    children: this => vec![&this.input],
    with_children: (this, children) => Self::new(this.half, this.grid, this.context.clone(), only_child(children)?),
    execute: (this, partition, task) => this.run(partition, task)
);

/// Partial states on their way from one half to the other.
fn states_schema() -> SchemaRef {
    schema(&[
        ("series", DataType::UInt32),
        ("cell", DataType::Int64),
        ("entries", DataType::UInt64),
        ("amount", DataType::UInt64),
    ])
}

/// States by series and cell.
#[derive(Default)]
struct Cells {
    index: HashMap<(u32, i64), usize, ahash::RandomState>,
    keys: Vec<(u32, i64)>,
    totals: Vec<Totals>,
    /// By series number: true if it has a cell.
    known: Vec<bool>,
    series_count: usize,
}

impl Cells {
    /// The place of a cell.
    #[inline]
    fn slot(&mut self, key: (u32, i64)) -> usize {
        let next = self.totals.len();
        let slot = *self.index.entry(key).or_insert(next);
        if slot == next {
            self.totals.push(Totals::default());
            self.keys.push(key);
            let series = key.0 as usize;
            if series >= self.known.len() {
                self.known.resize(series + 1, false);
            }
            if !std::mem::replace(&mut self.known[series], true) {
                self.series_count += 1;
            }
        }
        slot
    }

    fn add_samples(&mut self, grid: &Grid, batch: &RecordBatch) -> Result<()> {
        let timestamps = column::<Int64Array>(batch, 0)?.values();
        let series = column::<UInt32Array>(batch, 1)?.values();
        let amounts = column::<Float64Array>(batch, 2)?.values();
        // Rows come in runs of one stream in order of time: mostly the cell is that of the row before.
        let mut last = None;
        for ((&timestamp_ns, &series), &amount) in timestamps.iter().zip(series).zip(amounts) {
            let Some(cell) = grid.cell(timestamp_ns) else { continue };
            let slot = match last {
                Some((key, slot)) if key == (series, cell) => slot,
                _ => self.slot((series, cell)),
            };
            last = Some(((series, cell), slot));
            self.totals[slot].merge(&Totals {
                entries: 1,
                amount: amount as u64,
            });
        }
        Ok(())
    }

    fn add_states(&mut self, batch: &RecordBatch) -> Result<()> {
        let series = column::<UInt32Array>(batch, 0)?.values();
        let cells = column::<Int64Array>(batch, 1)?.values();
        let entries = column::<UInt64Array>(batch, 2)?.values();
        let amounts = column::<UInt64Array>(batch, 3)?.values();
        for row in 0..batch.num_rows() {
            let slot = self.slot((series[row], cells[row]));
            self.totals[slot].merge(&Totals {
                entries: entries[row],
                amount: amounts[row],
            });
        }
        Ok(())
    }

    fn into_states(self) -> Result<RecordBatch> {
        let series = UInt32Array::from_iter_values(self.keys.iter().map(|k| k.0));
        let cells = Int64Array::from_iter_values(self.keys.iter().map(|k| k.1));
        let entries = UInt64Array::from_iter_values(self.totals.iter().map(|t| t.entries));
        let amounts = UInt64Array::from_iter_values(self.totals.iter().map(|t| t.amount));
        let columns: Vec<arrow_array::ArrayRef> =
            vec![Arc::new(series), Arc::new(cells), Arc::new(entries), Arc::new(amounts)];
        Ok(RecordBatch::try_new(states_schema(), columns)?)
    }

    /// Slides the windows over the cells of each series.
    fn into_points(self, grid: &Grid, function: RangeFunction, range_ns: i64) -> Result<RecordBatch> {
        let seconds = range_ns as f64 / 1e9;
        let mut by_series: BTreeMap<u32, Vec<(i64, Totals)>> = BTreeMap::new();
        for (&(series, cell), &totals) in self.keys.iter().zip(&self.totals) {
            by_series.entry(series).or_default().push((cell, totals));
        }
        let (mut numbers, mut times, mut values) = (Vec::new(), Vec::new(), Vec::new());
        for (series, mut cells) in by_series {
            cells.sort_unstable_by_key(|c| c.0);
            let mut coming = cells.into_iter().peekable();
            let mut sliding = Sliding::new();
            for window in 0..grid.windows() {
                let covered = grid.cells(window);
                while let Some((cell, totals)) = coming.next_if(|(cell, _)| *cell < covered.end) {
                    sliding.push(cell, totals);
                }
                sliding.drop_before(covered.start);
                if let Some(totals) = sliding.total() {
                    numbers.push(series);
                    times.push(grid.time_ns(window));
                    values.push(function.value(&totals, seconds));
                }
            }
        }
        let columns: Vec<arrow_array::ArrayRef> = vec![
            Arc::new(UInt32Array::from(numbers)),
            Arc::new(Int64Array::from(times)),
            Arc::new(Float64Array::from(values)),
        ];
        Ok(RecordBatch::try_new(points_schema(), columns)?)
    }
}
