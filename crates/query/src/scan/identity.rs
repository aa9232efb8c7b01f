//! Tells whether an entry was seen before, where two sources may hold the same one: a push that was repeated because its answer got
//! lost, part of which had been cut into an object already (logql.md 12: exact duplicates are shown once).

use crate::select::SelectedStream;
use parking_lot::Mutex;
use std::collections::HashSet;

/// Entries seen so far, by stream; shared by all partitions. Only entries in spans that sources share come here.
#[derive(Debug)]
pub(crate) struct SeenEntries {
    streams: Vec<Mutex<HashSet<(i64, u64, u64)>>>,
    // Two independent 64-bit hashes with the timestamp: a collision is out of reach.
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
            streams: streams.iter().map(|_| Mutex::default()).collect(),
            hashers,
        })
    }

    /// Remembers an entry; false if it was seen before. `metadata` is sorted by name.
    pub(crate) fn insert(&self, stream: u32, timestamp_ns: i64, line: &[u8], metadata: &[(&str, &[u8])]) -> bool {
        let [a, b] = &self.hashers;
        let entry = (timestamp_ns, a.hash_one((line, metadata)), b.hash_one((line, metadata)));
        self.streams[stream as usize].lock().insert(entry)
    }
}
