// hot path: no locks shared between cores, no logging above debug, no allocation per row.
//! States by series and cell: built from samples, merged from batches of states, turned into points.

use super::admission::Admission;
use super::state::{CellState, Slide, Window};
use super::{Grid, RangeFunction};
use crate::cancel::Turns;
use crate::context::QueryContext;
use crate::memory::table_bytes;
use crate::node::{column, schema};
use crate::vector::points_schema;
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, UInt32Array};
use arrow_schema::{DataType, SchemaRef};
use datafusion_common::Result;
use std::collections::HashMap;
use std::sync::Arc;

/// Cells, or points, of a batch.
pub(super) const BATCH_ROWS: usize = 1 << 15;

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
    /// By series number: how many cells it has.
    cells_of: Vec<u32>,
    /// Series that have a cell.
    pub(super) series_count: usize,
    /// Samples that are kept one by one.
    samples: usize,
    /// Which series are taken in; `None`: all.
    admission: Option<Arc<Admission>>,
}

impl<S: CellState> Cells<S> {
    /// No cells yet, and only of the series that are admitted.
    pub(super) fn of_admitted(admission: Option<Arc<Admission>>) -> Self {
        Self {
            admission,
            ..Self::default()
        }
    }

    /// The place of a cell; `None` if its series is not taken in.
    #[inline]
    fn slot(&mut self, key: (u32, i64)) -> Option<usize> {
        if let Some(admission) = &self.admission
            && !admission.admits(key.0)
        {
            return None;
        }
        let next = self.states.len();
        let slot = *self.index.entry(key).or_insert(next);
        if slot == next {
            self.states.push(S::default());
            self.keys.push(key);
            let series = key.0 as usize;
            if series >= self.cells_of.len() {
                self.cells_of.resize(series + 1, 0);
            }
            self.series_count += usize::from(self.cells_of[series] == 0);
            self.cells_of[series] += 1;
        }
        Some(slot)
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
                _ => match self.slot((series, cell)) {
                    Some(slot) => slot,
                    None => continue,
                },
            };
            last = Some(((series, cell), slot));
            self.states[slot].add(timestamp_ns, amount);
        }
        self.samples += batch.num_rows();
        Ok(())
    }

    /// Takes in states that [`Cells::into_batches`] made.
    pub(super) fn add_states(&mut self, batch: &RecordBatch) -> Result<()> {
        let series = column::<UInt32Array>(batch, 0)?.values();
        let cells = column::<Int64Array>(batch, 1)?.values();
        for (row, state) in S::read(batch, 2)?.iter().enumerate() {
            let Some(slot) = self.slot((series[row], cells[row])) else {
                continue;
            };
            self.samples += state.samples_held();
            self.states[slot].merge(state);
        }
        Ok(())
    }

    /// Number of cells.
    pub(super) fn len(&self) -> usize {
        self.states.len()
    }

    /// Bytes held, at most: a state that keeps samples has up to twice the places that it needs, and no fewer than four.
    pub(super) fn bytes(&self) -> usize {
        let index = table_bytes::<((u32, i64), usize)>(self.index.capacity());
        let states = self.states.capacity() * size_of::<S>() + self.keys.capacity() * size_of::<(u32, i64)>();
        let samples = S::SAMPLE_BYTES * (2 * self.samples + 4 * self.states.len());
        index + states + samples + self.cells_of.capacity() * 4
    }

    /// The states as batches of at most so many rows.
    pub(super) fn into_batches(self, most_rows: usize) -> impl Iterator<Item = Result<RecordBatch>> {
        let (mut keys, mut states) = (self.keys.into_iter(), self.states.into_iter());
        std::iter::from_fn(move || {
            let some: Vec<S> = states.by_ref().take(most_rows).collect();
            let keys: Vec<(u32, i64)> = keys.by_ref().take(most_rows).collect();
            (!some.is_empty()).then(|| {
                let mut columns: Vec<ArrayRef> = vec![
                    Arc::new(UInt32Array::from_iter_values(keys.iter().map(|k| k.0))),
                    Arc::new(Int64Array::from_iter_values(keys.iter().map(|k| k.1))),
                ];
                columns.extend(S::columns(&some));
                Ok(RecordBatch::try_new(states_schema::<S>(), columns)?)
            })
        })
    }

    /// The cells in order of their series, to slide windows over.
    pub(super) async fn into_series(self, context: &QueryContext) -> Result<SeriesCells<S>> {
        let mut turns = Turns::default();
        // Where the cells of each series start.
        let mut places = Vec::with_capacity(self.cells_of.len());
        let mut next = 0;
        for &cells in &self.cells_of {
            places.push(next);
            next += cells as usize;
        }
        let mut order = vec![0; self.keys.len()];
        for (index, (series, _)) in self.keys.iter().enumerate() {
            let place = &mut places[*series as usize];
            order[*place] = index;
            *place += 1;
            turns.add(1, &context.cancelled).await?;
        }
        Ok(SeriesCells {
            order,
            keys: self.keys,
            states: self.states,
            done: 0,
            points: 0,
            turns,
        })
    }
}

