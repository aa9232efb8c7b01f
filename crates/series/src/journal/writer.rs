//! The thread that writes.

use super::file::{SegmentFile, Storage};
use super::frame::SEGMENT_HEADER;
use super::fsync::Fsync;
use super::queue::{Batch, Shared};
use super::syncer::Target;
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// How long frames may gather before they are written.
const GATHER: Duration = Duration::from_millis(5);
/// How long it takes until a disk that refused is asked again.
const RETRY: Duration = Duration::from_millis(100);
/// How often a disk that refuses is asked when the journal is being closed.
const LAST_ATTEMPTS: u32 = 3;
/// So many bytes may be written ahead of a slow sync.
const MAX_UNSYNCED_BYTES: usize = 64 << 20;
/// Buffers that are kept for the next batches.
const SPARE_BUFFERS: usize = 2;
/// A buffer that grew beyond this is not kept.
const MAX_SPARE_BYTES: usize = 4 << 20;

/// The one that writes. After a failure the file is cut back to what is certainly on the disk, and everything behind it, which was kept
/// in memory, is written again: after a failed sync the operating system may have dropped any of it.
#[derive(Debug)]
pub(super) struct Writer {
    shared: Arc<Shared>,
    storage: Box<dyn Storage>,
    number: u64,
    file: Option<Arc<dyn SegmentFile>>,
    /// Bytes written to the file.
    length: u64,
    /// Bytes of the file that are durable, or with [`Fsync::No`] written.
    good: u64,
    /// What was written behind the good bytes, with its last sequence number.
    unsynced: VecDeque<(u64, Vec<u8>)>,
    unsynced_bytes: usize,
    last_written: u64,
    /// There may be bytes of a failed write in the file.
    dirty: bool,
    /// Counts how often the file was cut back, so that a sync that began before tells nothing.
    generation: u64,
    spare: Vec<Vec<u8>>,
}

impl Writer {
    pub(super) fn new(shared: Arc<Shared>, storage: Box<dyn Storage>, number: u64) -> Writer {
        let last_written = shared.next_sequence() - 1;
        Writer {
            shared,
            storage,
            number,
            file: None,
            length: 0,
            good: 0,
            unsynced: VecDeque::new(),
            unsynced_bytes: 0,
            last_written,
            dirty: false,
            generation: 0,
            spare: Vec::new(),
        }
    }

    pub(super) fn run(mut self) {
        while let Some((batch, sync)) = self.next() {
            self.shared.taken();
            if !self.put_until_done(batch, sync) {
                return;
            }
        }
    }

    /// Waits for something to do: frames to write and whether to sync behind them. Nothing when the journal is closed.
    fn next(&mut self) -> Option<(Batch, bool)> {
        let shared = Arc::clone(&self.shared);
        let mut queue = shared.queue.lock();
        while !queue.has_frames() && !queue.wants_sync() && !queue.sync_failed {
            if queue.stop {
                let owes_sync = self.file.is_some() && shared.fsync() != Fsync::No && queue.durable < self.last_written;
                return owes_sync.then(|| (queue.take(Vec::new()), true));
            }
            queue.idle = true;
            shared.work.wait(&mut queue);
        }
        queue.idle = false;
        if !queue.urgent && !queue.stop && !queue.wants_sync() && queue.closed.is_empty() {
            shared.work.wait_for(&mut queue, GATHER);
        }
        queue.urgent = false;
        let sync = queue.wants_sync();
        Some((queue.take(self.spare.pop().unwrap_or_default()), sync))
    }

    /// Writes a batch, however long the disk refuses. Says whether it was done: not if the journal is being closed.
    fn put_until_done(&mut self, mut batch: Batch, sync: bool) -> bool {
        let mut last_attempts = 0;
        while let Err(error) = self.put(&mut batch, sync) {
            self.shared.fail(&error.to_string());
            let mut queue = self.shared.queue.lock();
            if queue.stop {
                last_attempts += 1;
                if last_attempts > LAST_ATTEMPTS {
                    return false;
                }
            }
            self.shared.work.wait_for(&mut queue, RETRY);
        }
        self.shared.recover();
        true
    }

