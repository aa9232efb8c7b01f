//! Values that depend on neighbouring buckets: `last` of an empty bucket, and all of `twa`. They are put in when all rows are made.

// hot path: no lock, no logging, no allocation per sample.

use super::buckets::Buckets;
use super::source::Source;
use super::{Aggregation, Aggregator};
use crate::aggregate::{Area, Surroundings, average_between};
use crate::view::ReadError;

/// Rows in the order of visit.
#[derive(Default)]
pub(super) struct Placed {
    /// The start of each row's bucket, which may be below zero.
    pub(super) starts: Vec<i64>,
    /// Row after row.
    pub(super) values: Vec<f64>,
    /// The buckets with samples, also those that make no row. Kept for twa only.
    pub(super) seen: Vec<Seen>,
}

/// What twa knows of a bucket with samples.
pub(super) struct Seen {
    /// Where it starts.
    pub(super) start: i64,
    /// The area under its numbers, if there is one.
    pub(super) area: Option<Area>,
    /// Whether its oldest sample is NaN.
    pub(super) begins_with_nan: bool,
}

/// Bounds of the rows.
pub(super) struct Bounds {
    /// The lowest timestamp.
    pub(super) from: i64,
    /// The highest timestamp.
    pub(super) to: i64,
    /// Where the last bucket ends for twa: at `to` in queries, which cut it, later in rules, which do not.
    pub(super) cut: i64,
    /// Whether rows descend.
    pub(super) reverse: bool,
}

/// Puts in what depends on neighbours.
pub(super) fn resolve(
    source: &Source<'_>,
    bounds: &Bounds,
    aggregation: &Aggregation,
    buckets: &Buckets,
    placed: &mut Placed,
) -> Result<(), ReadError> {
    for (column, aggregator) in aggregation.aggregators.iter().enumerate() {
        let width = aggregation.aggregators.len();
        match aggregator {
            // A single aggregator without EMPTY has rows for buckets with samples only.
            Aggregator::Last if aggregation.empty || width > 1 => repeat_last(source, bounds, column, width, placed)?,
            Aggregator::Twa => average_over_time(source, bounds, buckets, column, width, placed)?,
            _ => {}
        }
    }
    Ok(())
}

/// The row at a position counted from the oldest.
fn row_at(position: usize, placed: &Placed, bounds: &Bounds) -> usize {
    if bounds.reverse {
        placed.starts.len() - 1 - position
    } else {
        position
    }
}

/// Gives empty buckets the value of the last sample before them.
fn repeat_last(
    source: &Source<'_>,
    bounds: &Bounds,
    column: usize,
    width: usize,
    placed: &mut Placed,
) -> Result<(), ReadError> {
    let mut carried = None;
    for position in 0..placed.starts.len() {
        let row = row_at(position, placed, bounds);
        let value = &mut placed.values[row * width + column];
        // `last` skips NaN, so that NaN means that there is no sample.
        if !value.is_nan() {
            carried = Some(*value);
            continue;
        }
        if carried.is_none() {
            let before = source.nearest_before(placed.starts[row].max(bounds.from), false)?;
            carried = Some(before.map_or(f64::NAN, |sample| sample.value));
        }
        *value = carried.unwrap_or(f64::NAN);
    }
    Ok(())
}

/// Computes twa of all rows.
///
/// A line leaves a bucket towards the very next sample; where that is NaN, there is no line. A line enters it from the last number of the
/// bucket before that has samples; where all of those are NaN, there is no line. That is what the peer does (`nan_agg_twa` of the recorded
/// sequences), in ascending order; in descending order it gives other values, which we don't follow (specification, 20.7).
fn average_over_time(
    source: &Source<'_>,
    bounds: &Bounds,
    buckets: &Buckets,
    column: usize,
    width: usize,
    placed: &mut Placed,
) -> Result<(), ReadError> {
    let rows = placed.starts.len();
    if rows == 0 {
        return Ok(());
    }
    let lowest = placed.starts[row_at(0, placed, bounds)].max(bounds.from);
    let highest = placed.starts[row_at(rows - 1, placed, bounds)];
    let number_before = source.nearest_before(lowest, false)?;
    let sample_before = source.nearest_before(lowest, true)?;
    let line_before = number_before.zip(sample_before).and_then(|(number, sample)| {
        let is_same_bucket = buckets.start_of(sample.timestamp) <= number.timestamp;
        is_same_bucket.then_some(number)
    });
    let last = buckets.last_of(highest).min(bounds.to);
    let number_after = source.nearest_after(last, false)?;
    let line_after = source
        .nearest_after(last, true)?
        .filter(|sample| !sample.value.is_nan());

    if bounds.reverse {
        placed.seen.reverse();
    }
    let seen = &placed.seen;
    // The first of `seen` that is not before the row, the first of those with a number, and the last number before the row.
    let mut at = 0;
    let mut ahead = 0;
    let mut number = number_before;
    for position in 0..rows {
        let row = row_at(position, placed, bounds);
        let start = placed.starts[row];
        while let Some(passed) = seen.get(at).filter(|seen| seen.start < start) {
            number = passed.area.map(|area| area.last()).or(number);
            at += 1;
        }
        let mut surroundings = Surroundings {
            from: start.max(bounds.from),
            to: buckets.next_start(start).unwrap_or(i64::MAX).min(bounds.cut),
            before: number,
            after: None,
        };
        let own = seen
            .get(at)
            .filter(|seen| seen.start == start)
            .and_then(|seen| seen.area);
        placed.values[row * width + column] = if let Some(area) = own {
            surroundings.before = match at.checked_sub(1).and_then(|index| seen.get(index)) {
                // Its numbers may lie before the query.
                Some(previous) => {
                    let outside = number_before.filter(|number| previous.start <= number.timestamp);
                    previous.area.map(|area| area.last()).or(outside)
                }
                None => line_before,
            };
            surroundings.after = match seen.get(at + 1) {
                Some(next) => next.area.filter(|_| !next.begins_with_nan).map(|area| area.first()),
                None => line_after,
            };
            area.average(&surroundings)
        } else {
            ahead = ahead.max(at);
            while seen.get(ahead).is_some_and(|seen| seen.area.is_none()) {
                ahead += 1;
            }
            let next = seen.get(ahead).and_then(|seen| seen.area);
            surroundings.after = next.map(|area| area.first()).or(number_after);
            average_between(&surroundings).unwrap_or(f64::NAN)
        };
    }
    if bounds.reverse {
        placed.seen.reverse();
    }
    Ok(())
}
