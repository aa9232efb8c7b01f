//! first: value of the oldest sample that is not NaN.

// hot path: no lock, no logging, no allocation per sample.

use super::{Batch, Counts, STATE_WORDS, Surroundings};

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct State {
    first: Option<f64>,
}

impl super::State for State {
    fn add(&mut self, batch: &Batch<'_>) {
        if batch.descending || self.first.is_none() {
            self.first = batch.values.first().copied();
        }
    }

    fn value(&self, _counts: Counts, _surroundings: &Surroundings) -> f64 {
        self.first.unwrap_or(f64::NAN)
    }

    fn to_words(self) -> [u64; STATE_WORDS] {
        [
            u64::from(self.first.is_some()),
            self.first.unwrap_or_default().to_bits(),
            0,
            0,
            0,
        ]
    }

    fn from_words([is_some, first, ..]: [u64; STATE_WORDS]) -> State {
        State {
            first: (is_some != 0).then_some(f64::from_bits(first)),
        }
    }
}
