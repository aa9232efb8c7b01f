//! Tells whether an entry was seen before, where two sources may hold the same one: a push that was repeated because its answer got
//! lost, part of which had been cut into an object already (logql.md 12: exact duplicates are shown once).

use crate::select::SelectedStream;
use parking_lot::Mutex;
use std::collections::HashSet;
use timberline_store::source::TimeSpan;

/// What an entry is told apart by, besides its timestamp: two independent 64-bit hashes of stream, line and metadata, so that a collision
/// is out of reach.
pub(crate) type Identity = (u64, u64);

/// The identity of entries that no second source holds.
pub(crate) const HELD_ONCE: Identity = (0, 0);

/// Entries seen so far, by stream; shared by all partitions. Only entries in spans that sources share come here.
#[derive(Debug)]
pub(crate) struct SeenEntries {
    spans: Vec<Option<TimeSpan>>,
    streams: Vec<Mutex<HashSet<(i64, Identity)>>>,
    hashers: [ahash::RandomState; 2],
}

impl SeenEntries {
    /// `None` if no stream has a span with possible duplicates.
    pub(crate) fn for_streams(streams: &[SelectedStream]) -> Option<Self> {
        if streams.iter().all(|s| s.duplicates.is_none()) {
            return None;
        }
        let hashers = [ahash::RandomState::new(), ahash::RandomState::new()];
        Some(Self {
            spans: streams.iter().map(|s| s.duplicates).collect(),
            streams: streams.iter().map(|_| Mutex::default()).collect(),
            hashers,
        })
    }

    /// True if an entry of a stream may be held twice.
    #[inline]
    pub(crate) fn may_repeat(&self, stream: u32, timestamp_ns: i64) -> bool {
        self.spans[stream as usize].is_some_and(|s| s.min_ns <= timestamp_ns && timestamp_ns <= s.max_ns)
    }

    /// The identity of an entry that may be held twice. `metadata` is sorted by name.
    pub(crate) fn identity(&self, stream: u32, line: &[u8], metadata: &[(&str, &[u8])]) -> Identity {
        let [a, b] = &self.hashers;
        let entry = (stream, line, metadata);
        // Anything but the identity of entries held once.
        (a.hash_one(entry) | 1, b.hash_one(entry))
    }

    /// Remembers an entry; false if it was seen before.
    pub(crate) fn insert(&self, stream: u32, timestamp_ns: i64, identity: Identity) -> bool {
        self.streams[stream as usize].lock().insert((timestamp_ns, identity))
    }
}
