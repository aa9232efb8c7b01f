//! What TS.INFO and MEMORY USAGE tell of a series (specification, chapter 12).

use super::Series;
use super::slot::Slot;
use super::state::State;
use crate::aggregate::Aggregator;
use crate::codec::Encoding;
use crate::labels::Labels;
use crate::policy::DuplicatePolicy;
use crate::rules::Rule;
use crate::view::ReadError;
use std::sync::Arc;

/// The fields of TS.INFO.
#[derive(Clone, Debug)]
pub struct Info {
    /// The key.
    pub key: Arc<[u8]>,
    /// Visible samples.
    pub total_samples: u64,
    /// Bytes of memory that the key takes.
    pub memory_bytes: u64,
    /// The first visible timestamp; 0 when there is none.
    pub first_timestamp: i64,
    /// The newest timestamp; 0 when there is none.
    pub last_timestamp: i64,
    /// Milliseconds.
    pub retention_ms: i64,
    /// The size that was asked for.
    pub chunk_bytes: u32,
    /// How chunks are kept.
    pub encoding: Encoding,
    /// The policy of the series, if it has its own.
    pub duplicate_policy: Option<DuplicatePolicy>,
    /// Labels in the order given.
    pub labels: Labels,
    /// The key of the source, for a destination.
    pub source_key: Option<Arc<[u8]>>,
    /// Rules of which the series is the source.
    pub rules: Vec<RuleInfo>,
    /// IGNORE: milliseconds.
    pub ignore_time_ms: i64,
    /// IGNORE: value.
    pub ignore_value: f64,
    /// The chunks; none for an empty series.
    pub chunks: Vec<ChunkInfo>,
}

/// A rule as TS.INFO shows it.
#[derive(Clone, Debug)]
pub struct RuleInfo {
    /// The key of the destination.
    pub destination_key: Arc<[u8]>,
    /// Milliseconds.
    pub bucket_ms: i64,
    /// What a bucket becomes.
    pub aggregator: Aggregator,
    /// A time at which a bucket starts.
    pub align_ms: i64,
}

/// A chunk as TS.INFO DEBUG shows it.
#[derive(Clone, Copy, Debug)]
pub struct ChunkInfo {
    /// The lowest timestamp.
    pub first_timestamp: i64,
    /// The highest timestamp.
    pub last_timestamp: i64,
    /// How many samples.
    pub len: usize,
    /// Bytes of memory; 0 for a chunk in the object store.
    pub bytes: usize,
}

impl State {
    /// Puts everything into chunks: merges what waits and encodes the head.
    pub(crate) fn settle_all(&mut self) -> Result<(), ReadError> {
        self.settle(0, i64::MAX)?;
        self.seal_head(false)
    }

    /// Bytes of memory that the series takes, its key and labels included.
    pub(crate) fn memory_bytes(&self) -> usize {
        let slots: usize = self.slots.iter().map(Slot::heap_bytes).sum();
        let rules: usize = self.rules.iter().map(Rule::heap_bytes).sum();
        let own = size_of::<State>() + size_of::<Series>() + 4 * size_of::<usize>();
        let vectors = self.slots.capacity() * size_of::<Slot>() + self.rules.capacity() * size_of::<Rule>();
        own + self.key.len() + self.labels.heap_bytes() + vectors + slots + rules + self.head.heap_bytes()
    }

    /// Visible samples and the first of them; everything is in chunks.
    fn visible(&self) -> Result<(u64, i64), ReadError> {
        let floor = self.floor();
        let (mut total, mut first) = (0, None);
        for slot in self.slots.iter().filter(|slot| slot.last_timestamp() >= floor) {
            let hidden = if slot.start() >= floor {
                0
            } else {
                slot.chunk()?.find(floor).unwrap_or_else(|index| index)
            };
            total += (slot.chunk_len() - hidden) as u64;
            if first.is_none() {
                first = Some(if hidden == 0 {
                    slot.start()
                } else {
                    slot.chunk()?.timestamp_at(hidden)
                });
            }
        }
        Ok((total, first.unwrap_or(0)))
    }
}

impl Series {
    /// Everything that TS.INFO shows. Late samples are merged first, so the figures are those of the merged series.
    pub fn info(&self) -> Result<Info, ReadError> {
        self.collect_from_source(false)?;
        let mut state = self.state.lock();
        state.settle_all()?;
        state.rules.retain(|rule| rule.destination().is_alive());
        let source = state.source.upgrade().filter(|source| source.is_alive());
        let (total_samples, first_timestamp) = state.visible()?;
        let chunks = state.slots.iter().map(|slot| ChunkInfo {
            first_timestamp: slot.start(),
            last_timestamp: slot.last_timestamp(),
            len: slot.chunk_len(),
            bytes: slot.heap_bytes(),
        });
        let mut info = Info {
            key: Arc::clone(&state.key),
            total_samples,
            memory_bytes: state.memory_bytes() as u64,
            first_timestamp,
            last_timestamp: state.last.map_or(0, |last| last.timestamp),
            retention_ms: state.retention_ms,
            chunk_bytes: state.chunk_bytes,
            encoding: state.encoding,
            duplicate_policy: state.duplicate_policy,
            labels: state.labels.clone(),
            source_key: None,
            rules: Vec::with_capacity(state.rules.len()),
            ignore_time_ms: state.ignore_time_ms,
            ignore_value: state.ignore_value,
            chunks: chunks.collect(),
        };
        info.rules.extend(state.rules.iter().map(|rule| RuleInfo {
            // A source may lock its destinations.
            destination_key: Arc::clone(&rule.destination().state.lock().key),
            bucket_ms: rule.buckets.duration(),
            aggregator: rule.aggregator,
            align_ms: rule.align_ms,
        }));
        drop(state);
        // A destination may not lock its source, so its own lock is released before.
        info.source_key = source.map(|source| Arc::clone(&source.state.lock().key));
        Ok(info)
    }

    /// Bytes of memory that the key takes, in the state that readers see (MEMORY USAGE).
    pub fn memory_usage(&self) -> Result<u64, ReadError> {
        self.collect_from_source(false)?;
        let mut state = self.state.lock();
        state.settle_all()?;
        Ok(state.memory_bytes() as u64)
    }
}
