// hot path: no locks, no logging, nothing allocated per line.

//! Looking for bytes, a block at a time.
//!
//! Keys and values are short, so that a call of a searcher made for long texts costs more than the search. Here a block of bytes is
//! compared at once, in a register of 16 bytes where there is one, else in a number of 8:
//!
//! ```text
//!   text        s  t  a  t  u  s  =  2        s  t  a  t  u  s  =  2
//!   equal(=)    0  0  0  0  0  0  1  0        00 00 00 00 00 00 80 ??
//!               one bit per byte: SSE2        highest bit of each byte; those behind the first hit may be wrong,
//!                                             since subtraction borrows from there
//! ```

#[cfg(target_arch = "x86_64")]
use wide as machine;

#[cfg(not(target_arch = "x86_64"))]
use narrow as machine;

pub(super) use machine::{Block, Marks};

/// Where from `start` on the first byte stands that `mark` marks.
#[inline]
pub(super) fn find_byte(text: &[u8], start: usize, mark: impl Fn(Block) -> Marks) -> Option<usize> {
    const BYTES: usize = Block::BYTES;
    let mut at = start;
    let mut rest = text.get(start..)?;
    while let Some((chunk, after)) = rest.split_first_chunk::<BYTES>() {
        if let Some(first) = mark(Block::new(chunk)).first() {
            return Some(at + first);
        }
        at += BYTES;
        rest = after;
    }
    if rest.is_empty() {
        return None;
    }
    // What is left is shorter than a block.
    let mut chunk = [0; BYTES];
    chunk[..rest.len()].copy_from_slice(rest);
    let first = mark(Block::new(&chunk)).first()?;
    (first < rest.len()).then(|| at + first)
}

#[cfg(target_arch = "x86_64")]
mod wide {
    use std::arch::x86_64::{__m128i, _mm_cmpeq_epi8, _mm_min_epu8, _mm_movemask_epi8, _mm_or_si128, _mm_set1_epi8};

    /// Sixteen bytes.
    #[derive(Clone, Copy)]
    pub(in super::super) struct Block(__m128i);

    /// Which bytes of a block are marked.
    #[derive(Clone, Copy)]
    pub(in super::super) struct Marks(__m128i);

    impl Block {
        pub(super) const BYTES: usize = 16;

        #[inline]
        pub(super) fn new(bytes: &[u8; Self::BYTES]) -> Self {
            // SAFETY: sixteen bytes of any value are a register of sixteen bytes.
            Self(unsafe { std::mem::transmute::<[u8; 16], __m128i>(*bytes) })
        }

        /// Marks the bytes that are this one.
        #[inline]
        pub(in super::super) fn equal(self, byte: u8) -> Marks {
            // SAFETY: every x86_64 has SSE2.
            Marks(unsafe { _mm_cmpeq_epi8(self.0, _mm_set1_epi8(byte as i8)) })
        }

        /// Marks the bytes up to this one.
        #[inline]
        pub(in super::super) fn up_to(self, byte: u8) -> Marks {
            // SAFETY: every x86_64 has SSE2.
            Marks(unsafe { _mm_cmpeq_epi8(_mm_min_epu8(self.0, _mm_set1_epi8(byte as i8)), self.0) })
        }
    }

    impl std::ops::BitOr for Marks {
        type Output = Self;

        #[inline]
        fn bitor(self, other: Self) -> Self {
            // SAFETY: every x86_64 has SSE2.
            Self(unsafe { _mm_or_si128(self.0, other.0) })
        }
    }

    impl Marks {
        /// The first marked byte.
        #[inline]
        pub(super) fn first(self) -> Option<usize> {
            // SAFETY: every x86_64 has SSE2.
            let bits = unsafe { _mm_movemask_epi8(self.0) };
            (bits != 0).then(|| bits.trailing_zeros() as usize)
        }
    }
}

