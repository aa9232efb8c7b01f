//! Tests applied to decoded values: which positions of an array pass.
// hot path: no locks, no logging, no allocation per row.

use super::matcher::{BinaryMatcher, Int64Matcher, Matcher, ValueMatcher};
use super::rows::RowRanges;
use super::values::ColumnValues;
use arrow_array::{Array, BinaryViewArray, Int64Array};
use memchr::memmem::Finder;
use std::ops::Range;

/// A stretch of positions shorter than this is searched value by value, a longer one as one piece of memory.
const MIN_BUFFER_SEARCH_ROWS: usize = 16;

/// Byte strings up to this length stand within their view, not in a buffer.
const MAX_INLINE_BYTES: u32 = 12;

/// The positions, among those given, whose value passes. All lie within the array.
pub(super) fn evaluate(matcher: &Matcher, values: &ColumnValues, positions: &RowRanges) -> RowRanges {
    let mut passed = RowRanges::default();
    for range in positions.ranges() {
        let range = range.start as usize..range.end as usize;
        match (&matcher.values, values) {
            (ValueMatcher::Int64(int64), ColumnValues::Int64(array)) => {
                evaluate_int64(int64, matcher.matches_null, array, range, &mut passed);
            }
            (ValueMatcher::Binary(binary), ColumnValues::Binary(array)) => {
                evaluate_binary(binary, matcher.matches_null, array, range, &mut passed);
            }
            (ValueMatcher::Constant(answer), values) => {
                let answer = |i| {
                    if values.is_null(i) {
                        matcher.matches_null
                    } else {
                        *answer
                    }
                };
                push_where(range, &mut passed, answer);
            }
            _ => unreachable!("bug: a test of a column of another type passed the plan"),
        }
    }
    passed
}

fn evaluate_int64(
    matcher: &Int64Matcher,
    matches_null: bool,
    array: &Int64Array,
    range: Range<usize>,
    passed: &mut RowRanges,
) {
    let values: &[i64] = array.values();
    match (matcher, array.nulls()) {
        (Int64Matcher::Range(low, high), None) => {
            let mut at = range.start as u64;
            for chunk in values[range].chunks(64) {
                let bit = |(i, value): (usize, &i64)| u64::from(low <= value && value <= high) << i;
                passed.push_mask(at, chunk.iter().enumerate().map(bit).fold(0, |mask, bit| mask | bit));
                at += chunk.len() as u64;
            }
        }
        (Int64Matcher::Range(low, high), Some(nulls)) => push_where(range, passed, |i| {
            let value = values[i];
            if nulls.is_null(i) {
                matches_null
            } else {
                *low <= value && value <= *high
            }
        }),
        (Int64Matcher::In(members), nulls) => push_where(range, passed, |i| match nulls {
            Some(nulls) if nulls.is_null(i) => matches_null,
            _ => members.binary_search(&values[i]).is_ok(),
        }),
    }
}

fn evaluate_binary(
    matcher: &BinaryMatcher,
    matches_null: bool,
    array: &BinaryViewArray,
    range: Range<usize>,
    passed: &mut RowRanges,
) {
    match matcher {
        BinaryMatcher::Contains(finder) if range.len() >= MIN_BUFFER_SEARCH_ROWS && !finder.needle().is_empty() => {
            search_buffer(finder, matches_null, array, range, passed);
        }
        BinaryMatcher::Equal(wanted) if wanted.len() <= MAX_INLINE_BYTES as usize => {
            let wanted = inline_view(wanted);
            let views: &[u128] = array.views();
            push_where(range, passed, |i| {
                if array.is_null(i) {
                    matches_null
                } else {
                    views[i] == wanted
                }
            });
        }
        _ => push_where(range, passed, |i| {
            if array.is_null(i) {
                matches_null
            } else {
                matcher.matches(array.value(i))
            }
        }),
    }
}

/// Pushes the positions of which `passes` is true.
#[inline]
fn push_where(range: Range<usize>, passed: &mut RowRanges, passes: impl Fn(usize) -> bool) {
    let mut start = range.start;
    while start < range.end {
        let end = range.end.min(start + 64);
        let mut mask = 0u64;
        for i in start..end {
            mask |= u64::from(passes(i)) << (i - start);
        }
        passed.push_mask(start as u64, mask);
        start = end;
    }
}

/// Searches the memory in which the values stand, one behind another with whatever the encoding puts between, and gives
/// every hit to the value that holds it whole. Values that stand in their views are searched one by one.
fn search_buffer(
    finder: &Finder<'_>,
    matches_null: bool,
    array: &BinaryViewArray,
    range: Range<usize>,
    passed: &mut RowRanges,
) {
    let views: &[u128] = array.views();
    let needle = finder.needle().len();
    let [buffer] = array.data_buffers() else {
        // No value is long enough to stand in a buffer, or they stand in several.
        return push_where(range, passed, |i| {
            if array.is_null(i) {
                matches_null
            } else {
                finder.find(array.value(i)).is_some()
            }
        });
    };
    let long_end =
        |view: &u128| (view_length(*view) > MAX_INLINE_BYTES).then(|| view_offset(*view) + view_length(*view) as usize);
    let end = views[range.clone()].iter().rev().find_map(long_end).unwrap_or(0);
    let haystack = &buffer[..end];
    let short_can_match = needle <= MAX_INLINE_BYTES as usize;
    let find_from = |at: usize| finder.find(&haystack[at..]).map_or(usize::MAX, |found| at + found);

    // The first hit at or behind everything passed so far; sought only once a long value needs it.
    let mut hit = None;
    let mut start = range.start;
    while start < range.end {
        let chunk_end = range.end.min(start + 64);
        let mut mask = 0u64;
        for (i, view) in (start..chunk_end).zip(&views[start..chunk_end]) {
            let length = view_length(*view) as usize;
            let passes = if array.is_null(i) {
                matches_null
            } else if length <= MAX_INLINE_BYTES as usize {
                short_can_match && length >= needle && finder.find(array.value(i)).is_some()
            } else {
                let offset = view_offset(*view);
                let found = match hit {
                    Some(hit) if hit >= offset => hit,
                    _ => *hit.insert(find_from(offset)),
                };
                found.checked_add(needle).is_some_and(|end| end <= offset + length)
            };
            mask |= u64::from(passes) << (i - start);
        }
        passed.push_mask(start as u64, mask);
        start = chunk_end;
    }
}

/// The view of a value that stands in it: length, then bytes.
fn inline_view(value: &[u8]) -> u128 {
    let mut view = [0; 16];
    view[..4].copy_from_slice(&(value.len() as u32).to_le_bytes());
    view[4..4 + value.len()].copy_from_slice(value);
    u128::from_le_bytes(view)
}

fn view_length(view: u128) -> u32 {
    view as u32
}

fn view_offset(view: u128) -> usize {
    (view >> 96) as u32 as usize
}
