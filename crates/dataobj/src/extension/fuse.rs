//! Binary fuse filters with fingerprints of any width (docs/extension-sections.md chapter 3).
//!
//! A set of keys of 24 bits, the upper ones of 32, in about 1.15 times the fingerprint's bits per key, where a Bloom filter of the same rate of false
//! positives takes 1.44 times. After Graf and Lemire, "Binary Fuse Filters: Fast and Smaller Than Xor Filters" (2022).
//!
//! ```text
//! keys, ascending, without repeats      slots: segments of 2^s slots, each with a fingerprint of `width` bits
//!
//!   key --+--> slot 0, in segment i      [ .... | .... | .... | .... ]
//!         +--> slot 1, in segment i+1       ^a     ^b     ^c             a xor b xor c = fingerprint(key)
//!         +--> slot 2, in segment i+2
//! ```
// hot path: no locks, no logging, no allocation per key.

use crate::error::Damage;

/// Bytes before the fingerprints: width, attempt, segment shift, and the number of first segments.
const HEADER_BYTES: usize = 7;

/// Seeds tried until the keys can be told apart. Each fails for fewer than one set in a hundred.
const ATTEMPTS: u8 = 16;

/// Widest fingerprint, in bits.
pub(super) const MAX_WIDTH: u8 = 16;

/// The bits of a key that are zero; while a filter is built, the number of keys of a slot.
const COUNT: u32 = (1 << KEY_SHIFT) - 1;

/// Keys are told apart by the bits from this one on.
pub(super) const KEY_SHIFT: u32 = 8;

/// Largest segment, as a power of two: 2^18 slots do for any number of keys.
const MAX_SEGMENT_SHIFT: u8 = 18;

/// A set of keys that answers "certainly not" or "perhaps", over stored bytes.
#[derive(Clone, Copy, Debug)]
pub struct FuseFilter<'a> {
    shape: Shape,
    seed: u64,
    width: u32,
    fingerprints: &'a [u8],
}

/// Where keys lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shape {
    /// A segment has 2^shift slots.
    segment_shift: u32,
    /// Segments in which a first slot may lie; two more follow.
    first_segments: u32,
}

/// Builds filters one after another; keeps its buffers.
#[derive(Debug, Default)]
pub struct FuseBuilder {
    /// Per slot its keys xor-ed in the upper 24 bits, and their number in the lower 8.
    slots: Vec<u32>,
    pending: Vec<u32>,
    /// Keys in the order in which they were peeled off, each with the slot that it has for itself.
    peeled: Vec<(u32, u32)>,
    fingerprints: Vec<u16>,
}

impl Shape {
    /// A little more room with each attempt: for some numbers of keys the formula of the paper is tight.
    fn for_keys(keys: usize, attempt: u8) -> Shape {
        let count = keys.max(2) as f64;
        let shift = (count.ln() / 3.33f64.ln() + 2.25).floor();
        let segment_shift = (shift as u32).min(u32::from(MAX_SEGMENT_SHIFT));
        let factor = (0.875 + 0.25 * 1e6f64.ln() / count.ln()).max(1.125) + 0.02 * f64::from(attempt);
        let slots = (count * factor).round() as u64;
        let first_segments = slots.div_ceil(1 << segment_shift).saturating_sub(2).max(1) as u32;
        Shape {
            segment_shift,
            first_segments,
        }
    }

    fn slots(self) -> usize {
        (self.first_segments as usize + 2) << self.segment_shift
    }

    /// The three slots of a key. The first one ascends with the key, so that keys in order touch memory in order.
    #[inline]
    fn places(self, key: u32, seed: u64) -> [usize; 3] {
        let hash = (u64::from(key) ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let segment = 1u64 << self.segment_shift;
        let first = (u64::from(key) * (u64::from(self.first_segments) << self.segment_shift)) >> 32;
        let second = (first + segment) ^ ((hash >> 46) & (segment - 1));
        let third = (first + 2 * segment) ^ ((hash >> 32) & (segment - 1));
        [first as usize, second as usize, third as usize]
    }
}

/// Bytes that the filter of so many keys takes, unless the first attempt fails.
pub(super) fn filter_bytes(keys: usize, width: u8) -> usize {
    HEADER_BYTES + (Shape::for_keys(keys, 0).slots() * usize::from(width)).div_ceil(8)
}

fn seed(attempt: u8) -> u64 {
    mix(u64::from(attempt) + 1)
}

/// The finalizer of MurmurHash3.
fn mix(mut value: u64) -> u64 {
    value ^= value >> 33;
    value = value.wrapping_mul(0xff51_afd7_ed55_8ccd);
    value ^= value >> 33;
    value = value.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    value ^ (value >> 33)
}

#[inline]
fn fingerprint(key: u32, width: u32) -> u16 {
    (mixed(key) >> (32 - width)) as u16
}

/// Bits of a key that have nothing to do with its slots.
#[inline]
fn mixed(key: u32) -> u32 {
    (key ^ (key >> 15)).wrapping_mul(0x2c1b_3c6d)
}

impl FuseBuilder {
    /// Appends the filter of `keys`, which ascend without repeats and whose lowest 8 bits are zero. False, and nothing appended, for keys that can't be told
    /// apart, which does not happen by chance.
    pub fn append(&mut self, out: &mut Vec<u8>, keys: &[u32], width: u8) -> bool {
        debug_assert!(keys.is_sorted_by(|a, b| a < b), "keys ascend without repeats");
        debug_assert!(keys.iter().all(|key| key & COUNT == 0), "the lowest bits are zero");
        debug_assert!((1..=MAX_WIDTH).contains(&width), "width is in its range");
        let attempts = (0..ATTEMPTS).map(|attempt| (attempt, Shape::for_keys(keys.len(), attempt)));
        let mut attempts = attempts.filter(|(attempt, shape)| self.peel(keys, *shape, seed(*attempt)));
        let Some((attempt, shape)) = attempts.next() else {
            return false;
        };
        self.assign(shape, seed(attempt), u32::from(width));
        out.extend_from_slice(&[width, attempt, shape.segment_shift as u8]);
        out.extend_from_slice(&shape.first_segments.to_le_bytes());
        pack(out, &self.fingerprints, u32::from(width));
        true
    }

