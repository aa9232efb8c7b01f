//! last: value of the newest sample that is not NaN.

// hot path: no lock, no logging, no allocation per sample.

use super::{Batch, Counts, STATE_WORDS, Surroundings};

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct State {
    last: Option<f64>,
}

impl super::State for State {
    fn add(&mut self, batch: &Batch<'_>) {
        if !batch.descending || self.last.is_none() {
            self.last = batch.values.last().copied();
        }
    }

    fn value(&self, _counts: Counts, _surroundings: &Surroundings) -> f64 {
        self.last.unwrap_or(f64::NAN)
    }

    fn to_words(self) -> [u64; STATE_WORDS] {
        [
            u64::from(self.last.is_some()),
            self.last.unwrap_or_default().to_bits(),
            0,
            0,
            0,
        ]
    }

    fn from_words([is_some, last, ..]: [u64; STATE_WORDS]) -> State {
        State {
            last: (is_some != 0).then_some(f64::from_bits(last)),
        }
    }
}
