// hot path: no locks, no logging, no allocation.
//! Values that are equal to the bit.
//!
//! ```text
//! value u64
//! ```

use super::super::CodecError;
use super::super::column::{Column, read_u64};

/// Appends a column, if all values are equal.
pub(crate) fn append(values: &[f64], out: &mut Vec<u8>) -> bool {
    let first = values[0].to_bits();
    // Parts, so that the loop inside is without a branch.
    let equal = values.chunks(64).all(|part| {
        part.iter()
            .fold(0, |different, value| different | (value.to_bits() ^ first))
            == 0
    });
    if equal {
        out.extend_from_slice(&first.to_le_bytes());
    }
    equal
}

/// Checks the bytes of a column.
pub(crate) fn check(bytes: &[u8]) -> Result<(), CodecError> {
    if bytes.len() != 8 {
        return Err(CodecError::Corrupt("constant column of another length"));
    }
    Ok(())
}

/// A constant column.
pub(crate) struct Constant(f64);

/// Opens checked bytes.
#[inline]
pub(crate) fn open(bytes: &[u8]) -> Constant {
    Constant(f64::from_bits(read_u64(bytes, 0)))
}

impl Column for Constant {
    type Item = f64;

    fn fill(&self, _start: usize, out: &mut [f64]) {
        out.fill(self.0);
    }

    #[inline]
    fn at(&self, _index: usize) -> f64 {
        self.0
    }
}
