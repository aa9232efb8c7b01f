//! What one sample costs the engine, in order and late, without sockets and without a journal: `cargo bench -p timberline-series --bench late`.
//!
//! The workload is that of the published benchmark: each sample is late with a given probability, anywhere in the past.

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::time::Instant;
use timberline_series::aggregate::Aggregator;
use timberline_series::codec::Encoding;
use timberline_series::engine::Engine;
use timberline_series::policy::DuplicatePolicy;

const SERIES: usize = 20;
const SAMPLES: usize = 20_000;
/// Samples written under one lock of the series, as a pipeline does.
const RUN: usize = 50;

fn main() {
    println!(
        "{:13} {:>6} {:>6} {:>9} {:>12} {:>13}",
        "encoding", "chunk", "late", "ns/sample", "bytes/sample", "with avg rule"
    );
    for encoding in [Encoding::Compressed, Encoding::Uncompressed] {
        for chunk_bytes in [128, 4096] {
            for late in [0, 1, 5, 10, 25, 50, 75, 99] {
                let best = |rule: bool| {
                    let runs = (0..3).map(|seed| measure(encoding, chunk_bytes, f64::from(late) / 100.0, rule, seed));
                    runs.fold((f64::INFINITY, 0.0), |best, (nanos, bytes)| (best.0.min(nanos), bytes))
                };
                let ((nanos, bytes), (with_rule, _)) = (best(false), best(true));
                println!(
                    "{:13} {chunk_bytes:6} {late:4} % {nanos:9.1} {bytes:12.2} {with_rule:13.1}",
                    format!("{encoding:?}")
                );
            }
        }
    }
}

/// Nanoseconds and bytes of memory per sample.
fn measure(encoding: Encoding, chunk_bytes: u32, late: f64, rule: bool, seed: u64) -> (f64, f64) {
    let mut random = SmallRng::seed_from_u64(seed);
    let engine = Engine::in_memory();
    let mut series = Vec::new();
    for number in 0..SERIES {
        let mut options = engine.settings().series_options();
        (options.encoding, options.chunk_bytes) = (encoding, chunk_bytes);
        options.duplicate_policy = Some(DuplicatePolicy::Block);
        let (key, destination) = (format!("s{number}"), format!("d{number}"));
        series.push(
            engine
                .shared()
                .create(0, key.as_bytes(), options.clone())
                .expect("the key is new"),
        );
        if rule {
            engine
                .shared()
                .create(0, destination.as_bytes(), options)
                .expect("the key is new");
            let made =
                engine
                    .exclusive()
                    .create_rule(0, key.as_bytes(), destination.as_bytes(), Aggregator::Avg, 1000, 0);
            made.expect("both series are new");
        }
    }
    let samples: Vec<Vec<(i64, f64)>> = series.iter().map(|_| workload(&mut random, late)).collect();
    let begun = Instant::now();
    for run in 0..SAMPLES / RUN {
        for (series, samples) in series.iter().zip(&samples) {
            let access = engine.shared();
            let mut writer = access
                .writer(series.clone())
                .expect("nothing is cold")
                .expect("nobody removes it");
            for (timestamp, value) in &samples[run * RUN..(run + 1) * RUN] {
                // A timestamp may exist: the series blocks it, as in the published benchmark.
                let _ = writer.add(*timestamp, *value, None);
            }
        }
    }
    let nanos = begun.elapsed().as_nanos() as f64 / (SERIES * SAMPLES) as f64;
    let stored: u64 = series
        .iter()
        .map(|series| series.info().expect("nothing is cold").total_samples)
        .sum();
    (nanos, engine.memory_bytes() as f64 / stored as f64)
}

fn workload(random: &mut SmallRng, late: f64) -> Vec<(i64, f64)> {
    let mut newest = 100_000;
    let mut next = |random: &mut SmallRng| {
        let timestamp = if random.random::<f64>() < late {
            random.random_range(0..newest)
        } else {
            newest += 1;
            newest
        };
        (timestamp, f64::from(random.random::<f32>() * 32.0))
    };
    (0..SAMPLES).map(|_| next(random)).collect()
}
