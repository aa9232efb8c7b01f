//! Byte strings one after another, each behind its length.
// hot path: no locks, no logging, no allocation per value.

use crate::error::Damage;
use crate::varint::{append_uvarint, read_uvarint};

/// Appends one value.
pub fn append(out: &mut Vec<u8>, value: &[u8]) {
    append_uvarint(out, value.len() as u64);
    out.extend_from_slice(value);
}

/// Walks over encoded values.
#[derive(Clone, Debug)]
pub struct Values<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// Up to so many bytes a value is copied in steps that may write past its end.
const MAX_STEPPED_BYTES: usize = 256;
const STEP: usize = 32;

/// Values up to this size stand in their view; of longer ones it holds the first four bytes and where they are.
const MAX_INLINE_BYTES: usize = 12;

impl<'a> Values<'a> {
    /// Starts at the first value of a page.
    pub fn new(bytes: &'a [u8]) -> Values<'a> {
        Values { bytes, at: 0 }
    }

    /// Goes on behind the first `position` bytes.
    pub(crate) fn at(bytes: &'a [u8], position: usize) -> Values<'a> {
        Values { bytes, at: position }
    }

    /// The next value.
    #[inline]
    pub fn next_value(&mut self) -> Result<&'a [u8], Damage> {
        match self.peek() {
            Some((prefix, value)) => {
                self.at += prefix + value.len();
                Ok(value)
            }
            None => Err(self.damage()),
        }
    }

    /// How many bytes were decoded.
    pub fn position(&self) -> usize {
        self.at
    }

    /// Passes over `count` values.
    pub fn skip(&mut self, count: usize) -> Result<(), Damage> {
        for _ in 0..count {
            self.next_value()?;
        }
        Ok(())
    }

    /// An error unless all bytes were decoded.
    pub fn finish(self) -> Result<(), Damage> {
        if self.at == self.bytes.len() {
            Ok(())
        } else {
            Err(Damage::new("bytes behind the last byte string"))
        }
    }

    /// Copies as many values as `ends` has places into `data` from `start` on, and notes where each ends. Returns the last end.
    /// What is behind it in `data` may be overwritten.
    pub fn copy_into(&mut self, data: &mut [u8], start: usize, ends: &mut [i32]) -> Result<usize, Damage> {
        let copied = self.copy_available(data, start, ends);
        if copied < ends.len() {
            self.next_value()?;
            return Err(Damage::new("byte strings are longer than their page"));
        }
        Ok(ends.last().map_or(start, |end| *end as usize))
    }

    /// [`Values::copy_into`] for as many values as are there in full; returns how many.
    pub(crate) fn copy_available(&mut self, data: &mut [u8], start: usize, ends: &mut [i32]) -> usize {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            // SAFETY: just checked.
            return unsafe { self.copy_available_avx2(data, start, ends) };
        }
        self.copy_available_portably(data, start, ends)
    }

    /// The same with steps of one instruction each.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn copy_available_avx2(&mut self, data: &mut [u8], start: usize, ends: &mut [i32]) -> usize {
        self.copy_available_portably(data, start, ends)
    }

    #[inline(always)]
    fn copy_available_portably(&mut self, data: &mut [u8], start: usize, ends: &mut [i32]) -> usize {
        let mut end = start;
        for (copied, slot) in ends.iter_mut().enumerate() {
            let Some((prefix, value)) = self.peek() else {
                return copied;
            };
            let begin = self.at + prefix;
            let behind = begin + value.len();
            let padding_read = self.bytes.len() - behind >= STEP;
            let padding_written = data.len().saturating_sub(end) >= value.len() + STEP;
            if value.len() <= MAX_STEPPED_BYTES && padding_read && padding_written {
                // SAFETY: from the value's start on, at least `STEP` bytes more than it has can be read (what is behind it in
                // `bytes`, of which the pointer is therefore made, not of `value`) and written (as checked against `data`); the
                // steps go at most `STEP - 1` bytes past its end. The two don't overlap: one is borrowed mutably.
                unsafe {
                    let (from, to) = (self.bytes.as_ptr().add(begin), data.as_mut_ptr().add(end));
                    copy_in_steps(from, to, value.len());
                }
            } else {
                let Some(target) = data.get_mut(end..end + value.len()) else {
                    return copied;
                };
                target.copy_from_slice(value);
            }
            self.at = behind;
            end += value.len();
            *slot = end as i32;
        }
        ends.len()
    }

    /// Writes an Arrow view of each of the next values: its length, and the value itself if it is short, else its first four
    /// bytes and where it stands in the encoded bytes, of which the buffer with number 0 must be made.
    pub fn view_into(&mut self, views: &mut [u128]) -> Result<(), Damage> {
        if self.view_available(views) < views.len() {
            self.next_value()?;
        }
        Ok(())
    }

    /// [`Values::view_into`] for as many values as are there in full; returns how many.
    pub(crate) fn view_available(&mut self, views: &mut [u128]) -> usize {
        for (viewed, slot) in views.iter_mut().enumerate() {
            let Some((prefix, value)) = self.peek() else {
                return viewed;
            };
            let start = self.at + prefix;
            self.at = start + value.len();
            let length = value.len() as u128;
            *slot = if value.len() > MAX_INLINE_BYTES {
                let first = u128::from(u32::from_le_bytes([value[0], value[1], value[2], value[3]]));
                length | first << 32 | (start as u128) << 96
            } else {
                length | u128::from_le_bytes(self.padded(value)) << 32
            };
        }
        views.len()
    }

    /// The next value and the bytes of its length, if both are there.
    #[inline(always)]
    fn peek(&self) -> Option<(usize, &'a [u8])> {
        let rest = self.bytes.get(self.at..)?;
        let (length, prefix) = match rest {
            [length @ ..0x80, ..] => (usize::from(*length), 1),
            [low, high @ ..0x80, ..] => (usize::from(*low & 0x7f) | usize::from(*high) << 7, 2),
            _ => long_length(rest)?,
        };
        Some((prefix, rest.get(prefix..)?.get(..length)?))
    }

    /// Why there is no next value.
    #[cold]
    fn damage(&self) -> Damage {
        match read_uvarint(self.bytes.get(self.at..).unwrap_or_default()) {
            None => Damage::new("length of a byte string is cut short or too long"),
            Some(_) => Damage::new("byte string is longer than its page"),
        }
    }

    /// A short value, which ends at `at`, with zeros behind it.
    #[inline]
    fn padded(&self, value: &[u8]) -> [u8; 16] {
        match self
            .bytes
            .get(self.at - value.len()..)
            .and_then(|bytes| bytes.first_chunk::<16>())
        {
            Some(sixteen) => (u128::from_le_bytes(*sixteen) & ((1u128 << (8 * value.len())) - 1)).to_le_bytes(),
            None => {
                let mut padded = [0; 16];
                padded[..value.len()].copy_from_slice(value);
                padded
            }
        }
    }
}

