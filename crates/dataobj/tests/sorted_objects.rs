//! From records in arrival order, the sorted objects of the fixtures come out byte for byte: the two passes of specification
//! chapter 9.2, in their simplest form. Taken as given are compressed values, and the order of records with one stream and
//! timestamp that come from different sections of the first pass, which nothing defines.
//!
//! What the specification leaves open, and these objects show: a section is full by the size of all records that the merge
//! yields, duplicates from different sections of the first pass included; it is sorted once more, which reverses ties, and
//! only then are its duplicates dropped.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod common;
#[path = "common/payloads.rs"]
mod payloads;

use common::*;
use payloads::*;
use serde_json::Value as Json;
use std::collections::BTreeMap;
use timberline_dataobj::*;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Record {
    /// From 1, as first seen.
    stream: i64,
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

impl Record {
    fn size(&self) -> usize {
        1 + 8 + self.metadata_size() + self.line.len()
    }

    fn metadata_size(&self) -> usize {
        self.metadata.iter().map(|(_, value)| value.len()).sum()
    }
}

fn bytes(json: &Json) -> Vec<u8> {
    match json_cell(json) {
        Cell::Binary(bytes) => bytes,
        other => panic!("{other:?} is not a byte string"),
    }
}

fn read_input<'a>(records: impl Iterator<Item = &'a Json>) -> BTreeMap<String, Tenant> {
    let mut tenants: BTreeMap<String, Tenant> = BTreeMap::new();
    for record in records {
        let tenant = tenants
            .entry(record["tenant"].as_str().unwrap().to_owned())
            .or_default();
        let labels: BTreeMap<String, String> = serde_json::from_value(record["labels"].clone()).unwrap();
        let known = tenant.streams.iter().position(|known| *known == labels);
        let stream = known.unwrap_or_else(|| {
            tenant.streams.push(labels);
            tenant.streams.len() - 1
        });
        let pair = |pair: &Json| (pair[0].as_str().unwrap().to_owned(), bytes(&pair[1]));
        let mut metadata: Vec<_> = record["metadata"].as_array().unwrap().iter().map(pair).collect();
        metadata.sort();
        tenant.records.push(Record {
            stream: stream as i64 + 1,
            timestamp_ns: record["timestamp"].as_i64().unwrap(),
            line: bytes(&record["line"]),
            metadata,
        });
    }
    tenants
}

/// How a test object is written.
struct Settings {
    sort: SortOrder,
    section_bytes: usize,
    options: WriterOptions,
    /// Compressed values taken as given.
    payloads: Option<Payloads>,
}

impl Settings {
    fn key(&self, record: &Record) -> (i64, i64) {
        match self.sort {
            SortOrder::TimestampDescending => (-record.timestamp_ns, record.stream),
            _ => (record.stream, -record.timestamp_ns),
        }
    }

    /// Closes a section: ties are reversed, neighbours that are equal become one.
    fn close(&self, mut records: Vec<Record>) -> Vec<Record> {
        records.reverse();
        records.sort_by_key(|record| self.key(record));
        records.dedup();
        records
    }

    /// Records become sections, each full as soon as it is larger than the target.
    fn cut(&self, records: Vec<Record>) -> Vec<Vec<Record>> {
        let mut sections = Vec::new();
        let (mut section, mut size) = (Vec::new(), 0);
        for record in records {
            size += record.size();
            section.push(record);
            if size > self.section_bytes {
                sections.push(self.close(std::mem::take(&mut section)));
                size = 0;
            }
        }
        if !section.is_empty() {
            sections.push(self.close(section));
        }
        sections
    }

    fn sections(&self, records: Vec<Record>) -> Vec<Vec<Record>> {
        let mut merged: Vec<Record> = self.cut(records).concat();
        merged.sort_by_key(|record| self.key(record));
        // Between the passes empty values become absent ones.
        for record in &mut merged {
            record.metadata.retain(|(_, value)| !value.is_empty());
        }
        self.cut(merged)
    }

    /// Writes the object. Ties stand as in `want`, the sections of the object that is expected.
    fn write(&self, mut tenants: BTreeMap<String, Tenant>, want: &[Vec<Record>]) -> Vec<u8> {
        let mut object = ObjectWriter::new();
        let mut want = want.iter();
        // Natural order of names.
        for name in ["acme", "beta-2", "beta-10"] {
            let Tenant { streams, mut records } = tenants.remove(name).unwrap();
            let (streams, numbers) = self.renumber(&streams);
            records
                .iter_mut()
                .for_each(|record| record.stream = numbers[record.stream as usize - 1]);
            object.push_section(self.streams(name, &streams, &records));
            let mut writer = LogsWriter::new(name, self.sort.clone(), &self.options);
            if let Some(payloads) = &self.payloads {
                writer = writer.with_compressor(payloads.compressor());
            }
            let is_merged = self.cut(records.clone()).len() > 1;
            for section in self.sections(records) {
                let want = want.next().expect("no more sections than expected");
                self.assert_same_records(&section, want, is_merged);
                want.iter().for_each(|record| append(&mut writer, record));
                object.push_section(writer.finish_section().unwrap());
            }
        }
        assert_eq!(want.next(), None, "no fewer sections than expected");
        object.finish().unwrap()
    }

    fn assert_same_records(&self, got: &[Record], want: &[Record], is_merged: bool) {
        if !is_merged {
            assert_eq!(got, want);
        }
        let without_ties = |records: &[Record]| {
            assert!(records.is_sorted_by_key(|record| self.key(record)));
            let mut records = records.to_vec();
            records.sort_by(|a, b| self.key(a).cmp(&self.key(b)).then_with(|| a.cmp(b)));
            records
        };
        assert_eq!(without_ties(got), without_ties(want));
    }

