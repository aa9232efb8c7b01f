//! max: largest value. Of the two zeros the negative one is the smaller, so that the order of samples shows in no answer.

// hot path: no lock, no logging, no allocation per sample.

use super::{Batch, Counts, STATE_WORDS, Surroundings, fold};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct State {
    largest: f64,
}

impl Default for State {
    fn default() -> State {
        State {
            largest: f64::NEG_INFINITY,
        }
    }
}

impl super::State for State {
    fn add(&mut self, batch: &Batch<'_>) {
        self.largest = fold::max(self.largest, batch.values);
    }

    fn value(&self, _counts: Counts, _surroundings: &Surroundings) -> f64 {
        self.largest
    }

    fn to_words(self) -> [u64; STATE_WORDS] {
        [self.largest.to_bits(), 0, 0, 0, 0]
    }

    fn from_words([largest, ..]: [u64; STATE_WORDS]) -> State {
        State {
            largest: f64::from_bits(largest),
        }
    }
}
