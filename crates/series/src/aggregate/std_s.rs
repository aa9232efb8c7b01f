//! std.s: standard deviation of a sample; 0 for a single value.

// hot path: no lock, no logging, no allocation per sample.

use super::moments::Moments;
use super::{Batch, Counts, STATE_WORDS, Surroundings};

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct State {
    moments: Moments,
}

impl super::State for State {
    fn add(&mut self, batch: &Batch<'_>) {
        self.moments.add(batch);
    }

    fn value(&self, _counts: Counts, _surroundings: &Surroundings) -> f64 {
        self.moments.sample_variance().sqrt()
    }

    fn to_words(self) -> [u64; STATE_WORDS] {
        self.moments.to_words()
    }

    fn from_words(words: [u64; STATE_WORDS]) -> State {
        State {
            moments: Moments::from_words(words),
        }
    }
}
