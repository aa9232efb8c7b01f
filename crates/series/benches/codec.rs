//! `cargo bench -p timberline-series --bench codec [-- WORD...]`: what encoding and reading chunks of 1024 samples costs, for the shapes
//! of data whose name holds one of the words. Nanoseconds a sample; of `find` and `value` nanoseconds a call, at random places.

#[path = "../tests/shapes/mod.rs"]
mod shapes;

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::hint::black_box;
use std::time::Instant;
use timberline_series::codec::{Chunk, Encoding};

const CHUNK_SAMPLES: usize = 1024;
const CHUNKS: usize = 64;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // `cargo test --benches` wants to see that it runs.
    let rounds = if arguments.iter().any(|argument| argument == "--test") {
        1
    } else {
        40
    };
    let only: Vec<&String> = arguments.iter().filter(|argument| !argument.starts_with('-')).collect();
    println!(
        "{:36}{:>8}{:>8}{:>8}{:>8}{:>8}{:>8}{:>8}{:>8}{:>8}{:>8}",
        "", "bytes", "bound", "encode", "times", "values", "sum", "min", "max", "find", "value"
    );
    for shape in shapes::shapes(CHUNK_SAMPLES * CHUNKS) {
        if only.is_empty() || only.iter().any(|word| shape.name.contains(word.as_str())) {
            println!("{:36}{}", shape.name, row(&shape, rounds));
        }
    }
}

fn row(shape: &shapes::Shape, rounds: usize) -> String {
    let columns = || {
        shape
            .timestamps
            .chunks(CHUNK_SAMPLES)
            .zip(shape.values.chunks(CHUNK_SAMPLES))
    };
    let encode = |timestamps, values| Chunk::encode(timestamps, values, Encoding::Compressed);
    let chunks: Vec<Chunk> = columns()
        .map(|(timestamps, values)| encode(timestamps, values))
        .collect();
    let bytes: usize = chunks.iter().map(Chunk::memory_bytes).sum();
    let mut random = SmallRng::seed_from_u64(1);
    let places: Vec<(usize, i64)> = (0..shape.values.len())
        .map(|_| {
            let index = random.random_range(0..shape.values.len());
            (index, shape.timestamps[index])
        })
        .collect();
    let whole = 0..CHUNK_SAMPLES;
    let (mut timestamps, mut values) = (Vec::new(), Vec::new());
    let times = [
        best(rounds, || {
            for (timestamps, values) in columns() {
                black_box(encode(timestamps, values));
            }
        }),
        best(rounds, || {
            for chunk in &chunks {
                timestamps.clear();
                chunk.append_timestamps(whole.clone(), &mut timestamps);
                black_box(&mut timestamps);
            }
        }),
        best(rounds, || {
            for chunk in &chunks {
                values.clear();
                chunk.append_values(whole.clone(), &mut values);
                black_box(&mut values);
            }
        }),
        best(rounds, || fold(&chunks, |sum, value| sum + value)),
        best(rounds, || {
            fold(&chunks, |least, value| if value < least { value } else { least });
        }),
        best(rounds, || {
            fold(&chunks, |most, value| if value > most { value } else { most });
        }),
        best(rounds, || {
            for (index, timestamp) in &places {
                let _ = black_box(chunks[index / CHUNK_SAMPLES].find(*timestamp));
            }
        }),
        best(rounds, || {
            for (index, _) in &places {
                black_box(chunks[index / CHUNK_SAMPLES].value_at(index % CHUNK_SAMPLES));
            }
        }),
    ];
    let columns = times.map(|seconds| format!("{:8.2}", seconds * 1e9 / shape.values.len() as f64));
    format!(
        "{:8.2}{:8.2}{}",
        bytes as f64 / shape.values.len() as f64,
        shape.most_bytes,
        columns.concat()
    )
}

/// Eight states side by side, as aggregators keep them.
fn fold(chunks: &[Chunk], f: impl Fn(f64, f64) -> f64) {
    for chunk in chunks {
        let mut states = [0.0; 8];
        chunk.for_each_values(0..CHUNK_SAMPLES, |part| {
            for part in part.as_chunks::<8>().0 {
                for (state, value) in states.iter_mut().zip(part) {
                    *state = f(*state, *value);
                }
            }
        });
        black_box(states);
    }
}

/// Seconds of the fastest round.
fn best(rounds: usize, mut f: impl FnMut()) -> f64 {
    let time = |_| {
        let start = Instant::now();
        f();
        start.elapsed().as_secs_f64()
    };
    (0..rounds).map(time).fold(f64::INFINITY, f64::min)
}
