//! Random commands, the same for every engine that they are given to.

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use timberline_series::aggregate::Aggregator;
use timberline_series::codec::Encoding;
use timberline_series::engine::{Access, Engine};
use timberline_series::keyspace::Expiry;
use timberline_series::labels::Labels;
use timberline_series::options::{Changes, SeriesOptions};
use timberline_series::policy::DuplicatePolicy;

/// A row of commands that depends on the seed alone.
///
/// When samples outside of the retention are dropped depends on how they lie in chunks, which a restart changes. Nobody sees that, unless
/// the retention grows, the newest sample is deleted, or a late sample falls into a bucket that is partly outside. So with even seeds
/// there is retention, which only shrinks, the newest samples stay, and there are no rules; with odd seeds there is all but retention.
pub(crate) struct Operations {
    random: SmallRng,
    with_retention: bool,
}

const KEYS: u32 = 12;
const AGGREGATORS: [Aggregator; 6] = [
    Aggregator::Avg,
    Aggregator::Sum,
    Aggregator::Last,
    Aggregator::Count,
    Aggregator::Twa,
    Aggregator::StdS,
];
const POLICIES: [DuplicatePolicy; 6] = [
    DuplicatePolicy::Block,
    DuplicatePolicy::First,
    DuplicatePolicy::Last,
    DuplicatePolicy::Min,
    DuplicatePolicy::Max,
    DuplicatePolicy::Sum,
];

impl Operations {
    pub(crate) fn new(seed: u64) -> Operations {
        Operations {
            random: SmallRng::seed_from_u64(seed),
            with_retention: seed.is_multiple_of(2),
        }
    }

    /// Runs the next command on all engines.
    pub(crate) fn step(&mut self, engines: &[&Engine]) {
        let seed: u64 = self.random.random();
        for engine in engines {
            command(engine, self.with_retention, &mut SmallRng::seed_from_u64(seed));
        }
    }
}

fn key(random: &mut SmallRng) -> Vec<u8> {
    format!("key {}", random.random_range(0..KEYS)).into_bytes()
}

fn db(random: &mut SmallRng) -> u8 {
    u8::from(random.random_ratio(1, 8))
}

fn value(random: &mut SmallRng) -> f64 {
    match random.random_range(0..10) {
        0 => f64::NAN,
        1 => random.random(),
        2 => random.random_range(0..1000) as f64 / 100.0,
        _ => f64::from(random.random_range(-5i32..50)),
    }
}

fn options(with_retention: bool, random: &mut SmallRng) -> SeriesOptions {
    let labels = (0..random.random_range(0..3)).map(|n| (format!("name {n}").into_bytes(), b"value".to_vec()));
    SeriesOptions {
        retention_ms: if random.random_ratio(1, 3) && with_retention {
            random.random_range(1..30_000)
        } else {
            0
        },
        encoding: if random.random_ratio(1, 4) {
            Encoding::Uncompressed
        } else {
            Encoding::Compressed
        },
        chunk_bytes: *[48, 128, 4096].get(random.random_range(0..3usize)).unwrap(),
        duplicate_policy: random.random_bool(0.8).then(|| POLICIES[random.random_range(0..6)]),
        ignore_time_ms: if random.random_ratio(1, 4) { 5 } else { 0 },
        ignore_value: 1.0,
        labels: Labels::from_pairs(labels.collect()),
    }
}

/// A time far beyond the end of the test, so that no clock decides.
fn some_end(random: &mut SmallRng) -> i64 {
    4_000_000_000_000 + random.random_range(0..1000)
}

