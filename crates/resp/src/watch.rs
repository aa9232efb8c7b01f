//! Which keys are looked after: by transactions (WATCH), and by readers that wait for a missing key (TS.READ with BLOCK).

use crate::server::Server;
use ahash::AHashMap;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use timberline_series::engine::Interest;

type WatchedKey = (u8, Box<[u8]>);

/// The keys that one client watches, and whether one of them was changed.
#[derive(Default)]
pub(crate) struct Watch {
    watcher: Watcher,
    keys: Vec<WatchedKey>,
}

/// Who is told of a change.
#[derive(Clone, Default)]
struct Watcher {
    changed: Arc<AtomicBool>,
    /// Called under locks.
    waker: Option<Waker>,
}

type Waker = Arc<dyn Fn() + Send + Sync>;

/// Has a client woken when a key is changed, until this is dropped.
pub(crate) struct KeyWaker {
    server: Arc<Server>,
    watch: Watch,
}

impl KeyWaker {
    /// Begins to look after a key.
    pub(crate) fn new(server: &Arc<Server>, db: u8, key: &[u8], waker: Waker) -> KeyWaker {
        let watcher = Watcher {
            waker: Some(waker),
            ..Watcher::default()
        };
        let mut watch = Watch {
            watcher,
            keys: Vec::new(),
        };
        server.watches.add(&mut watch, db, key, server.engine.interest());
        KeyWaker {
            server: Arc::clone(server),
            watch,
        }
    }
}

impl Drop for KeyWaker {
    fn drop(&mut self) {
        self.server
            .watches
            .clear(&mut self.watch, self.server.engine.interest());
    }
}

impl Watch {
    pub(crate) fn is_changed(&self) -> bool {
        self.watcher.changed.load(Ordering::Acquire)
    }

    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }
}

/// All watched keys.
#[derive(Default)]
pub(crate) struct WatchList(Mutex<AHashMap<WatchedKey, Vec<Watcher>>>);

impl WatchList {
    /// Begins to watch a key.
    pub(crate) fn add(&self, watch: &mut Watch, db: u8, key: &[u8], interest: &Interest) {
        let name: WatchedKey = (db, key.into());
        if watch.keys.contains(&name) {
            return;
        }
        let mut watched = self.0.lock();
        interest.set(Interest::CHANGED, true);
        watched.entry(name.clone()).or_default().push(watch.watcher.clone());
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
                watchers.retain(|watcher| !Arc::ptr_eq(&watcher.changed, &watch.watcher.changed));
                if watchers.is_empty() {
                    watched.remove(&name);
                }
            }
        }
        if watched.is_empty() {
            interest.set(Interest::CHANGED, false);
        }
        watch.watcher.changed.store(false, Ordering::Release);
    }

    /// Tells those who watch a key that it was changed.
    pub(crate) fn changed(&self, db: u8, key: &[u8]) {
        let watched = self.0.lock();
        // The map is small: who watches a key looks at it for a moment.
        if let Some(watchers) = watched.get(&(db, key.into()) as &WatchedKey) {
            for watcher in watchers {
                watcher.changed.store(true, Ordering::Release);
                if let Some(waker) = &watcher.waker {
                    waker();
                }
            }
        }
    }
}
