//! Index objects and tables of contents of Loki, worked out again from what they cover.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod common;

use common::*;
use serde_json::Value as Json;
use std::collections::BTreeMap;
use timberline_dataobj::*;

/// By kind and tenant, the rows of each section as text. Rows whose order nothing defines are sorted.
fn describe(object: &[u8]) -> BTreeMap<(String, String), Vec<Vec<String>>> {
    let object = WholeObject::parse(object).unwrap();
    let mut scratch = Scratch::new();
    let mut described: BTreeMap<_, Vec<Vec<String>>> = BTreeMap::new();
    for section in object.sections() {
        let (meta, data) = (object.meta(section).unwrap(), object.data(section).unwrap());
        let mut rows: Vec<String> = match section.kind {
            SectionKind::Streams => {
                let reader = StreamsReader::open(section, &meta, data, &mut scratch).unwrap();
                reader.rows().map(|row| format!("{row:?}")).collect()
            }
            SectionKind::Pointers => {
                let reader = PointersReader::open(section, &meta, data, &mut scratch).unwrap();
                reader.rows().map(|row| format!("{row:?}")).collect()
            }
            SectionKind::Stats => {
                let reader = StatsReader::open(section, &meta, data, &mut scratch).unwrap();
                let names: Vec<_> = reader.label_names().collect();
                reader.rows().map(|row| format!("{names:?} {row:?}")).collect()
            }
            SectionKind::Postings => {
                let reader = PostingsReader::open(section, &meta, data, &mut scratch).unwrap();
                reader.rows().map(|row| format!("{row:?}")).collect()
            }
            _ => panic!("{} in an index object", section.kind),
        };
        if section.kind == SectionKind::Pointers {
            rows.sort();
        }
        let key = (section.kind.name().to_owned(), section.tenant.clone());
        described.entry(key).or_default().push(rows);
    }
    described
}

fn build(covered: &[&str], options: IndexOptions) -> IndexObject {
    let mut builder = IndexBuilder::new(options);
    for stem in covered {
        let object = fixture_object(stem);
        builder.add_log_object(&log_object_path(&object), &object).unwrap();
    }
    builder.finish().unwrap().unwrap()
}

fn small_pages() -> IndexOptions {
    IndexOptions {
        writer: WriterOptions {
            page_bytes: 1024,
            page_rows: 50,
            zstd_level: 3,
            cut: PageCut::Independent,
        },
        section_bytes: 4096,
    }
}

#[test]
fn built_from_the_log_objects_that_they_cover() {
    let check = |stem: &str, covered: &[&str]| {
        let want = fixture_object(stem);
        let index = build(covered, small_pages());
        let (got, expected) = (describe(&index.bytes), describe(&want));
        assert_eq!(
            got.keys().collect::<Vec<_>>(),
            expected.keys().collect::<Vec<_>>(),
            "{stem}"
        );
        for (key, sections) in &expected {
            assert_eq!(&got[key], sections, "{stem} {key:?}");
        }

        let json = fixture_json(stem);
        let covers: Vec<&str> = json["covers"]
            .as_array()
            .unwrap()
            .iter()
            .map(|path| path.as_str().unwrap())
            .collect();
        let paths: Vec<String> = covered
            .iter()
            .map(|stem| log_object_path(&fixture_object(stem)))
            .collect();
        assert_eq!(paths, covers, "{stem}");
        assert_eq!(index_object_path(&want), json["object_key"].as_str().unwrap(), "{stem}");
        let span = |range: &Json| TenantSpan {
            tenant: range["tenant"].as_str().unwrap().to_owned(),
            min_timestamp_ns: range["min_time_unix_nano"].as_i64().unwrap(),
            max_timestamp_ns: range["max_time_unix_nano"].as_i64().unwrap(),
            uncompressed_logs_bytes: range["uncompressed_logs_size"].as_i64().unwrap(),
        };
        let mut spans: Vec<TenantSpan> = json["time_ranges"].as_array().unwrap().iter().map(span).collect();
        let mut built = index.spans;
        for spans in [&mut spans, &mut built] {
            spans.sort_by(|a, b| a.tenant.cmp(&b.tenant));
        }
        assert_eq!(built, spans, "{stem}");
    };
    check("index-full", &["logs-stream-asc", "logs-other-ids"]);
    check("index-schema-sorted", &["logs-schema-sorted"]);
    check("index-one-record", &["logs-one-record"]);
}

