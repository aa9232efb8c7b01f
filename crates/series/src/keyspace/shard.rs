//! One database: keys spread over shards, each with its lock.

use super::Value;
use crate::labels::LabelIndex;
use ahash::RandomState;
use hashbrown::HashMap;
use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// Shards per database; a power of two.
const SHARDS: usize = 64;

/// Bits of the hashes of keys.
const HASH_BITS: u32 = 48;

/// The shard of a hash. Hashes beyond the highest belong to the last.
pub(super) fn shard_of_hash(hash: u64) -> usize {
    ((hash >> (HASH_BITS - SHARDS.trailing_zeros())) as usize).min(SHARDS - 1)
}

/// What is known of a key.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) value: Value,
    /// Milliseconds since 1970; `i64::MAX` for never.
    pub(crate) expires_at: i64,
}

impl Entry {
    pub(crate) fn new(value: Value) -> Entry {
        Entry {
            value,
            expires_at: i64::MAX,
        }
    }
}

pub(crate) type Shard = HashMap<Arc<[u8]>, Entry, RandomState>;

/// The keys of one database and the labels of its series.
#[derive(Debug)]
pub(crate) struct Database {
    shards: Box<[RwLock<Shard>]>,
    hasher: RandomState,
    /// For each shard, a time before which none of its keys expires.
    soonest_expiry: Box<[AtomicI64]>,
    pub(crate) index: RwLock<LabelIndex>,
}

impl Database {
    pub(crate) fn new(hasher: &RandomState) -> Database {
        let shards = (0..SHARDS).map(|_| RwLock::new(HashMap::with_hasher(hasher.clone())));
        Database {
            shards: shards.collect(),
            hasher: hasher.clone(),
            index: RwLock::default(),
            soonest_expiry: (0..SHARDS).map(|_| AtomicI64::new(i64::MAX)).collect(),
        }
    }

    /// The hash that chooses the shard and orders scans: 48 bits, since some clients read cursors as floating point numbers.
    pub(crate) fn hash(&self, key: &[u8]) -> u64 {
        self.hasher.hash_one(key) >> (64 - HASH_BITS)
    }

    pub(crate) fn shards(&self) -> &[RwLock<Shard>] {
        &self.shards
    }

    /// The number of the shard with a key: the highest bits, so that a scan in order of hashes goes shard by shard.
    pub(crate) fn shard_of(&self, key: &[u8]) -> usize {
        shard_of_hash(self.hash(key))
    }

    pub(crate) fn read(&self, key: &[u8]) -> RwLockReadGuard<'_, Shard> {
        self.shards[self.shard_of(key)].read()
    }

    pub(crate) fn write(&self, key: &[u8]) -> RwLockWriteGuard<'_, Shard> {
        self.shards[self.shard_of(key)].write()
    }

    pub(crate) fn len(&self) -> usize {
        self.shards.iter().map(|shard| shard.read().len()).sum()
    }

    /// Notes that a key expires; to be called whenever an entry gets an end.
    pub(crate) fn note_expiry(&self, key: &[u8], expires_at: i64) {
        if expires_at != i64::MAX {
            self.soonest_expiry[self.shard_of(key)].fetch_min(expires_at, Ordering::AcqRel);
        }
    }

    /// Keys whose time is over, some of them. Shards without any cost one look at a number.
    pub(crate) fn expired(&self, now: i64, at_most: usize) -> Vec<Arc<[u8]>> {
        let mut due = Vec::new();
        for (shard, soonest) in self.shards.iter().zip(&self.soonest_expiry) {
            if soonest.load(Ordering::Acquire) > now {
                continue;
            }
            let keys = shard.read();
            // Whoever gives a key an end holds the shard's lock, so none is missed between the reset and the look.
            soonest.store(i64::MAX, Ordering::Release);
            for (key, entry) in keys.iter().filter(|(_, entry)| entry.expires_at != i64::MAX) {
                soonest.fetch_min(entry.expires_at, Ordering::AcqRel);
                if entry.expires_at <= now && due.len() < at_most {
                    due.push(Arc::clone(key));
                }
            }
        }
        due
    }
}
