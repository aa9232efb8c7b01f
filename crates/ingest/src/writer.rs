//! The one thread that owns the log and adds to the head.
//!
//! It takes all requests that wait, writes them with one write and one sync, adds them to the head in the same order, and
//! only then answers them all. So an acknowledged entry is both durable and readable, and the sync is shared.

use crate::PushError;
use crate::error::describe_io;
use crate::queue::{Request, Work};
use crate::shared::Shared;
use crate::stats::add;
use crate::wal::{Log, RECORD_HEADER_BYTES};
use std::sync::Arc;
use std::time::Instant;

/// Capacity that the group buffer keeps between groups.
const KEPT_BUFFER_BYTES: usize = 4 << 20;

/// Works until the queue is closed and empty.
pub(crate) fn run(shared: &Arc<Shared>, mut log: Log) {
    let _stop = StopQueue(shared.clone());
    let mut group = Vec::new();
    loop {
        let begun = shared.head.lock().active.begun();
        let deadline = begun.and_then(|begun| begun.checked_add(shared.options.head_max_age));
        let Work {
            requests,
            flushes,
            closed,
        } = shared.queue.take(deadline);
        let requests = refuse_beyond_memory(shared, requests);
        let short_of_memory = requests.refused;
        if !requests.kept.is_empty() {
            write_group(shared, &mut log, requests.kept, &mut group);
        }
        let aged = deadline.is_some_and(|deadline| deadline <= Instant::now());
        let mut head = shared.head.lock();
        // Where nothing is being published, nothing else would make room.
        let stuck = short_of_memory && head.frozen.is_empty();
        if aged || stuck || !flushes.is_empty() || shared.is_full(&head) {
            cut(shared, &mut head, &mut log);
        }
        let frozen_up_to = head.frozen.back().map_or(0, |segment| segment.sequences.1);
        drop(head);
        for flush in flushes {
            // Whoever asked may have gone.
            let _ = flush.send(frozen_up_to);
        }
        if closed {
            return;
        }
    }
}

/// Closes the queue however the writer ends, so that no push waits for it in vain.
struct StopQueue(Arc<Shared>);

impl Drop for StopQueue {
    fn drop(&mut self) {
        self.0.queue.abandon();
    }
}

fn cut(shared: &Shared, head: &mut crate::shared::Head, log: &mut Log) {
    if head.active.rows() > 0 {
        let last_sequence = log.rotate();
        shared.freeze(head, last_sequence);
    }
}

fn write_group(shared: &Shared, log: &mut Log, requests: Vec<Request>, group: &mut Vec<u8>) {
    let records: &[u8] = if let [only] = requests.as_slice() {
        &only.record
    } else {
        group.clear();
        requests
            .iter()
            .for_each(|request| group.extend_from_slice(&request.record));
        group
    };
    let bytes = records.len() as u64;
    let written = log.append(records);
    group.clear();
    group.shrink_to(KEPT_BUFFER_BYTES);
    let counters = &shared.counters;
    if let Err(error) = written {
        add(&counters.log_failures, 1);
        add(&counters.unavailable, requests.len() as u64);
        let message = format!("write-ahead log: {}", describe_io(&error));
        tracing::warn!(error = %error, requests = requests.len(), "the log could not be written, refused the requests");
        for request in requests {
            answer(request, Err(PushError::Unavailable(message.clone())));
        }
        return;
    }
    add(&counters.fsyncs, 1);
    add(&counters.requests, requests.len() as u64);
    add(&counters.log_bytes, bytes);
    for request in &requests {
        // Locked for one request at a time, so that readers get their turn in between.
        let added = shared
            .head
            .lock()
            .active
            .add(&request.tenant, &request.record[RECORD_HEADER_BYTES..]);
        added.expect("bug: a record that was just encoded can't be decoded");
    }
    for request in requests {
        answer(request, Ok(()));
    }
}

/// The requests that there is memory for.
struct Admitted {
    kept: Vec<Request>,
    /// There were others.
    refused: bool,
}

/// Refuses the requests that would make unpublished rows take more memory than is allowed.
fn refuse_beyond_memory(shared: &Shared, requests: Vec<Request>) -> Admitted {
    let mut unflushed_bytes = {
        let head = shared.head.lock();
        head.active.bytes() + head.frozen.iter().map(|segment| segment.bytes).sum::<usize>()
    };
    let limit = shared.options.max_unflushed_bytes;
    let mut kept = Vec::with_capacity(requests.len());
    let mut refused = false;
    for request in requests {
        if unflushed_bytes + request.record.len() > limit {
            refused = true;
            add(&shared.counters.unavailable, 1);
            let message = format!(
                "{unflushed_bytes} bytes wait to be published, limit {limit} (max_unflushed_bytes); publishing is slow or fails"
            );
            answer(request, Err(PushError::Unavailable(message)));
        } else {
            unflushed_bytes += request.record.len();
            kept.push(request);
        }
    }
    Admitted { kept, refused }
}

fn answer(request: Request, result: Result<(), PushError>) {
    let Request { done, room, .. } = request;
    drop(room);
    // Whoever pushed may have gone; the entries stay.
    let _ = done.send(result);
}
