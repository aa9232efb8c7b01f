//! State of the functions that need every sample: quantiles, and rates of counters.

use super::{CellState, Merge, RangeFunction, Window, wrong_state};
use crate::node::column;
use arrow_array::builder::{Float64Builder, Int64Builder, ListBuilder};
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{Array, ArrayRef, ListArray, RecordBatch, cast::AsArray};
use arrow_schema::{DataType, Field};
use datafusion_common::Result;
use std::sync::Arc;

/// Times and numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Samples(Vec<(i64, f64)>);

impl Merge for Samples {
    fn merge(&mut self, later: &Self) {
        self.0.extend_from_slice(&later.0);
    }
}

fn list(kind: DataType) -> DataType {
    DataType::List(Arc::new(Field::new_list_field(kind, true)))
}

impl CellState for Samples {
    const GROWS: bool = true;

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
        for Samples(samples) in states {
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
            Samples(
                times
                    .iter()
                    .copied()
                    .zip(amounts.as_primitive::<Float64Type>().values().iter().copied())
                    .collect(),
            )
        };
        Ok((0..times.len()).map(state).collect())
    }

    fn value(&self, function: RangeFunction, window: Window) -> f64 {
        match function {
            RangeFunction::Quantile(q) => quantile(q, self.0.iter().map(|s| s.1).collect()),
            RangeFunction::CounterRate => counter_rate(self.0.clone(), window),
            other => wrong_state(other),
        }
    }
}

/// Linear interpolation between the closest ranks (logql.md 13.2).
fn quantile(q: f64, mut values: Vec<f64>) -> f64 {
    if values.is_empty() || q.is_nan() {
        return f64::NAN;
    }
    if q < 0.0 {
        return f64::NEG_INFINITY;
    }
    if q > 1.0 {
        return f64::INFINITY;
    }
    // NaN counts as smaller than every number.
    values.sort_unstable_by(|a, b| a.partial_cmp(b).unwrap_or_else(|| b.is_nan().cmp(&a.is_nan())));
    let rank = q * (values.len() - 1) as f64;
    let lower = rank.floor() as usize;
    let upper = (lower + 1).min(values.len() - 1);
    let weight = rank - rank.floor();
    values[lower] * (1.0 - weight) + values[upper] * weight
}

/// Increase of a counter per second, resets added up, extrapolated to the ends of the window where the first and last sample are near
/// them, as Prometheus' `rate` does (logql.md 13.2).
fn counter_rate(mut samples: Vec<(i64, f64)>, window: Window) -> f64 {
    samples.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let (Some(&first), Some(&last)) = (samples.first(), samples.last()) else {
        return 0.0;
    };
    if samples.len() < 2 {
        return 0.0;
    }
    let resets: f64 = samples
        .windows(2)
        .filter(|pair| pair[1].1 < pair[0].1)
        .map(|pair| pair[0].1)
        .sum();
    let mut increase = last.1 - first.1 + resets;
    let seconds = |from: i128, to: i128| (to - from) as f64 / 1e9;
    let sampled = seconds(first.0.into(), last.0.into());
    if sampled == 0.0 {
        return 0.0;
    }
    let between = sampled / (samples.len() - 1) as f64;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_interpolate() {
        let f = |q: f64, values: &[f64], want: f64| assert_eq!(quantile(q, values.to_vec()), want, "{q} of {values:?}");
        f(0.5, &[3.0, 1.0], 2.0);
        f(0.0, &[3.0, 1.0, 2.0], 1.0);
        f(1.0, &[3.0, 1.0, 2.0], 3.0);
        f(0.25, &[10.0, 20.0, 30.0, 40.0, 50.0], 20.0);
        f(-0.1, &[1.0], f64::NEG_INFINITY);
        f(1.1, &[1.0], f64::INFINITY);
    }

    #[test]
    fn counters_handle_resets_and_ends() {
        let window = Window {
            after_ns: 0,
            until_ns: 10_000_000_000,
        };
        let f = |samples: &[(i64, f64)]| {
            counter_rate(samples.iter().map(|&(s, v)| (s * 1_000_000_000, v)).collect(), window)
        };
        assert_eq!(f(&[]), 0.0);
        assert_eq!(f(&[(5, 7.0)]), 0.0);
        assert_eq!(f(&[(2, 100.0), (4, 102.0), (6, 104.0), (8, 106.0)]), 1.0);
        // Far from the start of the window: half the distance of samples counts, not the whole way to where the counter was zero.
        assert_eq!(f(&[(5, 4.0), (7, 8.0)]), 0.8);
        // That way is shorter than half the distance of samples.
        assert_eq!(f(&[(5, 1.0), (7, 11.0)]), 1.6);
        // The reset to 1 adds the 5 that were counted before.
        assert_eq!(f(&[(0, 1.0), (5, 5.0), (10, 1.0)]), 0.5);
    }
}
