// hot path: no locks, no logging, no allocation per sample.
//! Chunks: up to [`MAX_CHUNK_SAMPLES`] samples in columns, each column in the encoding that takes the fewest bytes.
//!
//! Columns are packed in blocks of 128 samples, so that one sample is found, and a range decoded, without decoding what is before it.
//! The tables of encodings stand in `timestamps` and `values`.
//!
//! ```text
//! samples u16, encoding of timestamps u8, encoding of values u8, bytes of timestamps u32, first timestamp i64, last timestamp i64,
//! timestamps, values                                                                        all numbers little-endian
//! ```

mod bitpack;
mod column;
mod packed;
mod raw;
pub(crate) mod simd;
mod timestamps;
mod values;

pub use column::BLOCK;

use column::{Column, read_u16, read_u64};
use std::ops::Range;
use timestamps::{Bounds, Timestamps};
use values::Values;

/// The most samples that one chunk holds.
pub const MAX_CHUNK_SAMPLES: usize = 4096;

/// Bytes before the columns.
const HEADER_BYTES: usize = 24;

/// How the values of a series are kept (specification, chapter 6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// The best of the encodings, per chunk and column.
    Compressed,
    /// Timestamps and values as they are, 16 bytes a sample.
    Uncompressed,
}

/// Why bytes are not a chunk.
#[derive(Debug, thiserror::Error)]
pub enum CodecError {
    /// The bytes break a rule of the format.
    #[error("corrupt: chunk: {0}")]
    Corrupt(&'static str),
}

/// Encoded samples, immutable; at least one.
#[derive(Clone, Debug)]
pub struct Chunk {
    first: i64,
    last: i64,
    /// Timestamps, then values.
    columns: Box<[u8]>,
    timestamps_bytes: u32,
    len: u16,
    timestamps: timestamps::Kind,
    values: values::Kind,
}

impl Chunk {
    /// Encodes columns of equal length, 1 to [`MAX_CHUNK_SAMPLES`] samples, timestamps strictly ascending. Exact to the bit.
    pub fn encode(timestamps: &[i64], values: &[f64], encoding: Encoding) -> Chunk {
        let len = timestamps.len();
        assert!(
            (1..=MAX_CHUNK_SAMPLES).contains(&len) && values.len() == len,
            "bug: a chunk of {len} timestamps and {} values",
            values.len()
        );
        debug_assert!(timestamps.is_sorted_by(|left, right| left < right));
        let mut columns = Vec::new();
        let timestamps_kind = timestamps::append(timestamps, encoding, &mut columns);
        let timestamps_bytes = columns.len() as u32;
        let values = values::append(values, encoding, &mut columns);
        Chunk {
            first: timestamps[0],
            last: timestamps[len - 1],
            columns: columns.into_boxed_slice(),
            timestamps_bytes,
            len: len as u16,
            timestamps: timestamps_kind,
            values,
        }
    }

    /// Reads what [`Chunk::append_bytes`] wrote; any bytes are safe. After this all decoders succeed.
    pub fn from_bytes(bytes: &[u8]) -> Result<Chunk, CodecError> {
        let Some((header, columns)) = bytes.split_at_checked(HEADER_BYTES) else {
            return Err(CodecError::Corrupt("cut off"));
        };
        let len = read_u16(header, 0);
        if !(1..=MAX_CHUNK_SAMPLES).contains(&usize::from(len)) {
            return Err(CodecError::Corrupt("without samples, or with too many"));
        }
        let timestamps = timestamps::Kind::from_number(header[2])?;
        let values = values::Kind::from_number(header[3])?;
        let timestamps_bytes = read_u64(header, 0) >> 32;
        let Some((timestamps_column, values_column)) = columns.split_at_checked(timestamps_bytes as usize) else {
            return Err(CodecError::Corrupt("cut off"));
        };
        let bounds = Bounds {
            first: read_u64(header, 8) as i64,
            last: read_u64(header, 16) as i64,
            len: usize::from(len),
        };
        timestamps::check(timestamps, timestamps_column, &bounds)?;
        values::check(values, values_column, bounds.len)?;
        Ok(Chunk {
            first: bounds.first,
            last: bounds.last,
            columns: columns.into(),
            timestamps_bytes: timestamps_bytes as u32,
            len,
            timestamps,
            values,
        })
    }

    /// Appends the bytes of the chunk, as snapshots and data objects hold them.
    pub fn append_bytes(&self, out: &mut Vec<u8>) {
        out.reserve(HEADER_BYTES + self.columns.len());
        out.extend_from_slice(&self.len.to_le_bytes());
        out.extend_from_slice(&[self.timestamps as u8, self.values as u8]);
        out.extend_from_slice(&self.timestamps_bytes.to_le_bytes());
        out.extend_from_slice(&self.first.to_le_bytes());
        out.extend_from_slice(&self.last.to_le_bytes());
        out.extend_from_slice(&self.columns);
    }

