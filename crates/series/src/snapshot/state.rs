//! Where an engine is kept, and how its snapshots are.

use crate::cold::ColdTier;
use crate::journal::FolderLock;
use crate::series::Series;
use ahash::{AHashMap, AHashSet};
use parking_lot::Mutex;
use std::path::PathBuf;
use std::sync::Arc;

/// What an engine needs to know of its folder.
#[derive(Debug, Default)]
pub struct Durability {
    /// The folder; none if nothing is kept.
    pub(crate) folder: Option<PathBuf>,
    /// A snapshot is taken when the journal since the last one is longer than this and than the snapshot.
    pub(crate) snapshot_after_bytes: u64,
    /// Held while a snapshot is taken: one at a time.
    pub(crate) saving: Mutex<()>,
    pub(crate) figures: Mutex<SnapshotFigures>,
    /// While a snapshot is written: the destinations of rules made since it began, by the number of the source.
    pub(crate) new_rules: Mutex<Option<AHashMap<u64, Vec<Arc<Series>>>>>,
    pub(crate) objects: Mutex<ObjectNames>,
    pub(crate) tier: Option<ColdTier>,
    /// Keeps other processes out as long as the engine lives.
    #[expect(dead_code, reason = "held")]
    pub(crate) lock: Option<FolderLock>,
}

impl Durability {
    /// Notes that a rule is made, in case a snapshot is being written.
    pub(crate) fn note_rule(&self, source: &Series, destination: &Arc<Series>) {
        if let Some(rules) = &mut *self.new_rules.lock() {
            rules.entry(source.id()).or_default().push(Arc::clone(destination));
        }
    }
}

/// Objects that files of the folder refer to.
#[derive(Debug, Default)]
pub(crate) struct ObjectNames {
    /// By the newest snapshot.
    pub(crate) of_snapshot: AHashSet<Box<str>>,
    /// By the journal behind the newest snapshot.
    pub(crate) of_journal: AHashSet<Box<str>>,
    /// By the journal since a snapshot that is in the making began.
    pub(crate) since_rotation: AHashSet<Box<str>>,
}

/// How snapshots are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SnapshotFigures {
    /// Whether one is being taken.
    pub is_running: bool,
    /// When the last one was taken, in milliseconds since 1970; 0 if none was.
    pub last_ms: i64,
    /// How many bytes it has.
    pub last_bytes: u64,
    /// How long it took.
    pub last_duration_ms: u64,
    /// How many were taken since the start.
    pub taken: u64,
    /// Why the last attempt failed, if it did.
    pub last_error: Option<String>,
}
