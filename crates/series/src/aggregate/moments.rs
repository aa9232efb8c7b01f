//! Mean and squared deviations, in a way that keeps the digits when the mean is large.
//!
//! The peer computes variances from the sum and the sum of squares, which cancel each other (specification, 20.6). Here the squared
//! deviations from the mean are summed per batch, in two passes over it, and batches are merged by the formula of Chan, Golub and
//! LeVeque (Updating formulae and a pairwise algorithm for computing sample variances, 1979).

// hot path: no lock, no logging, no allocation per sample.

use super::{STATE_WORDS, fold};

/// The moments of the values seen.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Moments {
    count: u64,
    mean: f64,
    /// Sum of squared deviations from the mean.
    squares: f64,
}

impl Moments {
    /// Takes in values; at least one.
    pub(super) fn add(&mut self, values: &[f64]) {
        let Some(&origin) = values.first() else {
            return;
        };
        // Deviations from a value of the batch first: equal values then give exactly zero.
        let count = values.len() as f64;
        let shift = fold::deviations(values, origin).sum / count;
        let mean = origin + shift;
        let around = fold::deviations(values, mean);
        // The square of what the rounded mean is off by.
        let squares = (around.squares - around.sum * around.sum / count).max(0.0);
        self.merge(Moments {
            count: values.len() as u64,
            mean,
            squares,
        });
    }

    fn merge(&mut self, other: Moments) {
        if self.count == 0 {
            *self = other;
            return;
        }
        let (ours, theirs) = (self.count as f64, other.count as f64);
        let all = ours + theirs;
        let difference = other.mean - self.mean;
        self.mean += difference * (theirs / all);
        self.squares += other.squares + difference * difference * (ours * theirs / all);
        self.count += other.count;
    }

    pub(super) fn population_variance(&self) -> f64 {
        self.squares / self.count as f64
    }

    pub(super) fn sample_variance(&self) -> f64 {
        if self.count > 1 {
            self.squares / (self.count - 1) as f64
        } else {
            0.0
        }
    }

    pub(super) fn to_words(self) -> [u64; STATE_WORDS] {
        [self.count, self.mean.to_bits(), self.squares.to_bits(), 0, 0]
    }

    pub(super) fn from_words([count, mean, squares, ..]: [u64; STATE_WORDS]) -> Moments {
        Moments {
            count,
            mean: f64::from_bits(mean),
            squares: f64::from_bits(squares),
        }
    }
}
