//! The write path as the rest of the program sees it.

use crate::batch::PushBatch;
use crate::error::{Error, PushError};
use crate::options::EngineOptions;
use crate::publisher;
use crate::queue::Request;
use crate::replay::{Access, replay};
use crate::shared::Shared;
use crate::stats::{EngineStats, add};
use crate::validate::{Prepared, Rejection, prepare};
use crate::wal::{
    DirectoryLock, DiskStorage, Log, LogStorage, RECORD_HEADER_BYTES, create_directory, delete_segments_up_to,
    read_writer_id, seal_record, writer_id,
};
use crate::writer;
use async_trait::async_trait;
use parking_lot::Mutex;
use std::sync::Arc;
use std::thread::JoinHandle;
use timberline_store::{Catalog, RowSource, SourceCache, SourceProvider, Store, TenantId, TimeSpan, catalog_sources};
use tokio::sync::{Semaphore, oneshot};

/// Requests larger than this are validated on a thread that may block: the work takes more than half a millisecond.
const INLINE_BYTES: usize = 64 << 10;
/// Bytes that an entry counts beside its text when a request is measured.
const ENTRY_BYTES: usize = 16;
/// The queue's room is handed out in pieces of this size.
const ROOM_BYTES: usize = 1 << 10;
/// How often a reader starts again because the owner of the log removed segments under it.
const READ_ATTEMPTS: usize = 10;

/// Takes entries in and keeps them: in the log and the head at once, in data objects later. Cheap to clone.
///
/// An engine that is dropped, or shut down, leaves unpublished entries in the log, where the next one finds them.
#[derive(Clone, Debug)]
pub struct Engine(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    shared: Arc<Shared>,
    /// Room in the queue, in pieces of [`ROOM_BYTES`].
    room: Arc<Semaphore>,
    /// Opened data objects.
    objects: SourceCache,
    writer: Mutex<Option<JoinHandle<()>>>,
    publisher: Mutex<Option<tokio::task::JoinHandle<()>>>,
}

/// What became of a push.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PushOutcome {
    /// Entries stored.
    pub accepted: u64,
    /// Bytes of their lines and metadata values.
    pub accepted_bytes: u64,
    /// Entries refused, one item per reason, the reason of the last refusal last.
    pub rejected: Vec<Rejection>,
}

/// What a flush published.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlushReport {
    /// Data objects.
    pub objects: u64,
    /// Rows in them.
    pub rows: u64,
    /// Their size.
    pub object_bytes: u64,
}

impl Engine {
    /// Opens the data directory for writing, replays its log and starts the writer. Must be called within a tokio runtime.
    ///
    /// # Errors
    /// [`Error::Locked`] if another process has the directory, [`Error::Corrupt`] if the log holds something unreadable that
    /// is neither a torn tail nor damage with a checksum; else failures of files, store and catalog.
    pub async fn open(options: EngineOptions, store: Store, catalog: Catalog) -> Result<Self, Error> {
        let storage = Box::new(DiskStorage::new(&options.data_dir.join("wal")));
        Self::open_with_storage(options, store, catalog, storage).await
    }

    /// As [`Engine::open`], with log files of the caller's kind.
    pub(crate) async fn open_with_storage(
        options: EngineOptions,
        store: Store,
        catalog: Catalog,
        storage: Box<dyn LogStorage>,
    ) -> Result<Self, Error> {
        let opening = tokio::task::spawn_blocking(move || -> Result<_, Error> {
            let mut options = options;
            let lock = match options.lock.take() {
                Some(lock) => lock,
                None => DirectoryLock::acquire(&options.data_dir)?,
            };
            let wal_dir = options.data_dir.join("wal");
            create_directory(&wal_dir).map_err(|e| Error::io("create", &wal_dir, e))?;
            let writer_id = writer_id(&wal_dir)?;
            let published_up_to = catalog.snapshot().watermark(&writer_id).unwrap_or(0);
            delete_segments_up_to(&wal_dir, published_up_to)?;
            let shared = Shared::new(options, writer_id, store, catalog, published_up_to, Some(lock));
            let last_sequence = replay(&shared, &wal_dir, published_up_to, Access::Owner)?;
            Ok((shared, Log::new(storage, last_sequence + 1), published_up_to))
        });
        let (shared, log, published_up_to) = opening.await.map_err(|_| Error::Stopped)??;
        publisher::delete_unannounced(&shared, published_up_to).await?;
        let shared = Arc::new(shared);
        let for_writer = shared.clone();
        let writer = std::thread::Builder::new()
            .name("log-writer".into())
            .spawn(move || writer::run(&for_writer, log));
        let writer = writer.map_err(|e| Error::io("start thread of", &shared.options.data_dir, e))?;
        let publisher = tokio::spawn(publisher::run(shared.clone()));
        Ok(Self::new(shared, Some(writer), Some(publisher)))
    }

