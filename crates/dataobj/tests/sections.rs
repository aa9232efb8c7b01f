//! Readers of the known kinds before sections that are older, newer, incomplete or wrong.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod common;

use common::*;
use timberline_dataobj::*;

/// Logical name, tag if there is one, and the values of the first rows.
#[derive(Clone, Copy)]
enum Cells<'a> {
    Integers(&'a str, &'a [Option<i64>]),
    Strings(&'a str, &'a str, &'a [Option<&'a [u8]>]),
}

use Cells::{Integers, Strings};

fn write(kind: &SectionKind, columns: &[Cells<'_>], page_rows: usize) -> Vec<u8> {
    let options = WriterOptions {
        page_rows,
        ..WriterOptions::default()
    };
    let mut writer = SectionWriter::new(kind.clone(), 2, "t", &options);
    let mut order = Vec::new();
    for column in columns {
        let (physical, logical, tag) = match column {
            Integers(logical, _) => (Physical::Int64, logical, &""),
            Strings(logical, tag, _) => (Physical::Binary, logical, tag),
        };
        let id = writer.add_column(ColumnSpec {
            physical,
            logical: (*logical).to_owned(),
            tag: (*tag).to_owned(),
            compression: Compression::None,
            range: false,
            cardinality: false,
        });
        order.push(id);
        let rows = match column {
            Integers(_, values) => {
                for (row, value) in values.iter().enumerate() {
                    value.map(|value| writer.append_int64(id, row as u64, value).unwrap());
                }
                values.len()
            }
            Strings(_, _, values) => {
                for (row, value) in values.iter().enumerate() {
                    value.map(|value| writer.append_binary(id, row as u64, value).unwrap());
                }
                values.len()
            }
        };
        writer.fill(id, rows as u64).unwrap();
    }
    let mut object = ObjectWriter::new();
    object.push_section(writer.finish(&order, None).unwrap());
    object.finish().unwrap()
}

/// The rows of the first section as text, or why there are none.
fn read(object: &[u8]) -> String {
    let object = WholeObject::parse(object).unwrap();
    let section = &object.sections()[0];
    let (meta, data) = (object.meta(section).unwrap(), object.data(section).unwrap());
    read_as(&section.kind, section, &meta, data).unwrap_or_else(|error| error.to_string())
}

fn read_as(kind: &SectionKind, section: &Section, meta: &SectionMeta, data: &[u8]) -> Result<String, Error> {
    let scratch = &mut Scratch::new();
    let rows: Vec<String> = match kind {
        SectionKind::Streams => StreamsReader::open(section, meta, data, scratch)?
            .rows()
            .map(|row| {
                let labels: Vec<_> = row.labels().collect();
                let sizes = (row.rows, row.uncompressed_bytes);
                format!(
                    "{} {} {} {sizes:?} {labels:?}",
                    row.id, row.min_timestamp_ns, row.max_timestamp_ns
                )
            })
            .collect(),
        SectionKind::Logs => LogsReader::open(section, meta, data, scratch)?
            .rows()
            .map(|row| {
                let metadata: Vec<_> = row.metadata().map(|(key, value)| (key, value.len())).collect();
                format!("{} {} {} {metadata:?}", row.stream_id, row.timestamp_ns, row.line.len())
            })
            .collect(),
        SectionKind::Pointers => {
            let reader = PointersReader::open(section, meta, data, scratch)?;
            reader
                .rows()
                .map(|row| format!("{} {} {:?}", row.path, row.section, row.target))
                .collect()
        }
        SectionKind::IndexPointers => IndexPointersReader::open(section, meta, data, scratch)?
            .rows()
            .map(|row| {
                let times = (row.min_timestamp_ns, row.max_timestamp_ns);
                format!(
                    "{} {times:?} {} {}",
                    row.path, row.file_bytes, row.uncompressed_logs_bytes
                )
            })
            .collect(),
        SectionKind::Postings => {
            let reader = PostingsReader::open(section, meta, data, scratch)?;
            reader
                .rows()
                .map(|row| format!("{} {:?}", row.column_name, row.entry))
                .collect()
        }
        _ => StatsReader::open(section, meta, data, scratch)?
            .rows()
            .map(|row| {
                let labels: Vec<_> = row.labels().collect();
                format!(
                    "{} {} {:?} {labels:?}",
                    row.object_path, row.section_index, row.sort_schema
                )
            })
            .collect(),
    };
    Ok(rows.join("; "))
}

const A: Option<&[u8]> = Some(b"a");
const B: Option<&[u8]> = Some(b"b");
const NOT_UTF8: Option<&[u8]> = Some(b"\xff");
const ONE: Option<i64> = Some(1);
const TWO: Option<i64> = Some(2);

/// What the reader says of a section with these columns, in one page or in many; of damage without its place.
fn check(kind: &SectionKind, columns: &[Cells<'_>], want: &str) {
    for page_rows in [0, 1] {
        let rows = read(&write(kind, columns, page_rows));
        let damage = rows.strip_prefix("corrupt: section 0, offset ");
        let reason = damage.map_or(rows.as_str(), |damage| damage.split_once(": ").unwrap().1);
        assert_eq!(reason, want, "{kind}, {page_rows} rows in a page");
    }
}

#[test]
fn streams() {
    let check = |columns: &[Cells<'_>], want| check(&SectionKind::Streams, columns, want);
    let id = Integers("stream_id", &[ONE, TWO]);
    let min = Integers("min_timestamp", &[ONE, ONE]);
    let max = Integers("max_timestamp", &[ONE, TWO]);
    let rows = Integers("rows", &[None, TWO]);
    let (z, b) = (Strings("label", "z", &[None, A]), Strings("label", "b", &[B]));
    let unknown = Strings("hologram", "x", &[A, NOT_UTF8]);
    check(&[], "");
    check(
        &[unknown, id, z, min, b, max, rows],
        "1 1 1 (0, 0) [(\"b\", \"b\")]; 2 1 2 (2, 0) [(\"z\", \"a\")]",
    );
    check(&[id, min], "column max_timestamp is null in row 0");
    check(
        &[Integers("stream_id", &[ONE]), min, max],
        "column stream_id is null in row 1",
    );
    check(
        &[Integers("stream_id", &[None, ONE]), min, max],
        "column stream_id is null in row 0",
    );
    check(
        &[Integers("stream_id", &[ONE, None, ONE])],
        "column stream_id is null in row 1",
    );
    check(
        &[id, min, max, Strings("label", "z", &[A, NOT_UTF8])],
        "column label \"z\" has a value that is not UTF-8",
    );
    check(
        &[Strings("stream_id", "", &[A, B]), min, max],
        "no codec for column stream_id \"\" of Binary, Plain read as Int64",
    );
}

#[test]
fn logs() {
    let check = |columns: &[Cells<'_>], want| check(&SectionKind::Logs, columns, want);
    let id = Integers("stream_id", &[ONE, TWO]);
    let time = Integers("timestamp", &[TWO, ONE]);
    let unknown = Integers("hologram", &[None, None, ONE]);
    let (z, b) = (
        Strings("metadata", "z", &[None, NOT_UTF8]),
        Strings("metadata", "b", &[Some(b"")]),
    );
    let line = Strings("message", "", &[A, None]);
    check(&[], "");
    check(&[id, time], "1 2 0 []; 2 1 0 []");
    check(&[id, time, z, b, line], "1 2 1 [(\"b\", 0)]; 2 1 0 [(\"z\", 1)]");
    // Unknown columns may stand anywhere, but a section that is longer for one lacks what it promises.
    check(&[id, Integers("hologram", &[ONE, ONE]), time], "1 2 0 []; 2 1 0 []");
    check(&[id, unknown, time], "column stream_id is null in row 2");
    check(
        &[id, Integers("timestamp", &[TWO, None])],
        "column timestamp is null in row 1",
    );
    let order = "a logs section must begin with stream_id and timestamp";
    check(&[time, id], order);
    check(&[line, id, time], order);
    check(&[id, line], order);
}

#[test]
fn pointers() {
    let check = |columns: &[Cells<'_>], want| check(&SectionKind::Pointers, columns, want);
    let path = Strings("path", "path", &[A, B]);
    let section = Integers("section", &[ONE, TWO]);
    let kind = |values| Integers("pointer_kind", values);
    let kinds = kind(&[ONE, TWO]);
    let id = Integers("stream_id", &[ONE]);
    let id_ref = Integers("stream_id_ref", &[TWO]);
    let min = Integers("min_timestamp", &[ONE]);
    let max = Integers("max_timestamp", &[TWO]);
    let name = Strings("column_name", "column_name", &[None, A]);
    check(&[], "");
    check(
        &[path, section, kinds, id, id_ref, min, max, name],
        "a 1 Stream(StreamPointer { stream_id: 1, stream_id_ref: 2, min_timestamp_ns: 1, max_timestamp_ns: 2, rows: 0, \
         line_bytes: 0 }); b 2 Column(ColumnPointer { name: \"a\", index: 0, values_bloom: [] })",
    );
    check(
        &[path, section, kinds, id, min, max, name],
        "pointer in row 0 lacks a number or time of its stream",
    );
    check(
        &[path, section, kinds, id, id_ref, min, max],
        "pointer in row 1 lacks the name of its column",
    );
    check(
        &[path, section, kind(&[Some(3), TWO]), name],
        "pointer in row 0 is of no known kind",
    );
    check(&[path, section], "pointer in row 0 is of no known kind");
    check(
        &[Strings("path", "path", &[A]), section, kinds],
        "column path is null in row 1",
    );
    check(
        &[path, Integers("section", &[ONE]), kinds],
        "column section is null in row 1",
    );
}

#[test]
fn index_pointers() {
    let check = |columns: &[Cells<'_>], want| check(&SectionKind::IndexPointers, columns, want);
    // Without tags, as nobody writes them, but what a column is its logical name says.
    let path = Strings("path", "", &[A, B]);
    let min = Integers("min_timestamp", &[ONE, ONE]);
    let max = Integers("max_timestamp", &[TWO, TWO]);
    check(&[], "");
    check(&[path, min, max], "a (1, 2) 0 0; b (1, 2) 0 0");
    check(
        &[path, min, max, Integers("file_size", &[Some(9)])],
        "a (1, 2) 9 0; b (1, 2) 0 0",
    );
    check(&[path, min], "column max_timestamp is null in row 0");
    check(&[path, max], "column min_timestamp is null in row 0");
    check(&[min, max], "column path is null in row 0");
    check(
        &[Strings("path", "", &[NOT_UTF8]), min, max],
        "column path \"\" has a value that is not UTF-8",
    );
}

#[test]
fn postings() {
    let check = |columns: &[Cells<'_>], want| check(&SectionKind::Postings, columns, want);
    let kind = |values| Integers("kind", values);
    let kinds = kind(&[Some(0), ONE]);
    let path = Strings("object_path", "", &[A, A]);
    let section = Integers("section_index", &[ONE, ONE]);
    let name = Strings("column_name", "", &[A, B]);
    let min = Integers("min_timestamp", &[ONE, ONE]);
    let max = Integers("max_timestamp", &[TWO, TWO]);
    check(&[], "");
    check(
        &[kinds, path, section, name, min, max],
        "a Bloom { filter: [] }; b Label { value: \"\", min_shard_bucket: 0, max_shard_bucket: 0 }",
    );
    check(
        &[kind(&[Some(0), TWO]), path, section, name, min, max],
        "posting in row 1 is of no known kind",
    );
    check(&[path, section, name, min, max], "column kind is null in row 0");
    check(&[kinds, path, section, min, max], "column column_name is null in row 0");
    check(
        &[kinds, path, section, name, max],
        "column min_timestamp is null in row 0",
    );
}

#[test]
fn stats() {
    let check = |columns: &[Cells<'_>], want| check(&SectionKind::Stats, columns, want);
    let path = Strings("object_path", "", &[A, B]);
    let section = Integers("section_index", &[ONE, TWO]);
    let schema = Strings("sort_schema", "", &[Some(b"label:z,label:b"), Some(b"label:z,label:b")]);
    let min = Integers("min_timestamp", &[ONE, ONE]);
    let max = Integers("max_timestamp", &[TWO, TWO]);
    let (z, b) = (Strings("label", "z", &[A, A]), Strings("label", "b", &[None, B]));
    check(&[], "");
    check(
        &[path, section, schema, min, max, z, b],
        "a 1 \"label:z,label:b\" [\"a\", \"\"]; b 2 \"label:z,label:b\" [\"a\", \"b\"]",
    );
    check(&[path, section, min, max], "a 1 \"\" []; b 2 \"\" []");
    check(&[section, schema, min, max], "column object_path is null in row 0");
    check(&[path, section, schema, max], "column min_timestamp is null in row 0");
}

#[test]
fn sections_and_data_that_do_not_fit() {
    let object = fixture_object("logs-one-record");
    let object = WholeObject::parse(&object).unwrap();
    let [streams, logs] = object.sections() else {
        panic!("two sections");
    };
    let (meta, data) = (object.meta(logs).unwrap(), object.data(logs).unwrap());
    let refused = |kind, section, data| read_as(kind, section, &meta, data).unwrap_err().to_string();
    assert_eq!(
        refused(&SectionKind::Streams, logs, data),
        "unsupported: section 1: logs read as streams"
    );
    assert_eq!(
        refused(&SectionKind::Logs, logs, &data[1..]),
        "corrupt: section 1, offset 1096: data region of 34 bytes where the header says 35"
    );
    // Metadata of another section: its pages are elsewhere.
    let other = refused(&SectionKind::Streams, streams, object.data(streams).unwrap());
    assert!(other.contains("is outside of the data region"), "{other}");
}

/// A long stretch of nulls takes no memory until there is a value in it, and too many of those are refused.
#[test]
fn the_memory_for_a_section_is_bounded() {
    let written = |columns: usize, values: usize| {
        let options = WriterOptions {
            page_bytes: 0,
            page_rows: 0,
            ..WriterOptions::default()
        };
        let mut writer = SectionWriter::new(SectionKind::Streams, 2, "t", &options);
        let mut order = Vec::new();
        for column in 0..columns {
            let id = writer.add_column(ColumnSpec {
                physical: Physical::Int64,
                logical: format!("unknown{column}"),
                tag: String::new(),
                compression: Compression::None,
                range: false,
                cardinality: false,
            });
            if column < values {
                writer.append_int64(id, 0, 1).unwrap();
            }
            writer.fill(id, MAX_PAGE_ROWS).unwrap();
            order.push(id);
        }
        let mut object = ObjectWriter::new();
        object.push_section(writer.finish(&order, None).unwrap());
        object.finish().unwrap()
    };
    let few = read(&written(20, 7));
    assert!(few.ends_with("column stream_id is null in row 0"), "{few}");
    let many = read(&written(20, 8));
    assert!(many.starts_with("decoded size of a section of 96637"), "{many}");
    assert!(
        many.ends_with(&format!("exceeds the limit of {MAX_SECTION_BYTES}")),
        "{many}"
    );
}

/// Whatever stands before the pages, it gives rows or an error.
#[test]
fn changed_bytes_before_the_pages() {
    for stem in FIXTURES {
        let mut object = fixture_object(stem);
        let sections = layout(&object).unwrap().sections().to_vec();
        let pages = sections.iter().map(|section| section.data.start).min().unwrap() as usize;
        let step = (pages / 100).max(1);
        for at in (8..pages).step_by(step) {
            let bit = 1 << (at % 8);
            object[at] ^= bit;
            let _ = TableOfContents::parse(&object);
            let _ = IndexBuilder::new(IndexOptions::default()).add_log_object("x", &object);
            if let Ok(whole) = WholeObject::parse(&object) {
                for section in whole.sections() {
                    if let (Ok(meta), Ok(data)) = (whole.meta(section), whole.data(section)) {
                        let _ = read_as(&section.kind, section, &meta, data);
                    }
                }
            }
            object[at] ^= bit;
        }
    }
}

#[test]
fn two_columns_of_one_name_are_damage() {
    let min = Integers("min_timestamp", &[ONE]);
    let max = Integers("max_timestamp", &[ONE]);
    let id = Integers("stream_id", &[ONE]);
    let labels = [Strings("label", "a", &[A]), Strings("label", "a", &[B])];
    let want = "there are two columns label \"a\"";
    check(&SectionKind::Streams, &[id, min, max, labels[0], labels[1]], want);
}

#[test]
fn tags_that_nobody_knows_are_kept_apart() {
    let min = Integers("min_timestamp", &[ONE]);
    let max = Integers("max_timestamp", &[ONE]);
    let id = Integers("stream_id", &[ONE]);
    let labels = [Strings("label", "", &[A]), Strings("label", "a", &[B])];
    check(
        &SectionKind::Streams,
        &[id, min, max, labels[1], labels[0]],
        "1 1 1 (0, 0) [(\"\", \"a\"), (\"a\", \"b\")]",
    );
}
