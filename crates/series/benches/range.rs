//! `cargo bench -p timberline-series --bench range [-- WORD ..]`: nanoseconds per sample of aggregated ranges, best of
//! several rounds, over chunks of 1024 samples. Only what each word names: an aggregator, or part of the name of a shape.

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};
use timberline_series::codec::{Chunk, Encoding};
use timberline_series::range::{Aggregation, Aggregator, BucketTimestamp, RangeQuery, run};
use timberline_series::view::{Part, View};

/// Milliseconds between samples.
const STEP: i64 = 10_000;
const CHUNK: usize = 1024;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // `cargo test --benches` wants to see that it runs.
    let is_smoke = arguments.iter().any(|argument| argument == "--test");
    let only: Vec<&String> = arguments.iter().filter(|argument| !argument.starts_with('-')).collect();
    let is_asked = |shape: &str, aggregator: &str| {
        only.iter()
            .all(|asked| shape.contains(asked.as_str()) || aggregator == asked.as_str())
    };
    let samples = if is_smoke { 5_000 } else { 1_000_000 };
    println!("nanoseconds per sample         bucket: whole   1000     60      6  | descending: whole     60");
    for shape in shapes(samples) {
        let view = view_of(&shape);
        for aggregator in Aggregator::ALL {
            if !is_asked(shape.name, aggregator.name()) {
                continue;
            }
            let time = |bucket: i64, reverse: bool| {
                let query = query(*aggregator, bucket, reverse);
                best(is_smoke, || {
                    black_box(run(&view, black_box(&query)).expect("chunks in memory")).len();
                })
                .as_secs_f64()
                    * 1e9
                    / samples as f64
            };
            println!(
                "{:28} {:9} {:6.2} {:6.2} {:6.2} {:6.2}  | {:17.2} {:6.2}",
                shape.name,
                aggregator.name(),
                time(1 << 50, false),
                time(1000 * STEP, false),
                time(60 * STEP, false),
                time(6 * STEP, false),
                time(1 << 50, true),
                time(60 * STEP, true),
            );
        }
    }
}

struct Shape {
    name: &'static str,
    timestamps: Vec<i64>,
    values: Vec<f64>,
}

fn shapes(samples: usize) -> Vec<Shape> {
    let mut random = SmallRng::seed_from_u64(7);
    let start = 1_700_000_000_000;
    let regular: Vec<i64> = (0..samples as i64).map(|index| start + index * STEP).collect();
    let irregular: Vec<i64> = regular
        .iter()
        .map(|timestamp| timestamp + random.random_range(0..STEP - 1))
        .collect();
    let jitter: Vec<i64> = regular
        .iter()
        .map(|timestamp| timestamp + random.random_range(-50..=50))
        .collect();
    let (mut walk, mut total, mut level) = (0, 0, 5000);
    let mut gauge = Vec::new();
    let mut counter = Vec::new();
    let mut decimals = Vec::new();
    for _ in 0..samples {
        walk += random.random_range(-1..=1);
        total += random.random_range(0..40);
        level += random.random_range(-30..=30);
        gauge.push(f64::from(walk));
        counter.push(f64::from(total));
        decimals.push(f64::from(level) / 100.0);
    }
    let doubles = (0..samples).map(|_| random.random::<f64>() * 100.0).collect();
    let shape = |name, timestamps: &[i64], values| Shape {
        name,
        timestamps: timestamps.to_vec(),
        values,
    };
    vec![
        shape("constant", &regular, vec![42.0; samples]),
        shape("integer gauge", &regular, gauge),
        shape("integer counter", &regular, counter.clone()),
        shape("two-decimal gauge", &regular, decimals.clone()),
        shape("random doubles", &regular, doubles),
        shape("integer counter, jitter", &jitter, counter),
        shape("two-decimal gauge, irregular", &irregular, decimals),
    ]
}

fn view_of(shape: &Shape) -> View {
    let chunks = shape.timestamps.chunks(CHUNK).zip(shape.values.chunks(CHUNK));
    let part = |(timestamps, values)| Part::Chunk(Arc::new(Chunk::encode(timestamps, values, Encoding::Compressed)));
    View {
        parts: chunks.map(part).collect(),
        floor: 0,
        latest: None,
    }
}

fn query(aggregator: Aggregator, bucket: i64, reverse: bool) -> RangeQuery {
    RangeQuery {
        from: 0,
        to: i64::MAX,
        timestamps: None,
        values: None,
        aggregation: Some(Aggregation {
            aggregators: vec![aggregator],
            bucket,
            align: 0,
            bucket_timestamp: BucketTimestamp::Start,
            empty: false,
        }),
        count: None,
        reverse,
    }
}

/// The shortest of several times.
fn best(is_smoke: bool, mut work: impl FnMut()) -> Duration {
    let begin = Instant::now();
    let mut best = Duration::MAX;
    let mut rounds = 0;
    while rounds < 1 || (!is_smoke && (rounds < 5 || begin.elapsed() < Duration::from_millis(60))) {
        let round = Instant::now();
        work();
        best = best.min(round.elapsed());
        rounds += 1;
    }
    best
}
