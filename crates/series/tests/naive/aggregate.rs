//! Aggregates by their definition (specification, chapter 8).

use timberline_series::aggregate::Aggregator;

/// A sample: timestamp and value.
pub(crate) type Pair = (i64, f64);

/// The start of the bucket of a timestamp (7.1); may be below zero.
pub(crate) fn start_of(timestamp: i64, duration: i64, align: i64) -> i128 {
    let (timestamp, duration, align) = (i128::from(timestamp), i128::from(duration), i128::from(align));
    timestamp - (timestamp - align).rem_euclid(duration)
}

/// The samples that are not NaN.
pub(crate) fn numbers(samples: &[Pair]) -> Vec<Pair> {
    samples.iter().copied().filter(|(_, value)| !value.is_nan()).collect()
}

/// Whether a bucket has what the aggregator looks for.
pub(crate) fn found(aggregator: Aggregator, bucket: &[Pair]) -> bool {
    match aggregator {
        Aggregator::CountAll => !bucket.is_empty(),
        Aggregator::CountNan => bucket.iter().any(|(_, value)| value.is_nan()),
        _ => bucket.iter().any(|(_, value)| !value.is_nan()),
    }
}

/// Whether the value is one particular double. Variances and areas may be added up in any order, and so may what replaces a sum that
/// overflows.
pub(crate) fn is_exact(aggregator: Aggregator, bucket: &[Pair]) -> bool {
    match aggregator {
        Aggregator::VarP | Aggregator::VarS | Aggregator::StdP | Aggregator::StdS | Aggregator::Twa => false,
        Aggregator::Avg => bucket.iter().all(|(_, value)| value.abs() < 1e100),
        _ => true,
    }
}

/// The aggregate of a bucket in which something is found, visited in either direction. Not for twa, which needs more than a bucket.
pub(crate) fn value(aggregator: Aggregator, bucket: &[Pair], reverse: bool) -> f64 {
    let mut values: Vec<f64> = numbers(bucket).iter().map(|(_, value)| *value).collect();
    let count = values.len() as f64;
    let (first, last) = (values.first().copied(), values.last().copied());
    if reverse {
        values.reverse();
    }
    let sum = values.iter().fold(0.0, |sum, value| sum + value);
    let mean = sum / count;
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    let smallest = values.iter().copied().min_by(f64::total_cmp).unwrap_or(f64::NAN);
    let largest = values.iter().copied().max_by(f64::total_cmp).unwrap_or(f64::NAN);
    let sample_variance = if count > 1.0 { squares / (count - 1.0) } else { 0.0 };
    match aggregator {
        Aggregator::Avg => mean,
        Aggregator::Sum => sum,
        Aggregator::Min => smallest,
        Aggregator::Max => largest,
        Aggregator::Range => largest - smallest,
        Aggregator::Count => count,
        Aggregator::First => first.unwrap_or(f64::NAN),
        Aggregator::Last => last.unwrap_or(f64::NAN),
        Aggregator::StdP => (squares / count).sqrt(),
        Aggregator::StdS => sample_variance.sqrt(),
        Aggregator::VarP => squares / count,
        Aggregator::VarS => sample_variance,
        Aggregator::CountNan => bucket.len() as f64 - count,
        Aggregator::CountAll => bucket.len() as f64,
        Aggregator::Twa => panic!("bug: twa needs more than a bucket"),
    }
}

/// Bounds of a bucket for twa: its start, its end, and what of it is looked at.
#[derive(Clone, Copy)]
pub(crate) struct Cut {
    pub(crate) start: i128,
    pub(crate) end: i128,
    pub(crate) from: i128,
    pub(crate) to: i128,
}

/// twa of a bucket with numbers, over all visible samples. A line enters the bucket from the last number of the nearest bucket before
/// that has samples, and leaves it towards the very next sample, if those are numbers.
pub(crate) fn time_weighted(all: &[Pair], cut: Cut, duration: i64, align: i64) -> f64 {
    let inside: Vec<Pair> = all
        .iter()
        .copied()
        .filter(|(timestamp, _)| (cut.start.max(cut.from)..cut.end.min(cut.to + 1)).contains(&i128::from(*timestamp)))
        .collect();
    let earlier: Vec<Pair> = all
        .iter()
        .copied()
        .filter(|(timestamp, _)| i128::from(*timestamp) < cut.start.max(cut.from))
        .collect();
    let before = earlier.last().and_then(|nearest| {
        let bucket = start_of(nearest.0, duration, align);
        numbers(&earlier)
            .into_iter()
            .rfind(|sample| start_of(sample.0, duration, align) == bucket)
    });
    let after = all
        .iter()
        .copied()
        .find(|(timestamp, _)| i128::from(*timestamp) > cut.to.min(cut.end - 1))
        .filter(|(_, value)| !value.is_nan());
    area_by_length(before, &numbers(&inside), after, cut.from, cut.to)
}

/// The area under the lines between points, by its length.
pub(crate) fn area_by_length(before: Option<Pair>, inside: &[Pair], after: Option<Pair>, from: i128, to: i128) -> f64 {
    let (first, last) = (inside[0], inside[inside.len() - 1]);
    let mut points: Vec<(i128, f64)> = Vec::new();
    if let Some(before) = before {
        points.push((from, line(before, first, from)));
    }
    points.extend(inside.iter().map(|(timestamp, value)| (i128::from(*timestamp), *value)));
    if let Some(after) = after {
        points.push((to, line(last, after, to)));
    }
    let length = (points[points.len() - 1].0 - points[0].0) as f64;
    if length == 0.0 {
        return first.1;
    }
    let area: f64 = points
        .windows(2)
        .map(|pair| (pair[0].1 + pair[1].1) / 2.0 * (pair[1].0 - pair[0].0) as f64)
        .sum();
    area / length
}

fn line(one: Pair, other: Pair, timestamp: i128) -> f64 {
    let share = (timestamp - i128::from(one.0)) as f64 / (i128::from(other.0) - i128::from(one.0)) as f64;
    one.1 + (other.1 - one.1) * share
}
