//! What the journal costs: time per sample beside an engine without one, bytes per sample, and how fast it is replayed.
//!
//! `cargo bench -p timberline-series --bench journal`

use std::time::Instant;
use timberline_series::engine::Engine;
use timberline_series::journal::Fsync;
use timberline_series::snapshot::OpenOptions;

const SAMPLES: i64 = 4_000_000;

type Value = fn(i64) -> f64;

fn main() {
    println!(
        "{SAMPLES} samples in order into one series; nanoseconds per sample, bytes per sample, samples per second"
    );
    println!("values      run   memory  journal  bytes  replay/s  reload from snapshot/s");
    let values: [(&str, Value); 3] = [
        ("constant", |_| 1.0),
        ("integers", |n| (n * 7919 % 100) as f64),
        ("decimals", |n| (n % 1000) as f64 / 100.0),
    ];
    for (name, value) in values {
        for run in [1, 50] {
            let memory = write(&Engine::in_memory(), run, value);
            let folder = tempfile::tempdir().expect("a folder for files");
            let options = || OpenOptions {
                fsync: Fsync::EverySecond,
                snapshot_after_bytes: u64::MAX,
                ..OpenOptions::new(folder.path())
            };
            let (engine, _) = Engine::open(options()).expect("an engine");
            let journal = write(&engine, run, value);
            let bytes = engine.journal().statistics().bytes as f64 / SAMPLES as f64;
            drop(engine);
            let begin = Instant::now();
            let (engine, _) = Engine::open(options()).expect("an engine");
            let replay = SAMPLES as f64 / begin.elapsed().as_secs_f64();
            engine.save().expect("a snapshot");
            drop(engine);
            let begin = Instant::now();
            Engine::open(options()).expect("an engine");
            let load = SAMPLES as f64 / begin.elapsed().as_secs_f64();
            println!(
                "{name:<10} {run:>4} {memory:>8.1} {journal:>8.1} {bytes:>6.1} {:>7.1} M {:>7.1} M",
                replay / 1e6,
                load / 1e6
            );
        }
    }
}

/// Writes in runs of so many samples; nanoseconds per sample.
fn write(engine: &Engine, run: i64, value: Value) -> f64 {
    let series = engine
        .shared()
        .create(0, b"key", engine.settings().series_options())
        .expect("a new key");
    let begin = Instant::now();
    for start in (0..SAMPLES).step_by(run as usize) {
        let access = engine.shared();
        let mut writer = access
            .writer(series.clone())
            .expect("no store")
            .expect("the key is there");
        for n in start..start + run {
            writer.add(n * 1000, value(n), None).expect("a new sample");
        }
    }
    begin.elapsed().as_secs_f64() * 1e9 / SAMPLES as f64
}
