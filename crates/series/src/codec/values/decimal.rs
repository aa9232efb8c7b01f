// hot path: no locks, no logging, no allocation per sample.
//! Values of few decimal digits, integers among them: value = integer / 10^exponent, with one exponent a chunk and the integers in a
//! packed column (`../packed.rs`).
//!
//! A value that was read from a decimal text of up to 15 digits is the double nearest to integer / power, and the division of two exact
//! doubles gives just that one, so nothing is lost. Whatever does not come back to the bit (-0, NaN, infinities, many digits) is an
//! exception, kept beside the column.
//!
//! ```text
//! exponent u8, exceptions u16, index u16 x exceptions (ascending), value u64 x exceptions, packed column
//! ```

use super::super::CodecError;
use super::super::column::{BLOCK, Column, read_u16, read_u64};
use super::super::packed::{self, Packed, Slope, Writer};

/// The powers of ten that are doubles without rounding.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
    1e21, 1e22,
];
/// Integers below this in magnitude; the two constants below turn them to doubles and back.
const LIMIT: f64 = (1u64 << 51) as f64;
/// Added to a double below the limit, this rounds it to an integer, which is then in the low bits.
const ROUNDING: f64 = (3u64 << 51) as f64;
const ROUNDING_BITS: u64 = ROUNDING.to_bits();

const HEADER_BYTES: usize = 3;
const EXCEPTION_BYTES: usize = 10;
/// Values looked at to choose the exponent.
const PROBES: usize = 16;
/// Bits that one more digit takes.
const DIGIT_BITS: f64 = 3.33;

/// Appends a column, unless other encodings are likely to be smaller.
pub(crate) fn append(values: &[f64], out: &mut Vec<u8>) -> bool {
    let Some(exponent) = probe(values) else { return false };
    let most_exceptions = PROBES + values.len() / 8;
    let mut writer = Writer::with_capacity(values.len());
    let mut exceptions: Vec<(u16, u64)> = Vec::new();
    let (mut numbers, mut differences) = ([0; BLOCK], [0; BLOCK]);
    let mut start = 0u16;
    for block in values.chunks(BLOCK) {
        let numbers = &mut numbers[..block.len()];
        let exact = match exponent {
            0 => integers(block, numbers, &mut differences, 1.0, |integer| integer),
            _ => integers(block, numbers, &mut differences, POWERS[exponent], |integer| {
                integer / POWERS[exponent]
            }),
        };
        if !exact {
            take_exceptions(block, &differences, start, numbers, &mut exceptions);
            if exceptions.len() > most_exceptions {
                return false;
            }
        }
        writer.push(numbers, Slope::Flat);
        start += BLOCK as u16;
    }
    out.push(exponent as u8);
    out.extend_from_slice(&(exceptions.len() as u16).to_le_bytes());
    exceptions
        .iter()
        .for_each(|(index, _)| out.extend_from_slice(&index.to_le_bytes()));
    exceptions
        .iter()
        .for_each(|(_, value)| out.extend_from_slice(&value.to_le_bytes()));
    writer.append_to(out);
    true
}

/// The exponent that is likely to take the fewest bits, if there is one for most values.
fn probe(values: &[f64]) -> Option<usize> {
    let mut probed = 0;
    let mut counts = [0; POWERS.len()];
    for value in values.iter().step_by(values.len().div_ceil(PROBES)) {
        probed += 1;
        for (power, count) in POWERS.iter().zip(&mut counts) {
            let integer = value * power + ROUNDING - ROUNDING;
            if integer.abs() >= LIMIT || integer.is_nan() {
                break;
            }
            if (integer / power).to_bits() == value.to_bits() {
                *count += 1;
                break;
            }
        }
    }
    let mut best = None;
    let mut best_bits = f64::INFINITY;
    let mut left = probed;
    for (exponent, count) in counts.iter().enumerate() {
        left -= count;
        let exceptions = f64::from(left) / f64::from(probed) * (EXCEPTION_BYTES * 8) as f64;
        let bits = exponent as f64 * DIGIT_BITS + exceptions;
        if bits < best_bits && left * 4 <= probed {
            (best, best_bits) = (Some(exponent), bits);
        }
    }
    best
}

