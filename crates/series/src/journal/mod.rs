//! The append log: every effect on keys and series, in the order in which it came about.
//!
//! It lies in a folder as segments `<number>.log`, the number in 20 digits. A segment is never written again after a restart; a
//! snapshot, and a segment of 64 MiB, starts the next one.
//!
//! ```text
//! segment := "TMBRTSJ\n" version:u32=1 reserved:u32=0 frame*
//! frame   := length:u32 checksum:u32 sequence:u64 payload{length}       length >= 1
//! payload := record*                                                    see `record.rs`
//! ```
//!
//! Numbers are little endian. The checksum is CRC-32C over payload, sequence and length. Sequence numbers ascend; a frame is a run of
//! samples of one series, one command, or one transaction.
//!
//! Who appends pays for a copy into memory. A thread writes what has gathered, at most five milliseconds later, and makes it durable
//! as the policy says. While the disk refuses, what was appended is kept and written again, [`Journal::check`] tells writers to stop, and
//! nobody is told that something is durable.

mod file;
mod frame;
mod fsync;
mod queue;
mod segment;
mod syncer;
#[cfg(test)]
mod tests;
mod writer;

pub(crate) use file::{DiskStorage, FolderLock, create_folder, sync_folder};
pub use fsync::Fsync;
pub(crate) use segment::{SegmentError, list_segments, read_segment, set_aside};

use file::Storage;
use parking_lot::Mutex;
use queue::Shared;
use std::sync::Arc;
use std::thread::JoinHandle;

/// How many warnings are kept for the operator.
const MAX_WARNINGS: usize = 1000;

/// What is done when a frame is durable, or can't be made so for now.
pub type WhenDurable = Box<dyn FnOnce(Result<(), JournalError>) + Send>;

/// The journal can't be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the journal can't be written: {0}")]
pub struct JournalError(pub Arc<str>);

/// The append log; of an engine in memory it keeps nothing.
#[derive(Debug)]
pub struct Journal {
    shared: Option<Arc<Shared>>,
    threads: Vec<JoinHandle<()>>,
    warnings: Mutex<Vec<String>>,
}

/// What the journal did and how it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Frames appended since the start.
    pub frames: u64,
    /// Bytes appended since the start.
    pub bytes: u64,
    /// Bytes appended since the last snapshot began.
    pub bytes_since_snapshot: u64,
    /// Bytes that wait in memory to be written.
    pub buffered_bytes: u64,
    /// The last sequence number that is durable.
    pub durable_sequence: u64,
    /// How often data were made durable.
    pub syncs: u64,
    /// How often writing or syncing failed.
    pub failures: u64,
    /// Why nothing can be written at the moment.
    pub failing: Option<Arc<str>>,
}

impl Journal {
    /// A journal that keeps nothing.
    pub fn none() -> Journal {
        Journal {
            shared: None,
            threads: Vec::new(),
            warnings: Mutex::default(),
        }
    }

    /// A journal whose next segment and next frame have these numbers.
    pub(crate) fn start(
        storage: Box<dyn Storage>,
        fsync: Fsync,
        next_segment: u64,
        next_sequence: u64,
    ) -> std::io::Result<Journal> {
        let shared = Arc::new(Shared::new(fsync, next_segment, next_sequence));
        let writer = writer::Writer::new(Arc::clone(&shared), storage, next_segment);
        let syncer = Arc::clone(&shared);
        let spawn =
            |name: &str, work: Box<dyn FnOnce() + Send>| std::thread::Builder::new().name(name.to_owned()).spawn(work);
        let threads = vec![
            spawn("series-log", Box::new(|| writer.run()))?,
            spawn("series-sync", Box::new(move || syncer::run(&syncer)))?,
        ];
        Ok(Journal {
            shared: Some(shared),
            threads,
            warnings: Mutex::default(),
        })
    }

    /// Appends a frame of records and gives its sequence number; 0 if nothing is kept. Waits while the disk is far behind.
    pub fn append(&self, records: &[u8]) -> u64 {
        self.shared.as_ref().map_or(0, |shared| shared.append(records))
    }

    /// The sequence number of the next frame; 0 if nothing is kept.
    pub fn next_sequence(&self) -> u64 {
        self.shared.as_ref().map_or(0, |shared| shared.next_sequence())
    }

    /// Calls `then` when everything up to a sequence number is as durable as the policy asks: synced with [`Fsync::Always`], at once with
    /// the others; or when the journal can't be written. It is called by the thread that writes, and must not wait.
    pub fn when_durable(&self, sequence: u64, then: WhenDurable) {
        match &self.shared {
            Some(shared) => shared.when_durable(sequence, then),
            None => then(Ok(())),
        }
    }

    /// Waits until everything up to a sequence number is on the disk, whatever the policy.
    pub fn sync(&self, sequence: u64) -> Result<(), JournalError> {
        self.shared.as_ref().map_or(Ok(()), |shared| shared.sync(sequence))
    }

    /// Whether a writer may go on: not while the disk refuses, so that memory and disk don't drift apart. Ask before each write.
    pub fn check(&self) -> Result<(), JournalError> {
        self.shared.as_ref().map_or(Ok(()), |shared| shared.check())
    }

    /// When data are made durable.
    pub fn fsync(&self) -> Fsync {
        self.shared.as_ref().map_or(Fsync::No, |shared| shared.fsync())
    }

    /// Changes when data are made durable.
    pub fn set_fsync(&self, fsync: Fsync) {
        if let Some(shared) = &self.shared {
            shared.set_fsync(fsync);
        }
    }

    /// Whether anything is kept.
    pub fn is_kept(&self) -> bool {
        self.shared.is_some()
    }

    /// Begins a new segment and gives its number. What was appended before lies in older ones. For a snapshot: counting of bytes
    /// begins anew.
    pub(crate) fn rotate(&self) -> u64 {
        self.shared.as_ref().map_or(0, |shared| shared.rotate())
    }

    /// What the journal did and how it is.
    pub fn statistics(&self) -> Statistics {
        self.shared
            .as_ref()
            .map_or_else(Statistics::default, |shared| shared.statistics())
    }

    /// Keeps a warning for the operator.
    pub fn warn(&self, text: String) {
        let mut warnings = self.warnings.lock();
        if warnings.len() < MAX_WARNINGS {
            warnings.push(text);
        }
    }

    /// The warnings since the last call.
    pub fn take_warnings(&self) -> Vec<String> {
        std::mem::take(&mut *self.warnings.lock())
    }
}

impl Drop for Journal {
    /// Writes and syncs what is left.
    fn drop(&mut self) {
        if let Some(shared) = &self.shared {
            shared.stop();
        }
        for thread in self.threads.drain(..) {
            // A panic of the thread was told on standard error by itself.
            let _ = thread.join();
        }
    }
}