    /// How many samples.
    #[expect(clippy::len_without_is_empty, reason = "a chunk holds at least one sample")]
    pub fn len(&self) -> usize {
        usize::from(self.len)
    }

    /// The lowest timestamp.
    pub fn first_timestamp(&self) -> i64 {
        self.first
    }

    /// The highest timestamp.
    pub fn last_timestamp(&self) -> i64 {
        self.last
    }

    /// First timestamp and distance, if all timestamps are at equal distances and no decoding is needed to know it.
    pub fn regular(&self) -> Option<(i64, i64)> {
        self.timestamps().regular()
    }

    /// The index of a timestamp, or the index at which it would be inserted. Decodes timestamps only, of one block.
    pub fn find(&self, timestamp: i64) -> Result<usize, usize> {
        self.timestamps().find(timestamp, &self.bounds())
    }

    /// The timestamp at an index below [`Chunk::len`].
    pub fn timestamp_at(&self, index: usize) -> i64 {
        self.assert_within(&(index..index + 1));
        self.timestamps().at(index)
    }

    /// The value at an index below [`Chunk::len`].
    pub fn value_at(&self, index: usize) -> f64 {
        self.assert_within(&(index..index + 1));
        self.values().at(index)
    }

    /// Appends the timestamps of a range of indexes.
    pub fn append_timestamps(&self, range: Range<usize>, out: &mut Vec<i64>) {
        self.assert_within(&range);
        append(&self.timestamps(), range, out);
    }

    /// Appends the values of a range of indexes.
    pub fn append_values(&self, range: Range<usize>, out: &mut Vec<f64>) {
        self.assert_within(&range);
        append(&self.values(), range, out);
    }

    /// Gives the values of a range of indexes in ascending parts of at most [`BLOCK`] values, decoded without a large buffer.
    pub fn for_each_values(&self, range: Range<usize>, mut f: impl FnMut(&[f64])) {
        self.assert_within(&range);
        let values = self.values();
        let mut buffer = [0.0; BLOCK];
        for part in parts(range) {
            let buffer = &mut buffer[..part.len()];
            values.fill(part.start, buffer);
            f(buffer);
        }
    }

    /// Gives the samples of a range of indexes in ascending parts of at most [`BLOCK`] samples, decoded without large buffers.
    pub fn for_each_samples(&self, range: Range<usize>, mut f: impl FnMut(&[i64], &[f64])) {
        self.assert_within(&range);
        let (timestamps, values) = (self.timestamps(), self.values());
        let mut buffers = ([0; BLOCK], [0.0; BLOCK]);
        for part in parts(range) {
            let buffers = (&mut buffers.0[..part.len()], &mut buffers.1[..part.len()]);
            timestamps.fill(part.start, buffers.0);
            values.fill(part.start, buffers.1);
            f(buffers.0, buffers.1);
        }
    }

    /// Whether it is known without decoding that no value is NaN.
    pub fn is_known_free_of_nan(&self) -> bool {
        self.values().is_known_free_of_nan()
    }

    /// Bytes of memory that the chunk takes, itself included.
    pub fn memory_bytes(&self) -> usize {
        size_of::<Chunk>() + self.columns.len()
    }

    fn bounds(&self) -> Bounds {
        Bounds {
            first: self.first,
            last: self.last,
            len: self.len(),
        }
    }

    #[inline]
    fn timestamps(&self) -> Timestamps<'_> {
        let bytes = &self.columns[..self.timestamps_bytes as usize];
        timestamps::open(self.timestamps, bytes, &self.bounds())
    }

    #[inline]
    fn values(&self) -> Values<'_> {
        let bytes = &self.columns[self.timestamps_bytes as usize..];
        values::open(self.values, bytes, self.len())
    }

    #[inline]
    fn assert_within(&self, range: &Range<usize>) {
        assert!(
            range.start <= range.end && range.end <= self.len(),
            "bug: samples {range:?} of a chunk of {}",
            self.len
        );
    }
}

fn append<T: Copy + Default>(column: &impl Column<Item = T>, range: Range<usize>, out: &mut Vec<T>) {
    let start = out.len();
    out.resize(start + range.len(), T::default());
    column.fill(range.start, &mut out[start..]);
}

/// A range cut where blocks begin.
fn parts(range: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let mut at = range.start;
    std::iter::from_fn(move || {
        let start = at;
        at = range.end.min((start / BLOCK + 1) * BLOCK);
        (start < range.end).then_some(start..at)
    })
}
