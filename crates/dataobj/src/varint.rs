//! Variable-length integers: base 128, low group first; signed ones in zigzag form.
// hot path: no locks, no logging, no allocation per value.

use crate::error::Damage;

const HIGH_BITS: u64 = 0x8080_8080_8080_8080;

pub(crate) fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)).cast_unsigned()
}

pub(crate) fn unzigzag(value: u64) -> i64 {
    (value >> 1).cast_signed() ^ -(value & 1).cast_signed()
}

pub(crate) fn uvarint_len(value: u64) -> usize {
    (70 - (value | 1).leading_zeros() as usize) / 7
}

pub(crate) fn append_uvarint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// True if the next eight bytes are eight varints of one byte each.
#[inline]
pub(crate) fn is_eight_singles(word: u64) -> bool {
    word & HIGH_BITS == 0
}

/// The varint at the start of `bytes` and its length; `None` if it is cut short or longer than 64 bits.
#[inline]
pub(crate) fn read_uvarint(bytes: &[u8]) -> Option<(u64, usize)> {
    if let Some(chunk) = bytes.first_chunk::<8>() {
        let word = u64::from_le_bytes(*chunk);
        let stops = !word & HIGH_BITS;
        if stops != 0 {
            let bits = stops.trailing_zeros() + 1;
            return Some((join_groups(word & (u64::MAX >> (64 - bits))), bits as usize / 8));
        }
    }
    read_uvarint_bytewise(bytes)
}

/// Joins the low seven bits of eight bytes into 56 bits: pairs, then pairs of pairs, then halves.
#[inline]
fn join_groups(word: u64) -> u64 {
    let word = (word & 0x007f_007f_007f_007f) | ((word & 0x7f00_7f00_7f00_7f00) >> 1);
    let word = (word & 0x0000_3fff_0000_3fff) | ((word & 0x3fff_0000_3fff_0000) >> 2);
    (word & 0x0000_0000_0fff_ffff) | ((word & 0x0fff_ffff_0000_0000) >> 4)
}

#[cold]
fn read_uvarint_bytewise(bytes: &[u8]) -> Option<(u64, usize)> {
    let mut value = 0u64;
    for (i, &byte) in bytes.iter().take(10).enumerate() {
        if i == 9 && byte > 1 {
            return None;
        }
        value |= u64::from(byte & 0x7f) << (7 * i);
        if byte < 0x80 {
            return Some((value, i + 1));
        }
    }
    None
}

/// Reads a varint and cuts it off the front of `bytes`.
pub(crate) fn take_uvarint(bytes: &mut &[u8]) -> Result<u64, Damage> {
    let (value, length) = read_uvarint(bytes).ok_or(Damage::new("varint is cut short or too long"))?;
    *bytes = bytes.get(length..).unwrap_or_default();
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn signed_examples_of_the_specification() {
        let check = |value: i64, want: &[u8]| {
            let mut out = Vec::new();
            append_uvarint(&mut out, zigzag(value));
            assert_eq!(out, want);
            assert_eq!(
                read_uvarint(&out).map(|(v, n)| (unzigzag(v), n)),
                Some((value, want.len()))
            );
        };
        check(0, &[0]);
        check(-1, &[1]);
        check(1, &[2]);
        check(-64, &[0x7f]);
        check(64, &[0x80, 1]);
        check(i64::MIN, &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]);
        check(i64::MAX, &[0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]);
        check(
            1_700_000_000_000_000_000,
            &[0x80, 0x80, 0xd0, 0xe2, 0xc6, 0xbf, 0xce, 0x97, 0x2f],
        );
    }

    #[test]
    fn bad_varints_are_refused() {
        for bytes in [
            &[][..],
            &[0x80],
            &[0xff; 9],
            &[0xff; 11],
            &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2],
        ] {
            assert_eq!(read_uvarint(bytes), None, "{bytes:?}");
        }
    }

    proptest! {
        #[test]
        fn round_trip_with_anything_behind(value in any::<u64>(), shift in 0u32..64, tail in proptest::collection::vec(any::<u8>(), 0..12)) {
            let value = value >> shift;
            let mut out = Vec::new();
            append_uvarint(&mut out, value);
            prop_assert_eq!(out.len(), uvarint_len(value));
            let length = out.len();
            out.extend_from_slice(&tail);
            prop_assert_eq!(read_uvarint(&out), Some((value, length)));
        }
    }
}
