// hot path: no locks, no logging, no allocation per number.
//! Blocks of up to 128 unsigned numbers of equal width, 0 to 64 bits.
//!
//! Four lanes lie side by side, so that one instruction unpacks four numbers on every x86-64 (and most other processors); number `i` is
//! in lane `i % 4` and row `i / 4`. A lane is a stream of bits in words of 32, of which only those that have a row are stored:
//!
//! ```text
//! width 12       lane 0        lane 1        lane 2        lane 3
//! word 0    8 | 4 | 0     9 | 5 | 1    10 | 6 | 2    11 | 7 | 3       numbers by index; row 0 in the lowest bits
//! word 1   20|16|12| 8   21|17|13| 9   22|18|14|10   23|19|15|11      rows cross words
//! ```
//!
//! Of wider numbers the low 32 bits are packed first, and what is above them after that.

use super::column::BLOCK;

const LANES: usize = 4;
const WORD_BITS: usize = 32;
const WORD_BYTES: usize = 4;
/// Bytes from a word of a lane to the next one.
const STRIDE: usize = LANES * WORD_BYTES;
/// Bytes of the widest block of narrow numbers.
const MAX_BYTES: usize = BLOCK * WORD_BYTES;

/// The widest numbers that [`unpack_narrow`] gives.
pub(crate) const NARROW: usize = WORD_BITS;

/// Numbers of up to 32 bits.
pub(crate) type Narrow = [u32; BLOCK];

/// Numbers of up to 64 bits.
pub(crate) type Wide = [u64; BLOCK];

/// How many bytes numbers take.
#[inline]
pub(crate) fn packed_bytes(len: usize, width: usize) -> usize {
    let rows = len.div_ceil(LANES);
    if width <= NARROW {
        (rows * width).div_ceil(WORD_BITS) * STRIDE
    } else {
        rows * STRIDE + (rows * (width - NARROW)).div_ceil(WORD_BITS) * STRIDE
    }
}

/// Appends numbers, of which the low bits are taken; those from `len` on are 0.
pub(crate) fn append(numbers: &Wide, len: usize, width: usize, out: &mut Vec<u8>) {
    if width > NARROW {
        append_part(numbers, 0, len, NARROW, out);
        append_part(numbers, NARROW, len, width - NARROW, out);
    } else {
        append_part(numbers, 0, len, width, out);
    }
}

fn append_part(numbers: &Wide, shift: usize, len: usize, width: usize, out: &mut Vec<u8>) {
    let mut part = [0; BLOCK];
    for (part, number) in part.iter_mut().zip(numbers) {
        *part = (number >> shift) as u32;
    }
    let mut bytes = [0; MAX_BYTES];
    PACK[width](&part, &mut bytes);
    out.extend_from_slice(&bytes[..packed_bytes(len, width)]);
}

/// Unpacks numbers of at most 32 bits. What stands in `out` from the true number of them on is arbitrary.
#[inline]
pub(crate) fn unpack_narrow(bytes: &[u8], width: usize, out: &mut Narrow) {
    if bytes.len() >= width * STRIDE {
        UNPACK[width](bytes, out);
    } else {
        let mut padded = [0; MAX_BYTES];
        padded[..bytes.len()].copy_from_slice(bytes);
        UNPACK[width](&padded, out);
    }
}

/// Unpacks numbers of more than 32 bits.
pub(crate) fn unpack_wide(bytes: &[u8], len: usize, width: usize, out: &mut Wide) {
    let (low_bytes, high_bytes) = bytes.split_at(packed_bytes(len, NARROW));
    let (mut low, mut high) = ([0; BLOCK], [0; BLOCK]);
    unpack_narrow(low_bytes, NARROW, &mut low);
    unpack_narrow(high_bytes, width - NARROW, &mut high);
    for ((out, low), high) in out.iter_mut().zip(&low).zip(&high) {
        *out = u64::from(*high) << NARROW | u64::from(*low);
    }
}

/// One number.
#[inline]
pub(crate) fn get(bytes: &[u8], len: usize, width: usize, index: usize) -> u64 {
    if width <= NARROW {
        return get_narrow(bytes, width, index);
    }
    let (low, high) = bytes.split_at(packed_bytes(len, NARROW));
    get_narrow(high, width - NARROW, index) << NARROW | get_narrow(low, NARROW, index)
}

#[inline]
fn get_narrow(bytes: &[u8], width: usize, index: usize) -> u64 {
    if width == 0 {
        return 0;
    }
    let (lane, bit) = (index % LANES, index / LANES * width);
    let (at, shift) = (bit / WORD_BITS * STRIDE + lane * WORD_BYTES, bit % WORD_BITS);
    let mut word = u64::from(read_word(bytes, at));
    if shift + width > WORD_BITS {
        word |= u64::from(read_word(bytes, at + STRIDE)) << WORD_BITS;
    }
    word >> shift & (u64::MAX >> (64 - width))
}

