//! range: largest less smallest value.

// hot path: no lock, no logging, no allocation per sample.

use super::{Batch, Counts, STATE_WORDS, Surroundings, fold};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct State {
    smallest: f64,
    largest: f64,
}

impl Default for State {
    fn default() -> State {
        State {
            smallest: f64::INFINITY,
            largest: f64::NEG_INFINITY,
        }
    }
}

impl super::State for State {
    fn add(&mut self, batch: &Batch<'_>) {
        self.smallest = fold::min(self.smallest, batch.values);
        self.largest = fold::max(self.largest, batch.values);
    }

    fn value(&self, _counts: Counts, _surroundings: &Surroundings) -> f64 {
        self.largest - self.smallest
    }

    fn to_words(self) -> [u64; STATE_WORDS] {
        [self.smallest.to_bits(), self.largest.to_bits(), 0, 0, 0]
    }

    fn from_words([smallest, largest, ..]: [u64; STATE_WORDS]) -> State {
        State {
            smallest: f64::from_bits(smallest),
            largest: f64::from_bits(largest),
        }
    }
}
