//! Disks that are full and stores that fail.

use super::harness::{FullDisk, Switches, batch, open, open_store, plain, push, read_lines, segments};
use crate::{Engine, Error, PushError};
use std::sync::atomic::Ordering::SeqCst;
use timberline_store::TenantId;

async fn check_full_log(rounds: usize, fail: fn(&Switches), mend: fn(&Switches)) {
    let data = tempfile::tempdir().unwrap();
    let (store, catalog) = open_store(data.path()).await;
    let disk = FullDisk::new(data.path());
    let switches = disk.switches.clone();
    let engine = Engine::open_with_storage(plain(data.path()), store, catalog, Box::new(disk))
        .await
        .unwrap();
    for round in 0..rounds {
        // With an empty log, then with one that has good records.
        fail(&switches);
        let refused = push(&engine, &[("a", 1, "lost")]).await.unwrap_err();
        assert_eq!(refused.status(), 503);
        assert_eq!(
            refused.to_string(),
            "push refused: write-ahead log: no space left on device"
        );
        assert_eq!(read_lines(&engine).await.len(), round);
        mend(&switches);
        push(&engine, &[("a", 2 + round as i64, "kept")]).await.unwrap();
    }
    let (stats, count) = (engine.stats(), rounds as u64);
    assert_eq!(
        (stats.log_failures, stats.unavailable, stats.fsyncs),
        (count, count, count)
    );
    engine.shutdown().await;
    let engine = open(plain(data.path())).await.unwrap();
    assert_eq!(read_lines(&engine).await, vec!["kept"; rounds], "after a restart");
    assert_eq!((engine.stats().torn_bytes, engine.stats().damaged_bytes), (0, 0));
    engine.shutdown().await;
}

#[tokio::test]
async fn a_full_disk_refuses_pushes_until_space_returns() {
    check_full_log(1, |s| s.create.store(true, SeqCst), |s| s.create.store(false, SeqCst)).await;
}

#[tokio::test]
async fn a_failed_sync_leaves_nothing_behind() {
    check_full_log(2, |s| s.sync.store(true, SeqCst), |s| s.sync.store(false, SeqCst)).await;
}

#[tokio::test]
async fn a_half_written_record_is_cut_off() {
    for room in [0, 5, 16, 20, 40] {
        let data = tempfile::tempdir().unwrap();
        let (store, catalog) = open_store(data.path()).await;
        let disk = FullDisk::new(data.path());
        let switches = disk.switches.clone();
        let engine = Engine::open_with_storage(plain(data.path()), store, catalog, Box::new(disk))
            .await
            .unwrap();
        push(&engine, &[("a", 1, "first")]).await.unwrap();
        let good = std::fs::metadata(&segments(data.path())[0]).unwrap().len();
        switches.room.store(room, SeqCst);
        switches.full.store(true, SeqCst);
        // Cutting back fails at first, too: the next push has to do it.
        switches.truncate.store(true, SeqCst);
        let long = "x".repeat(100);
        push(&engine, &[("a", 2, &long)]).await.unwrap_err();
        push(&engine, &[("a", 2, &long)]).await.unwrap_err();
        assert_eq!(
            std::fs::metadata(&segments(data.path())[0]).unwrap().len(),
            good + room as u64
        );
        switches.truncate.store(false, SeqCst);
        switches.full.store(false, SeqCst);
        push(&engine, &[("a", 3, "second")]).await.unwrap();
        engine.shutdown().await;
        let engine = open(plain(data.path())).await.unwrap();
        assert_eq!(read_lines(&engine).await, ["first", "second"]);
        assert_eq!((engine.stats().torn_bytes, engine.stats().damaged_bytes), (0, 0));
        engine.shutdown().await;
    }
}

/// A store whose objects can't be written because a file lies where their folder should be.
fn block_objects(data_dir: &std::path::Path) {
    std::fs::create_dir_all(data_dir.join("store/dataobj")).unwrap();
    std::fs::write(data_dir.join("store/dataobj/objects"), "in the way").unwrap();
}