/// Every value of a metadata key is in the blooms that stand for it, in pointers and in postings.
#[test]
fn blooms_of_loki_hold_all_values() {
    let object = fixture_object("logs-stream-asc");
    let logs = WholeObject::parse(&object).unwrap();
    let mut values: BTreeMap<(i64, String), Vec<Vec<u8>>> = BTreeMap::new();
    let mut scratch = Scratch::new();
    let sections = logs
        .sections()
        .iter()
        .filter(|section| section.kind == SectionKind::Logs);
    for (ordinal, section) in sections.enumerate() {
        let meta = logs.meta(section).unwrap();
        let reader = LogsReader::open(section, &meta, logs.data(section).unwrap(), &mut scratch).unwrap();
        for (key, value) in reader.rows().flat_map(|record| record.metadata()) {
            values
                .entry((ordinal as i64, key.to_owned()))
                .or_default()
                .push(value.to_vec());
        }
    }
    let path = log_object_path(&object);
    let index = fixture_object("index-full");
    let index = WholeObject::parse(&index).unwrap();
    let mut seen = 0;
    let mut check = |section: i64, key: &str, filter: &[u8]| {
        let filter = BloomFilter::parse(filter).unwrap();
        let values = &values[&(section, key.to_owned())];
        assert!(values.iter().all(|value| filter.contains(value)), "{section} {key}");
        assert!(!filter.contains(b"no such value"), "{section} {key}");
        seen += 1;
    };
    for section in index.sections() {
        let (meta, data) = (index.meta(section).unwrap(), index.data(section).unwrap());
        if section.kind == SectionKind::Pointers {
            let reader = PointersReader::open(section, &meta, data, &mut scratch).unwrap();
            for row in reader.rows().filter(|row| row.path == path) {
                if let PointerTarget::Column(column) = row.target {
                    check(row.section, column.name, column.values_bloom);
                }
            }
        } else if section.kind == SectionKind::Postings {
            let reader = PostingsReader::open(section, &meta, data, &mut scratch).unwrap();
            for row in reader.rows().filter(|row| row.object_path == path) {
                if let PostingEntry::Bloom { filter } = row.entry {
                    check(row.section_index, row.column_name, filter);
                }
            }
        }
    }
    assert_eq!(seen, 2 * values.len());
}

/// Empty metadata values are like absent ones; a filter for a column of nothing else is empty.
#[test]
fn empty_values_are_not_indexed() {
    let options = WriterOptions::default();
    let mut streams = StreamsWriter::new("t", &options);
    let mut logs = LogsWriter::new("t", SortOrder::StreamAscending, &options);
    for (stream_id, name, value) in [(1, "a", "x"), (2, "b", ""), (3, "c", "")] {
        streams
            .append(&StreamRow {
                id: stream_id,
                min_timestamp_ns: stream_id,
                max_timestamp_ns: stream_id,
                rows: 1,
                uncompressed_bytes: 1,
                labels: &[("name", name)],
            })
            .unwrap();
        logs.append(&LogRow {
            stream_id,
            timestamp_ns: stream_id,
            line: b"line",
            metadata: &[("blank", b""), ("some", value.as_bytes())],
        })
        .unwrap();
    }
    let mut object = ObjectWriter::new();
    object.push_section(streams.finish().unwrap());
    object.push_section(logs.finish().unwrap());
    let mut builder = IndexBuilder::new(IndexOptions::default());
    builder.add_log_object("objects/x", &object.finish().unwrap()).unwrap();
    let index = builder.finish().unwrap().unwrap();

    let index = WholeObject::parse(&index.bytes).unwrap();
    let section = index
        .sections()
        .iter()
        .find(|section| section.kind == SectionKind::Postings)
        .unwrap();
    let meta = index.meta(section).unwrap();
    let reader = PostingsReader::open(section, &meta, index.data(section).unwrap(), &mut Scratch::new()).unwrap();
    let blooms: Vec<_> = reader
        .rows()
        .map(|row| {
            let PostingEntry::Bloom { filter } = row.entry else {
                panic!("blooms come first");
            };
            let filter = BloomFilter::parse(filter).unwrap();
            let holds = [filter.contains(b""), filter.contains(b"x")];
            let times = (row.min_timestamp_ns, row.max_timestamp_ns);
            (
                row.column_name,
                holds,
                row.stream_ids().collect::<Vec<_>>(),
                times,
                row.uncompressed_bytes,
            )
        })
        .collect();
    let nothing = (i64::MAX, i64::MIN);
    assert_eq!(
        blooms,
        [
            ("blank", [false, false], vec![], nothing, 0),
            ("some", [false, true], vec![1], (1, 1), 4)
        ]
    );
}

