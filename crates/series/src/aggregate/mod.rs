//! Aggregators (specification, chapter 8): what a bucket of samples becomes. A file each, all of the same shape, listed in `table.rs`.

// hot path: no lock, no logging, no allocation per sample.

mod avg;
mod bucket;
mod count;
mod countall;
mod countnan;
mod first;
mod fold;
mod last;
mod max;
mod min;
mod moments;
mod range;
mod std_p;
mod std_s;
mod sum;
mod table;
mod twa;
mod var_p;
mod var_s;

#[cfg(test)]
mod tests;

pub use bucket::{BUCKET_BYTES, Bucket};
pub(crate) use fold::has_nan;
pub use table::Aggregator;
pub(crate) use twa::{State as Area, between as average_between};

use crate::sample::Sample;

/// Samples of one bucket, handed over together. The batches of a bucket come one after the other, ascending or descending by time.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    /// Ascending, one per value; left empty unless [`Aggregator::needs_timestamps`].
    pub timestamps: &'a [i64],
    /// Ascending by time, none of them NaN.
    pub values: &'a [f64],
    /// How many NaN samples were left out of `values`.
    pub nans: u64,
    /// Whether the samples are visited from the newest to the oldest. This batch is then older than those before it, and sums run from
    /// its end, which shows in their last digit (specification, chapter 8).
    pub descending: bool,
}

/// How many samples a bucket has seen.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Counts {
    /// Those that are not NaN.
    pub numbers: u64,
    /// Those that are.
    pub nans: u64,
}

/// What lies around the samples of a bucket, for aggregators that look beyond them: twa does.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings {
    /// Where the bucket begins, cut to the query's bounds.
    pub from: i64,
    /// Where it ends: the start of the next bucket or the query's upper bound.
    pub to: i64,
    /// The nearest sample before `from` that is not NaN.
    pub before: Option<Sample>,
    /// The nearest sample after the last of the bucket that is not NaN.
    pub after: Option<Sample>,
}

/// What the samples of a bucket leave behind for one aggregator. [`Counts`] are kept beside it.
trait State: Copy + Default {
    /// Takes in a batch with at least one value.
    fn add(&mut self, batch: &Batch<'_>);

    /// The aggregate; the bucket holds what the aggregator looks for.
    fn value(&self, counts: Counts, surroundings: &Surroundings) -> f64;

    /// The state as words, for snapshots; unused ones are zero.
    fn to_words(self) -> [u64; STATE_WORDS];

    /// The state of [`State::to_words`]; any words are safe.
    fn from_words(words: [u64; STATE_WORDS]) -> Self;
}

/// How many words the largest state takes, which is that of twa.
const STATE_WORDS: usize = 5;
