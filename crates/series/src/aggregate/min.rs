//! min: smallest value. Of the two zeros the negative one is the smaller, so that the order of samples shows in no answer.

// hot path: no lock, no logging, no allocation per sample.

use super::{Batch, Counts, STATE_WORDS, Surroundings, fold};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct State {
    smallest: f64,
}

impl Default for State {
    fn default() -> State {
        State {
            smallest: f64::INFINITY,
        }
    }
}

impl super::State for State {
    fn add(&mut self, batch: &Batch<'_>) {
        self.smallest = fold::min(self.smallest, batch.values);
    }

    fn value(&self, _counts: Counts, _surroundings: &Surroundings) -> f64 {
        self.smallest
    }

    fn to_words(self) -> [u64; STATE_WORDS] {
        [self.smallest.to_bits(), 0, 0, 0, 0]
    }

    fn from_words([smallest, ..]: [u64; STATE_WORDS]) -> State {
        State {
            smallest: f64::from_bits(smallest),
        }
    }
}
