//! Walking over keys in pieces (SCAN).

use super::shard::{Database, shard_of_hash};
use std::sync::Arc;

impl Database {
    /// About `count` keys from a cursor on, and the cursor that goes on from there; 0 begins and ends.
    ///
    /// Keys come in the order of their hashes, which never changes while the server runs, and the cursor is the hash to go on from.
    /// So a key that is there all along is told once, whatever comes and goes meanwhile.
    pub(crate) fn scan(&self, cursor: u64, count: usize) -> (u64, Vec<Arc<[u8]>>) {
        let mut found: Vec<(u64, Arc<[u8]>)> = Vec::new();
        for shard in &self.shards()[shard_of_hash(cursor)..] {
            let begin = found.len();
            let keys = shard.read();
            found.extend(
                keys.keys()
                    .map(|key| (self.hash(key), Arc::clone(key)))
                    .filter(|(hash, _)| *hash >= cursor),
            );
            drop(keys);
            found[begin..].sort_unstable_by_key(|(hash, _)| *hash);
            if found.len() > count.max(1) {
                break;
            }
        }
        // Keys of one hash stay together: the cursor can't point between them.
        let mut end = count.max(1).min(found.len());
        while end < found.len() && found[end].0 == found[end - 1].0 {
            end += 1;
        }
        let next = found.get(end).map_or(0, |(hash, _)| *hash);
        found.truncate(end);
        (next, found.into_iter().map(|(_, key)| key).collect())
    }
}
