//! sum: sum of the values.

// hot path: no lock, no logging, no allocation per sample.

use super::{Batch, Counts, STATE_WORDS, Surroundings, fold};

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct State {
    sum: f64,
}

impl super::State for State {
    fn add(&mut self, batch: &Batch<'_>) {
        self.sum = fold::sum(self.sum, batch);
    }

    fn value(&self, _counts: Counts, _surroundings: &Surroundings) -> f64 {
        self.sum
    }

    fn to_words(self) -> [u64; STATE_WORDS] {
        [self.sum.to_bits(), 0, 0, 0, 0]
    }

    fn from_words([sum, ..]: [u64; STATE_WORDS]) -> State {
        State {
            sum: f64::from_bits(sum),
        }
    }
}
