//! What the ruler did, for whoever watches.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Counts since the start, over all groups.
#[derive(Debug, Default)]
pub struct Statistics {
    /// Evaluations of rules, failed ones included.
    pub evaluations: AtomicU64,
    /// Evaluations that failed; the log tells why.
    pub failures: AtomicU64,
    /// Samples written.
    pub samples: AtomicU64,
    /// Evaluations of groups that were due too long ago to be caught up.
    pub missed: AtomicU64,
    /// How long the last evaluation of a group took, microseconds.
    pub last_duration_us: AtomicU64,
}

pub(crate) fn count(counter: &AtomicU64, more: u64) {
    counter.fetch_add(more, Relaxed);
}
