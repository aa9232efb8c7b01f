//! kill -9 at random moments under load: each acknowledged entry is there once afterwards, none twice.

use crate::decoder;
use crate::numbered::Writer;
use crate::server::Server;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use serde_json::json;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Rounds of load, kill, restart and check over one growing folder.
const ROUNDS: u64 = 32;
/// Connections that push at once.
const WRITERS: u64 = 4;
/// Every so many rounds all entries are read back, not only the new ones.
const FULL_CHECK_ROUNDS: u64 = 8;
/// Heads this small are cut many times in a round.
const TINY_HEAD: &str = "--head-max-bytes=64KiB";

#[test]
fn kill_at_any_moment_loses_and_doubles_nothing() {
    let seed = match std::env::var("TIMBERLINE_TEST_SEED") {
        Ok(text) => text.parse().unwrap(),
        Err(_) => rand::random(),
    };
    println!("crash test: seed {seed} (repeat with TIMBERLINE_TEST_SEED={seed})");
    let mut random = SmallRng::seed_from_u64(seed);
    let data = tempfile::tempdir().unwrap();
    let mut writers: Vec<Writer> = (0..WRITERS)
        .map(|number| Writer::new("crash", number, seed, 200))
        .collect();
    let (mut checked, mut torn_tails, mut flushed_rounds) = (0, 0, 0);
    for round in 0..ROUNDS {
        let flags = if random.random_bool(0.7) {
            vec![TINY_HEAD]
        } else {
            vec![]
        };
        let flushing = random.random_bool(0.5);
        flushed_rounds += u64::from(flushing);
        let starts: Vec<u64> = writers.iter().map(|w| w.next).collect();
        let server = Server::start(data.path(), &flags);
        let alive = Duration::from_millis(random.random_range(0..400));
        load_and_kill(server, &mut writers, alive, flushing);

        // Right after a cut there is no segment to append to.
        let garbage_bytes = match last_segment(data.path()) {
            Some(segment) if random.random_bool(0.2) => append_garbage(&segment, &mut random),
            _ => 0,
        };
        let server = Server::start(data.path(), &flags);
        if server.log().contains("cut off a write") {
            torn_tails += 1;
        } else {
            assert_eq!(
                garbage_bytes,
                0,
                "no warning of {garbage_bytes} torn bytes in:\n{}",
                server.log()
            );
        }
        let full = round % FULL_CHECK_ROUNDS == FULL_CHECK_ROUNDS - 1;
        for (writer, start) in writers.iter().zip(starts) {
            let count = writer.check(&server.client(), if full { 0 } else { start });
            checked += count;
        }
        server.kill();
    }
    let server = Server::start(data.path(), &[]);
    server.client().flush();
    let total: usize = writers.iter().map(|w| w.check(&server.client(), 0)).sum();
    assert_eq!(total, writers.iter().map(Writer::acknowledged).sum::<usize>());
    assert!(total > 1000, "only {total} entries were acknowledged in all");
    let objects = decoder::objects(data.path());
    let rows = decoder::read(&objects);
    for writer in &writers {
        writer.check_rows(&rows);
    }
    println!(
        "crash test: rounds {ROUNDS} (flushing in {flushed_rounds}, torn tails {torn_tails}), \
         acknowledged entries checked {checked}, in the end {total} of {total} there once; \
         {} objects read by the independent decoder, {} rows",
        objects.len(),
        rows.len()
    );
}

/// Pushes from all writers, perhaps flushing all the time, until the server is killed in the middle of it.
fn load_and_kill(server: Server, writers: &mut [Writer], alive: Duration, flushing: bool) {
    let killed = AtomicBool::new(false);
    let client = server.client();
    std::thread::scope(|scope| {
        for writer in writers.iter_mut() {
            let client = client.clone();
            scope.spawn(move || {
                // 503 means that the server is going down or its buffers are full; the lines stay unacknowledged.
                while writer.push(&client, 1 + writer.next % 61).is_ok() {}
            });
        }
        if flushing {
            scope.spawn(|| {
                while !killed.load(Ordering::Relaxed) {
                    let _ = client.try_flush();
                }
            });
        }
        std::thread::sleep(alive);
        server.kill();
        killed.store(true, Ordering::Relaxed);
    });
}

fn last_segment(data: &Path) -> Option<PathBuf> {
    let files = std::fs::read_dir(data.join("wal"))
        .unwrap()
        .map(|entry| entry.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|e| e == "log")).max()
}

/// Appends what a torn write may leave; gives the number of bytes.
fn append_garbage(segment: &Path, random: &mut SmallRng) -> usize {
    let garbage: Vec<u8> = (0..random.random_range(1..200)).map(|_| random.random()).collect();
    OpenOptions::new()
        .append(true)
        .open(segment)
        .unwrap()
        .write_all(&garbage)
        .unwrap();
    garbage.len()
}

#[test]
fn a_torn_tail_is_cut_and_its_bytes_are_named() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let mut ends = Vec::new();
    for number in 0..10 {
        let time = (1_780_315_200_000_000_000_i64 + number).to_string();
        server
            .client()
            .push(&json!([{"stream": {"job": "torn"}, "values": [[time, format!("line {number}")]]}]));
        ends.push(std::fs::metadata(last_segment(data.path()).unwrap()).unwrap().len());
    }
    server.kill();
    let count = |server: &Server| {
        let parameters = [
            ("query", "{job=\"torn\"}"),
            ("start", "1780315200"),
            ("end", "1780315201"),
        ];
        let answer = server.client().get_json("/loki/api/v1/query_range", &parameters);
        let streams = answer["data"]["result"].as_array().unwrap();
        streams
            .iter()
            .map(|s| s["values"].as_array().unwrap().len())
            .sum::<usize>()
    };

    // The last record loses three bytes.
    let file = OpenOptions::new()
        .write(true)
        .open(last_segment(data.path()).unwrap())
        .unwrap();
    file.set_len(ends[9] - 3).unwrap();
    let server = Server::start(data.path(), &[]);
    let torn = ends[9] - 3 - ends[8];
    assert!(
        server.log().contains(&format!("bad_bytes={torn}")),
        "no warning of {torn} bytes in:\n{}",
        server.log()
    );
    assert_eq!(count(&server), 9);
    server.kill();

    // Garbage behind the last record.
    let mut random = SmallRng::seed_from_u64(1);
    let garbage = append_garbage(&last_segment(data.path()).unwrap(), &mut random);
    let server = Server::start(data.path(), &[]);
    assert!(
        server.log().contains(&format!("bad_bytes={garbage}")),
        "no warning of {garbage} bytes in:\n{}",
        server.log()
    );
    assert_eq!(count(&server), 9);
    server.kill();

    // Nothing is left to warn of.
    let server = Server::start(data.path(), &[]);
    assert!(!server.log().contains("bad_bytes"), "{}", server.log());
    assert_eq!(count(&server), 9);
}
