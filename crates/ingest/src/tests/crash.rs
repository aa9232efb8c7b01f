//! Whatever moment a crash picks: what was acknowledged is there once.

use super::harness::{batch, copy_directory, open, open_store, plain, push, read, read_lines, segments};
use crate::{Engine, EngineOptions, Error, PushError};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::path::Path;
use timberline_store::TenantId;

#[tokio::test]
async fn a_log_cut_at_any_byte_keeps_the_entries_before_the_cut() {
    let data = tempfile::tempdir().unwrap();
    let engine = open(plain(data.path())).await.unwrap();
    let mut ends = Vec::new();
    for (number, line) in ["one", "two", "three", "", "five"].iter().enumerate() {
        push(&engine, &[("a", number as i64, line)]).await.unwrap();
        ends.push(std::fs::metadata(&segments(data.path())[0]).unwrap().len());
    }
    engine.shutdown().await;
    let segment = &segments(data.path())[0];
    let whole = std::fs::read(segment).unwrap();
    assert_eq!(whole.len() as u64, *ends.last().unwrap());
    for cut in 0..=whole.len() as u64 {
        std::fs::write(segment, &whole[..cut as usize]).unwrap();
        let engine = open(plain(data.path())).await.unwrap();
        let kept = ends.iter().filter(|end| **end <= cut).count();
        let rows = read(&engine).await;
        assert_eq!(
            rows.iter().map(|row| row.timestamp_ns).collect::<Vec<_>>(),
            (0..kept as i64).collect::<Vec<_>>()
        );
        let good = ends.iter().copied().rfind(|end| *end <= cut);
        let good = good.unwrap_or(if cut >= 16 { 16 } else { 0 });
        assert_eq!(
            (engine.stats().torn_bytes, engine.stats().damaged_bytes),
            (cut - good, 0),
            "cut at {cut}"
        );
        assert_eq!(std::fs::metadata(segment).unwrap().len(), good);
        engine.shutdown().await;
    }
}

#[tokio::test]
async fn damage_before_other_records_keeps_the_prefix_and_a_copy_of_the_file() {
    let data = tempfile::tempdir().unwrap();
    let engine = open(plain(data.path())).await.unwrap();
    let mut ends = Vec::new();
    for (timestamp_ns, line) in [(1, "one"), (2, "two"), (3, "three")] {
        push(&engine, &[("a", timestamp_ns, line)]).await.unwrap();
        ends.push(std::fs::metadata(&segments(data.path())[0]).unwrap().len() as usize);
    }
    engine.shutdown().await;
    let segment = segments(data.path()).remove(0);
    let whole = std::fs::read(&segment).unwrap();
    for at in ends[0]..ends[1] {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x55;
        std::fs::write(&segment, &damaged).unwrap();
        for round in ["damaged", "repaired"] {
            let engine = open(plain(data.path())).await.unwrap();
            assert_eq!(read_lines(&engine).await, ["one"], "byte {at}, {round}");
            let bad = if round == "damaged" { whole.len() - ends[0] } else { 0 };
            assert_eq!(
                (engine.stats().torn_bytes, engine.stats().damaged_bytes),
                (0, bad as u64)
            );
            engine.shutdown().await;
        }
        assert_eq!(std::fs::read(segment.with_extension("log.damaged")).unwrap(), damaged);
    }
}

#[tokio::test]
async fn a_later_segment_is_read_after_a_damaged_one() {
    let data = tempfile::tempdir().unwrap();
    for line in ["one", "two", "three"] {
        let engine = open(plain(data.path())).await.unwrap();
        push(&engine, &[("a", 1, line)]).await.unwrap();
        engine.shutdown().await;
    }
    let middle = &segments(data.path())[1];
    let mut bytes = std::fs::read(middle).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(middle, bytes).unwrap();
    let engine = open(plain(data.path())).await.unwrap();
    assert_eq!(read_lines(&engine).await, ["one", "three"]);
    assert!(engine.stats().damaged_bytes > 0);
    engine.shutdown().await;
}

