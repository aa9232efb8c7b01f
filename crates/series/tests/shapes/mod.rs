//! Shapes of data as series have them, for the tests and the benchmark of the codec.

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

/// Columns of one shape, and the most bytes a sample that chunks of 1024 of them may take.
pub(crate) struct Shape {
    pub name: &'static str,
    pub timestamps: Vec<i64>,
    pub values: Vec<f64>,
    pub most_bytes: f64,
}

const START: i64 = 1_700_000_000_000;

/// About normal, deviation 1.
fn normal(random: &mut SmallRng) -> f64 {
    (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0
}

/// All shapes, of so many samples.
pub(crate) fn shapes(len: usize) -> Vec<Shape> {
    let mut random = SmallRng::seed_from_u64(12345);
    let random = &mut random;
    let rows = || 0..len as i64;
    let regular: Vec<i64> = rows().map(|row| START + row * 10_000).collect();
    let jitter: Vec<i64> = regular
        .iter()
        .map(|time| time + random.random_range(-50..=50))
        .collect();
    let irregular: Vec<i64> = regular.iter().map(|time| time + random.random_range(0..9999)).collect();
    let mut time = START;
    let mut walk_of = |next: &mut dyn FnMut(&mut SmallRng) -> i64| -> Vec<i64> {
        rows()
            .map(|_| {
                time += next(random);
                time
            })
            .collect()
    };
    let gaps = walk_of(&mut |random| {
        if random.random_ratio(1, 100) {
            10_000 * random.random_range(2..100)
        } else {
            10_000
        }
    });
    let events = walk_of(&mut |random| 1 + (-1000.0 * random.random::<f64>().ln()) as i64);
    let mut walk = 0;
    let gauge: Vec<f64> = rows()
        .map(|_| {
            walk += [-1, 0, 0, 1][random.random_range(0..4)];
            f64::from(walk)
        })
        .collect();
    let mut level = 50.0;
    let two_decimals: Vec<f64> = rows()
        .map(|_| {
            level += 0.3 * normal(random);
            f64::round(level * 100.0) / 100.0
        })
        .collect();
    let mut total = 0;
    let counter: Vec<f64> = rows()
        .map(|_| {
            total += random.random_range(0..40);
            f64::from(total)
        })
        .collect();
    let resets: Vec<f64> = rows()
        .map(|row| {
            total = if row % 500 == 499 {
                0
            } else {
                total + random.random_range(0..40)
            };
            f64::from(total)
        })
        .collect();
    let doubles: Vec<f64> = rows().map(|_| random.random::<f64>() * 100.0).collect();
    let mut level = 50.0;
    let drift: Vec<f64> = rows()
        .map(|_| {
            level += 0.001 * normal(random);
            level
        })
        .collect();
    let floats: Vec<f64> = rows().map(|_| f64::from(random.random::<f32>() * 32.0)).collect();
    let eight_digits = floats
        .iter()
        .map(|value| {
            let digits = 7 - value.log10().floor() as i32;
            format!("{value:.*}", digits.max(0) as usize)
                .parse()
                .expect("digits are a number")
        })
        .collect();
    let mostly = two_decimals
        .iter()
        .map(|value| if random.random_ratio(1, 50) { f64::NAN } else { *value })
        .collect();
    let steps: Vec<f64> = rows().map(|row| doubles[(row / 40) as usize]).collect();
    let constant = vec![42.0; len];
    let by_one: Vec<i64> = rows().map(|row| 100_001 + row).collect();
    let shape = |name, timestamps: &[i64], values: Vec<f64>, most_bytes| Shape {
        name,
        timestamps: timestamps.into(),
        values,
        most_bytes,
    };
    vec![
        shape("constant, every 10 s", &regular, constant.clone(), 0.1),
        shape("integer gauge, every 10 s", &regular, gauge, 0.45),
        shape("two-decimal gauge, every 10 s", &regular, two_decimals.clone(), 1.25),
        shape("integer counter, every 10 s", &regular, counter, 0.95),
        shape("integer counter with resets", &regular, resets, 1.0),
        shape("two-decimal gauge, 10 s +-50 ms", &jitter, two_decimals.clone(), 2.3),
        shape(
            "two-decimal gauge, seconds apart",
            &irregular,
            two_decimals.clone(),
            3.1,
        ),
        shape("random doubles, every 10 s", &regular, doubles, 7.9),
        shape("benchmark data (ts+1, 8 digits)", &by_one, eight_digits, 4.6),
        shape("constant, every 10 s with gaps", &gaps, constant.clone(), 0.3),
        shape("constant, random events", &events, constant, 2.1),
        shape("drifting doubles, every 10 s", &regular, drift, 5.7),
        shape("random float32, every 10 s", &regular, floats, 4.5),
        shape("two decimals, some NaN", &regular, mostly, 1.6),
        shape("doubles that change now and then", &regular, steps, 0.6),
    ]
}
