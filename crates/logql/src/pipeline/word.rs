// hot path: no locks, no logging, nothing allocated per line.

//! Looking for bytes, eight at a time.
//!
//! Keys and values are short, so that a call of a searcher made for long texts costs more than the search. Here eight bytes are one
//! number, and a byte that is looked for leaves its highest bit set:
//!
//! ```text
//!   text      s  t  a  t  u  s  =  2
//!   equal(=)  00 00 00 00 00 00 80 ??     first hit: trailing zeros / 8 = 6
//! ```
//!
//! Bits behind the first hit may be wrong, since subtraction borrows from there; the first one is right.

const LOWEST: u64 = 0x0101_0101_0101_0101;
const HIGHEST: u64 = 0x8080_8080_8080_8080;

/// Eight bytes.
#[derive(Clone, Copy)]
pub(super) struct Word(u64);

impl Word {
    /// Marks the bytes that are this one.
    #[inline]
    pub(super) fn equal(self, byte: u8) -> u64 {
        let differing = self.0 ^ (LOWEST * u64::from(byte));
        differing.wrapping_sub(LOWEST) & !differing & HIGHEST
    }

    /// Marks the bytes below this one, which is at most 0x80.
    #[inline]
    pub(super) fn below(self, byte: u8) -> u64 {
        self.0.wrapping_sub(LOWEST * u64::from(byte)) & !self.0 & HIGHEST
    }
}

/// Where from `start` on the first byte stands that is looked for. `mark` marks such bytes in a word, `is_it` tells of one.
#[inline]
pub(super) fn find_byte(
    text: &[u8],
    start: usize,
    mark: impl Fn(Word) -> u64,
    is_it: impl Fn(u8) -> bool,
) -> Option<usize> {
    let mut at = start;
    let mut rest = text.get(start..)?;
    while let Some((chunk, after)) = rest.split_first_chunk::<8>() {
        let marks = mark(Word(u64::from_le_bytes(*chunk)));
        if marks != 0 {
            return Some(at + marks.trailing_zeros() as usize / 8);
        }
        at += 8;
        rest = after;
    }
    let found = rest.iter().position(|&byte| is_it(byte))?;
    Some(at + found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_first_one_at_every_place() {
        for length in 0..40 {
            for at in 0..=length {
                for filler in [b'x', 0x7f, 0x80, 0xff, b'!'] {
                    for (wanted, mark) in [
                        (b'=', (|word: Word| word.equal(b'=')) as fn(Word) -> u64),
                        (b' ', |word| word.below(0x21)),
                        (0, |word| word.below(0x21)),
                        (0xef, |word| word.equal(0xef)),
                    ] {
                        let mut text = vec![filler; length];
                        if let Some(byte) = text.get_mut(at) {
                            *byte = wanted;
                        }
                        // Another one right behind must not mislead.
                        if let Some(byte) = text.get_mut(at + 1) {
                            *byte = wanted.wrapping_add(1);
                        }
                        let is_it = |byte: u8| mark(Word(u64::from_le_bytes([byte, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]))) & 0x80 != 0;
                        for start in 0..=length {
                            let plain = text[start..].iter().position(|&b| is_it(b)).map(|found| start + found);
                            assert_eq!(find_byte(&text, start, mark, is_it), plain, "{text:?} from {start}");
                        }
                    }
                }
            }
        }
    }
}