    /// Opens the data directory for reading only: the log is replayed and nothing is changed, whether or not a server is
    /// running on the directory. Entries that arrive later are not seen.
    pub async fn open_read_only(options: EngineOptions, store: Store, catalog: Catalog) -> Result<Self, Error> {
        let mut attempt = 0;
        loop {
            attempt += 1;
            match Self::try_open_read_only(options.clone(), store.clone(), catalog.clone()).await {
                Err(Error::MissingSegment(_)) if attempt < READ_ATTEMPTS => {}
                opened => return opened,
            }
        }
    }

    async fn try_open_read_only(options: EngineOptions, store: Store, catalog: Catalog) -> Result<Self, Error> {
        catalog.refresh().await?;
        let for_replay = catalog.clone();
        let opening = tokio::task::spawn_blocking(move || -> Result<_, Error> {
            let wal_dir = options.data_dir.join("wal");
            let Some(writer_id) = read_writer_id(&wal_dir)? else {
                return Ok((Shared::new(options, String::new(), store, for_replay, 0, None), 0));
            };
            let published_up_to = for_replay.snapshot().watermark(&writer_id).unwrap_or(0);
            let shared = Shared::new(options, writer_id, store, for_replay, published_up_to, None);
            replay(&shared, &wal_dir, published_up_to, Access::Reader)?;
            Ok((shared, published_up_to))
        });
        let (shared, published_up_to) = opening.await.map_err(|_| Error::Stopped)??;
        // Segments are deleted after the commit that publishes them: if there was none, no segment was missed.
        let published_now = catalog.refresh().await?.watermark(&shared.writer_id).unwrap_or(0);
        if published_now != published_up_to {
            return Err(Error::MissingSegment(format!("{published_now}")));
        }
        shared.close();
        Ok(Self::new(Arc::new(shared), None, None))
    }

    fn new(
        shared: Arc<Shared>,
        writer: Option<JoinHandle<()>>,
        publisher: Option<tokio::task::JoinHandle<()>>,
    ) -> Self {
        let room = Arc::new(Semaphore::new(shared.options.queue_max_bytes.div_ceil(ROOM_BYTES)));
        Self(Arc::new(Inner {
            shared,
            room,
            objects: SourceCache::default(),
            writer: Mutex::new(writer),
            publisher: Mutex::new(publisher),
        }))
    }

    /// Validates a request, stores what is valid, and returns when that is durable and readable.
    ///
    /// If the returned future is dropped before it is done, the entries may or may not be stored.
    ///
    /// # Errors
    /// Nothing of the request is stored then; see [`PushError::status`].
    pub async fn push(&self, tenant: &TenantId, batch: PushBatch) -> Result<PushOutcome, PushError> {
        let pushed = self.try_push(tenant, batch).await;
        if let Ok(outcome) = &pushed {
            let counters = &self.0.shared.counters;
            counters.discard(tenant, &outcome.rejected);
            add(&counters.entries, outcome.accepted);
            add(&counters.bytes, outcome.accepted_bytes);
        }
        pushed
    }

    async fn try_push(&self, tenant: &TenantId, batch: PushBatch) -> Result<PushOutcome, PushError> {
        let shared = &self.0.shared;
        if batch.stream_count() == 0 {
            return Err(PushError::NoStreams);
        }
        let (bytes, limit) = (
            batch.bytes() + batch.len() * ENTRY_BYTES,
            shared.options.max_request_bytes,
        );
        if bytes > limit {
            return Err(PushError::TooLarge { bytes, limit });
        }
        let Prepared {
            record,
            accepted,
            accepted_bytes,
            rejected,
        } = self.prepare(tenant, batch).await;
        if accepted > 0 {
            self.log(tenant, record).await?;
        }
        Ok(PushOutcome {
            accepted,
            accepted_bytes,
            rejected,
        })
    }

    async fn prepare(&self, tenant: &TenantId, batch: PushBatch) -> Prepared {
        let shared = self.0.shared.clone();
        let tenant = tenant.clone();
        let large = batch.bytes() > INLINE_BYTES;
        let prepare = move || {
            let active = shared.active_streams(&tenant);
            let limits = &shared.options.limits;
            let mut prepared = prepare(tenant.as_str(), &batch, limits, &active, RECORD_HEADER_BYTES);
            seal_record(&mut prepared.record);
            prepared
        };
        if large {
            match tokio::task::spawn_blocking(prepare).await {
                Ok(prepared) => prepared,
                Err(error) => std::panic::resume_unwind(error.into_panic()),
            }
        } else {
            prepare()
        }
    }

