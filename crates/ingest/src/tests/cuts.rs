//! While the head is cut, readers see each entry exactly once.

use super::harness::{batch, open, plain, push, read_lines, read_sources, segments, tenant};
use std::collections::BTreeSet;
use std::time::Duration;
use timberline_store::TenantId;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn readers_see_each_entry_once_during_cuts() {
    let data = tempfile::tempdir().unwrap();
    let mut options = plain(data.path());
    options.head_max_bytes = 3 << 10;
    let engine = open(options).await.unwrap();
    let acknowledged = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let pushing = {
        let (engine, acknowledged) = (engine.clone(), acknowledged.clone());
        tokio::spawn(async move {
            for number in 0..400 {
                let line = format!("{number:06}");
                engine
                    .push(&TenantId::single(), batch([("a", number, line.as_str())]))
                    .await
                    .unwrap();
                acknowledged.store(number as usize + 1, std::sync::atomic::Ordering::SeqCst);
            }
        })
    };
    let mut reads = 0;
    let mut shapes = BTreeSet::new();
    while !pushing.is_finished() || reads == 0 {
        let before = acknowledged.load(std::sync::atomic::Ordering::SeqCst);
        let sources = read_sources(&engine, &TenantId::single(), super::harness::ALL).await;
        let heads = sources.iter().filter(|(name, _)| name == "head").count();
        shapes.insert((sources.len() > heads, heads));
        let mut lines: Vec<&str> = sources
            .iter()
            .flat_map(|(_, rows)| rows)
            .map(|row| row.line.as_str())
            .collect();
        lines.sort_unstable();
        assert!(lines.len() >= before, "{} of {before}", lines.len());
        let want: Vec<String> = (0..lines.len()).map(|number| format!("{number:06}")).collect();
        assert_eq!(lines, want);
        reads += 1;
    }
    pushing.await.unwrap();
    println!(
        "{reads} reads, {} objects, (objects, parts of the head) seen: {shapes:?}",
        engine.stats().flushes
    );
    engine.flush().await.unwrap();
    assert!(engine.stats().flushes > 3);
    assert_eq!(read_lines(&engine).await.len(), 400);
    engine.shutdown().await;
}

#[tokio::test]
async fn a_flush_empties_head_and_log_and_an_empty_one_does_nothing() {
    let data = tempfile::tempdir().unwrap();
    let engine = open(plain(data.path())).await.unwrap();
    assert_eq!(engine.flush().await.unwrap(), crate::FlushReport::default());
    push(&engine, &[("a", 1, "x"), ("b", 2, "y")]).await.unwrap();
    let stats = engine.stats();
    assert_eq!((stats.head_rows, stats.head_streams, stats.frozen_segments), (2, 2, 0));
    // Rows and lines; and of each stream its place and its labels.
    assert_eq!(stats.head_bytes, 2 * 24 + 2 + 2 * (160 + 48 + 2 * 5));
    let report = engine.flush().await.unwrap();
    assert_eq!((report.objects, report.rows), (1, 2));
    assert!(report.object_bytes > 0);
    let stats = engine.stats();
    assert_eq!((stats.head_rows, stats.head_bytes, stats.head_streams), (0, 0, 0));
    assert!(segments(data.path()).is_empty());
    assert_eq!(engine.flush().await.unwrap(), crate::FlushReport::default());
    push(&engine, &[("a", 3, "z")]).await.unwrap();
    assert_eq!(read_lines(&engine).await, ["x", "y", "z"]);
    engine.shutdown().await;
}

#[tokio::test]
async fn an_old_head_is_cut_without_being_asked() {
    let data = tempfile::tempdir().unwrap();
    let mut options = plain(data.path());
    options.head_max_age = Duration::ZERO;
    let engine = open(options).await.unwrap();
    let mut published = engine.published();
    push(&engine, &[("a", 1, "x")]).await.unwrap();
    published.wait_for(|published| published.objects == 1).await.unwrap();
    assert_eq!(read_lines(&engine).await, ["x"]);
    engine.shutdown().await;
}

#[tokio::test]
async fn rows_of_many_blocks_and_streams_survive_a_cut() {
    let data = tempfile::tempdir().unwrap();
    let engine = open(plain(data.path())).await.unwrap();
    let names: Vec<String> = (0..50).map(|i| format!("s{i}")).collect();
    let lines: Vec<String> = (0..10_000)
        .map(|i| format!("line {i} {}", "x".repeat(i % 150)))
        .collect();
    for chunk in 0..10 {
        let numbers = (0..10_000).filter(|i| i % 10 == chunk);
        let entries = numbers.map(|i| (names[i % 50].as_str(), i as i64, lines[i].as_str()));
        engine.push(&tenant("t"), batch(entries)).await.unwrap();
    }
    let sorted = async || {
        let sources = read_sources(&engine, &tenant("t"), super::harness::ALL).await;
        let mut rows: Vec<_> = sources.into_iter().flat_map(|(_, rows)| rows).collect();
        rows.sort();
        rows
    };
    let before = sorted().await;
    assert_eq!(before.len(), 10_000);
    engine.flush().await.unwrap();
    assert_eq!(before, sorted().await);
    engine.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn other_processes_that_only_read_see_each_entry_once_during_cuts() {
    let data = tempfile::tempdir().unwrap();
    let mut options = plain(data.path());
    options.head_max_bytes = 2 << 10;
    let engine = open(options).await.unwrap();
    let acknowledged = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let pushing = {
        let (engine, acknowledged) = (engine.clone(), acknowledged.clone());
        tokio::spawn(async move {
            for number in 0..300 {
                let line = format!("{number:06}");
                engine
                    .push(&TenantId::single(), batch([("a", number, line.as_str())]))
                    .await
                    .unwrap();
                acknowledged.store(number as usize + 1, std::sync::atomic::Ordering::SeqCst);
            }
        })
    };
    let mut reads = 0;
    while !pushing.is_finished() || reads == 0 {
        let before = acknowledged.load(std::sync::atomic::Ordering::SeqCst);
        let store = timberline_store::Store::open_local_read_only(&data.path().join("store")).unwrap();
        let catalog = timberline_store::Catalog::open_read_only(store.clone()).await.unwrap();
        let reader = crate::Engine::open_read_only(plain(data.path()), store, catalog)
            .await
            .unwrap();
        let lines = read_lines(&reader).await;
        assert!(lines.len() >= before, "{} of {before}", lines.len());
        let want: Vec<String> = (0..lines.len()).map(|number| format!("{number:06}")).collect();
        assert_eq!(lines, want);
        reads += 1;
    }
    pushing.await.unwrap();
    println!("{reads} reads, {} objects", engine.stats().flushes);
    engine.shutdown().await;
}
