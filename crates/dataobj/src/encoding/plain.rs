//! Byte strings one after another, each behind its length.
// hot path: no locks, no logging, no allocation per value.

use crate::error::Damage;
use crate::varint::{append_uvarint, read_uvarint};

/// Appends one value.
pub(crate) fn append(out: &mut Vec<u8>, value: &[u8]) {
    append_uvarint(out, value.len() as u64);
    out.extend_from_slice(value);
}

/// Walks over encoded values.
pub(crate) struct Values<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Values<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Values<'a> {
        Values { bytes, at: 0 }
    }

    /// The next value.
    #[inline]
    pub(crate) fn next_value(&mut self) -> Result<&'a [u8], Damage> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let Some((length, prefix)) = read_uvarint(rest) else {
            return Err(Damage::new("length of a byte string is cut short or too long"));
        };
        let value = usize::try_from(length)
            .ok()
            .and_then(|length| rest.get(prefix..prefix.checked_add(length)?));
        let Some(value) = value else {
            return Err(Damage::new("byte string is longer than its page"));
        };
        self.at += prefix + value.len();
        Ok(value)
    }

    /// Passes over `count` values.
    pub(crate) fn skip(&mut self, count: usize) -> Result<(), Damage> {
        for _ in 0..count {
            self.next_value()?;
        }
        Ok(())
    }

    fn is_at_end(&self) -> bool {
        self.at == self.bytes.len()
    }
}

/// Decodes exactly `count` values into one buffer, with the end of each. `count` must be at most `bytes.len()`, which
/// bounds what is allocated.
pub(crate) fn decode(bytes: &[u8], count: usize) -> Result<(Vec<u8>, Vec<i32>), Damage> {
    debug_assert!(count <= bytes.len());
    let mut data = Vec::with_capacity(bytes.len() - count);
    let mut ends = Vec::with_capacity(count);
    let mut values = Values::new(bytes);
    for _ in 0..count {
        data.extend_from_slice(values.next_value()?);
        ends.push(data.len() as i32);
    }
    if !values.is_at_end() {
        return Err(Damage::new("bytes behind the last byte string"));
    }
    Ok((data, ends))
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

    proptest! {
        #[test]
        fn round_trip(values in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..200), 0..50)) {
            let mut out = Vec::new();
            for value in &values {
                append(&mut out, value);
            }
            let (data, ends) = decode(&out, values.len()).unwrap();
            let mut start = 0;
            for (value, &end) in values.iter().zip(&ends) {
                prop_assert_eq!(value.as_slice(), &data[start..end as usize]);
                start = end as usize;
            }
            prop_assert_eq!(start, data.len());
        }

        #[test]
        fn any_bytes_are_safe(bytes in proptest::collection::vec(any::<u8>(), 0..100), count in 0usize..100) {
            let _ = decode(&bytes, count.min(bytes.len()));
        }
    }
}
