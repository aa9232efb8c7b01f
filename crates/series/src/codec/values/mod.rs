// hot path: no locks, no logging, no allocation per sample.
//! How values are kept, exact to the bit. Each encoding has its file of the same shape: encode, check bytes, open them, read.
//!
//! | number | encoding | holds | file |
//! |---|---|---|---|
//! | 0 | raw | anything | `../raw.rs` |
//! | 1 | constant | one value | `constant.rs` |
//! | 2 | decimal | mostly numbers of few decimal digits, integers among them | `decimal.rs` |
//! | 3 | bits | anything that is smaller than raw so | `bits.rs` |

mod bits;
mod constant;
mod decimal;

use super::column::Column;
use super::{CodecError, Encoding, raw};

/// From so many bytes a value on, decimals are compared with bits.
const COMPARED_BYTES: usize = 5;

/// Number of an encoding of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Raw = 0,
    Constant = 1,
    Decimal = 2,
    Bits = 3,
}

impl Kind {
    /// By its number in the format.
    pub(crate) fn from_number(number: u8) -> Result<Kind, CodecError> {
        Ok(match number {
            0 => Kind::Raw,
            1 => Kind::Constant,
            2 => Kind::Decimal,
            3 => Kind::Bits,
            _ => return Err(CodecError::Corrupt("unknown encoding of values")),
        })
    }
}

/// Appends a column in the encoding that takes the fewest bytes, as far as that is known at little cost, and tells which.
pub(crate) fn append(values: &[f64], encoding: Encoding, out: &mut Vec<u8>) -> Kind {
    let start = out.len();
    let raw_bytes = values.len() * 8;
    if encoding == Encoding::Uncompressed {
        raw::append(values, out);
        return Kind::Raw;
    }
    if constant::append(values, out) {
        return Kind::Constant;
    }
    if decimal::append(values, out) {
        let bytes = out.len() - start;
        if bytes < raw_bytes {
            let decimal_end = out.len();
            if bytes >= values.len() * COMPARED_BYTES && bits::append(values, bytes, out) {
                out.drain(start..decimal_end);
                return Kind::Bits;
            }
            return Kind::Decimal;
        }
        out.truncate(start);
    }
    if bits::append(values, raw_bytes, out) {
        return Kind::Bits;
    }
    raw::append(values, out);
    Kind::Raw
}

/// Checks the bytes of a column.
pub(crate) fn check(kind: Kind, bytes: &[u8], len: usize) -> Result<(), CodecError> {
    match kind {
        Kind::Raw => raw::check(bytes, len),
        Kind::Constant => constant::check(bytes),
        Kind::Decimal => decimal::check(bytes, len),
        Kind::Bits => bits::check(bytes, len),
    }
}

/// Values of a chunk.
pub(crate) enum Values<'a> {
    Raw(raw::Raw<'a, f64>),
    Constant(constant::Constant),
    Decimal(decimal::Decimal<'a>),
    Bits(bits::Bits<'a>),
}

/// Opens checked bytes.
#[inline]
pub(crate) fn open(kind: Kind, bytes: &[u8], len: usize) -> Values<'_> {
    match kind {
        Kind::Raw => Values::Raw(raw::open(bytes)),
        Kind::Constant => Values::Constant(constant::open(bytes)),
        Kind::Decimal => Values::Decimal(decimal::open(bytes, len)),
        Kind::Bits => Values::Bits(bits::open(bytes, len)),
    }
}

impl Values<'_> {
    /// Whether it is known without decoding that no value is NaN.
    pub(crate) fn is_known_free_of_nan(&self) -> bool {
        match self {
            Values::Constant(column) => !column.at(0).is_nan(),
            Values::Decimal(column) => column.is_without_exceptions(),
            Values::Raw(_) | Values::Bits(_) => false,
        }
    }
}

impl Column for Values<'_> {
    type Item = f64;

    fn fill(&self, start: usize, out: &mut [f64]) {
        match self {
            Values::Raw(column) => column.fill(start, out),
            Values::Constant(column) => column.fill(start, out),
            Values::Decimal(column) => column.fill(start, out),
            Values::Bits(column) => column.fill(start, out),
        }
    }

    #[inline]
    fn at(&self, index: usize) -> f64 {
        match self {
            Values::Raw(column) => column.at(index),
            Values::Constant(column) => column.at(index),
            Values::Decimal(column) => column.at(index),
            Values::Bits(column) => column.at(index),
        }
    }
}
