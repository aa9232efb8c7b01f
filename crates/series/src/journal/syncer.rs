//! The thread that syncs once a second, so that the one that writes need not wait for it.

use super::file::SegmentFile;
use super::queue::Shared;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// From the first unsynced write to the sync: with the sync itself it makes a second.
const INTERVAL: Duration = Duration::from_millis(900);

/// What is to be synced.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub(super) file: Arc<dyn SegmentFile>,
    pub(super) length: u64,
    pub(super) sequence: u64,
    pub(super) generation: u64,
}

/// What a sync made durable.
#[derive(Clone, Copy, Debug)]
pub(super) struct Synced {
    pub(super) length: u64,
    pub(super) sequence: u64,
    pub(super) generation: u64,
}

/// Handed to and fro between the thread that writes and the one that syncs.
#[derive(Debug, Default)]
pub(super) struct SyncTarget {
    pub(super) target: Option<Target>,
    pub(super) done: Option<Synced>,
}

pub(super) fn run(shared: &Shared) {
    while wait(shared) {
        let Some(target) = shared.sync_target.lock().target.take() else {
            continue;
        };
        match target.file.sync() {
            Ok(()) => {
                let Target {
                    length,
                    sequence,
                    generation,
                    ..
                } = target;
                shared.sync_target.lock().done = Some(Synced {
                    length,
                    sequence,
                    generation,
                });
                shared.synced(sequence);
            }
            Err(error) => {
                shared.queue.lock().sync_failed = true;
                shared.fail(&error.to_string());
                shared.work.notify_one();
            }
        }
    }
}

/// Waits until there is something to sync, and for the interval. Says whether to go on.
fn wait(shared: &Shared) -> bool {
    let mut queue = shared.queue.lock();
    while !queue.stop && shared.sync_target.lock().target.is_none() {
        shared.sync_work.wait(&mut queue);
    }
    let due = Instant::now() + INTERVAL;
    while !queue.stop && !shared.sync_work.wait_until(&mut queue, due).timed_out() {}
    !queue.stop
}
