//! Which requests to make for a set of ranges (specification chapter 12.4): close ones together, large ones apart.

use bytes::{Bytes, BytesMut};
use std::ops::Range;

/// How ranges are merged and cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoalesceOptions {
    /// Two ranges with at most this many bytes between them are merged.
    pub max_gap_bytes: u64,
    /// Merging stops at this size, and what is larger is cut.
    pub max_fetch_bytes: u64,
    /// Nothing is cut into pieces smaller than this.
    pub min_fetch_bytes: u64,
    /// How many fetches run at once: while there are fewer, large ones are halved.
    pub parallelism: usize,
}

impl Default for CoalesceOptions {
    fn default() -> CoalesceOptions {
        CoalesceOptions {
            max_gap_bytes: 1 << 20,
            max_fetch_bytes: 8 << 20,
            min_fetch_bytes: 1 << 20,
            parallelism: 10,
        }
    }
}

impl CoalesceOptions {
    /// For objects in memory, where a request costs nothing: only what touches is joined and nothing is cut, so that every range is
    /// a slice of one body and none has to be put together.
    pub const fn in_memory() -> CoalesceOptions {
        CoalesceOptions {
            max_gap_bytes: 0,
            max_fetch_bytes: u64::MAX,
            min_fetch_bytes: u64::MAX,
            parallelism: 1,
        }
    }
}

/// One request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetch {
    /// What to fetch.
    pub range: Range<u64>,
    /// Which of the wanted ranges lie in it, wholly or in part.
    pub parts: Vec<usize>,
}

/// Plans the fetches for `ranges`, which may overlap and stand in any order; empty ranges need none. The fetches ascend and
/// don't overlap.
pub fn coalesce(ranges: &[Range<u64>], options: &CoalesceOptions) -> Vec<Fetch> {
    let mut order: Vec<usize> = (0..ranges.len()).filter(|&i| !ranges[i].is_empty()).collect();
    order.sort_by_key(|&i| (ranges[i].start, ranges[i].end));

    let pieces = cut(merge(order.iter().map(|&i| &ranges[i]), options), options);
    let mut fetches: Vec<Fetch> = pieces
        .into_iter()
        .map(|range| Fetch {
            range,
            parts: Vec::new(),
        })
        .collect();
    for i in order {
        let first = fetches.partition_point(|fetch| fetch.range.end <= ranges[i].start);
        for fetch in fetches
            .iter_mut()
            .skip(first)
            .take_while(|fetch| fetch.range.start < ranges[i].end)
        {
            fetch.parts.push(i);
        }
    }
    fetches
}

/// Hands the fetched bytes out to the ranges they were planned for, without copying unless a range lies in several fetches.
/// `None` if a body doesn't have the size of its fetch.
pub fn scatter(ranges: &[Range<u64>], fetches: &[Fetch], bodies: &[Bytes]) -> Option<Vec<Bytes>> {
    let is_whole = |(fetch, body): (&Fetch, &Bytes)| body.len() as u64 == fetch.range.end - fetch.range.start;
    if fetches.len() != bodies.len() || !fetches.iter().zip(bodies).all(is_whole) {
        return None;
    }
    let mut parts = vec![Bytes::new(); ranges.len()];
    for (index, range) in ranges.iter().enumerate().filter(|(_, range)| !range.is_empty()) {
        let first = fetches.partition_point(|fetch| fetch.range.end <= range.start);
        let mut pieces = fetches.iter().zip(bodies).skip(first).map_while(|(fetch, body)| {
            let start = range.start.max(fetch.range.start);
            let end = range.end.min(fetch.range.end);
            (start < end).then(|| body.slice((start - fetch.range.start) as usize..(end - fetch.range.start) as usize))
        });
        let wanted = (range.end - range.start) as usize;
        let mut part = pieces.next()?;
        if part.len() < wanted {
            let mut joined = BytesMut::with_capacity(wanted);
            joined.extend_from_slice(&part);
            pieces.for_each(|piece| joined.extend_from_slice(&piece));
            part = joined.freeze();
        }
        if part.len() != wanted {
            return None;
        }
        parts[index] = part;
    }
    Some(parts)
}

fn merge<'a>(sorted: impl Iterator<Item = &'a Range<u64>>, options: &CoalesceOptions) -> Vec<Range<u64>> {
    let mut merged: Vec<Range<u64>> = Vec::new();
    for range in sorted {
        if let Some(last) = merged.last_mut() {
            let end = last.end.max(range.end);
            let is_close = range.start.saturating_sub(last.end) <= options.max_gap_bytes;
            if range.start < last.end || (is_close && end - last.start <= options.max_fetch_bytes) {
                last.end = end;
                continue;
            }
        }
        merged.push(range.clone());
    }
    merged
}

