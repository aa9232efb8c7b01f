//! Range queries in the plainest code: all samples in one list, buckets one by one, aggregates by their definition.

use crate::range::{Aggregation, Aggregator, BucketTimestamp, RangeQuery, Rows};
use std::collections::BTreeMap;

/// All samples of a series, ascending.
pub(super) type List = Vec<(i64, f64)>;

/// Answers a query over the visible samples of a series.
pub(super) fn run(samples: &List, query: &RangeQuery) -> Rows {
    let samples: List = samples.iter().copied().filter(|sample| passes(sample, query)).collect();
    let mut rows = match &query.aggregation {
        Some(aggregation) => aggregated(&samples, query, aggregation),
        None => within(&samples, query.from, query.to)
            .into_iter()
            .map(|(timestamp, value)| (timestamp, vec![value]))
            .collect(),
    };
    if query.reverse {
        rows.reverse();
    }
    if let Some(count) = query.count {
        rows.truncate(count as usize);
    }
    Rows {
        timestamps: rows.iter().map(|row| row.0).collect(),
        width: query
            .aggregation
            .as_ref()
            .map_or(1, |aggregation| aggregation.aggregators.len()),
        values: rows.into_iter().flat_map(|row| row.1).collect(),
    }
}

/// The value of a whole bucket.
pub(super) fn whole_bucket(
    samples: &List,
    aggregator: Aggregator,
    start: i128,
    duration: i64,
    align: i64,
) -> Option<f64> {
    let end = start + i128::from(duration);
    let numbers = numbers(&bucket_samples(samples, start, end));
    let found = found(aggregator, &bucket_samples(samples, start, end));
    if !found {
        return None;
    }
    Some(match aggregator {
        Aggregator::Twa => twa(samples, &numbers, start, end, start, end, duration, align),
        _ => value(aggregator, &bucket_samples(samples, start, end), false),
    })
}

fn passes(sample: &(i64, f64), query: &RangeQuery) -> bool {
    query
        .timestamps
        .as_ref()
        .is_none_or(|timestamps| timestamps.contains(&sample.0))
        && query
            .values
            .is_none_or(|(low, high)| sample.1 >= low && sample.1 <= high)
}

fn within(samples: &List, from: i64, to: i64) -> List {
    samples
        .iter()
        .copied()
        .filter(|(timestamp, _)| from <= *timestamp && *timestamp <= to)
        .collect()
}

fn bucket_samples(samples: &List, start: i128, end: i128) -> List {
    let is_inside = |(timestamp, _): &(i64, f64)| start <= i128::from(*timestamp) && i128::from(*timestamp) < end;
    samples.iter().copied().filter(is_inside).collect()
}

fn numbers(samples: &List) -> List {
    samples.iter().copied().filter(|(_, value)| !value.is_nan()).collect()
}

pub(super) fn start_of(timestamp: i64, duration: i64, align: i64) -> i128 {
    let (timestamp, duration, align) = (i128::from(timestamp), i128::from(duration), i128::from(align));
    timestamp - (timestamp - align).rem_euclid(duration)
}

fn aggregated(samples: &List, query: &RangeQuery, aggregation: &Aggregation) -> Vec<(i64, Vec<f64>)> {
    let inside = within(samples, query.from, query.to);
    let (duration, align) = (aggregation.bucket, aggregation.align);
    let mut starts: BTreeMap<i128, List> = BTreeMap::new();
    for sample in &inside {
        starts
            .entry(start_of(sample.0, duration, align))
            .or_default()
            .push(*sample);
    }
    if aggregation.empty && query.from <= query.to {
        let low = if samples.iter().any(|sample| sample.0 < query.from) {
            Some(start_of(query.from, duration, align))
        } else {
            starts.keys().next().copied()
        };
        let high = if samples.iter().any(|sample| sample.0 > query.to) {
            Some(start_of(query.to, duration, align))
        } else {
            starts.keys().last().copied()
        };
        if let (Some(low), Some(high)) = (low, high) {
            let mut start = low;
            while start <= high {
                starts.entry(start).or_default();
                start += i128::from(duration);
            }
        }
    }
    let mut rows = Vec::new();
    for (start, bucket) in starts {
        if !aggregation.empty
            && !aggregation
                .aggregators
                .iter()
                .any(|aggregator| found(*aggregator, &bucket))
        {
            continue;
        }
        let end = start + i128::from(duration);
        let cut_from = start.max(i128::from(query.from));
        let cut_to = end.min(i128::from(query.to));
        let values = aggregation.aggregators.iter().map(|aggregator| match aggregator {
            Aggregator::Twa if numbers(&bucket).is_empty() => {
                let before = numbers(samples)
                    .into_iter()
                    .rfind(|sample| i128::from(sample.0) < cut_from);
                let after = numbers(samples)
                    .into_iter()
                    .find(|sample| i128::from(sample.0) > cut_to.min(end - 1));
                match (before, after) {
                    (Some(before), Some(after)) => (line(before, after, cut_from) + line(before, after, cut_to)) / 2.0,
                    _ => f64::NAN,
                }
            }
            Aggregator::Twa => twa(
                samples,
                &numbers(&bucket),
                start,
                end,
                cut_from,
                cut_to,
                duration,
                align,
            ),
            Aggregator::Last if numbers(&bucket).is_empty() => {
                let before = numbers(samples)
                    .into_iter()
                    .rfind(|sample| i128::from(sample.0) < cut_from);
                before.map_or(f64::NAN, |sample| sample.1)
            }
            _ if !found(*aggregator, &bucket) => aggregator.empty_value(),
            _ => value(*aggregator, &bucket, query.reverse),
        });
        let shown = start.max(0)
            + i128::from(match aggregation.bucket_timestamp {
                BucketTimestamp::Start => 0,
                BucketTimestamp::Mid => duration / 2,
                BucketTimestamp::End => duration,
            });
        rows.push((i64::try_from(shown).unwrap_or(i64::MAX), values.collect()));
    }
    rows
}

