//! Requests on their way from many tasks to the one writer thread.

use crate::PushError;
use parking_lot::{Condvar, Mutex};
use std::time::Instant;
use timberline_store::TenantId;
use tokio::sync::{OwnedSemaphorePermit, oneshot};

/// A request that waits for the log.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) tenant: TenantId,
    /// A sealed record.
    pub(crate) record: Vec<u8>,
    /// Told when the request is durable and readable, or refused.
    pub(crate) done: oneshot::Sender<Result<(), PushError>>,
    /// The request's share of the queue's bytes; given back when it is dropped.
    pub(crate) room: OwnedSemaphorePermit,
}

/// A wish for a cut; told the last log segment whose rows are then frozen or published.
pub(crate) type FlushRequest = oneshot::Sender<u64>;

/// What the writer does next.
#[derive(Debug, Default)]
pub(crate) struct Work {
    pub(crate) requests: Vec<Request>,
    pub(crate) flushes: Vec<FlushRequest>,
    /// No more work will come.
    pub(crate) closed: bool,
}

/// The queue. Its length is bounded by the permits that requests carry.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    work: Mutex<Work>,
    changed: Condvar,
}

impl Queue {
    /// Adds a request; gives it back if the queue is closed.
    pub(crate) fn push(&self, request: Request) -> Result<(), Request> {
        let mut work = self.work.lock();
        if work.closed {
            return Err(request);
        }
        work.requests.push(request);
        self.changed.notify_one();
        Ok(())
    }

    /// Asks for a cut; false if the queue is closed.
    pub(crate) fn flush(&self, request: FlushRequest) -> bool {
        let mut work = self.work.lock();
        if work.closed {
            return false;
        }
        work.flushes.push(request);
        self.changed.notify_one();
        true
    }

    /// Lets nothing more in; the writer ends when it has done what is queued.
    pub(crate) fn close(&self) {
        self.work.lock().closed = true;
        self.changed.notify_one();
    }

    /// Drops what is queued, so that nobody waits for a writer that is gone.
    pub(crate) fn abandon(&self) {
        let mut work = self.work.lock();
        *work = Work {
            closed: true,
            ..Work::default()
        };
    }

    /// Requests that wait.
    pub(crate) fn len(&self) -> usize {
        self.work.lock().requests.len()
    }

    /// Waits for work and takes all of it; empty-handed at the deadline.
    pub(crate) fn take(&self, deadline: Option<Instant>) -> Work {
        let mut work = self.work.lock();
        while work.requests.is_empty() && work.flushes.is_empty() && !work.closed {
            match deadline {
                None => self.changed.wait(&mut work),
                Some(deadline) => {
                    if self.changed.wait_until(&mut work, deadline).timed_out() {
                        break;
                    }
                }
            }
        }
        Work {
            requests: std::mem::take(&mut work.requests),
            flushes: std::mem::take(&mut work.flushes),
            closed: work.closed,
        }
    }
}
