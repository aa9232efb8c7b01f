// hot path: no locks, no logging, no allocation.
//! What all encodings share: the shape of a column, and how numbers lie in bytes.

/// How many samples are packed, and decoded, together. A part of the format.
pub const BLOCK: usize = 128;

/// A column of a chunk, opened over bytes that have been checked.
pub(crate) trait Column {
    /// A timestamp or a value.
    type Item;

    /// Fills `out` with the items from an index on; there are that many.
    fn fill(&self, start: usize, out: &mut [Self::Item]);

    /// The item at an index of the column.
    fn at(&self, index: usize) -> Self::Item;
}

/// Eight bytes, little-endian.
#[inline]
pub(crate) fn read_u64(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
}

/// Two bytes, little-endian.
#[inline]
pub(crate) fn read_u16(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

/// Up to eight bytes, little-endian.
#[inline]
pub(crate) fn read_short(bytes: &[u8], at: usize, count: usize) -> u64 {
    if count == 0 {
        return 0;
    }
    if at + 8 <= bytes.len() {
        return read_u64(bytes, at) & (u64::MAX >> (64 - 8 * count));
    }
    let ascending = bytes[at..at + count].iter().rev();
    ascending.fold(0, |word, byte| word << 8 | u64::from(*byte))
}

/// As [`read_short`], of a signed number.
#[inline]
pub(crate) fn read_short_signed(bytes: &[u8], at: usize, count: usize) -> i64 {
    if count == 0 {
        return 0;
    }
    let unused = 64 - 8 * count;
    (read_short(bytes, at, count) << unused) as i64 >> unused
}

/// How many bytes hold an unsigned number; none for 0.
pub(crate) fn short_bytes(number: u64) -> usize {
    (64 - number.leading_zeros()).div_ceil(8) as usize
}

/// How many bytes hold a signed number; none for 0.
pub(crate) fn short_bytes_signed(number: i64) -> usize {
    if number == 0 {
        return 0;
    }
    // One more bit for the sign.
    (65 - (number ^ (number >> 63)).leading_zeros()).div_ceil(8) as usize
}

/// Appends the low bytes of a number.
pub(crate) fn append_short(out: &mut Vec<u8>, number: u64, count: usize) {
    out.extend_from_slice(&number.to_le_bytes()[..count]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_numbers_round_trip() {
        let edges = (0..64).flat_map(|bit| [(1u64 << bit) - 1, 1 << bit, !(1u64 << bit)]);
        for number in edges.chain([u64::MAX]) {
            for padding in [0, 9] {
                let mut bytes = vec![0xaa];
                append_short(&mut bytes, number, short_bytes(number));
                bytes.extend(std::iter::repeat_n(0xbb, padding));
                assert_eq!(read_short(&bytes, 1, short_bytes(number)), number);
                let signed = number as i64;
                let mut bytes = vec![0xaa];
                append_short(&mut bytes, number, short_bytes_signed(signed));
                bytes.extend(std::iter::repeat_n(0xbb, padding));
                assert_eq!(read_short_signed(&bytes, 1, short_bytes_signed(signed)), signed);
            }
        }
    }
}