#[test]
fn a_full_section_is_followed_by_another_with_the_next_rows() {
    let covered = ["logs-stream-asc", "logs-other-ids", "logs-schema-sorted"];
    let whole = describe(&build(&covered, IndexOptions::default()).bytes);
    let options = IndexOptions {
        section_bytes: 1000,
        ..small_pages()
    };
    let parts = describe(&build(&covered, options).bytes);
    assert!(parts.values().any(|sections| sections.len() > 5));
    for (key, sections) in &whole {
        let together = |sections: &[Vec<String>]| {
            let mut rows = sections.concat();
            rows.sort();
            rows
        };
        assert_eq!(together(&parts[key]), together(sections), "{key:?}");
    }
}

#[test]
fn objects_that_make_no_sense_are_refused_and_leave_no_trace() {
    let options = WriterOptions::default();
    let streams = |tenant: &str, ids: &[i64]| {
        let mut writer = StreamsWriter::new(tenant, &options);
        for &id in ids {
            let labels = [("id", if id % 2 == 0 { "even" } else { "odd" })];
            let row = StreamRow {
                id,
                min_timestamp_ns: 1,
                max_timestamp_ns: 2,
                rows: 1,
                uncompressed_bytes: 1,
                labels: &labels,
            };
            writer.append(&row).unwrap();
        }
        writer.finish().unwrap()
    };
    let logs = |tenant: &str, stream_id: i64| {
        let mut writer = LogsWriter::new(tenant, SortOrder::StreamAscending, &options);
        let row = LogRow {
            stream_id,
            timestamp_ns: 1,
            line: b"x",
            metadata: &[],
        };
        writer.append(&row).unwrap();
        writer.finish().unwrap()
    };
    let refused = |sections: Vec<FinishedSection>| {
        let mut object = ObjectWriter::new();
        sections.into_iter().for_each(|section| object.push_section(section));
        let mut builder = IndexBuilder::new(IndexOptions::default());
        let error = builder
            .add_log_object("objects/x", &object.finish().unwrap())
            .unwrap_err()
            .to_string();
        assert_eq!(builder.finish().unwrap(), None);
        let (place, reason) = error.split_once(": ").unwrap().1.rsplit_once(": ").unwrap();
        assert!(place.starts_with("object objects/x, section "), "{error}");
        reason.to_owned()
    };
    assert_eq!(refused(vec![logs("t", 1)]), "tenant \"t\" has no streams section");
    assert_eq!(
        refused(vec![streams("t", &[1]), streams("t", &[1])]),
        "tenant \"t\" has two streams sections"
    );
    assert_eq!(
        refused(vec![streams("t", &[1, 2]), logs("t", 3)]),
        "stream 3 is not in the streams section"
    );
    for ids in [&[1, 1][..], &[2], &[0], &[i64::MIN], &[i64::MAX]] {
        let reason = refused(vec![streams("t", ids)]);
        assert!(
            reason.ends_with("is there twice or beyond the number of streams"),
            "{reason}"
        );
    }
}

#[test]
fn tables_of_contents() {
    let mut names = Vec::new();
    for stem in ["toc-1", "toc-2"] {
        let table = TableOfContents::parse(&fixture_object(stem)).unwrap();
        let encoded = table.encode().unwrap().unwrap();
        assert_eq!(TableOfContents::parse(&encoded).unwrap(), table);

        // Added in any order, entries come to stand as Loki has them.
        let mut again = TableOfContents::new();
        for (tenant, entries) in table.tenants() {
            entries.iter().rev().for_each(|entry| again.add(tenant, entry.clone()));
        }
        assert_eq!(again, table, "{stem}");
        let path = fixture_json(stem)["object_key"].as_str().unwrap().to_owned();
        for entry in table.tenants().flat_map(|(_, entries)| entries) {
            let mut windows = TocWindow::covering(entry.min_timestamp_ns, entry.max_timestamp_ns);
            assert!(windows.any(|window| window.path() == path), "{stem} {entry:?}");
        }
        names.push(path);
    }
    assert_eq!(
        names,
        ["tocs/2025-03-14T00_00_00Z.toc", "tocs/2025-03-14T12_00_00Z.toc"]
    );

    let table = TableOfContents::parse(&fixture_object("toc-1")).unwrap();
    let found = |tenant: &str, start: i64, end: i64| -> Vec<String> {
        table
            .lookup(tenant, start, end)
            .map(|entry| entry.path.clone())
            .collect()
    };
    let index = index_object_path(&fixture_object("index-full"));
    assert_eq!(
        found("acme", 1_741_944_435_839_793_238, 1_741_949_999_999_999_999),
        [index.as_str()]
    );
    assert_eq!(
        found("acme", 1_741_944_435_839_793_239, 1_741_949_999_999_999_999),
        [""; 0]
    );
    assert_eq!(found("acme", 0, 1_741_921_200_000_000_000), ["indexes/01/0203040506"]);
    assert_eq!(found("beta-2", 0, i64::MAX), [""; 0]);
}