/// The cells of all series, in order of the series.
pub(super) struct SeriesCells<S> {
    /// Places of the cells, in order of their series.
    order: Vec<usize>,
    keys: Vec<(u32, i64)>,
    states: Vec<S>,
    /// Cells of series whose points are made.
    done: usize,
    points: usize,
    turns: Turns,
}

impl<S: CellState> SeriesCells<S> {
    /// The points of the next series; `None` after the last one.
    pub(super) async fn next_points(
        &mut self,
        grid: &Grid,
        function: RangeFunction,
        context: &QueryContext,
    ) -> Result<Option<RecordBatch>> {
        let (mut numbers, mut times, mut values) = (Vec::new(), Vec::new(), Vec::new());
        while self.done < self.order.len() && numbers.len() < BATCH_ROWS {
            let series = self.keys[self.order[self.done]].0;
            let mut cells = Vec::new();
            while let Some(&place) = self.order.get(self.done).filter(|&&place| self.keys[place].0 == series) {
                cells.push((self.keys[place].1, std::mem::take(&mut self.states[place])));
                self.done += 1;
            }
            cells.sort_unstable_by_key(|c| c.0);
            let each = |window: usize, value: f64| {
                numbers.push(series);
                times.push(grid.time_ns(window));
                values.push(value);
            };
            slide(cells, grid, function, context, &mut self.turns, each).await?;
            context.check_points(self.points + values.len())?;
        }
        self.points += values.len();
        if numbers.is_empty() {
            return Ok(None);
        }
        let columns: Vec<ArrayRef> = vec![
            Arc::new(UInt32Array::from(numbers)),
            Arc::new(Int64Array::from(times)),
            Arc::new(Float64Array::from(values)),
        ];
        Ok(Some(RecordBatch::try_new(points_schema(), columns)?))
    }
}

/// Calls `each` with every window that holds a cell and its value; the cells are sorted.
async fn slide<S: CellState>(
    cells: Vec<(i64, S)>,
    grid: &Grid,
    function: RangeFunction,
    context: &QueryContext,
    turns: &mut Turns,
    mut each: impl FnMut(usize, f64),
) -> Result<()> {
    let mut sliding = S::Slide::new(&cells);
    let mut coming = cells.into_iter().peekable();
    for window in 0..grid.windows() {
        let covered = grid.cells(window);
        while let Some((cell, state)) = coming.next_if(|(cell, _)| *cell < covered.end) {
            let samples = state.samples_held();
            sliding.push(cell, state);
            turns.add(1 + samples, &context.cancelled).await?;
        }
        sliding.drop_before(covered.start);
        let bounds = Window {
            after_ns: grid.after_ns(window),
            until_ns: grid.until_ns(window),
        };
        if let Some(value) = sliding.value(function, bounds) {
            each(window, value);
        }
        turns.add(1, &context.cancelled).await?;
    }
    Ok(())
}