/// # Safety
/// `length` bytes rounded up to the next multiple of `STEP` must be readable at `from` and writable at `to`, without overlap.
#[inline]
unsafe fn copy_in_steps(from: *const u8, to: *mut u8, length: usize) {
    let mut done = 0;
    while done < length {
        // SAFETY: `done` is a multiple of `STEP` below `length`; the caller vouches for the whole step.
        unsafe {
            to.add(done)
                .cast::<[u8; STEP]>()
                .write(from.add(done).cast::<[u8; STEP]>().read());
        };
        done += STEP;
    }
}

#[cold]
fn long_length(bytes: &[u8]) -> Option<(usize, usize)> {
    let (length, prefix) = read_uvarint(bytes)?;
    Some((usize::try_from(length).ok()?, prefix))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn example_of_the_specification() {
        let mut out = Vec::new();
        for value in ["hi", "", "grün"] {
            append(&mut out, value.as_bytes());
        }
        assert_eq!(out, [2, 0x68, 0x69, 0, 5, 0x67, 0x72, 0xc3, 0xbc, 0x6e]);
    }

    /// Both ways to decode a page; equal if they agree on every value.
    fn decode(bytes: &[u8], count: usize, batch: usize) -> Result<Vec<Vec<u8>>, Damage> {
        let (mut values, mut viewed) = (Values::new(bytes), Values::new(bytes));
        let mut data = vec![0; bytes.len()];
        let (mut ends, mut views) = (vec![0; count], vec![0; count]);
        let mut end = 0;
        for ends in ends.chunks_mut(batch) {
            end = values.copy_into(&mut data, end, ends)?;
        }
        views.chunks_mut(batch).try_for_each(|views| viewed.view_into(views))?;
        values.finish()?;
        viewed.finish()?;
        let mut start = 0;
        let copied: Vec<Vec<u8>> = ends
            .iter()
            .map(|&end| data[std::mem::replace(&mut start, end as usize)..end as usize].to_vec())
            .collect();
        let seen = views.iter().map(|view| {
            let length = *view as u32 as usize;
            match length {
                ..=MAX_INLINE_BYTES => view.to_le_bytes()[4..4 + length].to_vec(),
                _ => bytes[(view >> 96) as usize..][..length].to_vec(),
            }
        });
        assert!(seen.eq(copied.iter().cloned()));
        Ok(copied)
    }

    fn values() -> impl Strategy<Value = Vec<Vec<u8>>> {
        let length = prop_oneof![0usize..20, 0usize..300, 100usize..140, 16_380usize..16_390];
        proptest::collection::vec(
            length.prop_flat_map(|length| proptest::collection::vec(any::<u8>(), length)),
            0..40,
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn round_trip(values in values(), batch in 1usize..50) {
            let mut out = Vec::new();
            for value in &values {
                append(&mut out, value);
            }
            prop_assert_eq!(&decode(&out, values.len(), batch).unwrap(), &values);
            prop_assert!(decode(&out, values.len() + 1, batch).is_err());
            prop_assert!(values.is_empty() || decode(&out, values.len() - 1, batch).is_err());
        }

        #[test]
        fn any_bytes_are_safe(bytes in proptest::collection::vec(any::<u8>(), 0..400), count in 0usize..100) {
            let _ = decode(&bytes, count, 7);
        }
    }
}
