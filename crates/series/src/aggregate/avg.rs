//! avg: sum by count. Where finite values add up to infinity, a running mean.

// hot path: no lock, no logging, no allocation per sample.

use super::{Batch, Counts, STATE_WORDS, Surroundings, fold};

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct State {
    /// The sum; the mean once `overflowed`.
    total: f64,
    /// How many values there are in `total`.
    count: u64,
    overflowed: bool,
}

impl super::State for State {
    fn add(&mut self, batch: &Batch<'_>) {
        if !self.overflowed {
            let sum = fold::sum(self.total, batch);
            let overflows =
                sum.is_infinite() && self.total.is_finite() && batch.values.iter().all(|value| value.is_finite());
            if !overflows {
                self.total = sum;
                self.count += batch.values.len() as u64;
                return;
            }
            self.overflowed = true;
            if self.count > 0 {
                self.total /= self.count as f64;
            }
        }
        for value in batch.values {
            self.count += 1;
            let count = self.count as f64;
            self.total += value / count - self.total / count;
        }
    }

    fn value(&self, _counts: Counts, _surroundings: &Surroundings) -> f64 {
        if self.overflowed {
            self.total
        } else {
            self.total / self.count as f64
        }
    }

    fn to_words(self) -> [u64; STATE_WORDS] {
        [self.total.to_bits(), self.count, u64::from(self.overflowed), 0, 0]
    }

    fn from_words([total, count, overflowed, ..]: [u64; STATE_WORDS]) -> State {
        State {
            total: f64::from_bits(total),
            count,
            overflowed: overflowed != 0,
        }
    }
}
