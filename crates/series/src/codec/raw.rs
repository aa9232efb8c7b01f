// hot path: no locks, no logging, no allocation.
//! Eight bytes an item, as they are: what nothing else makes smaller, and series with ENCODING UNCOMPRESSED.
//!
//! ```text
//! item u64 x samples
//! ```

use super::CodecError;
use super::column::{Column, read_u64};
use std::marker::PhantomData;

/// What is stored in eight bytes.
pub(crate) trait Word: Copy {
    /// From its bits.
    fn from_word(word: u64) -> Self;
    /// Its bits.
    fn into_word(self) -> u64;
}

impl Word for i64 {
    fn from_word(word: u64) -> i64 {
        word as i64
    }

    fn into_word(self) -> u64 {
        self as u64
    }
}

impl Word for f64 {
    fn from_word(word: u64) -> f64 {
        f64::from_bits(word)
    }

    fn into_word(self) -> u64 {
        self.to_bits()
    }
}

/// Appends a column.
pub(crate) fn append<T: Word>(items: &[T], out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start + items.len() * 8, 0);
    for (bytes, item) in out[start..].as_chunks_mut::<8>().0.iter_mut().zip(items) {
        *bytes = item.into_word().to_le_bytes();
    }
}

/// Checks the bytes of a column.
pub(crate) fn check(bytes: &[u8], len: usize) -> Result<(), CodecError> {
    if bytes.len() != len * 8 {
        return Err(CodecError::Corrupt("raw column of another length"));
    }
    Ok(())
}

/// A raw column.
pub(crate) struct Raw<'a, T> {
    bytes: &'a [u8],
    items: PhantomData<T>,
}

/// Opens checked bytes.
pub(crate) fn open<T: Word>(bytes: &[u8]) -> Raw<'_, T> {
    Raw {
        bytes,
        items: PhantomData,
    }
}

impl<T: Word> Column for Raw<'_, T> {
    type Item = T;

    fn fill(&self, start: usize, out: &mut [T]) {
        let bytes = &self.bytes[start * 8..(start + out.len()) * 8];
        for (item, bytes) in out.iter_mut().zip(bytes.as_chunks::<8>().0) {
            *item = T::from_word(u64::from_le_bytes(*bytes));
        }
    }

    fn at(&self, index: usize) -> T {
        T::from_word(read_u64(self.bytes, index * 8))
    }
}