/// Turns values to integers and tells whether all come back to the bit; those that do have no difference.
#[inline(always)]
fn integers(
    values: &[f64],
    out: &mut [i64],
    differences: &mut [u64; BLOCK],
    power: f64,
    back: impl Fn(f64) -> f64,
) -> bool {
    let mut different = 0;
    for ((out, difference), value) in out.iter_mut().zip(differences).zip(values) {
        let rounded = value * power + ROUNDING;
        let integer = rounded - ROUNDING;
        let beyond = if integer.abs() < LIMIT { 0 } else { u64::MAX };
        *difference = beyond | (back(integer).to_bits() ^ value.to_bits());
        different |= *difference;
        *out = rounded.to_bits().wrapping_sub(ROUNDING_BITS) as i64;
    }
    different == 0
}

/// Notes the values that do not come back, and puts the integer before them into their place.
fn take_exceptions(
    values: &[f64],
    differences: &[u64; BLOCK],
    start: u16,
    numbers: &mut [i64],
    out: &mut Vec<(u16, u64)>,
) {
    let is_exact = |index: &usize| differences[*index] == 0;
    let mut before = (0..values.len()).find(is_exact).map_or(0, |index| numbers[index]);
    for index in 0..values.len() {
        if is_exact(&index) {
            before = numbers[index];
        } else {
            numbers[index] = before;
            out.push((start + index as u16, values[index].to_bits()));
        }
    }
}

#[inline(always)]
fn decode_integer(number: i64) -> f64 {
    f64::from_bits(ROUNDING_BITS.wrapping_add(number as u64)) - ROUNDING
}

/// Checks the bytes of a column.
pub(crate) fn check(bytes: &[u8], len: usize) -> Result<(), CodecError> {
    if bytes.len() < HEADER_BYTES || usize::from(bytes[0]) >= POWERS.len() {
        return Err(CodecError::Corrupt("decimal column without an exponent"));
    }
    let exceptions = usize::from(read_u16(bytes, 1));
    let start = HEADER_BYTES + exceptions * EXCEPTION_BYTES;
    let Some(numbers) = bytes.get(start..) else {
        return Err(CodecError::Corrupt("decimal column is cut off"));
    };
    let indexes = bytes[HEADER_BYTES..].as_chunks::<2>().0.iter().take(exceptions);
    let mut least = 0;
    for index in indexes {
        let index = usize::from(u16::from_le_bytes(*index));
        if index < least || index >= len {
            return Err(CodecError::Corrupt("decimal column with wrong exceptions"));
        }
        least = index + 1;
    }
    packed::check(numbers, len)
}

/// A column of decimals.
pub(crate) struct Decimal<'a> {
    exponent: usize,
    indexes: &'a [[u8; 2]],
    exceptions: &'a [u8],
    numbers: Packed<'a>,
}

/// Opens checked bytes.
#[inline]
pub(crate) fn open(bytes: &[u8], len: usize) -> Decimal<'_> {
    let count = usize::from(read_u16(bytes, 1));
    let (indexes, rest) = bytes[HEADER_BYTES..].split_at(count * 2);
    let (exceptions, numbers) = rest.split_at(count * 8);
    Decimal {
        exponent: usize::from(bytes[0]),
        indexes: indexes.as_chunks().0,
        exceptions,
        numbers: packed::open(numbers, len),
    }
}

impl Decimal<'_> {
    /// Whether all values are finite and none is -0.
    pub(crate) fn is_without_exceptions(&self) -> bool {
        self.exceptions.is_empty()
    }

    /// Exceptions from an index on: the number of the first, and the indexes.
    #[inline]
    fn exceptions_from(&self, start: usize) -> impl Iterator<Item = (usize, usize)> {
        let index = |bytes: &[u8; 2]| usize::from(u16::from_le_bytes(*bytes));
        let first = self.indexes.partition_point(|bytes| index(bytes) < start);
        (first..).zip(self.indexes[first..].iter().map(index))
    }

    fn exception(&self, number: usize) -> f64 {
        f64::from_bits(read_u64(self.exceptions, number * 8))
    }
}

impl Column for Decimal<'_> {
    type Item = f64;

    fn fill(&self, start: usize, out: &mut [f64]) {
        let power = POWERS[self.exponent];
        if self.exponent == 0 {
            self.numbers.fill(start, out, decode_integer);
        } else {
            self.numbers.fill(start, out, |number| decode_integer(number) / power);
        }
        for (number, index) in self.exceptions_from(start) {
            let Some(value) = out.get_mut(index - start) else { break };
            *value = self.exception(number);
        }
    }

    #[inline]
    fn at(&self, index: usize) -> f64 {
        match self.exceptions_from(index).next() {
            Some((number, found)) if found == index => self.exception(number),
            _ => decode_integer(self.numbers.at(index)) / POWERS[self.exponent],
        }
    }
}
