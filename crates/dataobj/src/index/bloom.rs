//! Bloom filters over the values of a metadata key (specification chapter 10.3).
//!
//! ```text
//! u64be m   u64be k   u64be m   ceil(m / 64) x u64be word      bit p is bit p mod 64 of word p / 64
//! ```

use super::murmur3::murmur3;
use crate::error::Error;

/// Bytes before the words.
const HEADER_BYTES: usize = 24;

/// Values that a filter says it has although it was never given them: one in this many.
const FALSE_POSITIVE_ONE_IN: f64 = 128.0;

/// Most hash positions per value that a parsed filter may ask for. Filters sized as here have 8; without a bound a damaged
/// one could keep a reader busy for ever.
const MAX_HASHES: u64 = 64;

/// Largest filter, in bits: enough for 200 million values.
const MAX_BITS: u64 = 1 << 31;

/// A set of byte strings that may say yes to one it was never given, but never no to one that it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BloomFilter {
    bits: u64,
    hashes: u64,
    words: Vec<u64>,
}

impl BloomFilter {
    /// An empty filter for that many values: the cardinality of the column. With so many values in it one in 128 others
    /// seems to be there too.
    pub fn for_values(expected: u64) -> BloomFilter {
        let expected = expected.max(1) as f64;
        let ln_2 = std::f64::consts::LN_2;
        let bits = (expected * FALSE_POSITIVE_ONE_IN.ln() / (ln_2 * ln_2)).ceil();
        let hashes = (ln_2 * bits / expected).ceil();
        let bits = (bits as u64).clamp(1, MAX_BITS);
        BloomFilter {
            bits,
            hashes: (hashes as u64).clamp(1, MAX_HASHES),
            words: vec![0; bits.div_ceil(64) as usize],
        }
    }

    /// Reads a filter. What a damaged one means is the caller's to say: Loki takes it as "may contain" in pointers sections
    /// and as "does not contain" in postings.
    pub fn parse(bytes: &[u8]) -> Result<BloomFilter, Error> {
        let damaged = |reason: String| Error::BloomFilter { reason };
        let (header, rest) = bytes.as_chunks::<8>();
        let words: Vec<u64> = header.iter().map(|word| u64::from_be_bytes(*word)).collect();
        let [bits, hashes, again, words @ ..] = words.as_slice() else {
            return Err(damaged(format!(
                "{} bytes are less than its header of {HEADER_BYTES}",
                bytes.len()
            )));
        };
        if bits != again || *bits == 0 || *hashes == 0 {
            return Err(damaged(format!("{bits} bits, then {again}, {hashes} hashes")));
        }
        if *bits > MAX_BITS || *hashes > MAX_HASHES {
            return Err(damaged(format!(
                "{bits} bits and {hashes} hashes; the limits are {MAX_BITS} and {MAX_HASHES}"
            )));
        }
        if words.len() as u64 != bits.div_ceil(64) || !rest.is_empty() {
            return Err(damaged(format!("{bits} bits in {} bytes", bytes.len())));
        }
        Ok(BloomFilter {
            bits: *bits,
            hashes: *hashes,
            words: words.to_vec(),
        })
    }

    /// The filter as pointers and postings sections hold it.
    pub fn to_bytes(&self) -> Vec<u8> {
        let header = [self.bits, self.hashes, self.bits];
        header
            .iter()
            .chain(&self.words)
            .flat_map(|word| word.to_be_bytes())
            .collect()
    }

    /// Adds a value.
    pub fn insert(&mut self, value: &[u8]) {
        for position in positions(value, self.bits, self.hashes) {
            if let Some(word) = self.words.get_mut((position / 64) as usize) {
                *word |= 1 << (position % 64);
            }
        }
    }

    /// False if the value was never added; true if it was, and for one in 128 others.
    pub fn contains(&self, value: &[u8]) -> bool {
        positions(value, self.bits, self.hashes).all(|position| {
            let word = self.words.get((position / 64) as usize);
            word.is_some_and(|word| word >> (position % 64) & 1 == 1)
        })
    }
}

