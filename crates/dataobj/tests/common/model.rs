//! Invented records for property tests, and objects written from them.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use proptest::prelude::*;
use std::collections::BTreeMap;
use timberline_dataobj::*;

/// A record: stream number, time, line, metadata.
pub(crate) type Record = (i64, i64, Vec<u8>, BTreeMap<String, Vec<u8>>);

/// Labels of the streams with numbers 1, 2, 3...
pub(crate) type Labels = Vec<BTreeMap<String, String>>;

/// Bytes that compress, that don't, and that are not UTF-8.
fn line() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        "[a-z =]{0,40}".prop_map(String::into_bytes),
        proptest::collection::vec(any::<u8>(), 0..60),
        (0usize..600).prop_map(|length| vec![b'x'; length]),
    ]
}

fn record() -> impl Strategy<Value = Record> {
    let metadata = proptest::collection::btree_map("[a-f]", "[a-z0-9]{0,12}".prop_map(String::into_bytes), 0..4);
    let timestamp_ns = prop_oneof![any::<i64>(), 1_700_000_000_000_000_000i64..1_700_000_100_000_000_000];
    (1i64..4, timestamp_ns, line(), metadata)
}

pub(crate) fn records() -> impl Strategy<Value = Vec<Record>> {
    proptest::collection::vec(record(), 1..120)
}

pub(crate) fn labels() -> impl Strategy<Value = Labels> {
    proptest::collection::vec(proptest::collection::btree_map("[a-d]", "[a-z]{0,5}", 1..4), 3)
}

pub(crate) fn options() -> impl Strategy<Value = WriterOptions> {
    let cut = prop_oneof![Just(PageCut::Independent), Just(PageCut::Aligned)];
    (0usize..1000, 0usize..40, 1i32..4, cut).prop_map(|(page_bytes, page_rows, zstd_level, cut)| WriterOptions {
        page_bytes,
        page_rows,
        zstd_level,
        cut,
    })
}

pub(crate) fn sort_records(records: &mut [Record], sort: &SortOrder) {
    records.sort_by(|a, b| match sort {
        SortOrder::TimestampDescending => (b.1, a.0).cmp(&(a.1, b.0)),
        _ => (a.0, b.1).cmp(&(b.0, a.1)),
    });
}

/// One tenant: its streams section, and one logs section of the sorted records.
pub(crate) fn write_object(labels: &Labels, records: &[Record], sort: &SortOrder, options: &WriterOptions) -> Vec<u8> {
    write_sections(labels, &[records], sort, options)
}

/// One tenant: its streams section, and its sorted records in any number of logs sections.
pub(crate) fn write_sections(
    labels: &Labels,
    sections: &[&[Record]],
    sort: &SortOrder,
    options: &WriterOptions,
) -> Vec<u8> {
    let mut streams = StreamsWriter::new("tenant", options);
    for (id, labels) in (1..).zip(labels) {
        let labels: Vec<(&str, &str)> = labels
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        let records = || sections.iter().copied().flatten().filter(|record| record.0 == id);
        let row = StreamRow {
            id,
            min_timestamp_ns: records().map(|record| record.1).min().unwrap_or(0),
            max_timestamp_ns: records().map(|record| record.1).max().unwrap_or(0),
            rows: records().count() as i64,
            uncompressed_bytes: records().map(|record| record.2.len() as i64).sum(),
            labels: &labels,
        };
        streams.append(&row).unwrap();
    }
    let mut object = ObjectWriter::new();
    object.push_section(streams.finish().unwrap());
    for records in sections {
        let mut logs = LogsWriter::new("tenant", sort.clone(), options);
        for (stream_id, timestamp_ns, line, metadata) in *records {
            let metadata: Vec<(&str, &[u8])> = metadata.iter().map(|(k, v)| (k.as_str(), v.as_slice())).collect();
            let row = LogRow {
                stream_id: *stream_id,
                timestamp_ns: *timestamp_ns,
                line,
                metadata: &metadata,
            };
            logs.append(&row).unwrap();
        }
        object.push_section(logs.finish().unwrap());
    }
    object.finish().unwrap()
}