#[tokio::test]
async fn unreadable_logs_are_refused_by_name() {
    let check = async |change: fn(&Path), want: &str| {
        let data = tempfile::tempdir().unwrap();
        let engine = open(plain(data.path())).await.unwrap();
        push(&engine, &[("a", 1, "x")]).await.unwrap();
        engine.shutdown().await;
        change(&data.path().join("wal"));
        let error = open(plain(data.path())).await.unwrap_err().to_string();
        assert!(error.starts_with("corrupt: ") && error.contains(want), "{error}");
    };
    check(
        |wal| std::fs::remove_file(wal.join("writer-id")).unwrap(),
        "writer-id is missing",
    )
    .await;
    check(
        |wal| std::fs::write(wal.join("writer-id"), "../x").unwrap(),
        "is not a writer's name",
    )
    .await;
    let other_version = |wal: &Path| {
        let segment = wal.join("00000000000000000001.log");
        let mut bytes = std::fs::read(&segment).unwrap();
        bytes[8] = 2;
        std::fs::write(segment, bytes).unwrap();
    };
    check(other_version, "written by another version").await;
}

#[tokio::test]
async fn one_process_at_a_time() {
    let data = tempfile::tempdir().unwrap();
    let engine = open(plain(data.path())).await.unwrap();
    let refused = open(plain(data.path())).await.unwrap_err();
    assert!(matches!(refused, Error::Locked(_)), "{refused}");
    engine.shutdown().await;
    assert!(matches!(
        push(&engine, &[("a", 1, "x")]).await,
        Err(PushError::Unavailable(_))
    ));
    assert!(matches!(engine.flush().await, Err(Error::Stopped)));
    open(plain(data.path())).await.unwrap().shutdown().await;
}

/// Copies of the data directory taken at arbitrary moments under load, while the head is cut again and again, hold every entry
/// acknowledged before the copy began, and none twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn copies_taken_at_any_moment_hold_each_acknowledged_entry_once() {
    let seed = std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), 0);
    println!("seed {seed}");
    let mut random = SmallRng::seed_from_u64(seed);
    let data = tempfile::tempdir().unwrap();
    let mut options = plain(data.path());
    options.head_max_bytes = 4 << 10;
    let engine = open(options).await.unwrap();
    let acknowledged = std::sync::Arc::new(std::sync::atomic::AtomicI64::new(0));
    let pushing = {
        let (engine, acknowledged) = (engine.clone(), acknowledged.clone());
        tokio::spawn(async move {
            for number in 0.. {
                let line = format!("line {number}");
                if engine
                    .push(&TenantId::single(), batch([("a", number, line.as_str())]))
                    .await
                    .is_err()
                {
                    return;
                }
                acknowledged.store(number + 1, std::sync::atomic::Ordering::SeqCst);
            }
        })
    };
    for round in 0..12 {
        let more = acknowledged.load(std::sync::atomic::Ordering::SeqCst) + random.random_range(1..60);
        while acknowledged.load(std::sync::atomic::Ordering::SeqCst) < more {
            tokio::task::yield_now().await;
        }
        let copy = tempfile::tempdir().unwrap();
        let before = acknowledged.load(std::sync::atomic::Ordering::SeqCst);
        // The log first: a crash freezes all files at once, so a copy that takes longer must not see a catalog older than the
        // log. Segments deleted meanwhile are published by the time the store is copied.
        copy_directory(&data.path().join("wal"), &copy.path().join("wal"));
        copy_directory(&data.path().join("store"), &copy.path().join("store"));
        let restarted = open(plain(copy.path())).await.unwrap();
        for step in ["replayed", "flushed"] {
            let numbers: Vec<i64> = read(&restarted).await.iter().map(|row| row.timestamp_ns).collect();
            assert!(
                numbers.len() as i64 >= before,
                "round {round}, {step}: {} of {before}",
                numbers.len()
            );
            assert_eq!(
                numbers,
                (0..numbers.len() as i64).collect::<Vec<_>>(),
                "round {round}, {step}"
            );
            restarted.flush().await.unwrap();
        }
        restarted.shutdown().await;
    }
    engine.shutdown().await;
    pushing.await.unwrap();
}

