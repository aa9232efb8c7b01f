//! Buckets: what is added in several batches, or kept in bytes in between, gives what is added at once.

use super::{Aggregator, BUCKET_BYTES, Batch, Bucket, Surroundings};
use crate::sample::Sample;
use proptest::collection::vec;
use proptest::prelude::*;

fn batch<'a>(timestamps: &'a [i64], values: &'a [f64], descending: bool) -> Batch<'a> {
    Batch {
        timestamps,
        values,
        nans: 0,
        descending,
    }
}

fn nowhere() -> Surroundings {
    Surroundings {
        from: 0,
        to: 1000,
        before: None,
        after: None,
    }
}

fn of_values(aggregator: Aggregator, values: &[f64]) -> f64 {
    let timestamps: Vec<i64> = (0..values.len() as i64).collect();
    let mut bucket = Bucket::new(aggregator);
    bucket.add_batch(&batch(&timestamps, values, false));
    bucket.value(&nowhere()).unwrap()
}

proptest! {
    #[test]
    fn batches_and_bytes_in_between_change_nothing(
        samples in vec((1i64..5, prop_oneof![4 => (-1000i32..1000).prop_map(|value| f64::from(value) / 8.0), 1 => Just(f64::NAN)]), 1..60),
        cut in 1usize..20,
        aggregator in proptest::sample::select(Aggregator::ALL),
        descending in any::<bool>(),
    ) {
        let mut timestamp = 0;
        let samples: Vec<(i64, f64)> = samples.iter().map(|(gap, value)| { timestamp += gap; (timestamp, *value) }).collect();
        let mut one_by_one = Bucket::new(aggregator);
        for (timestamp, value) in &samples {
            one_by_one.add(*timestamp, *value);
        }
        let mut in_batches = Bucket::new(aggregator);
        let mut batches: Vec<_> = samples.chunks(cut).collect();
        if descending {
            batches.reverse();
        }
        for samples in batches {
            let numbers: Vec<_> = samples.iter().filter(|sample| !sample.1.is_nan()).collect();
            let timestamps: Vec<i64> = numbers.iter().map(|sample| sample.0).collect();
            let values: Vec<f64> = numbers.iter().map(|sample| sample.1).collect();
            let nans = (samples.len() - numbers.len()) as u64;
            in_batches.add_batch(&Batch { nans, ..batch(&timestamps, &values, descending) });
            let mut bytes = Vec::new();
            in_batches.append_bytes(&mut bytes);
            prop_assert_eq!(bytes.len(), BUCKET_BYTES);
            let read = Bucket::from_bytes(&bytes).unwrap();
            prop_assert_eq!(read, in_batches);
            in_batches = read;
        }
        let (one, other) = (one_by_one.value(&nowhere()), in_batches.value(&nowhere()));
        let near = |one: f64, other: f64| (one - other).abs() <= 1e-9 * other.abs().max(1.0);
        prop_assert!(one.is_some() == other.is_some() && one.zip(other).is_none_or(|(one, other)| near(one, other)), "{one:?} {other:?}");
    }

    #[test]
    fn any_bytes_can_be_read(bytes in vec(any::<u8>(), 0..80), code in 0u8..20) {
        let mut bytes = bytes;
        bytes.resize(bytes.len().max(1), 0);
        bytes[0] = code;
        let read = Bucket::from_bytes(&bytes);
        prop_assert_eq!(read.is_some(), bytes.len() == BUCKET_BYTES && usize::from(code) < Aggregator::ALL.len());
        if let Some(bucket) = read {
            let around = Sample { timestamp: i64::MAX, value: f64::INFINITY };
            bucket.value(&Surroundings { before: Some(around), after: Some(around), ..nowhere() });
        }
    }
}

#[test]
fn names_are_found_in_any_case() {
    for aggregator in Aggregator::ALL {
        assert_eq!(Aggregator::parse(aggregator.name().as_bytes()), Some(*aggregator));
        assert_eq!(
            Aggregator::parse(aggregator.capital_name().as_bytes()),
            Some(*aggregator)
        );
        assert_eq!(aggregator.name().to_uppercase(), aggregator.capital_name());
        assert_eq!(Aggregator::from_code(aggregator.code()), Some(*aggregator));
    }
    assert_eq!(Aggregator::parse(b"Std.P"), Some(Aggregator::StdP));
    assert_eq!(Aggregator::parse(b"stdp"), None);
    assert_eq!(Aggregator::parse(b""), None);
}

