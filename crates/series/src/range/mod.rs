//! Range queries (specification, chapters 8 to 10, 13).

use crate::view::{ReadError, View};

/// An aggregator by name (specification, chapter 8).
pub use crate::aggregate::Aggregator;

/// Where in a bucket its reported timestamp lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum BucketTimestamp {
    /// The start of the bucket.
    #[default]
    Start,
    /// Start + duration / 2.
    Mid,
    /// Start + duration.
    End,
}

/// `AGGREGATION`, with everything that belongs to it.
#[derive(Clone, Debug)]
pub struct Aggregation {
    /// One or more, at most 16; each gives a value per row.
    pub aggregators: Vec<Aggregator>,
    /// Milliseconds, above zero.
    pub bucket: i64,
    /// A timestamp at which a bucket starts: ALIGN, resolved against the bounds by the caller.
    pub align: i64,
    /// BUCKETTIMESTAMP.
    pub bucket_timestamp: BucketTimestamp,
    /// EMPTY: report buckets without samples too.
    pub empty: bool,
}

/// What to read of one series (specification, chapter 9). Bounds are inclusive.
#[derive(Clone, Debug)]
pub struct RangeQuery {
    /// The lowest timestamp asked for.
    pub from: i64,
    /// The highest timestamp asked for.
    pub to: i64,
    /// FILTER_BY_TS: only these timestamps, ascending, without repeats.
    pub timestamps: Option<Vec<i64>>,
    /// FILTER_BY_VALUE: only values between these two, inclusive.
    pub values: Option<(f64, f64)>,
    /// AGGREGATION.
    pub aggregation: Option<Aggregation>,
    /// COUNT: so many rows at most.
    pub count: Option<u64>,
    /// Rows in descending order (TS.REVRANGE).
    pub reverse: bool,
}

/// Rows of an answer: a timestamp and `width` values each.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rows {
    /// One per row.
    pub timestamps: Vec<i64>,
    /// How many values a row has.
    pub width: usize,
    /// Row after row.
    pub values: Vec<f64>,
}

/// Answers a range query over one series.
pub fn run(_view: &View, _query: &RangeQuery) -> Result<Rows, ReadError> {
    Ok(Rows::default())
}

/// Reduces rows with equal timestamps of several series into one row (GROUPBY .. REDUCE; specification, chapter 10). The rows of each
/// series have one value each and are in the order of `reverse`.
pub fn reduce(_series: &[Rows], _reducer: Aggregator, _reverse: bool, _count: Option<u64>) -> Rows {
    Rows::default()
}

/// Rows of several series side by side, NaN where a series has nothing (TS.NRANGE; specification, chapter 13).
pub fn join(_series: &[Rows], _reverse: bool, _count: Option<u64>) -> Rows {
    Rows::default()
}