#[cfg(any(test, not(target_arch = "x86_64")))]
mod narrow {
    const LOWEST: u64 = 0x0101_0101_0101_0101;
    const HIGHEST: u64 = 0x8080_8080_8080_8080;

    /// Eight bytes.
    #[derive(Clone, Copy)]
    pub(in super::super) struct Block(u64);

    /// Which bytes of a block are marked; right up to the first one.
    #[derive(Clone, Copy)]
    pub(in super::super) struct Marks(u64);

    impl Block {
        pub(super) const BYTES: usize = 8;

        #[inline]
        pub(super) fn new(bytes: &[u8; Self::BYTES]) -> Self {
            Self(u64::from_le_bytes(*bytes))
        }

        /// Marks the bytes that are this one.
        #[inline]
        pub(in super::super) fn equal(self, byte: u8) -> Marks {
            let differing = self.0 ^ (LOWEST * u64::from(byte));
            Marks(differing.wrapping_sub(LOWEST) & !differing & HIGHEST)
        }

        /// Marks the bytes up to this one, which is less than 0x80.
        #[inline]
        pub(in super::super) fn up_to(self, byte: u8) -> Marks {
            Marks(self.0.wrapping_sub(LOWEST * (u64::from(byte) + 1)) & !self.0 & HIGHEST)
        }
    }

    impl std::ops::BitOr for Marks {
        type Output = Self;

        #[inline]
        fn bitor(self, other: Self) -> Self {
            Self(self.0 | other.0)
        }
    }

    impl Marks {
        /// The first marked byte.
        #[inline]
        pub(super) fn first(self) -> Option<usize> {
            (self.0 != 0).then(|| self.0.trailing_zeros() as usize / 8)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_first_one_at_every_place() {
        for (length, at) in (0..40).flat_map(|length| (0..=length).map(move |at| (length, at))) {
            for (filler, wanted) in [
                (b'x', b'='),
                (0x7f, b' '),
                (0x80, 0),
                (0xff, 0xef),
                (b'!', b' '),
                (b'<', b'"'),
            ] {
                let mut text = vec![filler; length];
                // A neighbour right behind must not mislead.
                for (byte, at) in [(wanted, at), (wanted.wrapping_add(1), at + 1), (wanted, at + 2)] {
                    if let Some(place) = text.get_mut(at) {
                        *place = byte;
                    }
                }
                for start in 0..=length {
                    let f = |is_it: fn(u8) -> bool, found: Option<usize>| {
                        let plain = text[start..]
                            .iter()
                            .position(|&byte| is_it(byte))
                            .map(|found| start + found);
                        assert_eq!(found, plain, "{text:?} from {start}");
                    };
                    f(|b| b == b'=', find_byte(&text, start, |block| block.equal(b'=')));
                    f(|b| b == 0xef, find_byte(&text, start, |block| block.equal(0xef)));
                    f(|b| b <= b' ', find_byte(&text, start, |block| block.up_to(b' ')));
                    let either = |b| b <= b' ' || b == b'=' || b == b'"';
                    let found = find_byte(&text, start, |block| {
                        block.up_to(b' ') | block.equal(b'=') | block.equal(b'"')
                    });
                    f(either, found);
                }
            }
        }
    }

    #[test]
    fn both_sizes_of_blocks_mark_the_same() {
        for byte in 0..=u8::MAX {
            for filler in [0, b' ', b'"', 0x7f, 0x80, 0xff] {
                let mut bytes = [filler; 16];
                bytes[3] = byte;
                let small = narrow::Block::new(bytes.first_chunk().expect("long enough"));
                let large = Block::new(&bytes);
                for wanted in [b'"', b'=', 0, 0x7f, byte] {
                    assert_eq!(small.equal(wanted).first(), large.equal(wanted).first());
                }
                for limit in [0, b' ', 0x7e] {
                    assert_eq!(
                        (small.up_to(limit) | small.equal(b'"')).first(),
                        (large.up_to(limit) | large.equal(b'"')).first()
                    );
                }
            }
        }
    }
}
