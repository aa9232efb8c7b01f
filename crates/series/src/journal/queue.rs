// hot path: no locks shared between cores but one short one, no logging above debug, no allocation per frame.
//! What was appended and is not written yet, and who waits for it.

use super::frame::append_frame;
use super::syncer::SyncTarget;
use super::{Fsync, JournalError, Statistics, WhenDurable};
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

/// So many bytes are written at once, without waiting for more.
const EAGER_BYTES: usize = 256 << 10;
/// So many bytes may wait for the disk; then appending waits.
const MAX_BUFFERED_BYTES: usize = 64 << 20;
/// A segment that is this long is ended.
const SEGMENT_BYTES: usize = 64 << 20;

/// Frames to be written with one call.
#[derive(Debug, Default)]
pub(super) struct Batch {
    pub(super) bytes: Vec<u8>,
    pub(super) last_sequence: u64,
    /// The segment that begins behind these frames.
    pub(super) next_segment: Option<u64>,
}

/// What is shared by those who append, the thread that writes, and the one that syncs.
pub(super) struct Shared {
    pub(super) queue: Mutex<Queue>,
    /// There is something to do for the writer.
    pub(super) work: Condvar,
    /// There is something to do for the thread that syncs.
    pub(super) sync_work: Condvar,
    /// The writer took frames out of the queue.
    room: Condvar,
    /// Something became durable, or failed.
    progress: Condvar,
    /// Locked under the queue or alone, never around it.
    pub(super) sync_target: Mutex<SyncTarget>,
    fsync: AtomicU8,
    failing: AtomicBool,
}

/// Everything behind the one lock.
#[derive(Default)]
pub(super) struct Queue {
    /// Frames behind those of `closed`.
    pub(super) filling: Vec<u8>,
    /// Ends of segments, to be written first.
    pub(super) closed: VecDeque<Batch>,
    closed_bytes: usize,
    pub(super) next_sequence: u64,
    next_segment: u64,
    segment_bytes: usize,
    /// The last sequence number that is on the disk.
    pub(super) durable: u64,
    /// Somebody waits until this is on the disk, whatever the policy.
    pub(super) sync_to: u64,
    waiters: Vec<(u64, WhenDurable)>,
    /// The writer waits without end: who appends wakes it.
    pub(super) idle: bool,
    /// The writer is to write without waiting for more.
    pub(super) urgent: bool,
    pub(super) stop: bool,
    /// A sync beside the writing failed: what it was for has to be written again.
    pub(super) sync_failed: bool,
    failure: Option<Arc<str>>,
    frames: u64,
    bytes: u64,
    bytes_since_snapshot: u64,
    syncs: u64,
    failures: u64,
}

impl Queue {
    pub(super) fn has_frames(&self) -> bool {
        !self.filling.is_empty() || !self.closed.is_empty()
    }

    pub(super) fn wants_sync(&self) -> bool {
        self.sync_to > self.durable
    }

    fn buffered_bytes(&self) -> usize {
        self.closed_bytes + self.filling.len()
    }

    /// Ends the segment behind what is in the queue; gives the number of the next one.
    fn close_segment(&mut self) -> u64 {
        let next = self.next_segment + 1;
        self.next_segment = next;
        self.segment_bytes = 0;
        let bytes = std::mem::take(&mut self.filling);
        self.closed_bytes += bytes.len();
        self.closed.push_back(Batch {
            bytes,
            last_sequence: self.next_sequence - 1,
            next_segment: Some(next),
        });
        next
    }

    /// What is to be written next; `spare` becomes the buffer to fill.
    pub(super) fn take(&mut self, spare: Vec<u8>) -> Batch {
        if let Some(batch) = self.closed.pop_front() {
            self.closed_bytes -= batch.bytes.len();
            return batch;
        }
        Batch {
            bytes: std::mem::replace(&mut self.filling, spare),
            last_sequence: self.next_sequence - 1,
            next_segment: None,
        }
    }
}

impl Shared {
    pub(super) fn new(fsync: Fsync, next_segment: u64, next_sequence: u64) -> Shared {
        let next_sequence = next_sequence.max(1);
        let queue = Queue {
            next_sequence,
            next_segment,
            durable: next_sequence - 1,
            ..Queue::default()
        };
        Shared {
            queue: Mutex::new(queue),
            work: Condvar::new(),
            sync_work: Condvar::new(),
            room: Condvar::new(),
            progress: Condvar::new(),
            sync_target: Mutex::default(),
            fsync: AtomicU8::new(fsync.number()),
            failing: AtomicBool::new(false),
        }
    }

    pub(super) fn append(&self, records: &[u8]) -> u64 {
        let checksum = crc32c::crc32c(records);
        let mut queue = self.queue.lock();
        // While the disk refuses, [`Shared::check`] holds back writers; what is under way is taken.
        while queue.buffered_bytes() >= MAX_BUFFERED_BYTES && queue.failure.is_none() {
            self.room.wait(&mut queue);
        }
        let sequence = queue.next_sequence;
        queue.next_sequence += 1;
        let before = queue.filling.len();
        append_frame(records, checksum, sequence, &mut queue.filling);
        let bytes = queue.filling.len() - before;
        queue.frames += 1;
        queue.bytes += bytes as u64;
        queue.bytes_since_snapshot += bytes as u64;
        queue.segment_bytes += bytes;
        if queue.segment_bytes >= SEGMENT_BYTES {
            queue.close_segment();
        }
        let eager = queue.buffered_bytes() >= EAGER_BYTES && !queue.urgent;
        queue.urgent |= eager;
        let wake = eager || queue.idle;
        queue.idle = false;
        drop(queue);
        if wake {
            self.work.notify_one();
        }
        sequence
    }

