// hot path: no locks, no logging, no allocation per sample.
//! Any values: their bits as integers in a packed column (`../packed.rs`), without the low bits that are 0 in all of them.
//!
//! Values that are near each other share sign, exponent and the first bits of the mantissa, and so differ in few low bits, as with
//! the exclusive-or of the Gorilla paper, but in blocks of equal width that are decoded at the speed of integers and read at any index.
//!
//! ```text
//! shift u8, packed column
//! ```

use super::super::CodecError;
use super::super::column::{BLOCK, Column};
use super::super::packed::{self, Packed, Slope, Writer};

const MAX_SHIFT: u8 = 63;

/// Appends a column, if it takes fewer bytes than a limit.
pub(crate) fn append(values: &[f64], limit: usize, out: &mut Vec<u8>) -> bool {
    let used = values.iter().fold(0, |used, value| used | value.to_bits());
    let shift = (used.trailing_zeros() as u8).min(MAX_SHIFT);
    let mut writer = Writer::with_capacity(values.len());
    let mut numbers = [0; BLOCK];
    for block in values.chunks(BLOCK) {
        for (number, value) in numbers.iter_mut().zip(block) {
            *number = (value.to_bits() >> shift) as i64;
        }
        writer.push(&numbers[..block.len()], Slope::Flat);
        if writer.bytes() >= limit {
            return false;
        }
    }
    let start = out.len();
    out.push(shift);
    writer.append_to(out);
    if out.len() - start >= limit {
        out.truncate(start);
        return false;
    }
    true
}

/// Checks the bytes of a column.
pub(crate) fn check(bytes: &[u8], len: usize) -> Result<(), CodecError> {
    match bytes.split_first() {
        Some((shift, rest)) if *shift <= MAX_SHIFT => packed::check(rest, len),
        _ => Err(CodecError::Corrupt("column of bits without a shift")),
    }
}

/// A column of bits.
pub(crate) struct Bits<'a> {
    shift: u8,
    numbers: Packed<'a>,
}

/// Opens checked bytes.
#[inline]
pub(crate) fn open(bytes: &[u8], len: usize) -> Bits<'_> {
    Bits {
        shift: bytes[0],
        numbers: packed::open(&bytes[1..], len),
    }
}

impl Column for Bits<'_> {
    type Item = f64;

    fn fill(&self, start: usize, out: &mut [f64]) {
        let shift = self.shift;
        self.numbers
            .fill(start, out, |number| f64::from_bits((number as u64) << shift));
    }

    #[inline]
    fn at(&self, index: usize) -> f64 {
        f64::from_bits((self.numbers.at(index) as u64) << self.shift)
    }
}
