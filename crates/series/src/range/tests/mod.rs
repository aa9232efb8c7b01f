//! Range queries against the naive evaluator, over random samples, cuts into parts and queries; and cases at the limits of numbers.

mod naive;

use super::{
    Aggregation, Aggregator, BucketTimestamp, Buckets, RangeQuery, Rows, bucket_value, bucket_values, join, reduce, run,
};
use crate::codec::{Chunk, Encoding};
use crate::sample::{Sample, Samples};
use crate::view::{ColdChunk, ColdPart, Part, ReadError, View};
use naive::List;
use proptest::collection::vec;
use proptest::prelude::*;
use std::sync::Arc;

/// A chunk that is in memory after all.
#[derive(Debug)]
struct Fetched(Arc<Chunk>);

impl ColdChunk for Fetched {
    fn fetch(&self) -> Result<Arc<Chunk>, ReadError> {
        Ok(Arc::clone(&self.0))
    }
}

/// A view of samples, cut into parts of the given lengths and of all kinds, in turn.
fn view_of(samples: &List, lengths: &[usize]) -> View {
    let mut parts = Vec::new();
    let mut rest = samples.as_slice();
    for (kind, length) in lengths.iter().cycle().enumerate() {
        if rest.is_empty() {
            break;
        }
        let (part, others) = rest.split_at((*length).min(rest.len()));
        rest = others;
        let timestamps: Vec<i64> = part.iter().map(|sample| sample.0).collect();
        let values: Vec<f64> = part.iter().map(|sample| sample.1).collect();
        let chunk = |encoding| Arc::new(Chunk::encode(&timestamps, &values, encoding));
        parts.push(match kind % 4 {
            0 => Part::Chunk(chunk(Encoding::Compressed)),
            1 => Part::Chunk(chunk(Encoding::Uncompressed)),
            2 => Part::Columns(Arc::new(Samples { timestamps, values })),
            _ => Part::Cold(ColdPart {
                first_timestamp: timestamps[0],
                last_timestamp: timestamps[timestamps.len() - 1],
                len: timestamps.len(),
                source: Arc::new(Fetched(chunk(Encoding::Compressed))),
            }),
        });
    }
    View {
        parts,
        floor: 0,
        latest: None,
    }
}

/// Whether two answers are equal: to the bit, but for aggregates that are computed by another formula.
fn check_rows(got: &Rows, want: &Rows, aggregators: &[Aggregator]) -> Result<(), TestCaseError> {
    prop_assert_eq!(&got.timestamps, &want.timestamps);
    prop_assert_eq!(got.width, want.width);
    prop_assert_eq!(got.values.len(), want.values.len());
    for (index, (one, other)) in got.values.iter().zip(&want.values).enumerate() {
        let aggregator = aggregators.get(index % got.width);
        let is_equal = match aggregator {
            Some(Aggregator::VarP | Aggregator::VarS | Aggregator::StdP | Aggregator::StdS | Aggregator::Twa) => {
                // Deviations cancel: what matters is how far off the value is in the scale of the samples, at most 1000.
                (one.is_nan() && other.is_nan()) || (one - other).abs() <= 1e-9 * other.abs().max(1.0)
            }
            _ => one.to_bits() == other.to_bits() || (one.is_nan() && other.is_nan()),
        };
        prop_assert!(
            is_equal,
            "value {index} ({aggregator:?}): {one} instead of {other}\n{got:?}\n{want:?}"
        );
    }
    Ok(())
}

fn value() -> impl Strategy<Value = f64> {
    prop_oneof![
        6 => (-50i32..50).prop_map(f64::from),
        3 => (-1000i32..1000).prop_map(|value| f64::from(value) / 10.0),
        2 => Just(f64::NAN),
        1 => Just(-0.0),
        1 => Just(0.1),
    ]
}

/// Samples with gaps of all sizes, some of them integers only, so that sums in lanes are tried too.
fn samples(most: usize) -> impl Strategy<Value = List> {
    let gap = prop_oneof![8 => 1i64..4, 4 => Just(10i64), 1 => 1i64..200];
    (0i64..30, vec((gap, value()), 0..most), any::<bool>()).prop_map(|(first, steps, integers)| {
        let mut timestamp = first;
        let mut samples = Vec::new();
        for (gap, value) in steps {
            samples.push((timestamp, if integers { value.trunc() } else { value }));
            timestamp += gap;
        }
        samples
    })
}

