//! What the writer, the publisher and readers share.

use crate::active_streams::ActiveStreams;
use crate::head::{ActiveSegment, FrozenSegment, HeadSource};
use crate::options::EngineOptions;
use crate::queue::Queue;
use crate::stats::Counters;
use crate::wal::DirectoryLock;
use hashbrown::HashMap;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use timberline_store::{Catalog, CatalogSnapshot, RowSource, Store, TenantId, TimeSpan};
use tokio::sync::{Notify, watch};

/// State of an open engine.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) options: EngineOptions,
    pub(crate) writer_id: String,
    pub(crate) store: Store,
    pub(crate) catalog: Catalog,
    pub(crate) queue: Queue,
    pub(crate) head: Mutex<Head>,
    pub(crate) counters: Counters,
    /// Something is frozen, or the engine closes.
    pub(crate) publisher_wake: Notify,
    pub(crate) published: watch::Sender<Published>,
    pub(crate) closing: AtomicBool,
    /// Kept as long as anybody may write, even if the engine is dropped while the publisher still works.
    pub(crate) lock: Mutex<Option<DirectoryLock>>,
    active_streams: Mutex<HashMap<TenantId, Arc<ActiveStreams>>>,
}

/// All rows that are in no data object yet.
#[derive(Debug)]
pub(crate) struct Head {
    pub(crate) active: ActiveSegment,
    /// Oldest first.
    pub(crate) frozen: VecDeque<Arc<FrozenSegment>>,
}

/// How far publishing got.
#[derive(Clone, Debug, Default)]
pub(crate) struct Published {
    /// Last log segment whose rows are all published.
    pub(crate) up_to: u64,
    /// Data objects published.
    pub(crate) objects: u64,
    pub(crate) rows: u64,
    pub(crate) object_bytes: u64,
    pub(crate) failures: u64,
    pub(crate) last_error: String,
}

impl Shared {
    pub(crate) fn new(
        options: EngineOptions,
        writer_id: String,
        store: Store,
        catalog: Catalog,
        published_up_to: u64,
        lock: Option<DirectoryLock>,
    ) -> Self {
        let head = Head {
            active: ActiveSegment::new(published_up_to + 1),
            frozen: VecDeque::new(),
        };
        Self {
            options,
            writer_id,
            store,
            catalog,
            queue: Queue::default(),
            head: Mutex::new(head),
            counters: Counters::default(),
            publisher_wake: Notify::new(),
            published: watch::Sender::new(Published {
                up_to: published_up_to,
                ..Published::default()
            }),
            closing: AtomicBool::new(false),
            lock: Mutex::new(lock),
            active_streams: Mutex::new(HashMap::new()),
        }
    }

    pub(crate) fn active_streams(&self, tenant: &TenantId) -> Arc<ActiveStreams> {
        let mut tenants = self.active_streams.lock();
        if let Some(streams) = tenants.get(tenant) {
            return streams.clone();
        }
        let streams = Arc::<ActiveStreams>::default();
        tenants.insert(tenant.clone(), streams.clone());
        streams
    }

    /// True if the growing part of the head is to be cut for its size.
    pub(crate) fn is_full(&self, head: &Head) -> bool {
        let (active, options) = (&head.active, &self.options);
        active.bytes() >= options.head_max_bytes || active.tenant_count() >= options.head_max_tenants
    }

    /// Ends the growing part of the head; `last_sequence` is the last log segment that holds rows of it. Nothing happens to
    /// an empty one.
    pub(crate) fn freeze(&self, head: &mut Head, last_sequence: u64) {
        if head.active.rows() == 0 {
            return;
        }
        let active = std::mem::replace(&mut head.active, ActiveSegment::new(last_sequence + 1));
        head.frozen.push_back(Arc::new(active.freeze(last_sequence)));
        // A push under way may still hold a tenant's old set; what it admits there is not counted any more.
        self.active_streams.lock().clear();
        self.publisher_wake.notify_one();
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Acquire)
    }

    /// Lets the writer and the publisher end.
    pub(crate) fn close(&self) {
        self.closing.store(true, Ordering::Release);
        self.queue.close();
        self.publisher_wake.notify_one();
    }

    /// The catalog and the sources in memory as of one moment: each entry of the tenant is in exactly one of them.
    pub(crate) fn snapshot(
        &self,
        tenant: &TenantId,
        span: TimeSpan,
    ) -> (Arc<CatalogSnapshot>, Vec<Arc<dyn RowSource>>) {
        // The catalog is read under the lock. A segment leaves `frozen`, under the same lock, only after its commit; and one whose
        // commit the snapshot holds but that has not left yet is recognised by the watermark.
        let head = self.head.lock();
        let catalog = self.catalog.snapshot();
        let published = catalog.watermark(&self.writer_id).unwrap_or(0);
        let unpublished = head.frozen.iter().filter(|segment| segment.sequences.1 > published);
        let frozen = unpublished.filter_map(|segment| segment.tenants.get(tenant).cloned());
        let active = head
            .active
            .tenant(tenant)
            .and_then(|tenant| tenant.snapshot())
            .map(Arc::new);
        let sources: Vec<Arc<HeadSource>> = frozen.chain(active).collect();
        drop(head);
        let in_span = sources.into_iter().filter(|source| source.span().overlaps(&span));
        (catalog, in_span.map(|source| source as Arc<dyn RowSource>).collect())
    }
}