    /// Takes keys off one by one, always one that has a slot for itself; false if some are left.
    fn peel(&mut self, keys: &[u32], shape: Shape, seed: u64) -> bool {
        self.slots.clear();
        self.slots.resize(shape.slots(), 0);
        self.pending.clear();
        self.peeled.clear();
        self.peeled.reserve(keys.len());
        let slots = self.slots.as_mut_slice();
        for &key in keys {
            for slot in shape.places(key, seed) {
                if slots[slot] & COUNT == COUNT {
                    return false;
                }
                slots[slot] = (slots[slot] ^ key) + 1;
            }
        }
        for start in 0..slots.len() {
            if slots[start] & COUNT != 1 {
                continue;
            }
            self.pending.push(start as u32);
            while let Some(slot) = self.pending.pop() {
                let key = slots[slot as usize] ^ 1;
                if key & COUNT != 0 {
                    continue;
                }
                self.peeled.push((key, slot));
                for other in shape.places(key, seed) {
                    slots[other] = (slots[other] ^ key) - 1;
                    if slots[other] & COUNT == 1 {
                        self.pending.push(other as u32);
                    }
                }
            }
        }
        self.peeled.len() == keys.len()
    }

    fn assign(&mut self, shape: Shape, seed: u64, width: u32) {
        self.fingerprints.clear();
        self.fingerprints.resize(shape.slots(), 0);
        let slots = self.fingerprints.as_mut_slice();
        for &(key, own) in self.peeled.iter().rev() {
            let [a, b, c] = shape.places(key, seed);
            slots[own as usize] = 0;
            slots[own as usize] = fingerprint(key, width) ^ slots[a] ^ slots[b] ^ slots[c];
        }
    }
}

/// Appends the low `width` bits of each value as one little-endian bit string.
fn pack(out: &mut Vec<u8>, values: &[u16], width: u32) {
    out.reserve((values.len() * width as usize).div_ceil(8));
    let (mut bits, mut held) = (0u64, 0u32);
    for value in values {
        bits |= u64::from(*value) << held;
        held += width;
        while held >= 8 {
            out.push(bits as u8);
            bits >>= 8;
            held -= 8;
        }
    }
    if held > 0 {
        out.push(bits as u8);
    }
}

impl<'a> FuseFilter<'a> {
    /// Takes a stored filter, which must fill `bytes` exactly.
    pub(crate) fn parse(bytes: &'a [u8]) -> Result<FuseFilter<'a>, Damage> {
        let Some((&[width, attempt, segment_shift, a, b, c, d], fingerprints)) =
            bytes.split_first_chunk::<HEADER_BYTES>()
        else {
            return Err(Damage::new(format!(
                "filter of {} bytes has no room for its header",
                bytes.len()
            )));
        };
        if !(1..=MAX_WIDTH).contains(&width) || segment_shift > MAX_SEGMENT_SHIFT {
            return Err(Damage::new(format!(
                "filter with fingerprints of {width} bits in segments of 2^{segment_shift}"
            )));
        }
        let first_segments = u32::from_le_bytes([a, b, c, d]);
        let slots = (u64::from(first_segments) + 2) << segment_shift;
        let expected = (slots * u64::from(width)).div_ceil(8);
        // More slots than keys have values are never made, and could not be multiplied with one.
        let is_odd = first_segments == 0 || slots > u64::from(u32::MAX);
        if is_odd || expected != fingerprints.len() as u64 {
            return Err(Damage::new(format!(
                "filter of {} bytes of fingerprints where {slots} slots take {expected}",
                fingerprints.len()
            )));
        }
        Ok(FuseFilter {
            shape: Shape {
                segment_shift: u32::from(segment_shift),
                first_segments,
            },
            seed: seed(attempt),
            width: u32::from(width),
            fingerprints,
        })
    }

    /// Takes a stored filter; `None` if it isn't one.
    pub fn from_bytes(bytes: &'a [u8]) -> Option<FuseFilter<'a>> {
        FuseFilter::parse(bytes).ok()
    }

    /// False only if the key was not among those that the filter was built of.
    pub fn contains(&self, key: u32) -> bool {
        let [a, b, c] = self.shape.places(key, self.seed);
        let stored = self.slot(a) ^ self.slot(b) ^ self.slot(c);
        (stored ^ u32::from(fingerprint(key, self.width))) & (u32::MAX >> (32 - self.width)) == 0
    }

    /// The fingerprint of a slot, with other bits above it.
    #[inline]
    fn slot(&self, slot: usize) -> u32 {
        let bit = slot * self.width as usize;
        let byte = |at: usize| u32::from(self.fingerprints.get(at).copied().unwrap_or(0));
        let at = bit / 8;
        (byte(at) | byte(at + 1) << 8 | byte(at + 2) << 16) >> (bit % 8)
    }
}

/// Sorts keys whose lowest 8 bits are zero and drops repeats: by twelve bits at a time, in half the time of a comparing
/// sort. `other` is a buffer.
pub fn sort_keys(keys: &mut Vec<u32>, other: &mut Vec<u32>) {
    if keys.len() < 2048 {
        keys.sort_unstable();
    } else {
        other.clear();
        other.resize(keys.len(), 0);
        for shift in [8u32, 20] {
            let digit = |key: u32| (key >> shift) as usize & 4095;
            let mut starts = [0u32; 4096];
            for key in keys.iter() {
                starts[digit(*key)] += 1;
            }
            let mut sum = 0;
            for start in &mut starts {
                sum += std::mem::replace(start, sum);
            }
            for key in keys.iter() {
                let start = &mut starts[digit(*key)];
                other[*start as usize] = *key;
                *start += 1;
            }
            std::mem::swap(keys, other);
        }
    }
    keys.dedup();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(count: usize, salt: u64) -> Vec<u32> {
        let mut keys: Vec<u32> = (0..count as u64).map(|i| mix(i ^ salt << 32) as u32 & !COUNT).collect();
        sort_keys(&mut keys, &mut Vec::new());
        keys
    }

    #[test]
    fn sorting_agrees_with_the_standard_library() {
        for count in [0, 1, 2, 100, 2047, 2048, 10_000] {
            let mut ours: Vec<u32> = (0..count).map(|i| (mix(i) as u32 >> (i % 20)) & !COUNT).collect();
            let mut theirs = ours.clone();
            sort_keys(&mut ours, &mut Vec::new());
            theirs.sort_unstable();
            theirs.dedup();
            assert_eq!(ours, theirs, "{count}");
        }
    }

    #[test]
    fn every_key_is_found_and_few_others() {
        let mut builder = FuseBuilder::default();
        for width in 1..=MAX_WIDTH {
            for count in [0, 1, 2, 3, 10, 100, 1000, 20_000] {
                let keys = keys(count, u64::from(width));
                let mut bytes = Vec::new();
                assert!(builder.append(&mut bytes, &keys, width), "{count} keys, {width} bits");
                let filter = FuseFilter::parse(&bytes).unwrap();
                assert!(
                    keys.iter().all(|key| filter.contains(*key)),
                    "{count} keys, {width} bits"
                );
                let others = (0..4096u64).map(|i| mix(i ^ 1 << 40) as u32 & !COUNT);
                let positives = others.filter(|key| keys.binary_search(key).is_err() && filter.contains(*key));
                let expected = 4096 >> width;
                assert!(positives.count() <= 32 + expected * 3 / 2, "{count} keys, {width} bits");
                let bits = bytes.len() * 8;
                assert!(
                    count < 20_000 || bits < count * usize::from(width) * 13 / 10,
                    "{bits} bits"
                );
            }
        }
    }

    #[test]
    fn keys_that_cannot_be_told_apart_are_refused() {
        // More keys than three neighbouring segments have slots.
        let crowded: Vec<u32> = (0..100_000).map(|key| key << 8).collect();
        assert!(!FuseBuilder::default().append(&mut Vec::new(), &crowded, 8));
    }

    #[test]
    fn other_bytes_are_refused() {
        let mut bytes = Vec::new();
        assert!(FuseBuilder::default().append(&mut bytes, &keys(100, 0), 3));
        assert!(FuseFilter::parse(&bytes).is_ok());
        for cut in 0..bytes.len() {
            assert!(FuseFilter::parse(&bytes[..cut]).is_err(), "{cut}");
        }
        let f = |at: usize, value: u8| {
            let mut changed = bytes.clone();
            changed[at] = value;
            assert!(FuseFilter::parse(&changed).is_err(), "byte {at} = {value}");
        };
        f(0, 0);
        f(0, MAX_WIDTH + 1);
        f(0, 4);
        f(2, MAX_SEGMENT_SHIFT + 1);
        f(2, 255);
        f(3, 0);
        f(6, 255);
    }
}