#[tokio::test]
async fn an_object_stored_but_not_announced_is_deleted_and_written_again() {
    let data = tempfile::tempdir().unwrap();
    let engine = open(plain(data.path())).await.unwrap();
    push(&engine, &[("a", 1, "x")]).await.unwrap();
    engine.shutdown().await;
    let id = std::fs::read_to_string(data.path().join("wal/writer-id")).unwrap();
    let (store, catalog) = open_store(data.path()).await;
    let orphan = format!("dataobj/objects/{id}/{:020}-{:020}", 1, 7);
    let other = format!("dataobj/objects/{id}/{:020}-{:020}", 2, 2);
    for key in [&orphan, &other] {
        store.put(key, &bytes::Bytes::from_static(b"half")).await.unwrap();
    }
    let engine = Engine::open(plain(data.path()), store.clone(), catalog).await.unwrap();
    let keys: Vec<String> = store
        .list("dataobj/objects/")
        .await
        .unwrap()
        .into_iter()
        .map(|o| o.key)
        .collect();
    assert_eq!(keys, [other]);
    engine.flush().await.unwrap();
    assert_eq!(read_lines(&engine).await, ["x"]);
    engine.shutdown().await;
}

#[tokio::test]
async fn segments_that_outlived_their_publication_are_not_replayed() {
    let data = tempfile::tempdir().unwrap();
    let engine = open(plain(data.path())).await.unwrap();
    push(&engine, &[("a", 1, "x")]).await.unwrap();
    let segment = segments(data.path()).remove(0);
    let bytes = std::fs::read(&segment).unwrap();
    engine.flush().await.unwrap();
    assert!(segments(data.path()).is_empty());
    engine.shutdown().await;
    std::fs::write(&segment, bytes).unwrap();
    let engine = open(plain(data.path())).await.unwrap();
    assert_eq!(read_lines(&engine).await, ["x"]);
    assert_eq!(engine.stats().replayed_entries, 0);
    assert!(segments(data.path()).is_empty());
    push(&engine, &[("a", 2, "y")]).await.unwrap();
    assert_eq!(engine.flush().await.unwrap().objects, 1);
    assert_eq!(read_lines(&engine).await, ["x", "y"]);
    engine.shutdown().await;
}

#[tokio::test]
async fn a_large_log_is_cut_while_it_is_replayed() {
    let data = tempfile::tempdir().unwrap();
    let line = "x".repeat(1000);
    for number in 0..6 {
        let engine = open(plain(data.path())).await.unwrap();
        push(&engine, &[("a", number, line.as_str())]).await.unwrap();
        engine.shutdown().await;
    }
    let mut options = plain(data.path());
    options.head_max_bytes = 2000;
    let engine = open(options).await.unwrap();
    assert_eq!(engine.stats().replayed_entries, 6);
    engine.flush().await.unwrap();
    assert_eq!(engine.stats().flushes, 3);
    assert_eq!(read(&engine).await.len(), 6);
    engine.shutdown().await;
}

#[tokio::test]
async fn a_reader_sees_the_log_of_a_running_server_and_changes_nothing() {
    let data = tempfile::tempdir().unwrap();
    let engine = open(plain(data.path())).await.unwrap();
    push(&engine, &[("a", 1, "object")]).await.unwrap();
    engine.flush().await.unwrap();
    push(&engine, &[("a", 2, "log")]).await.unwrap();
    let segment = segments(data.path()).remove(0);
    // A record that is being written.
    let mut torn = std::fs::read(&segment).unwrap();
    torn.extend([9, 0, 0]);
    std::fs::write(&segment, &torn).unwrap();

    let read_only = async |options: EngineOptions| {
        let (store, catalog) = open_store(&options.data_dir).await;
        Engine::open_read_only(options, store, catalog).await.unwrap()
    };
    let reader = read_only(plain(data.path())).await;
    assert_eq!(read_lines(&reader).await, ["log", "object"]);
    assert!(matches!(
        push(&reader, &[("a", 1, "x")]).await,
        Err(PushError::Unavailable(_))
    ));
    assert_eq!(std::fs::read(&segment).unwrap(), torn);
    engine.shutdown().await;

    let nothing = tempfile::tempdir().unwrap();
    let reader = read_only(plain(nothing.path())).await;
    assert!(read_lines(&reader).await.is_empty());
    assert!(!nothing.path().join("wal").exists());
}
