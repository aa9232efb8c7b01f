//! Who is told what happens to keys.

use std::sync::atomic::{AtomicU8, Ordering};

/// Told of changes under locks: it must only take notes, and never call the engine.
pub trait Listener: Send + Sync {
    /// A key was made, changed or removed (WATCH).
    fn changed(&self, db: u8, key: &[u8]);

    /// A rule closed a bucket in order and wrote it to this destination (event `ts.add:dest`).
    fn bucket_closed(&self, db: u8, key: &[u8]);

    /// A key reached the end of its life and was removed (event `expired`).
    fn expired(&self, db: u8, key: &[u8]);
}

/// What the listener wants to be told; nothing at first, so that writers pay one look at a number.
#[derive(Debug, Default)]
pub struct Interest(AtomicU8);

impl Interest {
    /// Changes of keys.
    pub const CHANGED: u8 = 1;
    /// Closed buckets.
    pub const BUCKET_CLOSED: u8 = 2;
    /// Expired keys.
    pub const EXPIRED: u8 = 4;

    /// Begins or ends the interest in something.
    pub fn set(&self, what: u8, wanted: bool) {
        if wanted {
            self.0.fetch_or(what, Ordering::AcqRel);
        } else {
            self.0.fetch_and(!what, Ordering::AcqRel);
        }
    }

    /// Whether something is wanted.
    pub fn has(&self, what: u8) -> bool {
        self.0.load(Ordering::Acquire) & what != 0
    }
}
