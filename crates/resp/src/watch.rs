//! WATCH: which keys are looked after by which transactions.

use ahash::AHashMap;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use timberline_series::engine::Interest;

type WatchedKey = (u8, Box<[u8]>);

/// The keys that one client watches, and whether one of them was changed.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    changed: Arc<AtomicBool>,
    keys: Vec<WatchedKey>,
}

impl Watch {
    pub(crate) fn is_changed(&self) -> bool {
        self.changed.load(Ordering::Acquire)
    }

    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }
}

/// All watched keys.
#[derive(Default)]
pub(crate) struct WatchList(Mutex<AHashMap<WatchedKey, Vec<Arc<AtomicBool>>>>);

impl WatchList {
    /// Begins to watch a key.
    pub(crate) fn add(&self, watch: &mut Watch, db: u8, key: &[u8], interest: &Interest) {
        let name: WatchedKey = (db, key.into());
        if watch.keys.contains(&name) {
            return;
        }
        let mut watched = self.0.lock();
        interest.set(Interest::CHANGED, true);
        watched
            .entry(name.clone())
            .or_default()
            .push(Arc::clone(&watch.changed));
        watch.keys.push(name);
    }

    /// Ends the watching of all keys of a client.
    pub(crate) fn clear(&self, watch: &mut Watch, interest: &Interest) {
        if watch.keys.is_empty() {
            return;
        }
        let mut watched = self.0.lock();
        for name in watch.keys.drain(..) {
            if let Some(watchers) = watched.get_mut(&name) {
                watchers.retain(|watcher| !Arc::ptr_eq(watcher, &watch.changed));
                if watchers.is_empty() {
                    watched.remove(&name);
                }
            }
        }
        if watched.is_empty() {
            interest.set(Interest::CHANGED, false);
        }
        watch.changed.store(false, Ordering::Release);
    }

    /// Tells those who watch a key that it was changed.
    pub(crate) fn changed(&self, db: u8, key: &[u8]) {
        let watched = self.0.lock();
        // The map is small: who watches a key looks at it for a moment.
        if let Some(watchers) = watched.get(&(db, key.into()) as &WatchedKey) {
            for watcher in watchers {
                watcher.store(true, Ordering::Release);
            }
        }
    }
}
