//! How many distinct values a column holds (specification chapter 5.4). Readers take it as a hint, so the exact count up
//! to a bound and a HyperLogLog estimate beyond it are as good as the sketch that Loki uses.

use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};
use twox_hash::XxHash3_64;

/// Distinct values counted exactly before the estimator takes over. Bounds a column's memory to about 20 KiB in this
/// regime, and to 4 KiB afterwards.
const MAX_EXACT: usize = 1024;

/// The estimator has `2^PRECISION` registers: a standard error of 1.6 %.
const PRECISION: u32 = 12;

#[derive(Clone, Debug)]
pub(crate) struct Cardinality {
    /// The hash counted last, to pass over runs of one value cheaply.
    last: Option<u64>,
    regime: Regime,
}

#[derive(Clone, Debug)]
enum Regime {
    Exact(HashSet<u64, BuildHasherDefault<HashAsIs>>),
    Estimate(Box<[u8]>),
}

/// The elements are hashes already.
#[derive(Debug, Default)]
struct HashAsIs(u64);

impl Hasher for HashAsIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = XxHash3_64::oneshot(bytes);
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = value;
    }
}

impl Default for Cardinality {
    fn default() -> Cardinality {
        Cardinality {
            last: None,
            regime: Regime::Exact(HashSet::default()),
        }
    }
}

impl Cardinality {
    /// Counts an integer; zero is never counted.
    pub(crate) fn add_int64(&mut self, value: i64) {
        if value != 0 {
            self.add_hash(XxHash3_64::oneshot(&value.to_le_bytes()));
        }
    }

    /// Counts a byte string; the empty one is never counted.
    pub(crate) fn add_binary(&mut self, value: &[u8]) {
        if !value.is_empty() {
            self.add_hash(XxHash3_64::oneshot(value));
        }
    }

    fn add_hash(&mut self, hash: u64) {
        if self.last == Some(hash) {
            return;
        }
        self.last = Some(hash);
        match &mut self.regime {
            Regime::Exact(seen) => {
                seen.insert(hash);
                if seen.len() > MAX_EXACT {
                    let mut registers = vec![0u8; 1 << PRECISION].into_boxed_slice();
                    seen.iter().for_each(|&hash| raise(&mut registers, hash));
                    self.regime = Regime::Estimate(registers);
                }
            }
            Regime::Estimate(registers) => raise(registers, hash),
        }
    }

    /// At least 1 if any value was counted.
    pub(crate) fn estimate(&self) -> u64 {
        match &self.regime {
            Regime::Exact(seen) => seen.len() as u64,
            Regime::Estimate(registers) => estimate(registers),
        }
    }
}

fn raise(registers: &mut [u8], hash: u64) {
    let rank = (hash << PRECISION | 1 << (PRECISION - 1)).leading_zeros() as u8 + 1;
    if let Some(register) = registers.get_mut((hash >> (64 - PRECISION)) as usize) {
        *register = (*register).max(rank);
    }
}

fn estimate(registers: &[u8]) -> u64 {
    let count = registers.len() as f64;
    let alpha = 0.7213 / (1.0 + 1.079 / count);
    let raw = alpha * count * count / registers.iter().map(|&r| (-f64::from(r)).exp2()).sum::<f64>();
    let zeros = registers.iter().filter(|&&r| r == 0).count();
    let estimate = if raw <= 2.5 * count && zeros > 0 {
        count * (count / zeros as f64).ln()
    } else {
        raw
    };
    (estimate.round() as u64).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_while_small_and_close_beyond() {
        for distinct in [0u64, 1, 2, 1000, 1024, 1025, 5000, 20_000, 300_000] {
            let mut cardinality = Cardinality::default();
            for value in 0..=distinct as i64 {
                cardinality.add_int64(value);
                cardinality.add_int64(value);
            }
            let estimate = cardinality.estimate();
            let tolerance = if distinct <= 1024 { 0 } else { distinct / 15 };
            assert!(
                estimate.abs_diff(distinct) <= tolerance,
                "{distinct} estimated as {estimate}"
            );
        }
    }

    #[test]
    fn empty_values_do_not_count() {
        let mut cardinality = Cardinality::default();
        cardinality.add_binary(b"");
        assert_eq!(cardinality.estimate(), 0);
        cardinality.add_binary(b"x");
        assert_eq!(cardinality.estimate(), 1);
    }
}
