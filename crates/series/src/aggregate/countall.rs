//! countall: number of all samples.

// hot path: no lock, no logging, no allocation per sample.

use super::{Batch, Counts, STATE_WORDS, Surroundings};

/// The counts of the bucket say all.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct State;

impl super::State for State {
    fn add(&mut self, _batch: &Batch<'_>) {}

    fn value(&self, counts: Counts, _surroundings: &Surroundings) -> f64 {
        (counts.numbers.saturating_add(counts.nans)) as f64
    }

    fn to_words(self) -> [u64; STATE_WORDS] {
        [0; STATE_WORDS]
    }

    fn from_words(_words: [u64; STATE_WORDS]) -> State {
        State
    }
}
