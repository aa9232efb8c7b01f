//! From records in arrival order, the three sorted objects of the fixtures come out: same sections, same rows.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod common;

use common::*;
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};
use timberline_dataobj::*;

struct Record {
    stream: usize,
    timestamp_ns: i64,
    line: Vec<u8>,
    metadata: Vec<(String, Vec<u8>)>,
}

#[derive(Default)]
struct Tenant {
    /// In order of first sight.
    streams: Vec<BTreeMap<String, String>>,
    /// In order of arrival.
    records: Vec<Record>,
}

fn bytes(json: &Json) -> Vec<u8> {
    match json_cell(json) {
        Cell::Binary(bytes) => bytes,
        other => panic!("{other:?} is not a byte string"),
    }
}

fn read_input() -> BTreeMap<String, Tenant> {
    let mut tenants: BTreeMap<String, Tenant> = BTreeMap::new();
    for record in fixture_json("logs-input").as_array().unwrap() {
        let tenant = tenants
            .entry(record["tenant"].as_str().unwrap().to_owned())
            .or_default();
        let labels: BTreeMap<String, String> = serde_json::from_value(record["labels"].clone()).unwrap();
        let stream = tenant
            .streams
            .iter()
            .position(|known| *known == labels)
            .unwrap_or_else(|| {
                tenant.streams.push(labels);
                tenant.streams.len() - 1
            });
        let pair = |pair: &Json| (pair[0].as_str().unwrap().to_owned(), bytes(&pair[1]));
        // The second pass of Loki's writer loses empty metadata values.
        let mut metadata: Vec<_> = record["metadata"]
            .as_array()
            .unwrap()
            .iter()
            .map(pair)
            .filter(|pair| !pair.1.is_empty())
            .collect();
        metadata.sort();
        let (timestamp_ns, line) = (record["timestamp"].as_i64().unwrap(), bytes(&record["line"]));
        tenant.records.push(Record {
            stream,
            timestamp_ns,
            line,
            metadata,
        });
    }
    tenants
}

/// Writes the object that Loki would. Its logs sections are to have `section_rows` rows, one after another: exactly where
/// Loki closes a section depends on duplicates that are no longer there.
fn write(sort: &SortOrder, section_rows: &[u64], options: &WriterOptions) -> Vec<u8> {
    let mut section_rows = section_rows.iter();
    let mut rows = section_rows.next();
    let mut tenants = read_input();
    let mut object = ObjectWriter::new();
    for name in ["acme", "beta-2", "beta-10"] {
        let Tenant { streams, mut records } = tenants.remove(name).unwrap();

        // Numbers from 1: as first seen, or in the order of the labels sorted by.
        let mut order: Vec<usize> = (0..streams.len()).collect();
        if let SortOrder::Schema(labels) = sort {
            let key = |&stream: &usize| {
                let values: Vec<&str> = labels
                    .iter()
                    .map(|label| streams[stream].get(label).map_or("", String::as_str))
                    .collect();
                values.join("\0")
            };
            order.sort_by_key(key);
        }
        let id = |stream: usize| order.iter().position(|&s| s == stream).unwrap() as i64 + 1;

        let mut writer = StreamsWriter::new(name, options);
        for &stream in &order {
            let own: Vec<&Record> = records.iter().filter(|record| record.stream == stream).collect();
            let labels: Vec<(&str, &str)> = streams[stream].iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
            let size =
                |record: &&Record| record.line.len() + record.metadata.iter().map(|(_, v)| v.len()).sum::<usize>();
            writer
                .append(&StreamRow {
                    id: id(stream),
                    min_timestamp_ns: own.iter().map(|record| record.timestamp_ns).min().unwrap(),
                    max_timestamp_ns: own.iter().map(|record| record.timestamp_ns).max().unwrap(),
                    rows: own.len() as i64,
                    uncompressed_bytes: own.iter().map(size).sum::<usize>() as i64,
                    labels: &labels,
                })
                .unwrap();
        }
        object.push_section(writer.finish().unwrap());

        records.sort_by_key(|record| match sort {
            SortOrder::TimestampDescending => (-record.timestamp_ns, id(record.stream)),
            _ => (id(record.stream), -record.timestamp_ns),
        });
        let mut seen = BTreeSet::new();
        records.retain(|r| seen.insert((r.stream, r.timestamp_ns, r.metadata.clone(), r.line.clone())));
        let mut writer = LogsWriter::new(name, sort.clone(), options);
        for record in &records {
            let metadata: Vec<(&str, &[u8])> = record
                .metadata
                .iter()
                .map(|(k, v)| (k.as_str(), v.as_slice()))
                .collect();
            let Record { timestamp_ns, line, .. } = record;
            let row = LogRow {
                stream_id: id(record.stream),
                timestamp_ns: *timestamp_ns,
                line,
                metadata: &metadata,
            };
            writer.append(&row).unwrap();
            if Some(&writer.rows()) == rows {
                let next = LogsWriter::new(name, sort.clone(), options);
                object.push_section(std::mem::replace(&mut writer, next).finish().unwrap());
                rows = section_rows.next();
            }
        }
        assert_eq!(writer.rows(), 0, "sections end where the fixture's do");
    }
    object.finish().unwrap()
}