/// The peer's formula loses all digits here (specification, 20.6).
#[test]
fn variances_keep_their_digits() {
    let large = [1e9 + 1.0, 1e9 + 2.0, 1e9 + 3.0];
    assert_eq!(of_values(Aggregator::VarS, &large), 1.0);
    let outlier_first: Vec<f64> = std::iter::once(0.0)
        .chain((0..1000).map(|index| 1e9 + f64::from(index % 2)))
        .collect();
    let variance = of_values(Aggregator::VarP, &outlier_first);
    let mean = outlier_first.iter().sum::<f64>() / 1001.0;
    let want = outlier_first.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / 1001.0;
    assert!((variance - want).abs() <= 1e-12 * want, "{variance} {want}");
    assert_eq!(of_values(Aggregator::StdP, &[0.1; 3]), 0.0);
    assert_eq!(of_values(Aggregator::VarS, &[0.1; 1000]), 0.0);
    assert_eq!(of_values(Aggregator::VarS, &[7.0]), 0.0);
}

#[test]
fn an_average_does_not_overflow() {
    assert_eq!(of_values(Aggregator::Avg, &[1.7e308; 3]), 1.7e308);
    assert_eq!(of_values(Aggregator::Avg, &[1.7e308, 1.7e308, -1.7e308, -1.7e308]), 0.0);
    assert_eq!(of_values(Aggregator::Avg, &[f64::INFINITY, 1.0]), f64::INFINITY);
    assert_eq!(of_values(Aggregator::Sum, &[1.7e308; 3]), f64::INFINITY);
}

/// Sums of doubles keep the order of visit, which shows in the last digits; sums of integers are exact up to 2^53.
#[test]
fn sums_are_those_of_a_loop() {
    let check = |values: &[f64]| {
        for descending in [false, true] {
            let mut bucket = Bucket::new(Aggregator::Sum);
            bucket.add_batch(&batch(&[], values, descending));
            let mut ordered = values.to_vec();
            if descending {
                ordered.reverse();
            }
            let want = ordered.iter().fold(0.0, |sum, value| sum + value);
            assert_eq!(
                bucket.value(&nowhere()).map(f64::to_bits),
                Some(f64::to_bits(want)),
                "{values:?}"
            );
        }
    };
    check(&[0.1, 0.2, 0.3]);
    check(&[-0.0; 300]);
    check(&(0..300).map(f64::from).collect::<Vec<f64>>());
    check(&(0..300).map(|value| f64::from(value) + 0.1).collect::<Vec<f64>>());
    // Integers first, others behind them.
    check(
        &(0..300)
            .map(|value| {
                if value < 150 {
                    f64::from(value)
                } else {
                    f64::from(value) / 3.0
                }
            })
            .collect::<Vec<f64>>(),
    );
    // Integers whose sum is rounded.
    check(
        &(0..300)
            .map(|value| 9_007_199_254_740_991.0 - f64::from(value))
            .collect::<Vec<f64>>(),
    );
    check(
        &(0..300)
            .map(|value| if value % 7 == 0 { 4_503_599_627_370_497.0 } else { 0.5 })
            .collect::<Vec<f64>>(),
    );
    check(
        &(0..300)
            .map(|value| -2_251_799_813_685_248.5 - f64::from(value))
            .collect::<Vec<f64>>(),
    );
    check(
        &(0..300)
            .map(|value| if value == 160 { f64::INFINITY } else { 1.0 })
            .collect::<Vec<f64>>(),
    );
}

#[test]
fn zeros_have_an_order() {
    let f = |aggregator, values: &[f64], want: f64| {
        assert_eq!(of_values(aggregator, values).to_bits(), want.to_bits(), "{values:?}");
    };
    f(Aggregator::Min, &[0.0, -0.0], -0.0);
    f(Aggregator::Min, &[-0.0, 0.0], -0.0);
    f(Aggregator::Min, &[0.0, 5.0], 0.0);
    f(Aggregator::Max, &[-0.0, 0.0, -1.0], 0.0);
    f(Aggregator::Max, &[-0.0, -1.0], -0.0);
}
