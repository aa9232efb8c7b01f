//! Several threads write one series at once, others read it and the destinations of its rules.

use crate::aggregate::{Pair, start_of, value};
use crate::engine::samples;
use crate::store::defaults;
use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use timberline_series::aggregate::Aggregator;
use timberline_series::engine::Engine;
use timberline_series::policy::DuplicatePolicy;

const THREADS: u64 = 4;
const PER_THREAD: usize = 1500;
const BUCKET: i64 = 70;

/// What each thread writes: samples in an order of its own, whose timestamps meet those of the others.
fn written(seed: u64) -> Vec<Vec<Pair>> {
    let of_thread = |thread| {
        let mut random = SmallRng::seed_from_u64(seed + thread);
        let mut samples: Vec<Pair> = (0..PER_THREAD)
            .map(|place| {
                (
                    place as i64 * 3 + random.random_range(0..5),
                    f64::from(random.random_range(0..100u8)),
                )
            })
            .collect();
        // Some in order, some late within a stretch, some anywhere.
        match thread {
            0 => {}
            1 => samples.chunks_mut(50).for_each(|stretch| stretch.shuffle(&mut random)),
            _ => samples.shuffle(&mut random),
        }
        samples
    };
    (0..THREADS).map(of_thread).collect()
}

fn write(engine: &Engine, samples: &[Pair], run: usize) {
    for run in samples.chunks(run) {
        let access = engine.shared();
        let series = access.series(0, b"a").expect("the series is there");
        let mut writer = access
            .writer(series)
            .expect("nothing is cold")
            .expect("nobody removes it");
        for (timestamp, value) in run {
            writer
                .add(*timestamp, *value, None)
                .expect("the policy takes everything");
        }
    }
}

/// Reads until told to stop: samples ascend, and there are never fewer than before.
fn read(engine: &Engine, stop: &AtomicBool) {
    let mut before = 0;
    while !stop.load(Ordering::Acquire) {
        let series = engine.shared().series(0, b"a").expect("the series is there");
        let found = samples(&series).expect("nothing is cold");
        assert!(found.is_sorted_by(|one, other| one.0 < other.0), "samples ascend");
        assert!(found.len() >= before, "{} samples after {before}", found.len());
        before = found.len();
        let destination = engine.shared().series(0, b"b").expect("the destination is there");
        let buckets = samples(&destination).expect("nothing is cold");
        assert!(buckets.is_sorted_by(|one, other| one.0 < other.0), "buckets ascend");
    }
}

#[test]
fn threads_that_write_one_series_end_in_the_state_of_any_order() {
    for (seed, policy) in [
        (1, DuplicatePolicy::Min),
        (2, DuplicatePolicy::Max),
        (3, DuplicatePolicy::Sum),
        (4, DuplicatePolicy::Last),
        (5, DuplicatePolicy::First),
    ] {
        let engine = Engine::in_memory();
        for key in [b"a", b"b"] {
            let mut attributes = defaults(policy);
            attributes.chunk_bytes = 48;
            // A repeat of the newest sample is not ignored.
            attributes.ignore = (0, -1.0);
            engine
                .shared()
                .create(0, key, attributes.options())
                .expect("the key is free");
        }
        let made = engine
            .exclusive()
            .create_rule(0, b"a", b"b", Aggregator::Sum, BUCKET, 0);
        made.expect("both are there");
        let written = written(seed);
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let writers: Vec<_> = (0..)
                .zip(&written)
                .map(|(thread, samples)| {
                    let engine = &engine;
                    scope.spawn(move || write(engine, samples, 1 + thread * 7))
                })
                .collect();
            let reader = scope.spawn(|| read(&engine, &stop));
            let ends: Vec<_> = writers.into_iter().map(|writer| writer.join()).collect();
            stop.store(true, Ordering::Release);
            reader.join().expect("the reader agrees");
            ends.into_iter().for_each(|end| end.expect("the writer wrote"));
        });
        check(&engine, policy, &written);
    }
}

fn check(engine: &Engine, policy: DuplicatePolicy, written: &[Vec<Pair>]) {
    let mut legal: BTreeMap<i64, Vec<f64>> = BTreeMap::new();
    for (timestamp, value) in written.iter().flatten() {
        legal.entry(*timestamp).or_default().push(*value);
    }
    let source = engine.shared().series(0, b"a").expect("the series is there");
    let found = samples(&source).expect("nothing is cold");
    let timestamps: Vec<i64> = found.iter().map(|sample| sample.0).collect();
    assert_eq!(timestamps, legal.keys().copied().collect::<Vec<_>>(), "{policy:?}");
    for (timestamp, value) in &found {
        let values = &legal[timestamp];
        let is_legal = match policy {
            DuplicatePolicy::Min => values.iter().copied().reduce(f64::min) == Some(*value),
            DuplicatePolicy::Max => values.iter().copied().reduce(f64::max) == Some(*value),
            DuplicatePolicy::Sum => values.iter().sum::<f64>() == *value,
            _ => values.contains(value),
        };
        assert!(is_legal, "{policy:?} made {value} of {values:?} at {timestamp}");
    }
    // Closed buckets are those of the samples that are there.
    let destination = engine.shared().series(0, b"b").expect("the destination is there");
    let buckets = samples(&destination).expect("nothing is cold");
    let mut wanted: BTreeMap<i128, Vec<Pair>> = BTreeMap::new();
    for sample in &found {
        wanted.entry(start_of(sample.0, BUCKET, 0)).or_default().push(*sample);
    }
    wanted.pop_last();
    let wanted: Vec<Pair> = wanted
        .iter()
        .map(|(start, bucket)| (*start as i64, value(Aggregator::Sum, bucket, false)))
        .collect();
    assert_eq!(buckets, wanted, "{policy:?}");
}