#[tokio::test]
async fn what_cannot_be_published_stays_readable_and_is_tried_again() {
    let data = tempfile::tempdir().unwrap();
    let mut options = plain(data.path());
    options.max_unflushed_bytes = 400;
    let engine = open(options).await.unwrap();
    block_objects(data.path());
    push(&engine, &[("a", 1, "first")]).await.unwrap();
    let failed = engine.flush().await.unwrap_err();
    assert!(matches!(failed, Error::Publish(_)), "{failed}");
    assert_eq!(read_lines(&engine).await, ["first"]);
    push(&engine, &[("a", 2, "second")]).await.unwrap();
    assert_eq!(read_lines(&engine).await, ["first", "second"]);
    let long = "x".repeat(400);
    let refused = engine
        .push(&TenantId::single(), batch([("a", 3, long.as_str())]))
        .await
        .unwrap_err();
    assert!(
        matches!(&refused, PushError::Unavailable(message) if message.contains("max_unflushed_bytes")),
        "{refused}"
    );
    assert!(engine.stats().flush_failures >= 1);

    std::fs::remove_file(data.path().join("store/dataobj/objects")).unwrap();
    let report = loop {
        // An attempt that began before the way was free may still fail.
        if let Ok(report) = engine.flush().await {
            break report;
        }
    };
    assert!(report.objects <= 2);
    assert_eq!(engine.stats().flushes, 2, "one object for each cut");
    assert_eq!(read_lines(&engine).await, ["first", "second"]);
    assert!(segments(data.path()).is_empty());
    engine.shutdown().await;
}

#[tokio::test]
async fn what_cannot_be_published_survives_a_restart() {
    let data = tempfile::tempdir().unwrap();
    let engine = open(plain(data.path())).await.unwrap();
    block_objects(data.path());
    for (timestamp_ns, line) in [(1, "first"), (2, "second")] {
        push(&engine, &[("a", timestamp_ns, line)]).await.unwrap();
        engine.flush().await.unwrap_err();
    }
    engine.shutdown().await;
    std::fs::remove_file(data.path().join("store/dataobj/objects")).unwrap();
    let engine = open(plain(data.path())).await.unwrap();
    assert_eq!(read_lines(&engine).await, ["first", "second"]);
    assert_eq!(engine.flush().await.unwrap().rows, 2);
    assert_eq!(read_lines(&engine).await, ["first", "second"]);
    engine.shutdown().await;
}

#[tokio::test]
async fn an_object_that_cannot_be_announced_is_stored_once() {
    let data = tempfile::tempdir().unwrap();
    let (store, catalog) = open_store(data.path()).await;
    let engine = Engine::open(plain(data.path()), store.clone(), catalog).await.unwrap();
    std::fs::write(data.path().join("store/catalog"), "in the way").unwrap();
    push(&engine, &[("a", 1, "line")]).await.unwrap();
    for _ in 0..3 {
        engine.flush().await.unwrap_err();
    }
    assert_eq!(store.counters().puts, 1);
    std::fs::remove_file(data.path().join("store/catalog")).unwrap();
    while engine.flush().await.is_err() {
        // An attempt that began before the way was free may still fail.
    }
    assert_eq!(read_lines(&engine).await, ["line"]);
    assert_eq!((engine.stats().flushes, segments(data.path()).len()), (1, 0));
    engine.shutdown().await;
}

#[tokio::test]
async fn a_head_that_fills_the_memory_is_cut_whatever_its_own_limit() {
    let data = tempfile::tempdir().unwrap();
    let mut options = plain(data.path());
    options.max_unflushed_bytes = 600;
    let engine = open(options).await.unwrap();
    let mut published = engine.published();
    push(&engine, &[("a", 1, "first")]).await.unwrap();
    let long = "x".repeat(500);
    push(&engine, &[("a", 2, &long)]).await.unwrap_err();
    published.wait_for(|published| published.objects == 1).await.unwrap();
    push(&engine, &[("a", 2, &long)]).await.unwrap();
    assert_eq!(read_lines(&engine).await.len(), 2);
    engine.shutdown().await;
}
