//! Turns frozen parts of the head into published data objects, oldest first, in the background.
//!
//! The order of steps is what makes a crash harmless: the object is stored under a name made from its log range; one commit
//! of the catalog makes it visible and raises the watermark; then the rows leave memory; then the log segments go. Before the
//! commit a restart replays the segments, after it the watermark keeps them out.

use crate::Error;
use crate::head::FrozenSegment;
use crate::object::{BuiltObject, build};
use crate::shared::Shared;
use crate::stats::add;
use crate::wal::delete_segments_up_to;
use std::sync::Arc;
use std::time::Duration;
use timberline_store::Commit;

/// Wait after the first failure; doubled with each further one up to [`MAX_BACKOFF`].
const FIRST_BACKOFF: Duration = Duration::from_millis(200);
const MAX_BACKOFF: Duration = Duration::from_secs(30);

/// The key of the object that holds these log segments of a writer.
pub(crate) fn object_key(writer_id: &str, (first, last): (u64, u64)) -> String {
    format!("{}{last:020}", object_key_prefix(writer_id, first))
}

fn object_key_prefix(writer_id: &str, first: u64) -> String {
    format!("dataobj/objects/{writer_id}/{first:020}-")
}

/// Publishes until the engine closes.
pub(crate) async fn run(shared: Arc<Shared>) {
    let mut failures = 0;
    let mut progress = Progress::default();
    while !shared.is_closing() {
        let next = shared.head.lock().frozen.front().cloned();
        let Some(segment) = next else {
            shared.publisher_wake.notified().await;
            continue;
        };
        match publish(&shared, &segment, &mut progress).await {
            Ok(()) => failures = 0,
            Err(error) => {
                failures += 1;
                let (first, last) = segment.sequences;
                tracing::warn!(error = %error, attempt = failures, first, last, "data object not published, will try again");
                add(&shared.counters.flush_failures, 1);
                shared.published.send_modify(|published| {
                    published.failures += 1;
                    published.last_error = error.to_string();
                });
                let backoff = FIRST_BACKOFF
                    .saturating_mul(1 << (failures - 1).min(10))
                    .min(MAX_BACKOFF);
                tokio::select! {
                    () = tokio::time::sleep(backoff) => {}
                    () = shared.publisher_wake.notified() => {}
                }
            }
        }
    }
    // Whoever waits for a flush sees that none will come.
    shared.published.send_modify(|_| {});
}

/// What failed attempts to publish a segment have reached.
#[derive(Default)]
struct Progress {
    built: Option<BuiltObject>,
    /// The object is in the store; storing it again would take its space twice, which a full disk may not have.
    stored: bool,
}

/// Publishes one segment. `progress` is kept from one attempt to the next.
async fn publish(shared: &Arc<Shared>, segment: &Arc<FrozenSegment>, progress: &mut Progress) -> Result<(), Error> {
    let key = object_key(&shared.writer_id, segment.sequences);
    let object = match &progress.built {
        Some(object) => object,
        None => {
            let (segment, key) = (segment.clone(), key.clone());
            let building = tokio::task::spawn_blocking(move || build(&segment, &key));
            progress
                .built
                .insert(building.await.map_err(|e| Error::Object(e.to_string()))??)
        }
    };
    if !progress.stored {
        shared.store.put(&key, &object.bytes).await?;
        progress.stored = true;
    }
    let last_sequence = segment.sequences.1;
    let commit = Commit {
        add: object.tenants.clone(),
        remove: Vec::new(),
        watermark: Some((shared.writer_id.clone(), last_sequence)),
    };
    shared.catalog.commit(commit).await?;
    shared.head.lock().frozen.pop_front();

    let (rows, object_bytes) = (object.rows, object.bytes.len() as u64);
    add(&shared.counters.flushes, 1);
    add(&shared.counters.flushed_rows, rows);
    add(&shared.counters.duplicate_rows, object.duplicates);
    add(&shared.counters.object_bytes, object_bytes);
    *progress = Progress::default();
    let wal_dir = shared.options.data_dir.join("wal");
    let deleting = tokio::task::spawn_blocking(move || delete_segments_up_to(&wal_dir, last_sequence));
    if let Err(error) = deleting.await.map_err(|_| Error::Stopped)? {
        tracing::warn!(error = %error, "published log segments could not be deleted, the next start will do it");
    }
    shared.published.send_modify(|published| {
        published.up_to = last_sequence;
        published.objects += 1;
        published.rows += rows;
        published.object_bytes += object_bytes;
    });
    Ok(())
}

/// Deletes objects that a crash left between storing and announcing them: their name starts where the log now starts.
pub(crate) async fn delete_unannounced(shared: &Shared, published_up_to: u64) -> Result<(), Error> {
    let prefix = object_key_prefix(&shared.writer_id, published_up_to + 1);
    for object in shared
        .store
        .list(&format!("dataobj/objects/{}/", shared.writer_id))
        .await?
    {
        if object.key.starts_with(&prefix) {
            tracing::info!(
                object = object.key,
                "deleted an object that was stored and not announced before a crash"
            );
            shared.store.delete(&object.key).await?;
        }
    }
    Ok(())
}