fn found(aggregator: Aggregator, bucket: &List) -> bool {
    match aggregator {
        Aggregator::CountAll => !bucket.is_empty(),
        Aggregator::CountNan => bucket.iter().any(|sample| sample.1.is_nan()),
        _ => !numbers(bucket).is_empty(),
    }
}

/// The aggregate of a bucket in which something is found; not for twa.
pub(super) fn value(aggregator: Aggregator, bucket: &List, reverse: bool) -> f64 {
    let mut values: Vec<f64> = numbers(bucket).iter().map(|sample| sample.1).collect();
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
        Aggregator::First => first.unwrap(),
        Aggregator::Last => last.unwrap(),
        Aggregator::StdP => (squares / count).sqrt(),
        Aggregator::StdS => sample_variance.sqrt(),
        Aggregator::VarP => squares / count,
        Aggregator::VarS => sample_variance,
        Aggregator::CountNan => bucket.len() as f64 - count,
        Aggregator::CountAll => bucket.len() as f64,
        Aggregator::Twa => unreachable!("twa needs more than a bucket"),
    }
}

/// The aggregate of values, or another value if there is none.
pub(super) fn value_or(aggregator: Aggregator, values: &List, nothing: f64) -> f64 {
    if found(aggregator, values) {
        value(aggregator, values, false)
    } else {
        nothing
    }
}

/// The area under the lines between the points of a bucket, by its length.
#[expect(
    clippy::too_many_arguments,
    reason = "they are all different, and the naive evaluator has no types of its own"
)]
fn twa(
    samples: &List,
    numbers_inside: &List,
    start: i128,
    end: i128,
    cut_from: i128,
    cut_to: i128,
    duration: i64,
    align: i64,
) -> f64 {
    let (first, last) = (numbers_inside[0], numbers_inside[numbers_inside.len() - 1]);
    // The last number of the bucket before with samples; the very next sample, if it is a number.
    let earlier: List = samples
        .iter()
        .copied()
        .filter(|sample| i128::from(sample.0) < start.max(cut_from))
        .collect();
    let before = earlier.last().and_then(|nearest| {
        let bucket = start_of(nearest.0, duration, align);
        numbers(&earlier)
            .into_iter()
            .rfind(|sample| start_of(sample.0, duration, align) == bucket)
    });
    let after = samples
        .iter()
        .copied()
        .find(|sample| i128::from(sample.0) > cut_to.min(end - 1))
        .filter(|sample| !sample.1.is_nan());
    let mut points: Vec<(i128, f64)> = Vec::new();
    if let Some(before) = before {
        points.push((cut_from, line(before, first, cut_from)));
    }
    points.extend(numbers_inside.iter().map(|sample| (i128::from(sample.0), sample.1)));
    if let Some(after) = after {
        points.push((cut_to, line(last, after, cut_to)));
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

fn line(one: (i64, f64), other: (i64, f64), timestamp: i128) -> f64 {
    let share = (timestamp - i128::from(one.0)) as f64 / (i128::from(other.0) - i128::from(one.0)) as f64;
    one.1 + (other.1 - one.1) * share
}
