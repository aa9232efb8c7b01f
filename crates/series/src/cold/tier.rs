//! The object store as series see it: references that can be fetched, a bounded cache of what was.

use super::object::{ColdObject, ColdReference};
use super::store::ColdStore;
use crate::codec::Chunk;
use crate::view::{ColdPart, ReadError};
use ahash::AHashMap;
use parking_lot::Mutex;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Weak};

/// Bytes of memory that fetched chunks may take.
const MAX_CACHE_BYTES: usize = 64 << 20;

/// An object store with chunks of series in it.
#[derive(Clone, Debug)]
pub struct ColdTier(pub(super) Arc<Inner>);

pub(super) struct Inner {
    pub(super) store: Box<dyn ColdStore>,
    /// Objects that somebody refers to, or did not long ago.
    objects: Mutex<AHashMap<Box<str>, Weak<ColdObject>>>,
    cache: Mutex<Cache>,
}

/// Fetched chunks in two generations: when the young one is full, the old one is dropped and the young one becomes old.
#[derive(Default)]
struct Cache {
    young: AHashMap<(Box<str>, u64), Arc<Chunk>>,
    old: AHashMap<(Box<str>, u64), Arc<Chunk>>,
    young_bytes: usize,
}

impl ColdTier {
    /// A tier over a store.
    pub fn new(store: Box<dyn ColdStore>) -> ColdTier {
        ColdTier(Arc::new(Inner {
            store,
            objects: Mutex::default(),
            cache: Mutex::default(),
        }))
    }

    /// A chunk in an object; nothing is fetched.
    pub(crate) fn part(&self, object: &str, bytes: Range<u64>, timestamps: (i64, i64), len: usize) -> ColdPart {
        let object = self.object(object);
        let reference = ColdReference {
            object,
            offset: bytes.start,
            bytes: bytes.end.saturating_sub(bytes.start),
            len,
        };
        ColdPart {
            first_timestamp: timestamps.0,
            last_timestamp: timestamps.1,
            len,
            source: Arc::new(reference),
        }
    }

    pub(super) fn object(&self, name: &str) -> Arc<ColdObject> {
        let mut objects = self.0.objects.lock();
        if let Some(object) = objects.get(name).and_then(Weak::upgrade) {
            return object;
        }
        let object = Arc::new(ColdObject {
            name: name.into(),
            tier: Arc::clone(&self.0),
        });
        objects.insert(name.into(), Arc::downgrade(&object));
        object
    }

    /// The store.
    pub(crate) fn store(&self) -> &dyn ColdStore {
        &*self.0.store
    }

    /// Whether somebody refers to an object. Forgets those that nobody does.
    pub(crate) fn is_referred_to(&self, name: &str) -> bool {
        let mut objects = self.0.objects.lock();
        let is_alive = objects.get(name).is_some_and(|object| object.strong_count() > 0);
        if !is_alive {
            objects.remove(name);
        }
        is_alive
    }
}

impl Inner {
    pub(super) fn fetch(&self, reference: &ColdReference) -> Result<Arc<Chunk>, ReadError> {
        let key = (reference.object.name.clone(), reference.offset);
        if let Some(chunk) = self.cache.lock().get(&key) {
            return Ok(chunk);
        }
        let failed = |why: String| ReadError(format!("{reference:?}: {why}"));
        let range = reference.offset..reference.offset.saturating_add(reference.bytes);
        let bytes = self
            .store
            .get(&reference.object.name, range)
            .map_err(|error| failed(error.to_string()))?;
        let chunk = read_chunk(&bytes).map_err(failed)?;
        if chunk.len() != reference.len {
            return Err(failed(format!(
                "corrupt: {} samples in place of {}",
                chunk.len(),
                reference.len
            )));
        }
        let chunk = Arc::new(chunk);
        self.cache.lock().insert(key, &chunk);
        Ok(chunk)
    }
}

/// A chunk behind the checksum of its bytes.
fn read_chunk(bytes: &[u8]) -> Result<Chunk, String> {
    let (checksum, bytes) = bytes.split_first_chunk::<4>().ok_or("corrupt: too short")?;
    if crc32c::crc32c(bytes) != u32::from_le_bytes(*checksum) {
        return Err("corrupt: the checksum is wrong".to_owned());
    }
    Chunk::from_bytes(bytes).map_err(|error| error.to_string())
}

impl Cache {
    fn get(&mut self, key: &(Box<str>, u64)) -> Option<Arc<Chunk>> {
        if let Some(chunk) = self.young.get(key) {
            return Some(Arc::clone(chunk));
        }
        let chunk = self.old.remove(key)?;
        self.insert(key.clone(), &chunk);
        Some(chunk)
    }

    fn insert(&mut self, key: (Box<str>, u64), chunk: &Arc<Chunk>) {
        if self.young_bytes >= MAX_CACHE_BYTES / 2 {
            self.old = std::mem::take(&mut self.young);
            self.young_bytes = 0;
        }
        self.young_bytes += chunk.memory_bytes();
        self.young.insert(key, Arc::clone(chunk));
    }
}

impl fmt::Debug for Inner {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("ColdTier")
            .field("store", &self.store)
            .finish_non_exhaustive()
    }
}
