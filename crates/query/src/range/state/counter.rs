//! State of the rates of counters: every sample of a cell, since where a counter was reset shows only when all of them are in order.

use super::{CellState, Merge, RangeFunction, Slide, Window, WindowState, wrong_state};
use crate::node::column;
use crate::range::sliding::Sliding;
use arrow_array::builder::{Float64Builder, Int64Builder, ListBuilder};
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{Array, ArrayRef, ListArray, RecordBatch, cast::AsArray};
use arrow_schema::{DataType, Field};
use datafusion_common::Result;
use std::sync::Arc;

/// Times and numbers in no order.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Counter(Vec<(i64, f64)>);

impl Merge for Counter {
    fn merge(&mut self, later: &Self) {
        self.0.extend_from_slice(&later.0);
    }
}

fn list(kind: DataType) -> DataType {
    DataType::List(Arc::new(Field::new_list_field(kind, true)))
}

impl CellState for Counter {
    const SAMPLE_BYTES: usize = size_of::<(i64, f64)>();

    type Slide = CounterWindow;

    fn samples_held(&self) -> usize {
        self.0.len()
    }

    fn add(&mut self, timestamp_ns: i64, amount: f64) {
        self.0.push((timestamp_ns, amount));
    }

    fn fields() -> Vec<(&'static str, DataType)> {
        vec![("times", list(DataType::Int64)), ("amounts", list(DataType::Float64))]
    }

    fn columns(states: &[Self]) -> Vec<ArrayRef> {
        let mut times = ListBuilder::new(Int64Builder::new());
        let mut amounts = ListBuilder::new(Float64Builder::new());
        for Counter(samples) in states {
            for &(time, amount) in samples {
                times.values().append_value(time);
                amounts.values().append_value(amount);
            }
            times.append(true);
            amounts.append(true);
        }
        vec![Arc::new(times.finish()), Arc::new(amounts.finish())]
    }

    fn read(batch: &RecordBatch, first: usize) -> Result<Vec<Self>> {
        let (times, amounts) = (
            column::<ListArray>(batch, first)?,
            column::<ListArray>(batch, first + 1)?,
        );
        let state = |i: usize| {
            let (times, amounts) = (times.value(i), amounts.value(i));
            let times = times.as_primitive::<Int64Type>().values();
            let amounts = amounts.as_primitive::<Float64Type>().values();
            Counter(times.iter().copied().zip(amounts.iter().copied()).collect())
        };
        Ok((0..times.len()).map(state).collect())
    }
}

/// The samples of neighbouring cells, all of which are known, in short.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    count: usize,
    first: (i64, f64),
    last: (i64, f64),
    /// What the counter had reached each time it was reset, added up.
    resets: f64,
}

impl Stretch {
    /// `None` without samples. Of samples at the same time the smaller number counts as earlier.
    fn of(mut samples: Vec<(i64, f64)>) -> Option<Self> {
        samples.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        let (&first, &last) = (samples.first()?, samples.last()?);
        let is_reset = |pair: &&[(i64, f64)]| pair[1].1 < pair[0].1;
        Some(Self {
            count: samples.len(),
            first,
            last,
            resets: samples.windows(2).filter(is_reset).map(|pair| pair[0].1).sum(),
        })
    }
}

impl Merge for Stretch {
    fn merge(&mut self, later: &Self) {
        if later.first.1 < self.last.1 {
            self.resets += self.last.1;
        }
        self.resets += later.resets;
        self.count += later.count;
        self.last = later.last;
    }
}

impl WindowState for Stretch {
    /// Increase of a counter per second, resets added up, extrapolated to the ends of the window where the first and last sample are near
    /// them, as Prometheus' `rate` does (logql.md 13.2).
    fn value(&self, function: RangeFunction, window: Window) -> f64 {
        if function != RangeFunction::CounterRate {
            wrong_state(function)
        }
        let Self {
            count,
            first,
            last,
            resets,
        } = *self;
        let seconds = |from: i128, to: i128| (to - from) as f64 / 1e9;
        let sampled = seconds(first.0.into(), last.0.into());
        if count < 2 || sampled == 0.0 {
            return 0.0;
        }
        let mut increase = last.1 - first.1 + resets;
        let between = sampled / (count - 1) as f64;
        // Where the window goes on for much longer than samples are apart, the counter is taken to begin or end half way to the next one.
        let near = |gap: f64| if gap < between * 1.1 { gap } else { between / 2.0 };
        let mut to_start = near(seconds(window.after_ns, first.0.into()));
        // A counter does not go below zero: the start is not extrapolated further than where it was zero.
        if increase > 0.0 && first.1 >= 0.0 {
            to_start = to_start.min(sampled * (first.1 / increase));
        }
        let extrapolated = to_start + sampled + near(seconds(last.0.into(), window.until_ns));
        increase *= extrapolated / sampled;
        increase / window.seconds()
    }
}

/// A window over the stretches of cells.
pub(crate) struct CounterWindow(Sliding<Stretch>);

impl Slide<Counter> for CounterWindow {
    fn new(_: &[(i64, Counter)]) -> Self {
        Self(Sliding::new())
    }

    fn push(&mut self, cell: i64, Counter(samples): Counter) {
        if let Some(stretch) = Stretch::of(samples) {
            self.0.push(cell, stretch);
        }
    }

    fn drop_before(&mut self, cell: i64) {
        self.0.drop_before(cell);
    }

    fn value(&self, function: RangeFunction, window: Window) -> Option<f64> {
        Slide::value(&self.0, function, window)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_handle_resets_and_ends() {
        let window = Window {
            after_ns: 0,
            until_ns: 10_000_000_000,
        };
        let f = |samples: &[(i64, f64)]| {
            let samples = samples.iter().map(|&(s, v)| (s * 1_000_000_000, v)).collect();
            Stretch::of(samples).map(|stretch| stretch.value(RangeFunction::CounterRate, window))
        };
        assert_eq!(f(&[]), None);
        assert_eq!(f(&[(5, 7.0)]), Some(0.0));
        assert_eq!(f(&[(2, 100.0), (4, 102.0), (6, 104.0), (8, 106.0)]), Some(1.0));
        // Far from the start of the window: half the distance of samples counts, not the whole way to where the counter was zero.
        assert_eq!(f(&[(5, 4.0), (7, 8.0)]), Some(0.8));
        // That way is shorter than half the distance of samples.
        assert_eq!(f(&[(5, 1.0), (7, 11.0)]), Some(1.6));
        // The reset to 1 adds the 5 that were counted before.
        assert_eq!(f(&[(0, 1.0), (5, 5.0), (10, 1.0)]), Some(0.5));
    }
}
