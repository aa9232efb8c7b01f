//! Records come back as they were, and no bytes break the reader.

use super::*;
use crate::keyspace::Plain;
use proptest::prelude::*;

fn shown(frame: &[u8]) -> Result<Vec<String>, RecordError> {
    let mut shown = Vec::new();
    read_records(frame, |record| {
        shown.push(match record {
            Record::Samples { id, run } => format!("samples of {id}: {:?}", run.map(bits).collect::<Vec<_>>()),
            record => format!("{record:?}"),
        });
        Ok::<_, RecordError>(())
    })?;
    Ok(shown)
}

fn bits((timestamp, value, kind): (i64, f64, WriteKind)) -> (i64, u64, WriteKind) {
    (timestamp, value.to_bits(), kind)
}

#[test]
fn records_come_back() {
    let labels = Labels::from_pairs(vec![(b"a".to_vec(), b"b".to_vec()), (b"\xff".to_vec(), b"".to_vec())]);
    let options = SeriesOptions {
        retention_ms: i64::MAX,
        encoding: Encoding::Uncompressed,
        chunk_bytes: 48,
        duplicate_policy: Some(DuplicatePolicy::Sum),
        ignore_time_ms: 7,
        ignore_value: -0.0,
        labels: labels.clone(),
    };
    let plain = SeriesOptions {
        duplicate_policy: None,
        encoding: Encoding::Compressed,
        ..options.clone()
    };
    let all = Changes {
        retention_ms: Some(0),
        chunk_bytes: Some(1 << 20),
        duplicate_policy: Some(DuplicatePolicy::Block),
        ignore: Some((1, 2.5)),
        labels: Some(labels),
    };
    let (key, none) = (b"key".as_slice(), b"".as_slice());
    let records = [
        Record::Create {
            id: 1,
            db: 0,
            key,
            options: &options,
        },
        Record::Create {
            id: u64::MAX,
            db: 15,
            key: none,
            options: &plain,
        },
        Record::Alter { id: 2, changes: &all },
        Record::Alter {
            id: 2,
            changes: &Changes::default(),
        },
        Record::Delete {
            id: 3,
            from: 0,
            to: i64::MAX,
        },
        Record::Rule {
            source: 1,
            destination: 2,
            aggregator: Aggregator::StdP,
            bucket_ms: 1,
            align_ms: i64::MAX,
        },
        Record::Unrule {
            source: 1,
            destination: 2,
        },
        Record::Remove { db: 1, key },
        Record::Rename {
            db: 1,
            from: key,
            to: none,
        },
        Record::Move { db: 1, key, to_db: 2 },
        Record::Swap { one: 1, other: 2 },
        Record::Expire {
            db: 1,
            key,
            expires_at: i64::MIN,
        },
        Record::Text {
            plain: Plain::Text,
            db: 1,
            key,
            text: b"text",
            expires_at: i64::MAX,
        },
        Record::Text {
            plain: Plain::List,
            db: 1,
            key,
            text: b"list",
            expires_at: 7,
        },
        Record::Restore {
            id: 9,
            db: 1,
            key,
            expires_at: 5,
            body: b"body",
        },
        Record::Flush { db: None },
        Record::Flush { db: Some(15) },
        Record::Cold {
            id: 1,
            first_timestamp: 2,
            last_timestamp: 3,
            len: 4,
            object: b"name",
            offset: 5,
            bytes: 6,
        },
    ];
    let mut frame = Vec::new();
    records.iter().for_each(|record| append_record(record, &mut frame));
    let want: Vec<String> = records.iter().map(|record| format!("{record:?}")).collect();
    assert_eq!(shown(&frame).unwrap(), want);
    // Cut anywhere, what is whole is told and the rest is an error, or the cut is between two records.
    for end in 0..frame.len() {
        match shown(&frame[..end]) {
            Ok(records) => assert_eq!(records, want[..records.len()]),
            Err(error) => assert!(error.left <= end),
        }
    }
}

#[test]
fn steady_series_take_few_bytes() {
    let bytes_per_sample = |value: fn(i64) -> f64| {
        let mut record = SamplesRecord::new(1, Vec::new());
        (0..1000).for_each(|n| record.push(n * 1000, value(n), WriteKind::Add(DuplicatePolicy::Block)));
        record.take_frame().unwrap().len() / 1000
    };
    assert_eq!(bytes_per_sample(|_| 7.25), 1);
    assert_eq!(bytes_per_sample(|n| (n % 50) as f64), 1 + 1);
    assert_eq!(bytes_per_sample(|n| n as f64 + 0.5), 1 + 4);
    assert_eq!(bytes_per_sample(|n| n as f64 + 0.1), 1 + 8);
}

fn write_kind() -> impl Strategy<Value = WriteKind> {
    (0u8..7).prop_map(|number| DuplicatePolicy::from_number(number).map_or(WriteKind::Overwrite, WriteKind::Add))
}

fn value() -> impl Strategy<Value = f64> {
    let special = prop::sample::select(vec![
        0.0,
        -0.0,
        f64::NAN,
        f64::INFINITY,
        f64::MIN_POSITIVE,
        f64::MAX,
        5e-324,
        1.5,
    ]);
    prop_oneof![
        any::<u64>().prop_map(f64::from_bits),
        any::<i32>().prop_map(f64::from),
        any::<i64>().prop_map(|n| n as f64),
        special
    ]
}

proptest! {
    #[test]
    fn runs_come_back(
        id: u64,
        samples in prop::collection::vec((prop_oneof![0i64..5, any::<i64>()], value(), write_kind()), 1..50),
        cut in 0usize..50,
    ) {
        let mut record = SamplesRecord::new(id, vec![1, 2, 3]);
        let mut frame = Vec::new();
        for (index, (timestamp, value, kind)) in samples.iter().enumerate() {
            if index == cut && let Some(run) = record.take_frame() {
                frame.extend_from_slice(run);
            }
            record.push(*timestamp, *value, *kind);
        }
        frame.extend_from_slice(record.take_frame().unwrap());
        prop_assert!(record.take_frame().is_none());
        let mut found = Vec::new();
        let mut again = Vec::new();
        read_records(&frame, |record| {
            append_record(&record, &mut again);
            let Record::Samples { id: known, run } = record else { panic!("not a run") };
            assert_eq!(known, id);
            found.extend(run.map(bits));
            Ok::<_, RecordError>(())
        }).unwrap();
        prop_assert_eq!(found, samples.into_iter().map(bits).collect::<Vec<_>>());
        prop_assert_eq!(again, frame);
    }

    #[test]
    fn any_bytes_are_safe(bytes in prop::collection::vec(prop_oneof![0u8..16, any::<u8>()], 0..200)) {
        let _ = shown(&bytes);
    }
}