fn cut(merged: Vec<Range<u64>>, options: &CoalesceOptions) -> Vec<Range<u64>> {
    let mut pieces: Vec<Range<u64>> = Vec::with_capacity(merged.len());
    for range in merged {
        let length = range.end - range.start;
        if length <= options.max_fetch_bytes {
            pieces.push(range);
            continue;
        }
        let size = (length / 2).max(options.min_fetch_bytes).max(1);
        let mut start = range.start;
        while start < range.end {
            let end = start.saturating_add(size).min(range.end);
            pieces.push(start..end);
            start = end;
        }
    }
    let mut missing = options.parallelism.saturating_sub(pieces.len());
    let mut halved = Vec::with_capacity(pieces.len() + missing);
    for piece in pieces {
        let length = piece.end - piece.start;
        if missing > 0 && length >= options.min_fetch_bytes.saturating_mul(2).max(2) {
            let middle = piece.start + length / 2;
            halved.push(piece.start..middle);
            halved.push(middle..piece.end);
            missing -= 1;
        } else {
            halved.push(piece);
        }
    }
    halved
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    #[expect(clippy::single_range_in_vec_init, reason = "lists of ranges are meant")]
    fn merging_and_cutting() {
        let check = |ranges: &[Range<u64>], want: &[Range<u64>]| {
            let options = CoalesceOptions {
                max_gap_bytes: 10,
                max_fetch_bytes: 80,
                min_fetch_bytes: 10,
                parallelism: 1,
            };
            let fetches = coalesce(ranges, &options);
            assert_eq!(fetches.into_iter().map(|f| f.range).collect::<Vec<_>>(), want);
        };
        check(&[], &[]);
        check(&[5..5], &[]);
        check(&[20..30, 0..10], &[0..30]);
        check(&[0..10, 21..30], &[0..10, 21..30]);
        check(&[0..50, 55..85], &[0..50, 55..85]);
        check(&[0..50, 45..75, 46..60], &[0..75]);
        check(&[0..81], &[0..40, 40..80, 80..81]);
        check(&[0..100], &[0..50, 50..100]);
    }

    #[test]
    fn pieces_are_halved_once_until_all_lanes_are_busy() {
        let options = CoalesceOptions {
            max_gap_bytes: 10,
            max_fetch_bytes: 80,
            min_fetch_bytes: 10,
            parallelism: 4,
        };
        let fetches = coalesce(&[0..40, 100..119, 200..260, 300..380], &options);
        assert_eq!(fetches.len(), 4);
        let fetches = coalesce(&[0..19, 100..140, 200..260], &options);
        let got: Vec<_> = fetches
            .iter()
            .map(|fetch| (fetch.range.clone(), fetch.parts.clone()))
            .collect();
        assert_eq!(
            got,
            [
                (0..19, vec![0]),
                (100..120, vec![1]),
                (120..140, vec![1]),
                (200..260, vec![2])
            ]
        );
    }

    #[test]
    fn in_memory_every_range_lies_in_one_body() {
        let ranges = [0..3 << 30, 5..7, 3 << 30..4 << 30, (4 << 30) + 1..5 << 30];
        let fetches = coalesce(&ranges, &CoalesceOptions::in_memory());
        let got: Vec<_> = fetches.into_iter().map(|fetch| (fetch.range, fetch.parts)).collect();
        assert_eq!(got, [(0..4 << 30, vec![0, 1, 2]), ((4 << 30) + 1..5 << 30, vec![3])]);
    }

    proptest! {
        #[test]
        fn every_range_gets_its_bytes(ranges in proptest::collection::vec((0u64..2000, 0u64..300).prop_map(|(s, l)| s..s + l), 0..20),
                                      gap in 0u64..50, max in 1u64..200, min in 0u64..40, parallelism in 0usize..12) {
            let object: Vec<u8> = (0..2300u32).map(|i| (i * 7 % 251) as u8).collect();
            let options = CoalesceOptions { max_gap_bytes: gap, max_fetch_bytes: max, min_fetch_bytes: min, parallelism };
            let fetches = coalesce(&ranges, &options);
            prop_assert!(fetches.is_sorted_by(|a, b| a.range.end <= b.range.start));
            let bodies: Vec<Bytes> = fetches.iter()
                .map(|f| Bytes::copy_from_slice(&object[f.range.start as usize..f.range.end as usize])).collect();
            let parts = scatter(&ranges, &fetches, &bodies).unwrap();
            for (range, part) in ranges.iter().zip(parts) {
                prop_assert_eq!(&object[range.start as usize..range.end as usize], &part[..]);
            }
        }
    }
}
