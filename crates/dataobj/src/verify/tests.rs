//! Every check finds the damage it is for. Objects are taken apart, changed in one place and put together again, or written
//! with wrong rows.

use super::*;
use crate::proto::{ColumnPages, Extent, FileIndex, SectionTable, StatsEntry, append_framed, decode_framed};
use crate::read::{Direction, MAGIC, ObjectLayout, OrderBy, Parsed, SortInfo};
use crate::stats::{Physical, Value};
use crate::write::{ColumnSpec, ObjectWriter, SectionWriter, WriterOptions, shard_bucket};
use crate::{Compression, FinishedSection, WholeObject};

/// Values of a column; its tag stands behind a slash.
enum Column<'a> {
    Int64(&'a str, Vec<Option<i64>>),
    Binary(&'a str, Vec<Option<&'a [u8]>>),
}

use Column::{Binary, Int64};

fn some<T: Copy>(values: &[T]) -> Vec<Option<T>> {
    values.iter().map(|value| Some(*value)).collect()
}

fn section(kind: SectionKind, tenant: &str, columns: &[Column<'_>], order: &[(u32, Direction)]) -> FinishedSection {
    let options = WriterOptions {
        page_rows: 2,
        ..WriterOptions::default()
    };
    let mut section = SectionWriter::new(kind, 2, tenant, &options);
    let mut ids = Vec::new();
    for column in columns {
        let (Int64(name, _) | Binary(name, _)) = column;
        let (logical, tag) = name.split_once('/').unwrap_or((name, ""));
        let physical = match column {
            Int64(..) => Physical::Int64,
            Binary(..) => Physical::Binary,
        };
        let id = section.add_column(ColumnSpec {
            physical,
            logical: logical.to_owned(),
            tag: tag.to_owned(),
            compression: Compression::None,
            range: true,
            cardinality: true,
        });
        match column {
            Int64(_, values) => {
                for (row, value) in values.iter().enumerate() {
                    match value {
                        Some(value) => section.append_int64(id, row as u64, *value).unwrap(),
                        None => section.append_null(id, row as u64).unwrap(),
                    }
                }
            }
            Binary(_, values) => {
                for (row, value) in values.iter().enumerate() {
                    match value {
                        Some(value) => section.append_binary(id, row as u64, value).unwrap(),
                        None => section.append_null(id, row as u64).unwrap(),
                    }
                }
            }
        }
        ids.push(id);
    }
    let sort = (!order.is_empty()).then(|| SortInfo {
        columns: order
            .iter()
            .map(|&(column, direction)| OrderBy { column, direction })
            .collect(),
        schema_keys: Vec::new(),
    });
    section.finish(&ids, sort).unwrap()
}

/// Streams `{app="a"}` and `{app="b"}`, times 10 to 20, 2 rows each; changed as the caller likes.
fn streams_of(tenant: &str, change: impl FnOnce(&mut Vec<Column<'_>>)) -> FinishedSection {
    let bucket = |value| shard_bucket(&[("app", value)]);
    let mut columns = vec![
        Int64("stream_id", some(&[1, 2])),
        Int64("min_timestamp", some(&[10, 10])),
        Int64("max_timestamp", some(&[20, 20])),
        Int64("rows", some(&[2, 2])),
        Binary("label/app", some(&[b"a".as_slice(), b"b"])),
        Int64("__shard_bucket__", some(&[bucket("a"), bucket("b")])),
    ];
    change(&mut columns);
    section(SectionKind::Streams, tenant, &columns, &[])
}

const BY_STREAM: &[(u32, Direction)] = &[(0, Direction::Ascending), (1, Direction::Descending)];

/// Four records; changed as the caller likes.
fn logs_of(tenant: &str, change: impl FnOnce(&mut Vec<Column<'_>>)) -> FinishedSection {
    let lines: [&[u8]; 4] = [b"one", b"two", b"", b"four"];
    let mut columns = vec![
        Int64("stream_id", some(&[1, 1, 2, 2])),
        Int64("timestamp", some(&[20, 10, 15, 12])),
        Binary("metadata/user", vec![Some(b"x"), None, None, Some(b"y")]),
        Binary("message", some(&lines)),
    ];
    change(&mut columns);
    section(SectionKind::Logs, tenant, &columns, BY_STREAM)
}

fn object(sections: impl IntoIterator<Item = FinishedSection>) -> Vec<u8> {
    let mut object = ObjectWriter::new();
    sections.into_iter().for_each(|section| object.push_section(section));
    object.finish().unwrap()
}

fn plain_object() -> Vec<u8> {
    object([streams_of("t", |_| {}), logs_of("t", |_| {})])
}

/// A section taken apart.
struct Parts {
    table: SectionTable,
    lists: Vec<ColumnPages>,
    /// Page by page, in the order of columns.
    pages: Vec<Vec<u8>>,
    version_byte: u8,
}

/// The plain object with its logs section changed. Where parts are follows from the parts; what is said about them doesn't.
fn changed(change: impl FnOnce(&mut Parts)) -> Vec<u8> {
    changed_behind(streams_of("t", |_| {}), change)
}

/// As [`changed`], with other streams.
fn changed_behind(streams: FinishedSection, change: impl FnOnce(&mut Parts)) -> Vec<u8> {
    let object = plain_object();
    let Parsed::Complete(layout) = ObjectLayout::parse(&object).unwrap() else {
        unreachable!()
    };
    let slice = |range: &std::ops::Range<u64>| &object[range.start as usize..range.end as usize];
    let logs = &layout.sections()[1];
    let (metadata, data) = (slice(&logs.metadata), slice(&logs.data));
    let part = |offset: u64, length: u64| &metadata[offset as usize..(offset + length) as usize];
    let locator: Extent = decode_framed(&logs.extension).unwrap();
    let table: SectionTable = decode_framed(part(locator.offset, locator.length)).unwrap();
    let list =
        |column: &crate::proto::ColumnEntry| decode_framed(part(column.pages_offset, column.pages_length)).unwrap();
    let lists: Vec<ColumnPages> = table.columns.iter().map(list).collect();
    let page =
        |page: &crate::proto::PageEntry| data[page.offset as usize..(page.offset + page.length) as usize].to_vec();
    let pages = lists.iter().flat_map(|list| &list.pages).map(page).collect();
    let mut parts = Parts {
        table,
        lists,
        pages,
        version_byte: metadata[0],
    };
    change(&mut parts);

    let mut metadata = vec![parts.version_byte];
    for (column, list) in parts.table.columns.iter_mut().zip(&parts.lists) {
        column.pages_offset = metadata.len() as u64;
        column.pages_length = append_framed(&mut metadata, list);
    }
    let offset = metadata.len() as u64;
    let length = append_framed(&mut metadata, &parts.table);
    let mut extension = Vec::new();
    append_framed(&mut extension, &Extent { offset, length });
    let mut section = logs_of("t", |_| {});
    (section.extension, section.metadata, section.data) = (extension, metadata, parts.pages);
    self::object([streams, section])
}

/// The plain object with another header.
fn with_header(change: impl FnOnce(&mut FileIndex)) -> Vec<u8> {
    let object = plain_object();
    let length = u32::from_le_bytes(object[4..8].try_into().unwrap()) as usize;
    let mut index: FileIndex = decode_framed(&object[9..8 + length]).unwrap();
    change(&mut index);
    let mut header = vec![1];
    append_framed(&mut header, &index);
    let mut changed = MAGIC.to_vec();
    changed.extend_from_slice(&(header.len() as u32).to_le_bytes());
    changed.extend_from_slice(&header);
    changed.extend_from_slice(&object[8 + length..]);
    changed
}

fn stats(min: i64, max: i64) -> Option<StatsEntry> {
    Some(StatsEntry {
        min: Value::Int64(min).encode(),
        max: Value::Int64(max).encode(),
        cardinality: 0,
    })
}

fn bloom(words: [u64; 4]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

fn pointers(kinds: &[i64], streams: &[i64], filter: &[u8]) -> Vec<u8> {
    let path: &[u8] = b"objects/aa";
    let columns = [
        Binary("path/path", vec![Some(path); 2]),
        Int64("section", some(&[0, 0])),
        Int64("pointer_kind", some(kinds)),
        Int64("stream_id", some(streams)),
        Binary("values_bloom_filter/values_bloom_filter", vec![None, Some(filter)]),
    ];
    let pointers = section(SectionKind::Pointers, "t", &columns, &[(2, Direction::Ascending)]);
    object([streams_of("t", |_| {}), pointers])
}

fn index_pointers(starts: &[i64], ends: &[i64]) -> Vec<u8> {
    let path: &[u8] = b"indexes/aa";
    let columns = [
        Binary("path/path", vec![Some(path); 2]),
        Int64("min_timestamp/min_timestamp", some(starts)),
        Int64("max_timestamp/max_timestamp", some(ends)),
    ];
    object([section(
        SectionKind::IndexPointers,
        "t",
        &columns,
        &[(1, Direction::Ascending)],
    )])
}

/// One damage for each way to see it.
fn damages() -> Vec<(Check, Vec<u8>)> {
    let plain = plain_object();
    let edited = |edit: &dyn Fn(&mut Vec<u8>)| {
        let mut object = plain.clone();
        edit(&mut object);
        object
    };
    let good_bloom = bloom([64, 8, 64, 5]);
    let streams = |change: fn(&mut Vec<Column<'_>>)| object([streams_of("t", change), logs_of("t", |_| {})]);
    let logs = |change: fn(&mut Vec<Column<'_>>)| object([streams_of("t", |_| {}), logs_of("t", change)]);
    vec![
        (Check::Header, Vec::new()),
        (Check::Header, plain[..40].to_vec()),
        (Check::Header, edited(&|object| object[..4].copy_from_slice(b"THOR"))),
        (Check::Trailer, plain[..plain.len() - 1].to_vec()),
        (Check::Trailer, edited(&|object| object.push(0))),
        (Check::NoSections, with_header(|index| index.sections.clear())),
        (
            Check::Region,
            with_header(|index| {
                let placement = index.sections[1].placement.as_mut().unwrap();
                placement.data.as_mut().unwrap().offset += 1 << 20;
            }),
        ),
        (
            Check::Region,
            with_header(|index| {
                let first = index.sections[0].placement.unwrap().data;
                index.sections[1].placement.as_mut().unwrap().data = first;
            }),
        ),
        (
            Check::RegionLayout,
            edited(&|object| object.splice(object.len() - 4.., *b"xDOBJ").for_each(drop)),
        ),
        (Check::RegionLayout, with_header(|index| index.sections.swap(0, 1))),
        (
            Check::SectionMetadata,
            changed(|parts| parts.table.columns[0].rows += 1),
        ),
        (
            Check::SectionMetadata,
            with_header(|index| index.sections[1].extension.clear()),
        ),
        (Check::MetadataLayout, changed(|parts| parts.version_byte = 3)),
        (
            Check::PageOverlap,
            changed(|parts| parts.lists[0].pages[1].offset = parts.lists[0].pages[0].offset),
        ),
        (Check::PageLayout, changed(|parts| parts.pages.push(vec![0]))),
        (
            Check::ColumnTwice,
            changed(|parts| parts.table.columns[1].kind = parts.table.columns[0].kind),
        ),
        (
            Check::ColumnSums,
            changed(|parts| parts.table.columns[0].raw_bytes += 1),
        ),
        (
            Check::ColumnSums,
            changed(|parts| parts.table.columns[3].stored_bytes -= 1),
        ),
        (Check::ColumnMissing, logs(|columns| drop(columns.remove(1)))),
        (Check::ColumnMissing, logs(|columns| columns.swap(0, 1))),
        (
            Check::ColumnMissing,
            logs(|columns| columns[3] = Int64("message", some(&[1, 2, 3, 4]))),
        ),
        (
            Check::ColumnUnknown,
            logs(|columns| columns.push(Int64("hologram", some(&[1, 2, 3, 4])))),
        ),
        (Check::Page, changed(|parts| parts.pages[0][2] ^= 4)),
        (Check::Page, changed(|parts| parts.lists[0].pages[0].crc ^= 1)),
        (Check::Page, changed(|parts| parts.table.columns[3].compression = 3)),
        (
            Check::PageEmpty,
            changed(|parts| {
                let bytes = vec![0];
                let mut page = parts.lists[3].pages[1].clone();
                (page.rows, page.values, page.stats) = (0, 0, None);
                (page.raw_bytes, page.stored_bytes, page.length) = (1, 1, 1);
                (page.crc, page.offset) = (crc32c::crc32c(&bytes), page.offset + parts.pages[7].len() as u64);
                parts.lists[3].pages.push(page);
                parts.pages.push(bytes);
                let column = &mut parts.table.columns[3];
                (column.pages, column.raw_bytes, column.stored_bytes) =
                    (column.pages + 1, column.raw_bytes + 1, column.stored_bytes + 1);
            }),
        ),
        (
            Check::StatsWrong,
            changed(|parts| parts.lists[1].pages[0].stats = stats(11, 20)),
        ),
        (
            Check::StatsWrong,
            changed(|parts| parts.lists[1].pages[0].stats = stats(10, 19)),
        ),
        (
            Check::StatsWrong,
            changed(|parts| parts.table.columns[1].stats = stats(11, 20)),
        ),
        (
            Check::StatsLoose,
            changed(|parts| parts.lists[1].pages[0].stats = stats(9, 20)),
        ),
        (
            Check::StatsLoose,
            changed(|parts| parts.lists[1].pages[0].stats = Some(StatsEntry::default())),
        ),
        (
            Check::StatsLoose,
            changed(|parts| parts.table.columns[1].stats = stats(10, 21)),
        ),
        (
            Check::Cardinality,
            changed(|parts| parts.table.columns[2].stats.as_mut().unwrap().cardinality = 0),
        ),
        (
            Check::OrderColumns,
            changed(|parts| parts.table.ordering.as_mut().unwrap().columns[0].column = 9),
        ),
        (
            Check::OrderColumns,
            changed(|parts| parts.table.ordering.as_mut().unwrap().columns[0].direction = 7),
        ),
        (
            Check::Order,
            changed(|parts| parts.table.ordering.as_mut().unwrap().columns[0].direction = 2),
        ),
        (
            Check::Order,
            logs(|columns| columns[1] = Int64("timestamp", some(&[10, 20, 15, 12]))),
        ),
        (
            Check::Order,
            changed_behind(
                streams_of("t", |columns| {
                    columns[4] = Binary("label/app", some(&[b"b".as_slice(), b"a"]));
                }),
                |parts| parts.table.ordering.as_mut().unwrap().schema_keys = vec!["label:app".to_owned()],
            ),
        ),
        (Check::Order, pointers(&[2, 1], &[1, 1], &good_bloom)),
        (Check::OrderLoose, index_pointers(&[5, 4], &[9, 9])),
        (
            Check::OrderLoose,
            object([streams_of("t", |_| {}), logs_of("t", |_| {}), logs_of("t", |_| {})]),
        ),
        (
            Check::Null,
            logs(|columns| columns[1] = Int64("timestamp", vec![Some(20), None, Some(15), Some(12)])),
        ),
        (
            Check::Null,
            logs(|columns| columns[0] = Int64("stream_id", some(&[1, 1, 2]))),
        ),
        (
            Check::Value,
            streams(|columns| columns[1] = Int64("min_timestamp", some(&[10, 21]))),
        ),
        (
            Check::Value,
            streams(|columns| columns[4] = Binary("label/app", some(&[b"a".as_slice(), b"\xff"]))),
        ),
        (Check::Value, index_pointers(&[5, 10], &[9, 9])),
        (Check::Value, pointers(&[1, 3], &[1, 2], &good_bloom)),
        (Check::Value, pointers(&[1, 2], &[1, 2], b"short")),
        (Check::Value, pointers(&[1, 2], &[1, 2], &bloom([65, 8, 65, 5]))),
        (Check::Value, pointers(&[1, 2], &[1, 2], &bloom([64, 1 << 63, 64, 5]))),
        (
            Check::Extension,
            object([FinishedSection {
                metadata: b"of another version".to_vec(),
                ..section(SectionKind::Volume, "t", &[], &[])
            }]),
        ),
        (
            Check::Extension,
            object([section(
                SectionKind::Volume,
                "t",
                &[Int64("stream_id", some(&[1, 2]))],
                &[],
            )]),
        ),
        (
            Check::StreamsSection,
            object([streams_of("t", |_| {}), logs_of("t", |_| {}), logs_of("u", |_| {})]),
        ),
        (
            Check::StreamsSection,
            object([streams_of("t", |_| {}), streams_of("t", |_| {}), logs_of("t", |_| {})]),
        ),
        (Check::StreamsMissing, object([logs_of("t", |_| {})])),
        (
            Check::StreamNumbers,
            streams(|columns| columns[0] = Int64("stream_id", some(&[1, 3]))),
        ),
        (
            Check::StreamNumbers,
            streams(|columns| columns[0] = Int64("stream_id", some(&[0, 1]))),
        ),
        (
            Check::StreamNumbers,
            streams(|columns| columns[0] = Int64("stream_id", some(&[2, 2]))),
        ),
        (
            Check::StreamTwice,
            streams(|columns| columns[4] = Binary("label/app", some(&[b"a".as_slice(), b"a"]))),
        ),
        (
            Check::StreamReference,
            logs(|columns| columns[0] = Int64("stream_id", some(&[1, 1, 2, 3]))),
        ),
        (Check::StreamReference, pointers(&[1, 1], &[1, 3], &good_bloom)),
        (
            Check::StreamTimes,
            streams(|columns| columns[2] = Int64("max_timestamp", some(&[19, 20]))),
        ),
        (
            Check::StreamRows,
            streams(|columns| columns[3] = Int64("rows", some(&[2, 1]))),
        ),
        (
            Check::ShardBucket,
            streams(|columns| columns[5] = Int64("__shard_bucket__", some(&[40, 40]))),
        ),
    ]
}

#[test]
fn nothing_is_found_where_nothing_is_wrong() {
    let good_bloom = bloom([64, 8, 64, 5]);
    let objects = [
        plain_object(),
        changed(|_| {}),
        with_header(|_| {}),
        pointers(&[1, 2], &[1, 2], &good_bloom),
        index_pointers(&[5, 6], &[9, 8]),
        object([
            streams_of("t", |_| {}),
            streams_of("u", |_| {}),
            logs_of("t", |_| {}),
            logs_of("u", |_| {}),
        ]),
    ];
    for object in objects {
        let report = verify(&object);
        assert_eq!(report.findings, [], "{:?}", report.checked);
    }
    let checked = Checked {
        sections: 2,
        opaque_sections: 0,
        columns: 10,
        pages: 14,
        page_bytes: 86,
        rows: 28,
        values: 26,
    };
    assert_eq!(verify(&plain_object()).checked, checked);
}

#[test]
fn every_damage_is_found() {
    let damages = damages();
    for (number, (check, object)) in damages.iter().enumerate() {
        let report = verify(object);
        let listed: Vec<String> = report.findings.iter().map(Finding::to_string).collect();
        assert!(
            report.has(*check),
            "damage {number} is not found as {}: {listed:#?}",
            check.name()
        );
        assert_eq!(
            report.is_sound(),
            report
                .findings
                .iter()
                .all(|finding| finding.check.severity() == Severity::Note)
        );
    }
    for check in Check::ALL {
        let is_tested = damages.iter().any(|(damage, _)| damage == check) || *check == Check::NotChecked;
        assert!(is_tested, "no damage for {}", check.name());
    }
}

#[test]
fn what_is_not_compared_is_reported() {
    let report = verify_within(&plain_object(), 1000);
    assert!(report.has(Check::NotChecked) && !report.is_sound());
}

/// Otherwise a small object could have its pages decoded any number of times.
#[test]
fn sections_that_share_bytes_are_not_looked_into() {
    let report = verify(&with_header(|index| {
        let logs = index.sections[1].clone();
        index.sections.extend(std::iter::repeat_n(logs, 50));
    }));
    assert_eq!(report.checked.sections, 2);
    // Metadata and data of each.
    assert_eq!(report.errors, 100);
    assert!(report.findings.iter().all(|finding| finding.check == Check::Region));
}

#[test]
fn objects_whose_sections_share_bytes_are_refused_as_a_whole() {
    let object = with_header(|index| {
        let logs = index.sections[1].clone();
        index.sections.push(logs);
    });
    let error = WholeObject::parse(&object).unwrap_err().to_string();
    assert!(error.contains("header and regions of "), "{error}");
}

#[test]
fn findings_are_listed_up_to_a_limit() {
    let columns = [Int64("stream_id", vec![None; 4]), Int64("timestamp", vec![None; 4])];
    let many = (0..700).map(|_| section(SectionKind::Logs, "t", &columns, &[]));
    let report = verify(&object(many));
    assert_eq!(report.findings.len(), MAX_FINDINGS);
    assert_eq!((report.errors, report.notes), (1400, 700));
}

#[test]
fn a_finding_says_where() {
    let object = changed(|parts| parts.lists[1].pages[1].crc ^= 1);
    let report = verify(&object);
    let texts: Vec<String> = report.findings.iter().map(Finding::to_string).collect();
    let start = "error page: section 1, column timestamp, page 1, offset ";
    assert!(
        texts.len() == 1 && texts[0].starts_with(start) && texts[0].contains("checksum"),
        "{texts:?}"
    );
}

#[test]
fn the_documentation_lists_all_checks() {
    let row = |check: &Check| {
        format!(
            "| `{}` | {} | {} |\n",
            check.name(),
            check.severity().name(),
            check.meaning()
        )
    };
    let rows: String = Check::ALL.iter().map(row).collect();
    let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/format.md");
    assert!(
        std::fs::read_to_string(page).unwrap().contains(&rows),
        "docs/format.md should have\n{rows}"
    );
}
