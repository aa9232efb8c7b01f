// hot path: no locks shared between cores, no logging above debug, no allocation per row.
//! States by series and cell: built from samples, merged from batches of states, turned into points.

use super::sliding::Sliding;
use super::state::{CellState, Window};
use super::{Grid, RangeFunction};
use crate::context::QueryContext;
use crate::node::{column, schema};
use crate::vector::points_schema;
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, UInt32Array};
use arrow_schema::{DataType, SchemaRef};
use datafusion_common::Result;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

/// Columns of states on their way from one half of the aggregation to the other.
pub(super) fn states_schema<S: CellState>() -> SchemaRef {
    let mut columns = vec![("series", DataType::UInt32), ("cell", DataType::Int64)];
    columns.extend(S::fields());
    schema(&columns)
}

/// States by series and cell.
#[derive(Default)]
pub(super) struct Cells<S> {
    index: HashMap<(u32, i64), usize, ahash::RandomState>,
    keys: Vec<(u32, i64)>,
    states: Vec<S>,
    /// By series number: true if it has a cell.
    known: Vec<bool>,
    /// Series that have a cell.
    pub(super) series_count: usize,
    /// Samples and states taken in.
    pub(super) samples: usize,
}

impl<S: CellState> Cells<S> {
    /// The place of a cell.
    #[inline]
    fn slot(&mut self, key: (u32, i64)) -> usize {
        let next = self.states.len();
        let slot = *self.index.entry(key).or_insert(next);
        if slot == next {
            self.states.push(S::default());
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

    /// Takes in samples: columns `timestamp`, `series`, `amount`.
    pub(super) fn add_samples(&mut self, grid: &Grid, batch: &RecordBatch) -> Result<()> {
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
            self.states[slot].add(timestamp_ns, amount);
        }
        self.samples += batch.num_rows();
        Ok(())
    }

    /// Takes in states that [`Cells::into_states`] made.
    pub(super) fn add_states(&mut self, batch: &RecordBatch) -> Result<()> {
        let series = column::<UInt32Array>(batch, 0)?.values();
        let cells = column::<Int64Array>(batch, 1)?.values();
        for (row, state) in S::read(batch, 2)?.iter().enumerate() {
            let slot = self.slot((series[row], cells[row]));
            self.states[slot].merge(state);
        }
        Ok(())
    }

    /// The states as a batch.
    pub(super) fn into_states(self) -> Result<RecordBatch> {
        let mut columns: Vec<ArrayRef> = vec![
            Arc::new(UInt32Array::from_iter_values(self.keys.iter().map(|k| k.0))),
            Arc::new(Int64Array::from_iter_values(self.keys.iter().map(|k| k.1))),
        ];
        columns.extend(S::columns(&self.states));
        Ok(RecordBatch::try_new(states_schema::<S>(), columns)?)
    }

    /// Number of cells.
    pub(super) fn len(&self) -> usize {
        self.states.len()
    }

    /// Slides the windows over the cells of each series.
    pub(super) async fn into_points(
        self,
        grid: &Grid,
        function: RangeFunction,
        context: &QueryContext,
    ) -> Result<RecordBatch> {
        let mut by_series: BTreeMap<u32, Vec<(i64, S)>> = BTreeMap::new();
        for (&(series, cell), state) in self.keys.iter().zip(self.states) {
            by_series.entry(series).or_default().push((cell, state));
        }
        let (mut numbers, mut times, mut values) = (Vec::new(), Vec::new(), Vec::new());
        let mut work = 0;
        for (series, mut cells) in by_series {
            cells.sort_unstable_by_key(|c| c.0);
            slide(cells, grid, &mut work, |window, state| {
                let value = state.value(
                    function,
                    Window {
                        after_ns: grid.after_ns(window),
                        until_ns: grid.until_ns(window),
                    },
                );
                numbers.push(series);
                times.push(grid.time_ns(window));
                values.push(value);
            })
            .await;
            context.check_points(values.len())?;
        }
        let columns: Vec<ArrayRef> = vec![
            Arc::new(UInt32Array::from(numbers)),
            Arc::new(Int64Array::from(times)),
            Arc::new(Float64Array::from(values)),
        ];
        Ok(RecordBatch::try_new(points_schema(), columns)?)
    }
}

/// Samples that are merged before other queries get their turn and a cancelled one ends.
const TURN_SAMPLES: usize = 1 << 18;

/// Calls `each` with every window that holds a cell and the merged state of its cells, which are sorted. `work` is what was done since the
/// last pause.
async fn slide<S: CellState>(cells: Vec<(i64, S)>, grid: &Grid, work: &mut usize, mut each: impl FnMut(usize, &S)) {
    let mut coming = cells.into_iter().peekable();
    let mut inside: VecDeque<(i64, S)> = VecDeque::new();
    let mut sliding = Sliding::new();
    for window in 0..grid.windows() {
        let covered = grid.cells(window);
        let total = if S::GROWS {
            while let Some(cell) = coming.next_if(|(cell, _)| *cell < covered.end) {
                inside.push_back(cell);
            }
            while inside.front().is_some_and(|(cell, _)| *cell < covered.start) {
                inside.pop_front();
            }
            (!inside.is_empty()).then(|| {
                let mut total = S::default();
                inside.iter().for_each(|(_, state)| total.merge(state));
                total
            })
        } else {
            while let Some((cell, state)) = coming.next_if(|(cell, _)| *cell < covered.end) {
                sliding.push(cell, state);
            }
            sliding.drop_before(covered.start);
            sliding.total()
        };
        if let Some(total) = total {
            each(window, &total);
            *work += total.samples_held();
        }
        *work += 1;
        if *work >= TURN_SAMPLES {
            *work = 0;
            tokio::task::yield_now().await;
        }
    }
}
