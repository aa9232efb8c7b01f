//! What a series holds.

use super::Series;
use super::head::Head;
use super::slot::Slot;
use super::waiters::Waiters;
use crate::codec::{Encoding, MAX_CHUNK_SAMPLES};
use crate::labels::Labels;
use crate::options::{Changes, SeriesOptions};
use crate::policy::DuplicatePolicy;
use crate::rules::Rule;
use crate::sample::Sample;
use std::sync::{Arc, Weak};

/// The contents of a series, behind its lock.
#[derive(Debug)]
pub struct State {
    pub(crate) db: u8,
    pub(crate) key: Arc<[u8]>,
    pub(crate) retention_ms: i64,
    pub(crate) chunk_bytes: u32,
    pub(crate) encoding: Encoding,
    pub(crate) duplicate_policy: Option<DuplicatePolicy>,
    pub(crate) ignore_time_ms: i64,
    pub(crate) ignore_value: f64,
    pub(crate) labels: Labels,
    /// Ascending, without overlap, all older than the head.
    pub(crate) slots: Vec<Slot>,
    pub(crate) head: Head,
    /// The newest sample ever stored, or the newest left after a deletion (specification, chapter 1).
    pub(crate) last: Option<Sample>,
    /// No sample older than this was dropped for its age; below it buckets may be incomplete.
    pub(crate) dropped_before: i64,
    /// Rules of which this series is the source.
    pub(crate) rules: Vec<Rule>,
    /// The source, if this is a destination.
    pub(crate) source: Weak<Series>,
    /// The sequence number of the last record of the journal that this state holds.
    pub(crate) applied: u64,
    pub(crate) waiters: Waiters,
}

impl State {
    pub(crate) fn new(db: u8, key: Arc<[u8]>, options: SeriesOptions) -> State {
        State {
            db,
            key,
            retention_ms: options.retention_ms,
            chunk_bytes: options.chunk_bytes,
            encoding: options.encoding,
            duplicate_policy: options.duplicate_policy,
            ignore_time_ms: options.ignore_time_ms,
            ignore_value: options.ignore_value,
            labels: options.labels,
            slots: Vec::new(),
            head: Head::default(),
            last: None,
            dropped_before: 0,
            rules: Vec::new(),
            source: Weak::new(),
            applied: 0,
            waiters: Waiters::default(),
        }
    }

    /// The options that would make a series like this one.
    pub(crate) fn options(&self) -> SeriesOptions {
        SeriesOptions {
            retention_ms: self.retention_ms,
            encoding: self.encoding,
            chunk_bytes: self.chunk_bytes,
            duplicate_policy: self.duplicate_policy,
            ignore_time_ms: self.ignore_time_ms,
            ignore_value: self.ignore_value,
            labels: self.labels.clone(),
        }
    }

    /// Changes attributes; what the change does not name stays.
    pub(crate) fn alter(&mut self, changes: Changes) {
        if let Some(retention_ms) = changes.retention_ms {
            self.retention_ms = retention_ms;
        }
        if let Some(chunk_bytes) = changes.chunk_bytes {
            self.chunk_bytes = chunk_bytes;
        }
        if let Some(policy) = changes.duplicate_policy {
            self.duplicate_policy = Some(policy);
        }
        if let Some((time_ms, value)) = changes.ignore {
            (self.ignore_time_ms, self.ignore_value) = (time_ms, value);
        }
        if let Some(labels) = changes.labels {
            self.labels = labels;
        }
    }

    /// The lowest visible timestamp (specification, chapter 5).
    pub(crate) fn floor(&self) -> i64 {
        match self.last {
            Some(last) if self.retention_ms > 0 && last.timestamp > self.retention_ms => {
                last.timestamp - self.retention_ms
            }
            _ => 0,
        }
    }

    /// How many samples a chunk holds when it is full. The size that the user asks for is in bytes of the peer's encoding. Ours takes so
    /// little for steady series that a chunk of few samples costs more itself than what it holds, and late samples do not get dearer
    /// with the length of chunks; so small sizes give chunks of eight samples a byte, and only large ones are taken at their word.
    pub(crate) fn target_samples(&self) -> usize {
        let bytes = self.chunk_bytes as usize;
        (bytes * 8).min(1024).max((bytes / 4).min(2048))
    }

    /// Chunks that late samples grew beyond this are cut in two.
    pub(crate) fn max_samples(&self) -> usize {
        (self.target_samples() * 3 / 2).min(MAX_CHUNK_SAMPLES)
    }
}
