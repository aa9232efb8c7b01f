//! Chunks: up to [`MAX_CHUNK_SAMPLES`] samples in columns, each column in the encoding that takes the fewest bytes.

use std::ops::Range;

/// The most samples that one chunk holds.
pub const MAX_CHUNK_SAMPLES: usize = 4096;

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
    timestamps: Box<[i64]>,
    values: Box<[f64]>,
}

impl Chunk {
    /// Encodes columns of equal length, 1 to [`MAX_CHUNK_SAMPLES`] samples, timestamps strictly ascending. Exact to the bit.
    pub fn encode(timestamps: &[i64], values: &[f64], _encoding: Encoding) -> Chunk {
        Chunk {
            timestamps: timestamps.into(),
            values: values.into(),
        }
    }

    /// Reads what [`Chunk::append_bytes`] wrote; any bytes are safe. After this all decoders succeed.
    pub fn from_bytes(_bytes: &[u8]) -> Result<Chunk, CodecError> {
        Err(CodecError::Corrupt("not written yet"))
    }

    /// Appends the bytes of the chunk, as snapshots and data objects hold them.
    pub fn append_bytes(&self, _out: &mut Vec<u8>) {}

    /// How many samples.
    #[expect(clippy::len_without_is_empty, reason = "a chunk holds at least one sample")]
    pub fn len(&self) -> usize {
        self.timestamps.len()
    }

    /// The lowest timestamp.
    pub fn first_timestamp(&self) -> i64 {
        self.timestamps[0]
    }

    /// The highest timestamp.
    pub fn last_timestamp(&self) -> i64 {
        self.timestamps[self.len() - 1]
    }

    /// The index of a timestamp, or the index at which it would be inserted. Decodes timestamps only, of one block.
    pub fn find(&self, timestamp: i64) -> Result<usize, usize> {
        self.timestamps.binary_search(&timestamp)
    }

    /// The timestamp at an index below [`Chunk::len`].
    pub fn timestamp_at(&self, index: usize) -> i64 {
        self.timestamps[index]
    }

    /// The value at an index below [`Chunk::len`].
    pub fn value_at(&self, index: usize) -> f64 {
        self.values[index]
    }

    /// Appends the timestamps of a range of indexes.
    pub fn append_timestamps(&self, range: Range<usize>, out: &mut Vec<i64>) {
        out.extend_from_slice(&self.timestamps[range]);
    }

    /// Appends the values of a range of indexes.
    pub fn append_values(&self, range: Range<usize>, out: &mut Vec<f64>) {
        out.extend_from_slice(&self.values[range]);
    }

    /// Bytes of memory that the chunk takes, itself included.
    pub fn memory_bytes(&self) -> usize {
        size_of::<Chunk>() + self.len() * 16
    }
}