/// The bits of a value.
fn positions(value: &[u8], bits: u64, hashes: u64) -> impl Iterator<Item = u64> {
    let ([a1, a2], [b1, b2]) = (murmur3(value, &[]), murmur3(value, &[1]));
    // Every fourth position takes the same two of these four.
    let pairs = [(a1, b1), (a2, b2), (a1, b2), (a2, b1)];
    let pairs = pairs.into_iter().cycle();
    (0..hashes)
        .zip(pairs)
        .map(move |(i, (base, step))| base.wrapping_add(i.wrapping_mul(step)) % bits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The example of the specification.
    #[test]
    fn two_values() {
        assert_eq!(
            positions(b"alpha", 21, 8).collect::<Vec<_>>(),
            [7, 11, 0, 19, 13, 18, 7, 20]
        );
        let mut filter = BloomFilter::for_values(2);
        filter.insert(b"alpha");
        filter.insert(b"beta");
        let want = [
            &21u64.to_be_bytes()[..],
            &8u64.to_be_bytes(),
            &21u64.to_be_bytes(),
            &0x1d_79e1u64.to_be_bytes(),
        ]
        .concat();
        assert_eq!(filter.to_bytes(), want);
        assert_eq!(BloomFilter::parse(&want).unwrap(), filter);
    }

    /// The formula of the specification as it stands there.
    #[test]
    fn pairs_are_those_of_the_formula() {
        let ([a1, a2], [b1, b2]) = (murmur3(b"x", &[]), murmur3(b"x", &[1]));
        let h = [a1, a2, b1, b2];
        let formula = (0..64u64).map(|i| {
            let step = h[(2 + ((i + i % 2) % 4) / 2) as usize];
            h[(i % 2) as usize].wrapping_add(i.wrapping_mul(step)) % 1009
        });
        assert!(positions(b"x", 1009, 64).eq(formula));
    }

    #[test]
    fn damaged_filters_are_refused() {
        let good = BloomFilter::for_values(3).to_bytes();
        let with = |at: usize, value: u64| {
            let mut bytes = good.clone();
            bytes[at..at + 8].copy_from_slice(&value.to_be_bytes());
            BloomFilter::parse(&bytes).unwrap_err().to_string()
        };
        let refused = |bytes: &[u8]| BloomFilter::parse(bytes).unwrap_err().to_string();
        assert_eq!(
            refused(&[]),
            "corrupt: bloom filter: 0 bytes are less than its header of 24"
        );
        assert_eq!(
            refused(&good[..23]),
            "corrupt: bloom filter: 23 bytes are less than its header of 24"
        );
        assert_eq!(refused(&good[..31]), "corrupt: bloom filter: 31 bits in 31 bytes");
        assert_eq!(
            refused(&[&good[..], &[0]].concat()),
            "corrupt: bloom filter: 31 bits in 33 bytes"
        );
        assert_eq!(with(0, 30), "corrupt: bloom filter: 30 bits, then 31, 8 hashes");
        assert_eq!(with(8, 0), "corrupt: bloom filter: 31 bits, then 31, 0 hashes");
        let limits = "; the limits are 2147483648 and 64";
        assert_eq!(
            with(8, 1 << 63),
            format!("corrupt: bloom filter: 31 bits and 9223372036854775808 hashes{limits}")
        );
    }

    proptest! {
        #[test]
        fn what_was_added_is_there(values in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..40), 0..50)) {
            let mut filter = BloomFilter::for_values(values.len() as u64 / 2);
            values.iter().for_each(|value| filter.insert(value));
            let filter = BloomFilter::parse(&filter.to_bytes()).unwrap();
            prop_assert!(values.iter().all(|value| filter.contains(value)));
        }
    }

    #[test]
    fn few_others_seem_to_be_there() {
        let mut filter = BloomFilter::for_values(10_000);
        (0..10_000u32).for_each(|value| filter.insert(&value.to_le_bytes()));
        let others = 10_000..30_000u32;
        let seem = others.filter(|value| filter.contains(&value.to_le_bytes())).count();
        // One in 128 would be 156.
        assert!((100..220).contains(&seem), "{seem} of 20000");
    }
}