#[inline]
fn read_word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// Writes a body once for each row, so that shifts are constants.
macro_rules! each_row {
    ($row:ident, $body:block) => {
        each_row!($row, $body, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31)
    };
    ($row:ident, $body:block, $($number:literal)*) => {
        $({ const $row: usize = $number; $body })*
    };
}

fn unpack<const WIDTH: usize>(bytes: &[u8], out: &mut Narrow) {
    if WIDTH == 0 {
        out.fill(0);
        return;
    }
    // Words are read whole: put together of four bytes they are not seen to be vectors.
    let words = bytes[..WIDTH * STRIDE].as_chunks::<WORD_BYTES>().0;
    let mask = u32::MAX >> (WORD_BITS - WIDTH);
    each_row!(ROW, {
        let (at, shift) = (ROW * WIDTH / WORD_BITS * LANES, ROW * WIDTH % WORD_BITS);
        for lane in 0..LANES {
            let low = u32::from_le_bytes(words[at + lane]) >> shift;
            out[ROW * LANES + lane] = if shift + WIDTH > WORD_BITS {
                // Masked before it is shifted: otherwise this becomes a double shift, of which there is none for vectors.
                let high = u32::from_le_bytes(words[at + LANES + lane]) & mask >> (WORD_BITS - shift);
                low | high << (WORD_BITS - shift)
            } else {
                low & mask
            };
        }
    });
}

fn pack<const WIDTH: usize>(numbers: &Narrow, out: &mut [u8; MAX_BYTES]) {
    if WIDTH == 0 {
        return;
    }
    let mask = u32::MAX >> (WORD_BITS - WIDTH);
    let mut words = [0; LANES];
    each_row!(ROW, {
        let (at, shift) = (ROW * WIDTH / WORD_BITS * STRIDE, ROW * WIDTH % WORD_BITS);
        for lane in 0..LANES {
            let number = numbers[ROW * LANES + lane] & mask;
            words[lane] |= number << shift;
            if shift + WIDTH >= WORD_BITS {
                let at = at + lane * WORD_BYTES;
                out[at..at + WORD_BYTES].copy_from_slice(&u32::to_le_bytes(words[lane]));
                words[lane] = if shift + WIDTH > WORD_BITS {
                    number >> (WORD_BITS - shift)
                } else {
                    0
                };
            }
        }
    });
}

/// The function of each width.
macro_rules! each_width {
    ($function:ident) => {
        each_width!($function, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32)
    };
    ($function:ident, $($width:literal)*) => {
        [$($function::<$width>),*]
    };
}

const UNPACK: [fn(&[u8], &mut Narrow); NARROW + 1] = each_width!(unpack);
const PACK: [fn(&Narrow, &mut [u8; MAX_BYTES]); NARROW + 1] = each_width!(pack);

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::SmallRng;
    use rand::{Rng, SeedableRng};

    #[test]
    fn every_width_and_length_round_trips() {
        let mut random = SmallRng::seed_from_u64(1);
        for width in 0..=64 {
            for len in 1..=BLOCK {
                let mut numbers = [0; BLOCK];
                for number in &mut numbers[..len] {
                    *number = random.random::<u64>();
                }
                let mut bytes = Vec::new();
                append(&numbers, len, width, &mut bytes);
                assert_eq!(bytes.len(), packed_bytes(len, width));
                let want = numbers.map(|number| {
                    if width == 0 {
                        0
                    } else {
                        number & (u64::MAX >> (64 - width))
                    }
                });
                let mut wide = [0; BLOCK];
                if width > NARROW {
                    unpack_wide(&bytes, len, width, &mut wide);
                } else {
                    let mut narrow = [0; BLOCK];
                    unpack_narrow(&bytes, width, &mut narrow);
                    wide = narrow.map(u64::from);
                }
                assert_eq!(wide[..len], want[..len], "width {width}, length {len}");
                for (index, want) in want[..len].iter().enumerate() {
                    assert_eq!(get(&bytes, len, width, index), *want, "width {width}, length {len}");
                }
            }
        }
    }

    #[test]
    fn layout_is_that_of_the_drawing() {
        let mut numbers = [0; BLOCK];
        for (index, number) in numbers[..24].iter_mut().enumerate() {
            *number = 0x100 + index as u64;
        }
        let mut bytes = Vec::new();
        append(&numbers, 24, 12, &mut bytes);
        let words: Vec<u32> = bytes
            .as_chunks()
            .0
            .iter()
            .map(|word| u32::from_le_bytes(*word))
            .collect();
        assert_eq!(words.len(), 12);
        assert_eq!(words[1], 0x101 | 0x105 << 12 | 0x09 << 24, "lane 1 of word 0");
        assert_eq!(words[5], 0x1 | 0x10d << 4 | 0x111 << 16 | 0x5 << 28, "lane 1 of word 1");
    }
}
