//! Attributes of a series (specification, chapters 1 and 3).

use crate::codec::Encoding;
use crate::labels::Labels;
use crate::policy::DuplicatePolicy;

/// The smallest size of a chunk.
pub const MIN_CHUNK_BYTES: u32 = 48;
/// The largest size of a chunk.
pub const MAX_CHUNK_BYTES: u32 = 1 << 20;

/// What a series is made with.
#[derive(Clone, Debug)]
pub struct SeriesOptions {
    /// Milliseconds behind the newest sample; 0 keeps samples for ever.
    pub retention_ms: i64,
    /// How chunks are kept.
    pub encoding: Encoding,
    /// The size of a chunk that the user asked for, a multiple of 8.
    pub chunk_bytes: u32,
    /// The policy of the series; none: the configured one.
    pub duplicate_policy: Option<DuplicatePolicy>,
    /// IGNORE: the largest difference of time, in milliseconds.
    pub ignore_time_ms: i64,
    /// IGNORE: the largest difference of value.
    pub ignore_value: f64,
    /// Labels in the order given.
    pub labels: Labels,
}

/// What TS.ALTER changes; what is absent stays.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// New retention in milliseconds.
    pub retention_ms: Option<i64>,
    /// New size of later chunks.
    pub chunk_bytes: Option<u32>,
    /// New policy.
    pub duplicate_policy: Option<DuplicatePolicy>,
    /// New IGNORE pair: milliseconds, value.
    pub ignore: Option<(i64, f64)>,
    /// New labels, in place of all.
    pub labels: Option<Labels>,
}
