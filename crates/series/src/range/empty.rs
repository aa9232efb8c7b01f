//! EMPTY: rows of buckets in which there is no sample (specification, chapter 9).

use super::buckets::Buckets;
use crate::view::ReadError;

/// How many timestamps and values EMPTY may add to an answer. A short bucket over a long gap would otherwise make an answer that fits no
/// memory out of two samples.
pub const MAX_EMPTY_CELLS: u64 = 33_554_432;

/// Buckets without samples, side by side.
pub(super) struct Gap {
    /// The start of the first one visited.
    pub(super) from: i64,
    /// The start of the last one visited, if it is inclusive; else of the one after it.
    pub(super) to: i64,
    pub(super) inclusive: bool,
    pub(super) descending: bool,
}

impl Gap {
    /// How many buckets there are.
    pub(super) fn rows(&self, buckets: &Buckets) -> u64 {
        let (low, high) = if self.descending {
            (self.to, self.from)
        } else {
            (self.from, self.to)
        };
        if low > high {
            return 0;
        }
        buckets
            .count_between(low, high)
            .saturating_add(u64::from(self.inclusive))
    }

    /// The start of the bucket that is visited after so many others.
    pub(super) fn start_at(&self, buckets: &Buckets, index: u64) -> i64 {
        // Fits, since the last start fits and the distance is at most its.
        let distance = (index as i64).wrapping_mul(buckets.duration());
        if self.descending {
            self.from.wrapping_sub(distance)
        } else {
            self.from.wrapping_add(distance)
        }
    }
}

/// Counts rows of empty buckets against [`MAX_EMPTY_CELLS`].
pub(super) fn reserve(cells: &mut u64, rows: u64, aggregators: usize) -> Result<(), ReadError> {
    *cells = cells.saturating_add(rows.saturating_mul(1 + aggregators as u64));
    if *cells > MAX_EMPTY_CELLS {
        return Err(ReadError(format!(
            "TSDB: EMPTY makes more than max_empty_cells={MAX_EMPTY_CELLS} timestamps and values; use a longer bucketDuration, a shorter range or COUNT"
        )));
    }
    Ok(())
}