/// Rows of a tenant's sections together, sorted where their order isn't defined.
fn rows_by_tenant(sections: &[DecodedSection], kind: &SectionKind) -> BTreeMap<String, Vec<Vec<(String, Cell)>>> {
    let mut tenants: BTreeMap<String, Vec<Vec<(String, Cell)>>> = BTreeMap::new();
    for section in sections.iter().filter(|section| section.section.kind == *kind) {
        let names: Vec<String> = section
            .meta
            .columns
            .iter()
            .map(|c| format!("{}/{}", c.logical, c.tag))
            .collect();
        let named = |row: Vec<Cell>| {
            names
                .iter()
                .cloned()
                .zip(row)
                .filter(|(_, cell)| *cell != Cell::Null)
                .collect()
        };
        tenants
            .entry(section.section.tenant.clone())
            .or_default()
            .extend(section.rows().into_iter().map(named));
    }
    for rows in tenants.values_mut() {
        rows.sort_by(|a: &Vec<(String, Cell)>, b| a[..2].cmp(&b[..2]).then_with(|| a.cmp(b)));
    }
    tenants
}

fn check(stem: &str, sort: &SortOrder) {
    let settings = &fixture_json(stem)["settings"];
    let setting = |name: &str| settings[name].as_u64().unwrap() as usize;
    let want = decode_object(&fixture_object(stem)).unwrap();
    let logs = want.iter().filter(|section| section.section.kind == SectionKind::Logs);
    let section_rows: Vec<u64> = logs.map(|section| section.meta.rows).collect();
    for cut in [PageCut::Independent, PageCut::Aligned] {
        let options = WriterOptions {
            page_bytes: setting("page_size_hint"),
            page_rows: setting("page_max_rows"),
            zstd_level: 3,
            cut,
        };
        let object = write(sort, &section_rows, &options);
        let got = decode_object(&object).unwrap();
        let outline = |sections: &[DecodedSection]| -> Vec<_> {
            let columns = |meta: &SectionMeta| {
                meta.columns
                    .iter()
                    .map(|c| (c.logical.clone(), c.tag.clone()))
                    .collect()
            };
            sections
                .iter()
                .map(|s| {
                    let columns: BTreeSet<_> = columns(&s.meta);
                    (
                        s.section.kind.clone(),
                        s.section.version,
                        s.section.tenant.clone(),
                        s.meta.sort.clone(),
                        columns,
                    )
                })
                .collect()
        };
        assert_eq!(outline(&got), outline(&want), "{stem} {cut:?}");
        assert_eq!(
            got.iter().map(|section| section.meta.rows).collect::<Vec<_>>(),
            want.iter().map(|section| section.meta.rows).collect::<Vec<_>>(),
            "{stem} {cut:?}"
        );
        for kind in [SectionKind::Streams, SectionKind::Logs] {
            assert_eq!(
                rows_by_tenant(&got, &kind),
                rows_by_tenant(&want, &kind),
                "{stem} {cut:?}"
            );
        }
        let logs = got.iter().filter(|section| section.section.kind == SectionKind::Logs);
        let aligned = logs.filter(|section| section.meta.is_aligned()).count();
        assert!(
            aligned == 6 || cut == PageCut::Independent,
            "{stem} {cut:?}: {aligned} aligned sections"
        );
    }
}

#[test]
fn sorted_by_stream() {
    check("logs-stream-asc", &SortOrder::StreamAscending);
}

#[test]
fn sorted_by_time() {
    check("logs-timestamp-desc", &SortOrder::TimestampDescending);
}

#[test]
fn sorted_by_labels() {
    check(
        "logs-schema-sorted",
        &SortOrder::Schema(vec!["service".into(), "env".into()]),
    );
}