fn command(engine: &Engine, with_retention: bool, random: &mut SmallRng) {
    let (db, key) = (db(random), key(random));
    match random.random_range(0..100) {
        0..70 => samples(&engine.shared(), db, &key, with_retention, random),
        70..76 => drop(engine.shared().create(db, &key, options(with_retention, random))),
        76..80 => {
            let access = engine.shared();
            if let Ok(series) = access.series(db, &key) {
                let from = random.random_range(0..60_000);
                let mut to = from + random.random_range(0..3000);
                if with_retention {
                    let newest = series.last(false).unwrap().map_or(0, |last| last.timestamp);
                    to = to.min(newest - 1);
                }
                let _ = access.delete(&series, from, to);
            }
        }
        80..83 => {
            let access = engine.shared();
            if let Ok(series) = access.series(db, &key) {
                let old = series.info().unwrap().retention_ms;
                let options = options(with_retention, random);
                let changes = Changes {
                    retention_ms: random.random_bool(0.5).then_some(if old == 0 {
                        options.retention_ms
                    } else {
                        old / 2 + 1
                    }),
                    chunk_bytes: random.random_bool(0.5).then_some(options.chunk_bytes),
                    duplicate_policy: options.duplicate_policy,
                    ignore: random
                        .random_bool(0.5)
                        .then_some((options.ignore_time_ms, options.ignore_value)),
                    labels: random.random_bool(0.5).then_some(options.labels),
                };
                access.alter(&series, changes);
            }
        }
        83..88 if !with_retention => {
            let other = self::key(random);
            let aggregator = AGGREGATORS[random.random_range(0..AGGREGATORS.len())];
            let bucket = random.random_range(1..5000);
            let align = random.random_range(0..2) * 7;
            let _ = engine
                .exclusive()
                .create_rule(db, &key, &other, aggregator, bucket, align);
        }
        88 => drop(engine.exclusive().delete_rule(db, &key, &self::key(random))),
        89 => drop(engine.shared().remove(db, &key)),
        90 => drop(
            engine
                .exclusive()
                .rename(db, &key, &self::key(random), random.random_bool(0.3)),
        ),
        91 => drop(
            engine
                .exclusive()
                .copy(db, &key, self::db(random), &self::key(random), random.random_bool(0.3)),
        ),
        92 => drop(engine.exclusive().move_key(db, &key, 1 - db)),
        93 => {
            let end = random.random_bool(0.7).then(|| some_end(random));
            engine.shared().set_expiry(db, &key, end);
        }
        94 => {
            let expiry = [Expiry::Keep, Expiry::Clear, Expiry::At(some_end(random))][random.random_range(0..3)];
            // Not on keys of series too often.
            let text_key = format!("text {}", random.random_range(0..3));
            engine.shared().set_text(
                db,
                if random.random_ratio(1, 10) {
                    &key
                } else {
                    text_key.as_bytes()
                },
                &key,
                expiry,
            );
        }
        95 => {
            let access = engine.exclusive();
            if let Some(payload) = access.dump(db, &key) {
                let _ = access.restore(db, &self::key(random), &payload.unwrap(), None, random.random_bool(0.5));
            }
        }
        96 if random.random_ratio(1, 10) => engine.exclusive().swap(0, 1),
        97 if random.random_ratio(1, 20) => engine.exclusive().flush(random.random_bool(0.8).then_some(db)),
        _ => {
            // A transaction over several keys.
            let access = engine.exclusive();
            for _ in 0..3 {
                let key = self::key(random);
                samples(&access, db, &key, with_retention, random);
                if random.random_ratio(1, 4) {
                    access.remove(db, &key);
                }
            }
        }
    }
}

/// A run of samples into one series, mostly in order.
fn samples(access: &Access<'_>, db: u8, key: &[u8], with_retention: bool, random: &mut SmallRng) {
    let series = match access.series(db, key) {
        Ok(series) => series,
        Err(_) => match access.create_with_rules(db, key, options(with_retention, random)) {
            Ok(series) => series,
            Err(_) => return,
        },
    };
    let newest = series.last(false).unwrap().map_or(0, |last| last.timestamp);
    let Some(mut writer) = access.writer(series).unwrap() else {
        return;
    };
    let mut next = newest;
    for _ in 0..random.random_range(1..60) {
        next += random.random_range(0..40);
        let timestamp = if random.random_ratio(1, 4) {
            random.random_range(0..=next)
        } else {
            next
        };
        let on_duplicate = random.random_bool(0.5).then(|| POLICIES[random.random_range(0..6)]);
        if random.random_ratio(1, 10) {
            let _ = writer.increment(f64::from(random.random_range(-3i32..4)), next);
        } else {
            let _ = writer.add(timestamp, value(random), on_duplicate);
        }
    }
}
