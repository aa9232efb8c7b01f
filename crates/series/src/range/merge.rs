//! Rows of several series put together: GROUPBY .. REDUCE (specification, chapter 10) and TS.NRANGE (chapter 13).

// hot path: no lock, no logging, no allocation per row.

use super::{Aggregator, Rows};
use crate::aggregate::{Batch, Bucket, Surroundings};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Reduces rows with equal timestamps of several series into one row (GROUPBY .. REDUCE; specification, chapter 10). The rows of each
/// series have one value each and are in the order of `reverse`.
pub fn reduce(series: &[Rows], reducer: Aggregator, reverse: bool, count: Option<u64>) -> Rows {
    debug_assert!(reducer.is_reducer());
    let mut rows = Rows {
        width: 1,
        ..Rows::default()
    };
    let mut numbers = Vec::new();
    merge(series, reverse, count, |timestamp, equal| {
        numbers.clear();
        let mut nans = 0;
        for (series_index, row) in equal {
            match series.get(*series_index).and_then(|rows| rows.row(*row).first()) {
                Some(value) if value.is_nan() => nans += 1,
                Some(value) => numbers.push(*value),
                None => {}
            }
        }
        let mut bucket = Bucket::new(reducer);
        bucket.add_batch(&Batch {
            timestamps: &[],
            values: &numbers,
            nans,
            descending: false,
        });
        let nowhere = Surroundings {
            from: *timestamp,
            to: *timestamp,
            before: None,
            after: None,
        };
        let nothing = if reducer.is_count() { 0.0 } else { f64::NAN };
        rows.timestamps.push(*timestamp);
        rows.values.push(bucket.value(&nowhere).unwrap_or(nothing));
    });
    rows
}

/// Rows of several series side by side, NaN where a series has nothing (TS.NRANGE; specification, chapter 13).
pub fn join(series: &[Rows], reverse: bool, count: Option<u64>) -> Rows {
    let mut width = 0;
    let offsets: Vec<usize> = series
        .iter()
        .map(|rows| {
            width += rows.width;
            width - rows.width
        })
        .collect();
    let mut joined = Rows {
        width,
        ..Rows::default()
    };
    merge(series, reverse, count, |timestamp, equal| {
        let start = joined.values.len();
        joined.timestamps.push(*timestamp);
        joined.values.resize(start + width, f64::NAN);
        for (series_index, row) in equal {
            let values = series[*series_index].row(*row);
            let place = start + offsets[*series_index];
            joined.values[place..place + values.len()].copy_from_slice(values);
        }
    });
    joined
}

/// Calls a function for each timestamp, in the order of the rows, with the places of all rows that have it: numbers of series,
/// ascending, and of rows.
fn merge(series: &[Rows], reverse: bool, count: Option<u64>, mut each: impl FnMut(&i64, &[(usize, usize)])) {
    // In descending order the complement of a timestamp is compared.
    let key = |timestamp: i64| if reverse { !timestamp } else { timestamp };
    let mut heads: BinaryHeap<Reverse<(i64, usize, usize)>> = series
        .iter()
        .enumerate()
        .filter_map(|(index, rows)| {
            rows.timestamps
                .first()
                .map(|timestamp| Reverse((key(*timestamp), index, 0)))
        })
        .collect();
    let mut equal = Vec::with_capacity(series.len());
    let mut missing = count.unwrap_or(u64::MAX);
    while let Some(Reverse((lowest, ..))) = heads.peek()
        && missing > 0
    {
        let lowest = *lowest;
        equal.clear();
        while let Some(mut head) = heads.peek_mut()
            && head.0.0 == lowest
        {
            let Reverse((_, series_index, row)) = *head;
            equal.push((series_index, row));
            match series[series_index].timestamps.get(row + 1) {
                Some(timestamp) => *head = Reverse((key(*timestamp), series_index, row + 1)),
                None => {
                    std::collections::binary_heap::PeekMut::pop(head);
                }
            }
        }
        each(&key(lowest), &equal);
        missing -= 1;
    }
}
