//! What the journal remembers: effects, by number of series or by key.

use crate::aggregate::Aggregator;
use crate::options::{Changes, SeriesOptions};
use crate::policy::DuplicatePolicy;

/// One effect.
#[derive(Clone, Debug)]
pub enum Record<'a> {
    /// A series was made.
    Create {
        id: u64,
        db: u8,
        key: &'a [u8],
        options: &'a SeriesOptions,
    },
    /// Attributes of a series changed.
    Alter { id: u64, changes: &'a Changes },
    /// Samples between two inclusive bounds were deleted.
    Delete { id: u64, from: i64, to: i64 },
    /// A rule was made.
    Rule {
        source: u64,
        destination: u64,
        aggregator: Aggregator,
        bucket_ms: i64,
        align_ms: i64,
    },
    /// A rule was ended.
    Unrule { source: u64, destination: u64 },
    /// A key was removed.
    Remove { db: u8, key: &'a [u8] },
    /// A key got another name; what had the name was removed by a record of its own.
    Rename { db: u8, from: &'a [u8], to: &'a [u8] },
    /// A key went to another database.
    Move { db: u8, key: &'a [u8], to_db: u8 },
    /// Two databases were exchanged.
    Swap { one: u8, other: u8 },
    /// The end of a key changed; `i64::MAX` for never.
    Expire { db: u8, key: &'a [u8], expires_at: i64 },
    /// A key was set to a text.
    Text {
        db: u8,
        key: &'a [u8],
        text: &'a [u8],
        expires_at: i64,
    },
    /// A series was made from the bytes of a body (RESTORE, COPY).
    Restore {
        id: u64,
        db: u8,
        key: &'a [u8],
        expires_at: i64,
        body: &'a [u8],
    },
    /// All keys of a database, or of all, were removed.
    Flush { db: Option<u8> },
}

/// How a sample was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteKind {
    /// Under this policy.
    Add(DuplicatePolicy),
    /// As the newest sample, whatever the policy (TS.INCRBY).
    Overwrite,
}

/// Appends the bytes of a record.
pub fn append_record(_record: &Record<'_>, _out: &mut Vec<u8>) {}

/// A run of samples of one series, encoded while they come.
#[derive(Debug)]
pub struct SamplesRecord {
    id: u64,
    bytes: Vec<u8>,
}

impl SamplesRecord {
    /// An empty run; `buffer` gives its memory.
    pub fn new(id: u64, mut buffer: Vec<u8>) -> SamplesRecord {
        buffer.clear();
        SamplesRecord { id, bytes: buffer }
    }

    /// Adds a sample.
    pub fn push(&mut self, timestamp: i64, value: f64, _kind: WriteKind) {
        if self.bytes.is_empty() {
            self.bytes.extend_from_slice(&self.id.to_le_bytes());
        }
        self.bytes.extend_from_slice(&timestamp.to_le_bytes());
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    /// The run so far, once: the next sample begins a new run. Nothing if there is none.
    pub fn take_frame(&mut self) -> Option<&[u8]> {
        None
    }

    /// The memory back.
    pub fn take_buffer(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.bytes)
    }
}
