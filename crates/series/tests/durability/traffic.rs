//! Snapshots while others write: whatever is in the snapshot and whatever in the journal, together they are everything.

use crate::contents::contents;
use crate::reopening::open;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::sync::atomic::{AtomicUsize, Ordering};
use timberline_series::aggregate::Aggregator;
use timberline_series::engine::Engine;
use timberline_series::policy::DuplicatePolicy;

/// Writes to series of its own, and makes and ends rules between them.
fn write(engine: &Engine, thread: usize, round: usize) {
    let mut random = SmallRng::seed_from_u64((round * 10 + thread) as u64);
    let key = |n: u32| format!("{thread} {n}").into_bytes();
    for _ in 0..300 {
        let number = random.random_range(0..5);
        match random.random_range(0..40) {
            0 => drop(engine.exclusive().create_rule(
                0,
                &key(number),
                &key(number + 5),
                if number < 3 { Aggregator::Sum } else { Aggregator::Twa },
                100,
                0,
            )),
            1 => drop(engine.exclusive().delete_rule(0, &key(number), &key(number + 5))),
            2 => drop(engine.shared().remove(0, &key(number + random.random_range(0..6)))),
            3 => drop(engine.exclusive().rename(0, &key(number), &key(9), false)),
            _ => {
                let access = engine.shared();
                // Now and then the destination itself is written to.
                let key = key(number + if random.random_ratio(1, 5) { 5 } else { 0 });
                let Ok(series) = access
                    .series(0, &key)
                    .or_else(|_| access.create(0, &key, engine.settings().series_options()))
                else {
                    continue;
                };
                let newest = series.last(false).unwrap().map_or(0, |last| last.timestamp);
                let Some(mut writer) = access.writer(series).unwrap() else {
                    continue;
                };
                for n in 1..20 {
                    let timestamp = if random.random_ratio(1, 3) {
                        random.random_range(0..=newest)
                    } else {
                        newest + n * 7
                    };
                    let _ = writer.add(
                        timestamp,
                        f64::from(random.random_range(0..100)),
                        Some(DuplicatePolicy::Last),
                    );
                }
            }
        }
    }
}

#[test]
fn snapshots_beside_writers_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut engine = open(folder.path());
    for round in 0..10 {
        let writing = AtomicUsize::new(3);
        std::thread::scope(|scope| {
            for thread in 0..3 {
                let (engine, writing) = (&engine, &writing);
                scope.spawn(move || {
                    write(engine, thread, round);
                    writing.fetch_sub(1, Ordering::Release);
                });
            }
            while writing.load(Ordering::Acquire) > 0 {
                engine.save().unwrap();
            }
        });
        let want = contents(&engine);
        drop(engine);
        engine = open(folder.path());
        let found = contents(&engine);
        for (found, want) in found.iter().zip(&want) {
            assert_eq!(found, want, "round {round}");
        }
        assert_eq!(found.len(), want.len(), "round {round}");
    }
}
