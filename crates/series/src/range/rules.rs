//! Buckets as compaction rules see them (specification, chapter 7): whole, not cut to the bounds of a query.

use super::aggregated;
use super::buckets::Buckets;
use super::source::Source;
use super::{Aggregation, Aggregator, BucketTimestamp, RangeQuery};
use crate::view::{ReadError, View};

/// Buckets that are asked for are computed in one go if no more than so many others lie between them.
const MAX_SKIPPED_BUCKETS: u64 = 4;

/// The value of one bucket of a view, which starts at `start` (below zero for a first bucket that is cut there); nothing if there is no
/// sample of the kind that the aggregator looks for. The view's bucket in progress is not looked at.
pub fn bucket_value(
    view: &View,
    aggregator: Aggregator,
    buckets: &Buckets,
    start: i64,
) -> Result<Option<f64>, ReadError> {
    let values = bucket_values(view, aggregator, buckets, &[start])?;
    Ok(values.first().copied().flatten())
}

/// The values of several buckets of a view, whose starts ascend; each as [`bucket_value`] gives it. Chunks with many of them are decoded
/// once.
pub fn bucket_values(
    view: &View,
    aggregator: Aggregator,
    buckets: &Buckets,
    starts: &[i64],
) -> Result<Vec<Option<f64>>, ReadError> {
    debug_assert!(starts.is_sorted());
    let source = Source::of_view(view);
    let aggregation = Aggregation {
        aggregators: vec![aggregator],
        bucket: buckets.duration(),
        align: buckets.align(),
        bucket_timestamp: BucketTimestamp::Start,
        empty: false,
    };
    let mut values = Vec::with_capacity(starts.len());
    for run in starts.chunk_by(|one, other| buckets.count_between(*one, *other) <= 1 + MAX_SKIPPED_BUCKETS) {
        let (Some(first), Some(last)) = (run.first(), run.last()) else {
            continue;
        };
        let query = RangeQuery {
            from: (*first).max(0),
            to: buckets.last_of(*last),
            timestamps: None,
            values: None,
            aggregation: None,
            count: None,
            reverse: false,
        };
        let rows = aggregated::run(&source, &query, &aggregation, i64::MAX)?;
        let mut made = rows.timestamps.iter().zip(&rows.values).peekable();
        for start in run {
            let shown = buckets.shown(*start, BucketTimestamp::Start);
            while made.next_if(|(timestamp, _)| **timestamp < shown).is_some() {}
            values.push(
                made.next_if(|(timestamp, _)| **timestamp == shown)
                    .map(|(_, value)| *value),
            );
        }
    }
    Ok(values)
}
