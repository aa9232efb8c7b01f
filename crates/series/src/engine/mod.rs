//! The engine: databases of keys, the gate that transactions close, the journal that remembers.
//!
//! Locks are taken in this order: the gate, a shard of keys, a label index, a series (a source before its destinations), the journal.
//! Only what nobody else knows yet may be locked against it.

mod access;
mod bodies;
mod compaction;
mod keys;
mod listener;
mod replay;
mod rules;
mod samples;
mod texts;
mod transfer;
mod writer;

pub use access::Access;
pub(crate) use bodies::Bodies;
pub use listener::{Interest, Listener};
pub(crate) use replay::{Replay, ReplayError};
pub use writer::SeriesWriter;

use crate::journal::Journal;
use crate::keyspace::{DATABASES, Database};
use crate::policy::DuplicatePolicy;
use crate::settings::Settings;
use crate::snapshot::Durability;
use ahash::RandomState;
use parking_lot::RwLock;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// All databases and what belongs to them. Everything is done through an [`Access`].
pub struct Engine {
    pub(crate) databases: RwLock<Vec<Database>>,
    settings: RwLock<Settings>,
    /// The configured policy again, for writers to read without a lock.
    duplicate_policy: AtomicU8,
    pub(crate) gate: RwLock<()>,
    pub(crate) next_id: AtomicU64,
    pub(crate) journal: Journal,
    pub(crate) durability: Durability,
    /// The journal is being replayed: no key expires.
    replaying: AtomicBool,
    listener: OnceLock<Box<dyn Listener>>,
    interest: Interest,
}

impl Engine {
    /// An engine that remembers nothing beyond its life.
    pub fn in_memory() -> Engine {
        Engine::with_journal(Journal::none())
    }

    pub(crate) fn with_journal(journal: Journal) -> Engine {
        let hasher = RandomState::new();
        Engine {
            databases: RwLock::new((0..DATABASES).map(|_| Database::new(&hasher)).collect()),
            settings: RwLock::default(),
            duplicate_policy: AtomicU8::new(DuplicatePolicy::Block.number()),
            gate: RwLock::new(()),
            next_id: AtomicU64::new(1),
            journal,
            durability: Durability::default(),
            replaying: AtomicBool::new(false),
            listener: OnceLock::new(),
            interest: Interest::default(),
        }
    }

    /// The configured defaults.
    pub fn settings(&self) -> Settings {
        self.settings.read().clone()
    }

    /// Changes the configured defaults.
    pub fn change_settings(&self, change: impl FnOnce(&mut Settings)) {
        let mut settings = self.settings.write();
        change(&mut settings);
        self.duplicate_policy
            .store(settings.duplicate_policy.number(), Ordering::Relaxed);
    }

    pub(crate) fn duplicate_policy(&self) -> DuplicatePolicy {
        DuplicatePolicy::from_number(self.duplicate_policy.load(Ordering::Relaxed)).unwrap_or(DuplicatePolicy::Block)
    }

    /// Names who is told of changes; once.
    pub fn set_listener(&self, listener: Box<dyn Listener>) {
        // A second listener would never be told anything; the first stays.
        let _ = self.listener.set(listener);
    }

    /// What the listener wants to be told.
    pub fn interest(&self) -> &Interest {
        &self.interest
    }

    pub(crate) fn listener(&self) -> Option<&dyn Listener> {
        self.listener.get().map(AsRef::as_ref)
    }

    /// The journal: durability, its figures.
    pub fn journal(&self) -> &Journal {
        &self.journal
    }

    /// The clock, in milliseconds since 1970.
    pub fn now_ms(&self) -> i64 {
        if self.replaying.load(Ordering::Relaxed) {
            return i64::MIN;
        }
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    }

    /// Opens the gate for a batch of commands that may run beside others.
    pub fn shared(&self) -> Access<'_> {
        Access::shared(self)
    }

    /// Closes the gate for everybody else: for transactions, scripts, and commands over several keys that must not be seen half done.
    /// What is written under it is one frame of the journal.
    pub fn exclusive(&self) -> Access<'_> {
        Access::exclusive(self)
    }

    /// Bytes of memory that all keys take, by our own accounting.
    pub fn memory_bytes(&self) -> u64 {
        let databases = self.databases.read();
        databases.iter().map(Database::memory_bytes).sum()
    }
}
