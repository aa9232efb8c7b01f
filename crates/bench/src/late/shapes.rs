//! Typical data, to see how many bytes a sample takes.

use super::published::GOAL_SHUFFLED;
use rand::Rng;
use rand::rngs::SmallRng;

/// The timestamp of the first sample, and how far apart samples are.
const FIRST_MS: i64 = 1_700_000_000_000;
const STEP_MS: i64 = 10_000;

/// Data of one kind.
pub(super) struct Shape {
    pub(super) name: &'static str,
    pub(super) samples: Vec<(i64, f64)>,
    /// Bytes per sample of the peer with compressed chunks of 4096 bytes, in order and shuffled.
    pub(super) peer: Option<(f64, f64)>,
    /// What we want to reach in order; below the peer where nothing else is said.
    pub(super) goal: Option<f64>,
}

impl Shape {
    /// What shuffled samples may take, if those in order take so much.
    pub(super) fn shuffled_goal(in_order: f64) -> f64 {
        in_order * GOAL_SHUFFLED
    }
}

/// All kinds.
pub(super) fn all(count: usize, rng: &mut SmallRng) -> Vec<Shape> {
    let mut gauge = Vec::with_capacity(count);
    let mut counter = Vec::with_capacity(count);
    let mut decimal = Vec::with_capacity(count);
    let (mut level, mut total, mut drift) = (0_i64, 0_i64, 50.0_f64);
    for _ in 0..count {
        level += [-1, 0, 0, 1][rng.random_range(0..4)];
        total += rng.random_range(0..40);
        drift += 0.3 * normal(rng);
        gauge.push(level as f64);
        counter.push(total as f64);
        decimal.push((drift * 100.0).round() / 100.0);
    }
    let random: Vec<f64> = (0..count).map(|_| rng.random::<f64>() * 100.0).collect();
    let floats: Vec<f64> = (0..count)
        .map(|_| f64::from((rng.random::<f64>() * 32.0) as f32))
        .collect();
    let mut shape = |name, values: &[f64], apart: Apart, peer: Option<(f64, f64)>, goal: Option<f64>| Shape {
        name,
        samples: values
            .iter()
            .enumerate()
            .map(|(i, value)| (apart.timestamp(i as i64, rng), *value))
            .collect(),
        peer,
        goal: goal.or(peer.map(|(in_order, _)| in_order)),
    };
    let constant = vec![42.0; count];
    vec![
        shape(
            "constant, every 10 s",
            &constant,
            Apart::Regular,
            Some((0.40, 1.67)),
            None,
        ),
        shape(
            "integer gauge, every 10 s",
            &gauge,
            Apart::Regular,
            Some((0.86, 2.07)),
            None,
        ),
        shape(
            "integer counter, every 10 s",
            &counter,
            Apart::Regular,
            Some((2.08, 2.93)),
            None,
        ),
        shape(
            "two-decimal gauge, every 10 s",
            &decimal,
            Apart::Regular,
            Some((8.0, 8.9)),
            Some(2.0),
        ),
        shape(
            "two-decimal gauge, every 10 s +- 50 ms",
            &decimal,
            Apart::Jitter,
            None,
            None,
        ),
        shape("two-decimal gauge, irregular", &decimal, Apart::Irregular, None, None),
        shape("random, every 10 s", &random, Apart::Regular, Some((8.7, 9.8)), None),
        shape("32-bit floats, every ms", &floats, Apart::Millisecond, None, None),
    ]
}

/// How timestamps follow each other.
#[derive(Clone, Copy)]
enum Apart {
    Regular,
    Jitter,
    Irregular,
    Millisecond,
}

impl Apart {
    fn timestamp(self, index: i64, rng: &mut SmallRng) -> i64 {
        let regular = FIRST_MS + index * STEP_MS;
        match self {
            Self::Regular => regular,
            Self::Jitter => regular + rng.random_range(-50..=50),
            Self::Irregular => regular + rng.random_range(0..STEP_MS - 1),
            Self::Millisecond => FIRST_MS + index,
        }
    }
}

/// A normally distributed number (after Box and Muller).
fn normal(rng: &mut SmallRng) -> f64 {
    let radius = (-2.0 * (1.0 - rng.random::<f64>()).ln()).sqrt();
    radius * (rng.random::<f64>() * std::f64::consts::TAU).cos()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_are_as_their_names_say() {
        let shapes = all(1000, &mut crate::rng(1));
        for shape in &shapes {
            assert_eq!(shape.samples.len(), 1000);
            assert!(shape.samples.is_sorted_by(|a, b| a.0 < b.0), "{}", shape.name);
        }
        let values = |name: &str| {
            shapes
                .iter()
                .find(|s| s.name.starts_with(name))
                .unwrap()
                .samples
                .iter()
                .map(|s| s.1)
        };
        assert!(values("constant").all(|v| v == 42.0));
        assert!(values("integer gauge").all(|v| v.fract() == 0.0));
        assert!(values("integer counter").is_sorted());
        assert!(values("two-decimal").all(|v| format!("{v}").split('.').nth(1).is_none_or(|d| d.len() <= 2)));
    }
}
