//! Points of series: what travels between the operators of a metric query.

use crate::QueryError;
use crate::cancel::Cancelled;
use crate::memory::table_bytes;
use crate::node::{column, schema};
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, UInt32Array};
use arrow_schema::{DataType, SchemaRef};
use datafusion_common::Result;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Points of a batch, about; a series is never split over two batches.
const BATCH_ROWS: usize = 1 << 15;

/// Series number, evaluation time in nanoseconds, value.
pub(crate) fn points_schema() -> SchemaRef {
    schema(&[
        ("series", DataType::UInt32),
        ("time", DataType::Int64),
        ("value", DataType::Float64),
    ])
}

/// Series and their points in order of time. A series appears once.
#[derive(Debug, Default)]
pub(crate) struct Points {
    pub(crate) series: Vec<(u32, Vec<(i64, f64)>)>,
    index: HashMap<u32, usize, ahash::RandomState>,
}

impl Points {
    /// The points of a series, to be added to in order of time.
    pub(crate) fn of(&mut self, series: u32) -> &mut Vec<(i64, f64)> {
        let next = self.series.len();
        let at = *self.index.entry(series).or_insert(next);
        if at == next {
            self.series.push((series, Vec::new()));
        }
        &mut self.series[at].1
    }

    /// Adds the rows of a batch; those of a series come in order of time.
    pub(crate) fn add(&mut self, batch: &RecordBatch) -> Result<()> {
        let series = column::<UInt32Array>(batch, 0)?.values();
        let times = column::<Int64Array>(batch, 1)?.values();
        let values = column::<Float64Array>(batch, 2)?.values();
        let mut from = 0;
        while from < series.len() {
            let same = series[from..].iter().take_while(|&&s| s == series[from]).count();
            let rows = from..from + same;
            let points = times[rows.clone()].iter().copied().zip(values[rows].iter().copied());
            self.of(series[from]).extend(points);
            from += same;
        }
        Ok(())
    }

    /// Leaves out all but the first series; answers whether there were more.
    pub(crate) fn truncate(&mut self, most_series: usize) -> bool {
        let has_more = self.series.len() > most_series;
        self.series.truncate(most_series);
        self.index.retain(|_, at| *at < most_series);
        has_more
    }

    /// The points as batches.
    pub(crate) fn into_batches(self) -> impl Iterator<Item = Result<RecordBatch>> {
        let mut series = self.series.into_iter();
        std::iter::from_fn(move || {
            let (mut numbers, mut times, mut values) = (Vec::new(), Vec::new(), Vec::new());
            while values.len() < BATCH_ROWS {
                let Some((number, points)) = series.next() else { break };
                numbers.resize(numbers.len() + points.len(), number);
                times.extend(points.iter().map(|point| point.0));
                values.extend(points.iter().map(|point| point.1));
            }
            let columns: Vec<ArrayRef> = vec![
                Arc::new(UInt32Array::from(numbers)),
                Arc::new(Int64Array::from(times)),
                Arc::new(Float64Array::from(values)),
            ];
            (!columns[0].is_empty()).then(|| Ok(RecordBatch::try_new(points_schema(), columns)?))
        })
    }

    /// Number of points.
    pub(crate) fn len(&self) -> usize {
        self.series.iter().map(|(_, points)| points.len()).sum()
    }

    /// Bytes held at most with so many points: a vector has up to twice the places that it needs, and no fewer than four.
    pub(crate) fn most_bytes(&self, points: usize) -> usize {
        let places = 2 * points + 4 * self.series.len();
        places * size_of::<(i64, f64)>()
            + self.series.capacity() * size_of::<(u32, Vec<(i64, f64)>)>()
            + table_bytes::<(u32, usize)>(self.index.capacity())
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        let points: usize = self.series.iter().map(|(_, points)| points.capacity()).sum();
        points * size_of::<(i64, f64)>()
            + self.series.capacity() * size_of::<(u32, Vec<(i64, f64)>)>()
            + table_bytes::<(u32, usize)>(self.index.capacity())
    }
}

/// Points by time: for each time the series present, in the order of the series.
pub(crate) struct ByTime {
    times: Vec<i64>,
    /// Where the points of each time start in `present`, and where the last ones end.
    starts: Vec<usize>,
    /// Place of the series, value.
    present: Vec<(u32, f64)>,
}

impl ByTime {
    /// Bytes for each point.
    pub(crate) const POINT_BYTES: usize = size_of::<(u32, f64)>();

    /// The points by time; ends early if nobody waits for them.
    pub(crate) fn of(points: &Points, cancelled: &Cancelled) -> Result<Self, QueryError> {
        let mut distinct: HashSet<i64, ahash::RandomState> = HashSet::default();
        let mut item = 0;
        for (_, points) in &points.series {
            for &(time_ns, _) in points {
                cancelled.check_at(item)?;
                item += 1;
                distinct.insert(time_ns);
            }
        }
        let mut times: Vec<i64> = distinct.into_iter().collect();
        times.sort_unstable();
        // First how many points each time has, then where they start, then the points.
        let mut starts = vec![0; times.len() + 1];
        each_place(&times, points, cancelled, |place, _, _| starts[place + 1] += 1)?;
        for place in 1..starts.len() {
            starts[place] += starts[place - 1];
        }
        let mut next = starts.clone();
        let mut present = vec![(0, 0.0); points.len()];
        each_place(&times, points, cancelled, |place, series, value| {
            present[next[place]] = (series, value);
            next[place] += 1;
        })?;
        Ok(Self { times, starts, present })
    }

    /// Number of times.
    pub(crate) fn len(&self) -> usize {
        self.times.len()
    }

    /// A time and the points there; times ascend.
    pub(crate) fn get(&self, place: usize) -> Option<(i64, &[(u32, f64)])> {
        let &time_ns = self.times.get(place)?;
        Some((time_ns, &self.present[self.starts[place]..self.starts[place + 1]]))
    }

    /// All times with their points.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (i64, &[(u32, f64)])> {
        (0..self.len()).filter_map(|place| self.get(place))
    }
}

/// Calls `each` with the place of every point among the times, the place of its series, and its value.
fn each_place(
    times: &[i64],
    points: &Points,
    cancelled: &Cancelled,
    mut each: impl FnMut(usize, u32, f64),
) -> Result<(), QueryError> {
    let mut item = 0;
    for (series, (_, points)) in points.series.iter().enumerate() {
        let mut place = 0;
        for &(time_ns, value) in points {
            cancelled.check_at(item)?;
            item += 1;
            // Mostly it is the time after the one before.
            if times.get(place) != Some(&time_ns) {
                place += times[place..].partition_point(|&time| time < time_ns);
            }
            each(place, series as u32, value);
            place += 1;
        }
    }
    Ok(())
}
