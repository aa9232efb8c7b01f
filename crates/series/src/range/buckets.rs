//! Which bucket a timestamp belongs to (specification, 7.1).

use super::BucketTimestamp;

/// Buckets of equal duration, side by side. Their starts may lie below zero and their ends above 2^63-1; no operation overflows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buckets {
    duration: i64,
    /// A timestamp from 0 to `duration` - 1 at which a bucket starts.
    offset: i64,
}

impl Buckets {
    /// Buckets of a duration, which must be above zero; one of them starts at `align`.
    pub fn new(duration: i64, align: i64) -> Buckets {
        debug_assert!(duration > 0);
        Buckets {
            duration,
            offset: align.rem_euclid(duration),
        }
    }

    /// How long each is, in milliseconds.
    pub fn duration(&self) -> i64 {
        self.duration
    }

    /// A timestamp at which a bucket starts.
    pub fn align(&self) -> i64 {
        self.offset
    }

    /// The start of the bucket of a timestamp, which must not be negative. Below zero for a first bucket that is cut there.
    pub fn start_of(&self, timestamp: i64) -> i64 {
        timestamp - (timestamp - self.offset).rem_euclid(self.duration)
    }

    /// The last timestamp of the bucket with this start.
    pub fn last_of(&self, start: i64) -> i64 {
        start.saturating_add(self.duration - 1)
    }

    /// The start of the bucket after the one with this start, if there is a timestamp in it.
    pub fn next_start(&self, start: i64) -> Option<i64> {
        start.checked_add(self.duration)
    }

    /// How many buckets there are from one start to a later one, without the latter.
    pub(super) fn count_between(&self, start: i64, later: i64) -> u64 {
        later.wrapping_sub(start) as u64 / self.duration as u64
    }

    /// The timestamp that is shown for a bucket: a start below zero counts as zero.
    pub fn shown(&self, start: i64, place: BucketTimestamp) -> i64 {
        let start = start.max(0);
        match place {
            BucketTimestamp::Start => start,
            BucketTimestamp::Mid => start.saturating_add(self.duration / 2),
            BucketTimestamp::End => start.saturating_add(self.duration),
        }
    }
}
