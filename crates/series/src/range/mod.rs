//! Range queries (specification, chapters 8 to 10, 13).
//!
//! A query reads the parts of a [`View`] one after the other, in either direction, and decodes of each only what lies within the
//! bounds; never the whole series at once.

mod aggregated;
mod buckets;
mod empty;
mod merge;
mod nearest;
mod neighbours;
mod plain;
mod rules;
mod sieve;
mod source;
mod stretches;

#[cfg(test)]
mod tests;

/// An aggregator by name (specification, chapter 8).
pub use crate::aggregate::Aggregator;
pub use buckets::Buckets;
pub use empty::MAX_EMPTY_CELLS;
pub use merge::{join, reduce};
pub use nearest::{number_after, number_before};
pub use rules::{bucket_value, bucket_values};

use crate::view::{ReadError, View};
use source::Source;

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

impl RangeQuery {
    /// Whether samples outside of the bounds matter: for EMPTY, for lines of twa, and for what `last` repeats. A view for such a query
    /// must hold the whole series.
    pub fn looks_beyond_bounds(&self) -> bool {
        self.aggregation.as_ref().is_some_and(|aggregation| {
            let aggregators = &aggregation.aggregators;
            // With several aggregators a bucket of NaN is a row, in which `last` repeats what was before.
            let repeats = aggregators.len() > 1 && aggregators.contains(&Aggregator::Last);
            aggregation.empty || repeats || aggregators.contains(&Aggregator::Twa)
        })
    }
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

impl Rows {
    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.timestamps.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.timestamps.is_empty()
    }

    /// The values of a row below [`Rows::len`].
    pub fn row(&self, index: usize) -> &[f64] {
        &self.values[index * self.width..(index + 1) * self.width]
    }
}

/// Answers a range query over one series. Fails if a chunk can't be fetched, or if EMPTY makes more than [`MAX_EMPTY_CELLS`].
pub fn run(view: &View, query: &RangeQuery) -> Result<Rows, ReadError> {
    let source = Source::new(view, query)?;
    match &query.aggregation {
        Some(aggregation) => aggregated::run(&source, query, aggregation, query.to),
        None => plain::run(&source, query),
    }
}
