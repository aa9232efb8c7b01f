//! Kills a process that writes, many times, at any moment (SIGKILL), and opens what it left.
//!
//! This program is the writer as well: `crash writer <folder> <policy>` writes to the engine and prints what is acknowledged.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use timberline_series::engine::Engine;
use timberline_series::journal::Fsync;
use timberline_series::series::Reach;
use timberline_series::snapshot::OpenOptions;

const NAME: &str = "what_was_acknowledged_survives_being_killed";
const ROUNDS: u64 = 12;
const SERIES: i64 = 5;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["writer", folder, policy] => write(Path::new(folder), Fsync::parse(policy.as_bytes()).unwrap()),
        // What test runners ask for.
        _ if words.contains(&"--list") => {
            if !words.contains(&"--ignored") {
                println!("{NAME}: test");
            }
        }
        _ => {
            for policy in ["always", "everysec", "no"] {
                rounds(policy);
            }
        }
    }
}

/// Writes for ever: sample n goes to series n mod 5 at time n, with itself as value. Prints n when it is acknowledged. Snapshots are taken
/// all the time, too.
fn write(folder: &Path, fsync: Fsync) {
    let (engine, opened) = Engine::open(OpenOptions {
        fsync,
        ..OpenOptions::new(folder)
    })
    .unwrap();
    let begin = newest(&engine) + 1;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            loop {
                engine.save().unwrap();
                std::thread::sleep(Duration::from_millis(7));
            }
        });
        println!("open {}", opened.warnings.len());
        for n in begin.. {
            let access = engine.shared();
            let key = format!("series {}", n % SERIES).into_bytes();
            let series = access
                .series(0, &key)
                .or_else(|_| access.create(0, &key, engine.settings().series_options()))
                .unwrap();
            access.writer(series).unwrap().unwrap().add(n, n as f64, None).unwrap();
            let sequence = access.last_sequence();
            drop(access);
            let (told, hears) = std::sync::mpsc::channel();
            engine
                .journal()
                .when_durable(sequence, Box::new(move |outcome| told.send(outcome).unwrap()));
            hears.recv().unwrap().unwrap();
            let mut out = std::io::stdout().lock();
            writeln!(out, "{n}").unwrap();
            out.flush().unwrap();
            if fsync != Fsync::Always {
                std::thread::sleep(Duration::from_micros(200));
            }
        }
    });
}

fn newest(engine: &Engine) -> i64 {
    let access = engine.shared();
    let all = access.keys(0);
    all.iter()
        .filter_map(|key| access.series(0, key).unwrap().last(false).unwrap())
        .map(|last| last.timestamp)
        .max()
        .unwrap_or(0)
}

/// Lets the writer write, kills it, and looks; again and again over one folder.
fn rounds(policy: &str) {
    let folder = tempfile::tempdir().unwrap();
    // Of each sample when it was read that it is acknowledged; samples that were lost once are written again.
    let mut acknowledged: HashMap<i64, Instant> = HashMap::new();
    for round in 0..ROUNDS {
        let mut writer = Command::new(std::env::current_exe().unwrap());
        let mut writer = writer
            .arg("writer")
            .arg(folder.path())
            .arg(policy)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(writer.stdout.take().unwrap()).lines();
        let life = Duration::from_millis(30 + (round * 7919) % 200 + if policy == "everysec" { 400 } else { 0 });
        let begin = Instant::now();
        let mut killed = None;
        // What is in the pipe when the writer dies was acknowledged, too.
        for line in lines {
            let line = line.unwrap();
            if let Ok(number) = line.parse() {
                acknowledged.entry(number).or_insert_with(Instant::now);
            }
            if killed.is_none() && begin.elapsed() > life {
                killed = Some(Instant::now());
                writer.kill().unwrap();
            }
        }
        writer.wait().unwrap();
        let killed = killed.unwrap();

        let (engine, _) = Engine::open(OpenOptions {
            fsync: Fsync::No,
            ..OpenOptions::new(folder.path())
        })
        .unwrap();
        let access = engine.shared();
        let mut found: Vec<i64> = Vec::new();
        for key in access.keys(0) {
            let view = access
                .series(0, &key)
                .unwrap()
                .view(0, i64::MAX, Reach::Inside, false)
                .unwrap();
            for part in view.parts {
                match part {
                    timberline_series::view::Part::Chunk(chunk) => chunk.append_timestamps(0..chunk.len(), &mut found),
                    timberline_series::view::Part::Columns(samples) => found.extend_from_slice(&samples.timestamps),
                    timberline_series::view::Part::Cold(_) => unreachable!("nothing is moved to an object store"),
                }
            }
        }
        found.sort_unstable();
        // Whatever was lost, it is an end: no sample is there without those before it.
        assert_eq!(
            found,
            (1..=found.len() as i64).collect::<Vec<_>>(),
            "{policy}, round {round}"
        );
        let newest = found.len() as i64;
        let must_be_there = |time: &Instant| match policy {
            "always" => true,
            "everysec" => killed.saturating_duration_since(*time) > Duration::from_secs(1),
            _ => false,
        };
        for (number, time) in &acknowledged {
            assert!(
                *number <= newest || !must_be_there(time),
                "{policy}, round {round}: {number} of {newest} is lost"
            );
        }
        acknowledged.retain(|number, _| *number <= newest);
        println!(
            "{policy}, round {round}: {} acknowledged, {newest} there",
            acknowledged.len()
        );
    }
}