fn aggregator() -> impl Strategy<Value = Aggregator> {
    proptest::sample::select(Aggregator::ALL)
}

fn aggregation() -> impl Strategy<Value = Aggregation> {
    let bucket = prop_oneof![1i64..20, 20i64..300, Just(i64::MAX), Just(1i64 << 40)];
    let place = prop_oneof![
        Just(BucketTimestamp::Start),
        Just(BucketTimestamp::Mid),
        Just(BucketTimestamp::End)
    ];
    (vec(aggregator(), 1..4), bucket, 0i64..50, place, any::<bool>()).prop_map(
        |(aggregators, bucket, align, bucket_timestamp, empty)| Aggregation {
            aggregators,
            bucket,
            align,
            bucket_timestamp,
            empty,
        },
    )
}

fn query() -> impl Strategy<Value = RangeQuery> {
    let bound = prop_oneof![4 => 0i64..600, 1 => Just(0), 1 => Just(i64::MAX)];
    let timestamps = prop_oneof![4 => Just(None), 1 => vec(0i64..300, 0..100).prop_map(Some)];
    let values = prop_oneof![3 => Just(None), 1 => (-50.0..20.0, -10.0..50.0).prop_map(Some)];
    let count = prop_oneof![3 => Just(None), 1 => (1u64..20).prop_map(Some)];
    let aggregation = prop_oneof![1 => Just(None), 5 => aggregation().prop_map(Some)];
    (
        0i64..400,
        bound,
        timestamps,
        values,
        (aggregation, count, any::<bool>()),
    )
        .prop_map(
            |(from, to, timestamps, values, (aggregation, count, reverse))| RangeQuery {
                from,
                to,
                timestamps: timestamps.map(|mut timestamps: Vec<i64>| {
                    timestamps.sort_unstable();
                    timestamps.dedup();
                    timestamps
                }),
                values,
                aggregation,
                count,
                reverse,
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn queries_agree_with_the_naive_evaluator(
        samples in samples(120),
        lengths in vec(1usize..40, 1..6),
        floor in prop_oneof![3 => Just(0i64), 1 => 0i64..300],
        latest in proptest::option::of((1i64..50, value())),
        query in query(),
    ) {
        let mut view = view_of(&samples, &lengths);
        view.floor = floor;
        let mut visible: List = samples.iter().copied().filter(|sample| sample.0 >= floor).collect();
        if let Some((gap, value)) = latest {
            let timestamp = samples.last().map_or(0, |sample| sample.0) + gap;
            view.latest = Some(Sample { timestamp, value });
            if timestamp >= floor && query.from <= timestamp && timestamp <= query.to {
                visible.push((timestamp, value));
            }
        }
        let aggregators = query.aggregation.as_ref().map_or(Vec::new(), |aggregation| aggregation.aggregators.clone());
        check_rows(&run(&view, &query).unwrap(), &naive::run(&visible, &query), &aggregators)?;
    }

    #[test]
    fn whole_buckets_agree_with_the_naive_evaluator(
        samples in samples(120),
        lengths in vec(1usize..40, 1..6),
        aggregator in aggregator(),
        duration in 1i64..60,
        align in 0i64..60,
        picked in vec(any::<bool>(), 1..20),
    ) {
        let view = view_of(&samples, &lengths);
        let buckets = Buckets::new(duration, align);
        let highest = samples.last().map_or(0, |sample| sample.0) + 2 * duration;
        let all = (0..highest).map(|timestamp| buckets.start_of(timestamp));
        let mut starts: Vec<i64> = all.collect();
        starts.dedup();
        let starts: Vec<i64> = starts.into_iter().zip(picked.iter().cycle()).filter(|(_, picked)| **picked).map(|(start, _)| start).collect();
        let values = bucket_values(&view, aggregator, &buckets, &starts).unwrap();
        prop_assert_eq!(values.len(), starts.len());
        for (start, got) in starts.iter().zip(values) {
            let want = naive::whole_bucket(&samples, aggregator, i128::from(*start), duration, align);
            let row = |value: Option<f64>| Rows { timestamps: value.iter().map(|_| *start).collect(), width: 1, values: value.into_iter().collect() };
            check_rows(&row(got), &row(want), &[aggregator])?;
            let alone = bucket_value(&view, aggregator, &buckets, *start).unwrap();
            prop_assert_eq!(alone.map(f64::to_bits), got.map(f64::to_bits));
        }
    }

    #[test]
    fn reduced_and_joined_rows_are_those_of_a_table(
        series in vec(vec((0i64..40, value()), 0..30), 0..6),
        reducer in aggregator().prop_filter("a reducer", |aggregator| aggregator.is_reducer()),
        reverse in any::<bool>(),
        count in proptest::option::of(1u64..20),
    ) {
        let rows: Vec<Rows> = series.iter().map(|samples| {
            let mut samples = samples.clone();
            samples.sort_by_key(|sample| sample.0);
            samples.dedup_by_key(|sample| sample.0);
            if reverse {
                samples.reverse();
            }
            Rows { timestamps: samples.iter().map(|sample| sample.0).collect(), width: 1, values: samples.iter().map(|sample| sample.1).collect() }
        }).collect();
        let mut timestamps: Vec<i64> = rows.iter().flat_map(|rows| rows.timestamps.clone()).collect();
        timestamps.sort_unstable();
        timestamps.dedup();
        if reverse {
            timestamps.reverse();
        }
        timestamps.truncate(count.unwrap_or(u64::MAX) as usize);
        let cell = |rows: &Rows, timestamp: i64| rows.timestamps.iter().position(|other| *other == timestamp).map(|index| rows.values[index]);
        let mut table = Vec::new();
        let mut reduced = Vec::new();
        for timestamp in &timestamps {
            let cells: List = rows.iter().filter_map(|rows| cell(rows, *timestamp)).map(|value| (*timestamp, value)).collect();
            let nothing = if reducer.is_count() { 0.0 } else { f64::NAN };
            reduced.push(naive::value_or(reducer, &cells, nothing));
            table.extend(rows.iter().map(|rows| cell(rows, *timestamp).unwrap_or(f64::NAN)));
        }
        let want = Rows { timestamps: timestamps.clone(), width: rows.len(), values: table };
        if !rows.is_empty() {
            check_rows(&join(&rows, reverse, count), &want, &[])?;
        }
        let want = Rows { timestamps, width: 1, values: reduced };
        check_rows(&reduce(&rows, reducer, reverse, count), &want, &[reducer])?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// Chunks of several blocks.
    #[test]
    fn long_chunks_agree_with_the_naive_evaluator(
        samples in samples(2000),
        lengths in vec(1usize..1500, 1..3),
        query in query(),
        bucket in 100i64..5000,
        from in 0i64..3000,
    ) {
        let mut query = query;
        (query.from, query.to) = (from, query.to.saturating_mul(20));
        if let Some(aggregation) = &mut query.aggregation {
            aggregation.bucket = bucket;
        }
        let aggregators = query.aggregation.as_ref().map_or(Vec::new(), |aggregation| aggregation.aggregators.clone());
        check_rows(&run(&view_of(&samples, &lengths), &query).unwrap(), &naive::run(&samples, &query), &aggregators)?;
    }
}

/// Queries at the limits of 64 bits.
#[test]
fn buckets_do_not_overflow() {
    const MAX: i64 = i64::MAX;
    let samples = vec![(0, 1.0), (5, 2.0), (MAX - 1, 4.0), (MAX, 8.0)];
    let view = view_of(&samples, &[2]);
    let check = |bucket, align, bucket_timestamp, reverse, want: &[(i64, f64)]| {
        let query = RangeQuery {
            aggregation: Some(Aggregation {
                aggregators: vec![Aggregator::Sum],
                bucket,
                align,
                bucket_timestamp,
                empty: bucket > 1 << 60,
            }),
            reverse,
            ..plain(0, MAX)
        };
        let rows = run(&view, &query).unwrap();
        let got: Vec<(i64, f64)> = rows.timestamps.into_iter().zip(rows.values).collect();
        assert_eq!(got, want, "bucket {bucket}, align {align}");
    };
    use BucketTimestamp::{End, Mid, Start};
    check(MAX, 0, Start, false, &[(0, 7.0), (MAX, 8.0)]);
    check(MAX, 0, Start, true, &[(MAX, 8.0), (0, 7.0)]);
    check(MAX, 1, Start, false, &[(0, 1.0), (1, 14.0)]);
    check(MAX, MAX, End, false, &[(MAX, 7.0), (MAX, 8.0)]);
    check(MAX, MAX - 1, Start, true, &[(MAX - 1, 12.0), (0, 3.0)]);
    check(MAX - 1, 0, Mid, false, &[(MAX / 2, 3.0), (MAX, 12.0)]);
    check(1 << 62, 0, Start, false, &[(0, 3.0), (1 << 62, 12.0)]);
    check(1 << 62, 3, Start, false, &[(0, 1.0), (3, 2.0), (3 + (1 << 62), 12.0)]);
    check(10, 0, End, true, &[(MAX, 12.0), (10, 3.0)]);
    check(1, 0, Start, false, &[(0, 1.0), (5, 2.0), (MAX - 1, 4.0), (MAX, 8.0)]);
}

#[test]
fn empty_rows_are_bounded() {
    let view = view_of(&vec![(0, 1.0), (i64::MAX, 2.0)], &[1]);
    let query = |count, reverse| RangeQuery {
        aggregation: Some(Aggregation {
            aggregators: vec![Aggregator::Sum, Aggregator::Last],
            bucket: 1,
            align: 0,
            bucket_timestamp: BucketTimestamp::Start,
            empty: true,
        }),
        count,
        reverse,
        ..plain(0, i64::MAX)
    };
    let error = run(&view, &query(None, false)).unwrap_err();
    assert!(error.to_string().contains("max_empty_cells=33554432"), "{error}");
    run(&view, &query(None, true)).unwrap_err();
    let rows = run(&view, &query(Some(3), false)).unwrap();
    assert_eq!(
        (rows.timestamps, rows.values),
        (vec![0, 1, 2], vec![1.0, 1.0, 0.0, 1.0, 0.0, 1.0])
    );
    let rows = run(&view, &query(Some(2), true)).unwrap();
    assert_eq!(
        (rows.timestamps, rows.values),
        (vec![i64::MAX, i64::MAX - 1], vec![2.0, 2.0, 0.0, 1.0])
    );
}

#[test]
fn a_chunk_that_is_missing_is_an_error() {
    #[derive(Debug)]
    struct Missing;
    impl ColdChunk for Missing {
        fn fetch(&self) -> Result<Arc<Chunk>, ReadError> {
            Err(ReadError("corrupt: no such object".to_owned()))
        }
    }
    let mut view = view_of(&vec![(10, 1.0), (20, 2.0)], &[2]);
    let cold = ColdPart {
        first_timestamp: 1,
        last_timestamp: 5,
        len: 2,
        source: Arc::new(Missing),
    };
    view.parts.insert(0, Part::Cold(cold));
    run(&view, &plain(0, 30)).unwrap_err();
    // What lies outside of the bounds is not fetched.
    assert_eq!(run(&view, &plain(6, 30)).unwrap().len(), 2);
}

fn plain(from: i64, to: i64) -> RangeQuery {
    RangeQuery {
        from,
        to,
        timestamps: None,
        values: None,
        aggregation: None,
        count: None,
        reverse: false,
    }
}

/// The line into a bucket comes from the bucket before, also where the query's bound leaves only NaN of that.
#[test]
fn lines_come_from_before_the_query() {
    let view = view_of(&vec![(0, 1.0), (12, 3.0), (15, f64::NAN), (25, 4.0)], &[1]);
    let check = |from, reverse| {
        let query = RangeQuery {
            aggregation: Some(Aggregation {
                aggregators: vec![Aggregator::Twa],
                bucket: 10,
                align: 0,
                bucket_timestamp: BucketTimestamp::Start,
                empty: false,
            }),
            reverse,
            ..plain(from, 25)
        };
        let rows = run(&view, &query).unwrap();
        let row = rows.timestamps.iter().position(|timestamp| *timestamp == 20).unwrap();
        // From 3 at 12 to 4 at 25, cut at 20.
        let at_start = 3.0 + 8.0 / 13.0;
        assert!(
            (rows.values[row] - (at_start + 4.0) / 2.0).abs() < 1e-12,
            "from {from}: {rows:?}"
        );
    };
    check(0, false);
    check(0, true);
    check(13, false);
    check(16, true);
}
