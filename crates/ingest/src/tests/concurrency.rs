//! Many pushes at once.

use super::harness::{FullDisk, batch, open, open_store, plain, read_lines};
use crate::Engine;
use std::sync::atomic::Ordering::SeqCst;
use timberline_store::TenantId;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn requests_that_wait_together_share_a_sync() {
    let data = tempfile::tempdir().unwrap();
    let (store, catalog) = open_store(data.path()).await;
    let disk = FullDisk::new(data.path());
    let switches = disk.switches.clone();
    let engine = Engine::open_with_storage(plain(data.path()), store, catalog, Box::new(disk))
        .await
        .unwrap();
    // While the first request's sync lasts, the others queue up.
    switches.hold_syncs(true);
    let mut pushes = Vec::new();
    for number in 0..64_i64 {
        let engine = engine.clone();
        pushes.push(tokio::spawn(async move {
            let line = format!("{number:02}");
            engine
                .push(&TenantId::single(), batch([("a", number, line.as_str())]))
                .await
                .unwrap()
        }));
        while number == 0 && switches.syncs.load(SeqCst) == 0 {
            tokio::task::yield_now().await;
        }
    }
    while engine.stats().queued_requests < 63 {
        tokio::task::yield_now().await;
    }
    switches.hold_syncs(false);
    for push in pushes {
        assert_eq!(push.await.unwrap().accepted, 1);
    }
    let stats = engine.stats();
    assert_eq!((stats.requests, stats.entries), (64, 64));
    assert_eq!((stats.fsyncs, switches.syncs.load(SeqCst)), (2, 2));
    let want: Vec<String> = (0..64).map(|number| format!("{number:02}")).collect();
    assert_eq!(read_lines(&engine).await, want);
    engine.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_small_queue_slows_pushes_down_and_loses_none() {
    let data = tempfile::tempdir().unwrap();
    let mut options = plain(data.path());
    options.queue_max_bytes = 2 << 10;
    let engine = open(options).await.unwrap();
    let mut pushes = Vec::new();
    for number in 0..100_i64 {
        let engine = engine.clone();
        pushes.push(tokio::spawn(async move {
            let line = "x".repeat(if number % 10 == 0 { 5000 } else { 900 });
            engine
                .push(&TenantId::single(), batch([("a", number, line.as_str())]))
                .await
                .unwrap()
        }));
    }
    for push in pushes {
        push.await.unwrap();
    }
    assert_eq!(read_lines(&engine).await.len(), 100);
    engine.shutdown().await;
}
