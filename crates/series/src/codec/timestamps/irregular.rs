// hot path: no locks, no logging, no allocation per sample.
//! Timestamps at any distances, as a packed column (`../packed.rs`). Jitter around a regular distance is packed against the line from the
//! first timestamp of a block to its last; gaps and other distances as differences.

use super::super::CodecError;
use super::super::column::{BLOCK, Column};
use super::super::packed::{self, Packed, Slope, Writer};

/// Appends a column.
pub(crate) fn append(timestamps: &[i64], out: &mut Vec<u8>) {
    let mut writer = Writer::with_capacity(timestamps.len());
    for block in timestamps.chunks(BLOCK) {
        writer.push(block, Slope::Line);
    }
    writer.append_to(out);
}

/// Checks the bytes of a column, but not that it ascends.
pub(crate) fn check(bytes: &[u8], len: usize) -> Result<(), CodecError> {
    packed::check(bytes, len)
}

/// An irregular column.
pub(crate) struct Irregular<'a>(Packed<'a>);

/// Opens checked bytes.
#[inline]
pub(crate) fn open(bytes: &[u8], len: usize) -> Irregular<'_> {
    Irregular(packed::open(bytes, len))
}

impl Irregular<'_> {
    /// The index of a timestamp above the first, or the index at which it would be inserted.
    pub(crate) fn find(&self, timestamp: i64) -> Result<usize, usize> {
        self.0.find(timestamp)
    }
}

impl Column for Irregular<'_> {
    type Item = i64;

    fn fill(&self, start: usize, out: &mut [i64]) {
        self.0.fill(start, out, |number| number);
    }

    #[inline]
    fn at(&self, index: usize) -> i64 {
        self.0.at(index)
    }
}
