//! Ranges of bytes that are fetched together.

use bytes::Bytes;
use std::ops::Range;

#[derive(Debug, Default)]
pub(crate) struct CoalesceOptions;

pub(crate) struct Fetch {
    pub(crate) range: Range<u64>,
}

pub(crate) fn coalesce(ranges: &[Range<u64>], _options: &CoalesceOptions) -> Vec<Fetch> {
    let mut sorted: Vec<_> = ranges.iter().filter(|r| !r.is_empty()).cloned().collect();
    sorted.sort_by_key(|r| r.start);
    let mut out: Vec<Fetch> = Vec::new();
    for r in sorted {
        match out.last_mut() {
            Some(last) if r.start <= last.range.end + (1 << 20) => last.range.end = last.range.end.max(r.end),
            _ => out.push(Fetch { range: r }),
        }
    }
    out
}

/// Cuts the wanted ranges out of the fetched ones, which are in order and may be pieces of one long range. `None` if bytes are missing.
pub(crate) fn assemble(ranges: &[Range<u64>], fetched_ranges: &[Range<u64>], fetched: &[Bytes]) -> Option<Vec<Bytes>> {
    let piece = |range: &Range<u64>| {
        let mut at = fetched_ranges.partition_point(|f| f.end <= range.start);
        let first = fetched_ranges.get(at)?;
        let from = usize::try_from(range.start.checked_sub(first.start)?).ok()?;
        let len = usize::try_from(range.end - range.start).ok()?;
        if range.end <= first.end {
            let bytes = fetched.get(at)?;
            return (bytes.len() >= from + len).then(|| bytes.slice(from..from + len));
        }
        let mut joined = Vec::with_capacity(len);
        joined.extend_from_slice(fetched.get(at)?.get(from..)?);
        while joined.len() < len {
            at += 1;
            let next = fetched.get(at)?;
            joined.extend_from_slice(&next[..next.len().min(len - joined.len())]);
        }
        Some(Bytes::from(joined))
    };
    ranges
        .iter()
        .map(|range| {
            if range.is_empty() {
                Some(Bytes::new())
            } else {
                piece(range)
            }
        })
        .collect()
}