    async fn log(&self, tenant: &TenantId, record: Vec<u8>) -> Result<(), PushError> {
        let shared = &self.0.shared;
        let unavailable = |message: String| {
            add(&shared.counters.unavailable, 1);
            PushError::Unavailable(message)
        };
        let stopped = || unavailable("the write path is stopped".to_owned());
        let pieces = record
            .len()
            .div_ceil(ROOM_BYTES)
            .min(shared.options.queue_max_bytes.div_ceil(ROOM_BYTES));
        let pieces = u32::try_from(pieces).unwrap_or(u32::MAX);
        let waiting = self.0.room.clone().acquire_many_owned(pieces);
        let Ok(room) = tokio::time::timeout(shared.options.queue_wait, waiting).await else {
            let (limit, wait) = (shared.options.queue_max_bytes, shared.options.queue_wait);
            return Err(unavailable(format!(
                "the queue was full for {wait:?}, limit {limit} bytes (queue_max_bytes)"
            )));
        };
        let room = room.map_err(|_| stopped())?;
        let (done, answer) = oneshot::channel();
        let request = Request {
            tenant: tenant.clone(),
            record,
            done,
            room,
        };
        shared.queue.push(request).map_err(|_| stopped())?;
        answer.await.map_err(|_| stopped())?
    }

    /// Cuts the head and publishes it; returns when everything acknowledged before the call is in data objects. Does nothing if
    /// nothing is unpublished.
    ///
    /// # Errors
    /// [`Error::Publish`] if an attempt fails; the rows stay readable and further attempts follow.
    pub async fn flush(&self) -> Result<FlushReport, Error> {
        let shared = &self.0.shared;
        let mut watching = shared.published.subscribe();
        let before = watching.borrow_and_update().clone();
        let (done, frozen) = oneshot::channel();
        if !shared.queue.flush(done) {
            return Err(Error::Stopped);
        }
        let target = frozen.await.map_err(|_| Error::Stopped)?;
        shared.publisher_wake.notify_one();
        loop {
            {
                let now = watching.borrow_and_update();
                if now.up_to >= target {
                    return Ok(FlushReport {
                        objects: now.objects - before.objects,
                        rows: now.rows - before.rows,
                        object_bytes: now.object_bytes - before.object_bytes,
                    });
                }
                if now.failures > before.failures {
                    return Err(Error::Publish(now.last_error.clone()));
                }
            }
            if shared.is_closing() || watching.changed().await.is_err() {
                return Err(Error::Stopped);
            }
        }
    }

    /// Ends the write path: no push is taken any more, those under way are finished, an object being published too, and the
    /// data directory is unlocked. Unpublished entries stay in the log, so that stopping is quick; reading goes on working.
    pub async fn shutdown(&self) {
        let shared = &self.0.shared;
        shared.close();
        let writer = self.0.writer.lock().take();
        if let Some(writer) = writer {
            let joined = tokio::task::spawn_blocking(move || writer.join()).await;
            if !matches!(joined, Ok(Ok(()))) {
                tracing::error!("bug: the log writer panicked");
            }
        }
        let publisher = self.0.publisher.lock().take();
        if let Some(publisher) = publisher
            && publisher.await.is_err()
        {
            tracing::error!("bug: the publisher panicked");
        }
        shared.lock.lock().take();
    }

    /// Counters and gauges.
    pub fn stats(&self) -> EngineStats {
        let shared = &self.0.shared;
        let mut stats = shared.counters.read();
        stats.queued_requests = shared.queue.len() as u64;
        let head = shared.head.lock();
        let frozen = |count: fn(&crate::head::FrozenSegment) -> u64| head.frozen.iter().map(|s| count(s)).sum::<u64>();
        stats.head_bytes = head.active.bytes() as u64 + frozen(|segment| segment.bytes as u64);
        stats.head_rows = head.active.rows() + frozen(|segment| segment.rows);
        stats.head_streams = head
            .active
            .tenants()
            .map(|(_, tenant)| tenant.stream_count() as u64)
            .sum();
        stats.frozen_segments = head.frozen.len() as u64;
        stats
    }

    /// Tells how far publishing got.
    #[cfg(test)]
    pub(crate) fn published(&self) -> tokio::sync::watch::Receiver<crate::shared::Published> {
        self.0.shared.published.subscribe()
    }
}

#[async_trait]
impl SourceProvider for Engine {
    async fn sources(
        &self,
        tenant: &TenantId,
        span: TimeSpan,
    ) -> Result<Vec<Arc<dyn RowSource>>, timberline_store::Error> {
        let (catalog, in_memory) = self.0.shared.snapshot(tenant, span);
        let mut sources = catalog_sources(&catalog, &self.0.shared.store, &self.0.objects, tenant, span).await?;
        sources.extend(in_memory);
        Ok(sources)
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.shared.close();
    }
}