    /// Streams in the order of their numbers, and the number of each by the number that it had.
    fn renumber(&self, streams: &[BTreeMap<String, String>]) -> (Vec<BTreeMap<String, String>>, Vec<i64>) {
        let mut order: Vec<usize> = (0..streams.len()).collect();
        if let SortOrder::Schema(labels) = &self.sort {
            let key = |&stream: &usize| {
                let value = |label| streams[stream].get(label).map_or("", String::as_str);
                labels.iter().map(value).collect::<Vec<_>>().join("\0")
            };
            order.sort_by_key(key);
        }
        let number = |stream| order.iter().position(|&other| other == stream).unwrap() as i64 + 1;
        let numbers = (0..streams.len()).map(number).collect();
        (order.iter().map(|&stream| streams[stream].clone()).collect(), numbers)
    }

    fn streams(&self, tenant: &str, streams: &[BTreeMap<String, String>], records: &[Record]) -> FinishedSection {
        let mut writer = StreamsWriter::new(tenant, &self.options);
        if let Some(payloads) = &self.payloads {
            writer = writer.with_compressor(payloads.compressor());
        }
        for (i, labels) in streams.iter().enumerate() {
            let id = i as i64 + 1;
            let own: Vec<&Record> = records.iter().filter(|record| record.stream == id).collect();
            let labels: Vec<(&str, &str)> = labels.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
            let row = StreamRow {
                id,
                min_timestamp_ns: own.iter().map(|record| record.timestamp_ns).min().unwrap(),
                max_timestamp_ns: own.iter().map(|record| record.timestamp_ns).max().unwrap(),
                rows: own.len() as i64,
                uncompressed_bytes: own.iter().map(|r| r.line.len() + r.metadata_size()).sum::<usize>() as i64,
                labels: &labels,
            };
            writer.append(&row).unwrap();
        }
        writer.finish().unwrap()
    }
}

fn append(writer: &mut LogsWriter, record: &Record) {
    let metadata = record
        .metadata
        .iter()
        .map(|(key, value)| (key.as_str(), value.as_slice()));
    let row = LogRow {
        stream_id: record.stream,
        timestamp_ns: record.timestamp_ns,
        line: &record.line,
        metadata: &metadata.collect::<Vec<_>>(),
    };
    writer.append(&row).unwrap();
}

/// The records of each logs section.
fn read_sections(object: &[u8]) -> Vec<Vec<Record>> {
    let object = WholeObject::parse(object).unwrap();
    let logs = object
        .sections()
        .iter()
        .filter(|section| section.kind == SectionKind::Logs);
    logs.map(|section| {
        let meta = object.meta(section).unwrap();
        let reader = LogsReader::open(section, &meta, object.data(section).unwrap(), &mut Scratch::new()).unwrap();
        let record = |record: LogRecord<'_>| Record {
            stream: record.stream_id,
            timestamp_ns: record.timestamp_ns,
            line: record.line.to_vec(),
            metadata: record
                .metadata()
                .map(|(key, value)| (key.to_owned(), value.to_vec()))
                .collect(),
        };
        reader.rows().map(record).collect()
    })
    .collect()
}

fn check<'a>(stem: &str, sort: SortOrder, records: impl Iterator<Item = &'a Json>) {
    let json = &fixture_json(stem)["settings"];
    let setting = |name: &str| json[name].as_u64().unwrap() as usize;
    let want = fixture_object(stem);
    let records: Vec<&Json> = records.collect();
    let mut settings = Settings {
        sort,
        section_bytes: setting("section_target"),
        options: WriterOptions {
            page_bytes: setting("page_size_hint"),
            page_rows: setting("page_max_rows"),
            zstd_level: 3,
            cut: PageCut::Independent,
        },
        payloads: Some(Payloads::of(&want)),
    };
    let sections = read_sections(&want);
    let got = settings.write(read_input(records.iter().copied()), &sections);
    assert_same_object(&got, &want, stem);

    // With pages cut together the same rows stand in the same sections.
    settings.options.cut = PageCut::Aligned;
    settings.payloads = None;
    let aligned = settings.write(read_input(records.iter().copied()), &sections);
    let aligned = decode_object(&aligned).unwrap();
    let want = decode_object(&want).unwrap();
    assert_eq!(aligned.len(), want.len());
    for (aligned, want) in aligned.iter().zip(&want) {
        assert_eq!(aligned.section.kind, want.section.kind, "{stem}");
        assert_eq!(aligned.rows(), want.rows(), "{stem}");
        assert!(aligned.meta.is_aligned(), "{stem}");
    }
}

#[test]
fn sorted_by_stream() {
    let input = fixture_json("logs-input");
    check(
        "logs-stream-asc",
        SortOrder::StreamAscending,
        input.as_array().unwrap().iter(),
    );
}

#[test]
fn sorted_by_time() {
    let input = fixture_json("logs-input");
    check(
        "logs-timestamp-desc",
        SortOrder::TimestampDescending,
        input.as_array().unwrap().iter(),
    );
}

#[test]
fn sorted_by_labels() {
    let input = fixture_json("logs-input");
    let sort = SortOrder::Schema(vec!["service".into(), "env".into()]);
    check("logs-schema-sorted", sort, input.as_array().unwrap().iter());
}

#[test]
fn every_third_record_last_first() {
    let input = fixture_json("logs-input");
    let records = input.as_array().unwrap().iter().rev().step_by(3);
    check("logs-other-ids", SortOrder::StreamAscending, records);
}
