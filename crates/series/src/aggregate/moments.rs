//! Mean and squared deviations, in a way that keeps the digits when the mean is large.
//!
//! The peer computes variances from the sum and the sum of squares, which cancel each other (specification, 20.6). Here the squared
//! deviations from the mean are summed per batch, in two passes over it, and batches are merged by the formula of Chan, Golub and
//! LeVeque (Updating formulae and a pairwise algorithm for computing sample variances, 1979). Where both ways agree but for
//! [`ROUNDING`], the answer is the peer's, to the last digit.

// hot path: no lock, no logging, no allocation per sample.

use super::{Batch, STATE_WORDS, fold};

/// How far two variances may be apart, relative to their size, to be the same but for rounding.
const ROUNDING: f64 = 1e-12;

/// The moments of the values seen.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Moments {
    count: u64,
    mean: f64,
    /// Sum of squared deviations from the mean.
    squares: f64,
    /// Sum of the values in the order of visit.
    raw_sum: f64,
    /// Sum of their squares in the order of visit.
    raw_squares: f64,
}

impl Moments {
    /// Takes in values; at least one.
    pub(super) fn add(&mut self, batch: &Batch<'_>) {
        let values = batch.values;
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
        self.raw_sum = fold::sum(self.raw_sum, batch);
        self.raw_squares = fold::sum_of_squares(self.raw_squares, batch);
        self.merge(values.len() as u64, mean, squares);
    }

    fn merge(&mut self, count: u64, mean: f64, squares: f64) {
        if self.count == 0 {
            (self.count, self.mean, self.squares) = (count, mean, squares);
            return;
        }
        let (ours, theirs) = (self.count as f64, count as f64);
        let all = ours + theirs;
        let difference = mean - self.mean;
        self.mean += difference * (theirs / all);
        self.squares += squares + difference * difference * (ours * theirs / all);
        self.count += count;
    }

    pub(super) fn population_variance(&self) -> f64 {
        let exact = self.squares / self.count as f64;
        let peers = self.peers_variance();
        if (peers - exact).abs() <= exact * ROUNDING {
            peers
        } else {
            exact
        }
    }

    pub(super) fn sample_variance(&self) -> f64 {
        if self.count <= 1 {
            return 0.0;
        }
        let count = self.count as f64;
        let exact = self.squares / (count - 1.0);
        let peers = self.peers_variance() * count / (count - 1.0);
        if (peers - exact).abs() <= exact * ROUNDING {
            peers
        } else {
            exact
        }
    }

    /// The formula of the specification's chapter 8.
    fn peers_variance(&self) -> f64 {
        let count = self.count as f64;
        let (sum, squares) = (self.raw_sum, self.raw_squares);
        let mean = sum / count;
        (squares - 2.0 * sum * sum / count + count * (mean * mean)) / count
    }

    pub(super) fn to_words(self) -> [u64; STATE_WORDS] {
        [
            self.count,
            self.mean.to_bits(),
            self.squares.to_bits(),
            self.raw_sum.to_bits(),
            self.raw_squares.to_bits(),
        ]
    }

    pub(super) fn from_words([count, mean, squares, raw_sum, raw_squares]: [u64; STATE_WORDS]) -> Moments {
        Moments {
            count,
            mean: f64::from_bits(mean),
            squares: f64::from_bits(squares),
            raw_sum: f64::from_bits(raw_sum),
            raw_squares: f64::from_bits(raw_squares),
        }
    }
}
