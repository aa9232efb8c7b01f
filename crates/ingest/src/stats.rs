//! What the write path counts.

use crate::validate::Rejection;
use hashbrown::HashMap;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use timberline_store::TenantId;

/// Counters since the engine was opened, and gauges as of now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EngineStats {
    /// Entries acknowledged.
    pub entries: u64,
    /// Bytes of their lines and metadata values.
    pub bytes: u64,
    /// Requests that the log took.
    pub requests: u64,
    /// Syncs of the log; `requests / fsyncs` requests shared one.
    pub fsyncs: u64,
    /// Bytes written to the log.
    pub log_bytes: u64,
    /// Writes to the log that failed; their requests were refused.
    pub log_failures: u64,
    /// Requests refused as a whole: full disk, full buffers, shutdown.
    pub unavailable: u64,
    /// Requests that wait for the log now.
    pub queued_requests: u64,
    /// Memory that unpublished rows, their streams and names take now, in bytes.
    pub head_bytes: u64,
    /// Rows in no data object yet, now.
    pub head_rows: u64,
    /// Streams in the part of the head that grows, now.
    pub head_streams: u64,
    /// Parts of the head that wait to be published, now.
    pub frozen_segments: u64,
    /// Data objects published.
    pub flushes: u64,
    /// Attempts to publish that failed.
    pub flush_failures: u64,
    /// Rows written to data objects.
    pub flushed_rows: u64,
    /// Rows dropped from data objects because an equal one was there.
    pub duplicate_rows: u64,
    /// Bytes of data objects.
    pub object_bytes: u64,
    /// Entries read back from the log when the engine was opened.
    pub replayed_entries: u64,
    /// Bytes of unfinished writes cut off the log when the engine was opened.
    pub torn_bytes: u64,
    /// Bytes of damaged segments passed over when the engine was opened.
    pub damaged_bytes: u64,
    /// Entries refused, by tenant and reason, in that order.
    pub discarded: Vec<Discarded>,
}

/// Entries of a tenant that were refused for one reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Discarded {
    /// Whose.
    pub tenant: TenantId,
    /// Name of the reason (http-api.md 16).
    pub reason: &'static str,
    /// How many.
    pub entries: u64,
    /// Bytes of their lines.
    pub bytes: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) entries: AtomicU64,
    pub(crate) bytes: AtomicU64,
    pub(crate) requests: AtomicU64,
    pub(crate) fsyncs: AtomicU64,
    pub(crate) log_bytes: AtomicU64,
    pub(crate) log_failures: AtomicU64,
    pub(crate) unavailable: AtomicU64,
    pub(crate) flushes: AtomicU64,
    pub(crate) flush_failures: AtomicU64,
    pub(crate) flushed_rows: AtomicU64,
    pub(crate) duplicate_rows: AtomicU64,
    pub(crate) object_bytes: AtomicU64,
    pub(crate) replayed_entries: AtomicU64,
    pub(crate) torn_bytes: AtomicU64,
    pub(crate) damaged_bytes: AtomicU64,
    /// By tenant and reason; locked only when something is refused.
    discarded: Mutex<HashMap<(TenantId, &'static str), Discarded>>,
}

/// Adds to a counter.
pub(crate) fn add(counter: &AtomicU64, amount: u64) {
    counter.fetch_add(amount, Relaxed);
}

impl Counters {
    pub(crate) fn discard(&self, tenant: &TenantId, rejected: &[Rejection]) {
        if rejected.is_empty() {
            return;
        }
        let mut discarded = self.discarded.lock();
        for rejection in rejected {
            let reason = rejection.reason;
            let none = || Discarded {
                tenant: tenant.clone(),
                reason,
                entries: 0,
                bytes: 0,
            };
            let counted = discarded.entry((tenant.clone(), reason)).or_insert_with(none);
            counted.entries += rejection.entries;
            counted.bytes += rejection.bytes;
        }
    }

    /// The counters; gauges are left at 0.
    pub(crate) fn read(&self) -> EngineStats {
        let get = |counter: &AtomicU64| counter.load(Relaxed);
        let mut discarded: Vec<Discarded> = self.discarded.lock().values().cloned().collect();
        discarded.sort_by(|a, b| (&a.tenant, a.reason).cmp(&(&b.tenant, b.reason)));
        EngineStats {
            entries: get(&self.entries),
            bytes: get(&self.bytes),
            requests: get(&self.requests),
            fsyncs: get(&self.fsyncs),
            log_bytes: get(&self.log_bytes),
            log_failures: get(&self.log_failures),
            unavailable: get(&self.unavailable),
            flushes: get(&self.flushes),
            flush_failures: get(&self.flush_failures),
            flushed_rows: get(&self.flushed_rows),
            duplicate_rows: get(&self.duplicate_rows),
            object_bytes: get(&self.object_bytes),
            replayed_entries: get(&self.replayed_entries),
            torn_bytes: get(&self.torn_bytes),
            damaged_bytes: get(&self.damaged_bytes),
            discarded,
            ..EngineStats::default()
        }
    }
}