    fn put(&mut self, batch: &mut Batch, sync: bool) -> io::Result<()> {
        self.hear_of_syncs();
        if self.dirty {
            self.restore()?;
        }
        self.dirty = true;
        let file = if batch.bytes.is_empty() {
            self.file.clone()
        } else {
            Some(self.file()?)
        };
        if let Some(file) = &file {
            if !batch.bytes.is_empty() {
                file.append(&batch.bytes)?;
            }
            let fsync = self.shared.fsync();
            let sync = sync
                || fsync == Fsync::Always
                || batch.next_segment.is_some()
                || self.unsynced_bytes > MAX_UNSYNCED_BYTES;
            if sync {
                file.sync()?;
            }
            self.wrote(batch, sync, fsync);
        }
        if let Some(next) = batch.next_segment {
            (self.number, self.file) = (next, None);
        }
        self.dirty = false;
        if file.is_none() && sync {
            // Nothing was written since the segment began, and the one before was synced at its end.
            self.shared.synced(self.last_written);
        }
        Ok(())
    }

    /// The file of the segment, made if there is none.
    fn file(&mut self) -> io::Result<Arc<dyn SegmentFile>> {
        if let Some(file) = &self.file {
            return Ok(Arc::clone(file));
        }
        let file = self.storage.create(self.number)?;
        self.file = Some(Arc::clone(&file));
        (self.length, self.good) = (0, 0);
        file.append(&SEGMENT_HEADER)?;
        self.length = SEGMENT_HEADER.len() as u64;
        Ok(file)
    }

    /// Notes that a batch is in the file.
    fn wrote(&mut self, batch: &mut Batch, synced: bool, fsync: Fsync) {
        let bytes = std::mem::take(&mut batch.bytes);
        self.length += bytes.len() as u64;
        if !bytes.is_empty() {
            self.last_written = batch.last_sequence;
        }
        if synced || fsync == Fsync::No {
            self.good = self.length;
            self.keep(bytes);
            self.forget_up_to(u64::MAX);
            self.shared.sync_target.lock().target = None;
        } else if !bytes.is_empty() {
            self.unsynced_bytes += bytes.len();
            self.unsynced.push_back((self.last_written, bytes));
            let file = self.file.clone();
            let target = file.map(|file| Target {
                file,
                length: self.length,
                sequence: self.last_written,
                generation: self.generation,
            });
            self.shared.sync_target.lock().target = target;
            // Under the lock, since the other thread looks for a target under it before it waits.
            let _queue = self.shared.queue.lock();
            self.shared.sync_work.notify_one();
        }
        if synced {
            self.generation += 1;
            self.shared.synced(self.last_written);
        }
    }

    /// Takes in what the thread that syncs has done.
    fn hear_of_syncs(&mut self) {
        let done = self.shared.sync_target.lock().done.take();
        if let Some(done) = done.filter(|done| done.generation == self.generation) {
            self.good = done.length;
            self.forget_up_to(done.sequence);
        }
        let failed = std::mem::take(&mut self.shared.queue.lock().sync_failed);
        self.dirty |= failed;
    }

    /// Cuts the file back to its good bytes and writes the rest again.
    fn restore(&mut self) -> io::Result<()> {
        self.generation += 1;
        self.shared.sync_target.lock().target = None;
        let Some(file) = &self.file else { return Ok(()) };
        file.truncate(self.good)?;
        if self.good == 0 {
            file.append(&SEGMENT_HEADER)?;
            self.length = SEGMENT_HEADER.len() as u64 + self.unsynced_bytes as u64;
        }
        for (_, bytes) in &self.unsynced {
            file.append(bytes)?;
        }
        if !self.unsynced.is_empty() {
            file.sync()?;
            self.good = self.length;
            self.forget_up_to(u64::MAX);
            self.shared.synced(self.last_written);
        }
        Ok(())
    }

    fn forget_up_to(&mut self, sequence: u64) {
        while self.unsynced.front().is_some_and(|(last, _)| *last <= sequence) {
            if let Some((_, bytes)) = self.unsynced.pop_front() {
                self.unsynced_bytes -= bytes.len();
                self.keep(bytes);
            }
        }
    }

    fn keep(&mut self, mut buffer: Vec<u8>) {
        if self.spare.len() < SPARE_BUFFERS && buffer.capacity() > 0 && buffer.capacity() <= MAX_SPARE_BYTES {
            buffer.clear();
            self.spare.push(buffer);
        }
    }
}
