// hot path: no locks, no logging, no allocation.
//! Timestamps at equal distances. They take no bytes: the distance follows from the first, the last and their number.

use super::super::CodecError;
use super::super::column::Column;
use super::Bounds;

/// The distance, if it is the same between all neighbours; 0 for a single timestamp.
pub(crate) fn step(timestamps: &[i64]) -> Option<i64> {
    let [first, second, ..] = timestamps else {
        return Some(0);
    };
    let step = second.wrapping_sub(*first);
    // Chunks of pairs, so that the loop inside is without a branch.
    let (left, right) = (&timestamps[..timestamps.len() - 1], &timestamps[1..]);
    let equal = left.chunks(64).zip(right.chunks(64)).all(|(left, right)| {
        let different = left.iter().zip(right).fold(0, |different, (left, right)| {
            different | (right.wrapping_sub(*left) ^ step)
        });
        different == 0
    });
    equal.then_some(step)
}

/// Checks the bytes of a column.
pub(crate) fn check(bytes: &[u8], bounds: &Bounds) -> Result<(), CodecError> {
    let span = bounds.last.wrapping_sub(bounds.first) as u64;
    let fits = match bounds.len as u64 - 1 {
        0 => span == 0,
        steps => bounds.first < bounds.last && span.is_multiple_of(steps),
    };
    if !fits || !bytes.is_empty() {
        return Err(CodecError::Corrupt("timestamps are not at equal distances"));
    }
    Ok(())
}

/// A regular column.
pub(crate) struct Regular {
    /// The first timestamp.
    pub(crate) first: i64,
    /// The distance, 0 for a single timestamp.
    pub(crate) step: i64,
    len: usize,
}

/// Opens checked bounds.
#[inline]
pub(crate) fn open(bounds: &Bounds) -> Regular {
    let span = bounds.last.wrapping_sub(bounds.first) as u64;
    Regular {
        first: bounds.first,
        step: span.checked_div(bounds.len as u64 - 1).unwrap_or(0) as i64,
        len: bounds.len,
    }
}

impl Regular {
    /// The index of a timestamp between the first and the last, or the index at which it would be inserted.
    pub(crate) fn find(&self, timestamp: i64) -> Result<usize, usize> {
        let beyond = timestamp.wrapping_sub(self.first) as u64;
        let (Some(index), Some(rest)) = (
            beyond.checked_div(self.step as u64),
            beyond.checked_rem(self.step as u64),
        ) else {
            return Ok(0);
        };
        debug_assert!(index < self.len as u64);
        if rest == 0 {
            Ok(index as usize)
        } else {
            Err(index as usize + 1)
        }
    }
}

impl Column for Regular {
    type Item = i64;

    fn fill(&self, start: usize, out: &mut [i64]) {
        let mut timestamp = self.at(start);
        for slot in out {
            *slot = timestamp;
            timestamp = timestamp.wrapping_add(self.step);
        }
    }

    #[inline]
    fn at(&self, index: usize) -> i64 {
        self.first.wrapping_add(self.step.wrapping_mul(index as i64))
    }
}