    pub(super) fn next_sequence(&self) -> u64 {
        self.queue.lock().next_sequence
    }

    pub(super) fn rotate(&self) -> u64 {
        let mut queue = self.queue.lock();
        queue.bytes_since_snapshot = 0;
        let next = queue.close_segment();
        drop(queue);
        self.work.notify_one();
        next
    }

    pub(super) fn when_durable(&self, sequence: u64, then: WhenDurable) {
        let mut queue = self.queue.lock();
        if let Some(failure) = &queue.failure {
            let error = JournalError(Arc::clone(failure));
            drop(queue);
            return then(Err(error));
        }
        if self.fsync() != Fsync::Always || sequence <= queue.durable {
            drop(queue);
            return then(Ok(()));
        }
        debug_assert!(
            sequence < queue.next_sequence,
            "nobody may wait for what was not appended"
        );
        queue.waiters.push((sequence, then));
        queue.urgent = true;
        queue.idle = false;
        drop(queue);
        self.work.notify_one();
    }

    pub(super) fn sync(&self, sequence: u64) -> Result<(), JournalError> {
        let mut queue = self.queue.lock();
        let sequence = sequence.min(queue.next_sequence - 1);
        queue.sync_to = queue.sync_to.max(sequence);
        self.work.notify_one();
        while queue.durable < sequence {
            if let Some(failure) = &queue.failure {
                return Err(JournalError(Arc::clone(failure)));
            }
            self.progress.wait(&mut queue);
        }
        Ok(())
    }

    pub(super) fn check(&self) -> Result<(), JournalError> {
        if !self.failing.load(Ordering::Acquire) {
            return Ok(());
        }
        match &self.queue.lock().failure {
            Some(failure) => Err(JournalError(Arc::clone(failure))),
            None => Ok(()),
        }
    }

    pub(super) fn fsync(&self) -> Fsync {
        Fsync::from_number(self.fsync.load(Ordering::Acquire))
    }

    pub(super) fn set_fsync(&self, fsync: Fsync) {
        self.fsync.store(fsync.number(), Ordering::Release);
        let mut queue = self.queue.lock();
        if fsync == Fsync::Always {
            // What was written under another policy counts as durable from now on only when it is.
            queue.sync_to = queue.next_sequence - 1;
        } else {
            let waiters = std::mem::take(&mut queue.waiters);
            drop(queue);
            waiters.into_iter().for_each(|(_, then)| then(Ok(())));
        }
        self.work.notify_one();
        self.sync_work.notify_one();
    }

    pub(super) fn statistics(&self) -> Statistics {
        let queue = self.queue.lock();
        Statistics {
            frames: queue.frames,
            bytes: queue.bytes,
            bytes_since_snapshot: queue.bytes_since_snapshot,
            buffered_bytes: queue.buffered_bytes() as u64,
            durable_sequence: queue.durable,
            syncs: queue.syncs,
            failures: queue.failures,
            failing: queue.failure.clone(),
        }
    }

    pub(super) fn stop(&self) {
        self.queue.lock().stop = true;
        self.work.notify_all();
        self.sync_work.notify_all();
    }

    /// Tells that there is room in the queue.
    pub(super) fn taken(&self) {
        self.room.notify_all();
    }

    /// Tells that everything up to a sequence number is durable.
    pub(super) fn synced(&self, sequence: u64) {
        let mut queue = self.queue.lock();
        queue.syncs += 1;
        queue.durable = queue.durable.max(sequence);
        let durable = queue.durable;
        let (done, waiting) = std::mem::take(&mut queue.waiters)
            .into_iter()
            .partition::<Vec<_>, _>(|(wanted, _)| *wanted <= durable);
        queue.waiters = waiting;
        drop(queue);
        self.progress.notify_all();
        done.into_iter().for_each(|(_, then)| then(Ok(())));
    }

    /// Tells that the disk refuses.
    pub(super) fn fail(&self, text: &str) {
        let failure: Arc<str> = text.into();
        let mut queue = self.queue.lock();
        queue.failures += 1;
        queue.failure = Some(Arc::clone(&failure));
        self.failing.store(true, Ordering::Release);
        let waiters = std::mem::take(&mut queue.waiters);
        drop(queue);
        self.progress.notify_all();
        self.room.notify_all();
        waiters
            .into_iter()
            .for_each(|(_, then)| then(Err(JournalError(Arc::clone(&failure)))));
    }

    /// Tells that the disk takes data again.
    pub(super) fn recover(&self) {
        if self.failing.load(Ordering::Acquire) {
            let mut queue = self.queue.lock();
            if !queue.sync_failed {
                queue.failure = None;
                self.failing.store(false, Ordering::Release);
            }
        }
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Shared")
            .field("fsync", &self.fsync())
            .field("statistics", &self.statistics())
            .finish()
    }
}
