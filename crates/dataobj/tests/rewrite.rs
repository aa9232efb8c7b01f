//! Written from the same values with the same settings, sections come out as Loki writes them: page cuts, presence,
//! values, statistics and metadata; whole pages too where nothing is compressed.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod common;

use common::*;
use serde_json::{Value as Json, json};
use timberline_dataobj::*;

/// What depends on the compressor's implementation, or on where a section stands in its object.
const VOLATILE: [&str; 5] = [
    "compressed_size",
    "crc32",
    "data_offset",
    "data_size",
    "column_metadata",
];

fn options(page_bytes: usize, page_rows: usize) -> WriterOptions {
    WriterOptions {
        page_bytes,
        page_rows,
        zstd_level: 3,
        cut: PageCut::Independent,
    }
}

/// Writes some columns of a section again, value by value, into an object of their own.
fn rewrite(decoded: &DecodedSection, columns: &[usize], options: &WriterOptions) -> Vec<u8> {
    let Section {
        kind, version, tenant, ..
    } = &decoded.section;
    let explicit_nulls = *kind == SectionKind::Postings;
    let mut writer = SectionWriter::new(kind.clone(), *version, tenant, options);
    let mut ids = Vec::new();
    for &position in columns {
        let (column, cells) = (&decoded.meta.columns[position], &decoded.columns[position]);
        let id = writer.add_column(ColumnSpec {
            physical: column.physical,
            logical: column.logical.clone(),
            tag: column.tag.clone(),
            compression: column.compression,
            range: column.pages.iter().any(|page| page.stats.is_some()),
            cardinality: column.stats.as_ref().is_some_and(|stats| stats.cardinality > 0),
        });
        for (row, cell) in cells.iter().enumerate() {
            match cell {
                Cell::Null if explicit_nulls => writer.append_null(id, row as u64).unwrap(),
                Cell::Null => {}
                Cell::Int64(value) => writer.append_int64(id, row as u64, *value).unwrap(),
                Cell::Binary(value) => writer.append_binary(id, row as u64, value).unwrap(),
            }
        }
        writer.fill(id, cells.len() as u64).unwrap();
        ids.push(id);
    }
    let mut object = ObjectWriter::new();
    object.push_section(writer.finish(&ids, decoded.meta.sort.clone()).unwrap());
    object.finish().unwrap()
}

fn without_volatile(mut columns: Json) -> Json {
    let strip = |json: &mut Json| {
        let fields = json.as_object_mut().unwrap();
        fields.retain(|key, _| !VOLATILE.contains(&key.as_str()));
    };
    for column in columns.as_array_mut().unwrap() {
        strip(column);
        column["pages"].as_array_mut().unwrap().iter_mut().for_each(strip);
        // Counts the streams of all earlier sections of the tenant too.
        if column["logical"] == "stream_id" {
            column["cardinality"] = json!("varies");
        }
    }
    columns
}

/// Presence and, where nothing is compressed, the values.
fn comparable_page_bytes<'a>(object: &'a [u8], column: &ColumnMeta, page: &PageMeta) -> &'a [u8] {
    let bytes = slice(object, &page.range);
    match column.compression {
        Compression::None => bytes,
        _ => &bytes[..bytes.len().min(1 + bytes[0] as usize)],
    }
}

fn assert_rewritten(original: &[u8], decoded: &DecodedSection, columns: &[usize], options: &WriterOptions, path: &str) {
    let object = rewrite(decoded, columns, options);
    let rewritten = decode_object(&object).unwrap().remove(0);
    let original_json = decoded.json(0);
    let want: Vec<&Json> = columns.iter().map(|&i| &original_json["columns"][i]).collect();
    assert_same(
        &without_volatile(rewritten.json(0)["columns"].take()),
        &without_volatile(json!(want)),
        path,
    );
    for (position, column) in columns.iter().zip(&rewritten.meta.columns) {
        for (page, want) in column.pages.iter().zip(&decoded.meta.columns[*position].pages) {
            assert_eq!(
                comparable_page_bytes(&object, column, page),
                comparable_page_bytes(original, column, want),
                "{path} {} {:?}",
                column.logical,
                column.tag
            );
        }
    }
}

#[test]
fn sections_of_loki_are_written_identically() {
    for stem in FIXTURES {
        let json = fixture_json(stem);
        let setting = |name: &str| json["settings"].get(name).and_then(Json::as_u64).map(|n| n as usize);
        let options = match (setting("page_size_hint"), setting("page_max_rows")) {
            (Some(bytes), Some(rows)) => options(bytes, rows),
            _ if stem.starts_with("toc") => options(4 << 20, 0),
            _ if stem == "index-postings-shards" => options(0, 0),
            _ => continue,
        };
        let object = fixture_object(stem);
        for decoded in decode_object(&object).unwrap() {
            // Its page cuts depend on the stripes from which the section was merged.
            if stem == "logs-stripe-merged" && decoded.section.kind == SectionKind::Logs {
                continue;
            }
            let columns: Vec<usize> = (0..decoded.columns.len()).collect();
            let path = format!("{stem}[{}]", decoded.section.index);
            assert_rewritten(&object, &decoded, &columns, &options, &path);
        }
    }
}

#[test]
fn edge_cases_are_written_identically() {
    let object = fixture_object("edge-cases");
    for decoded in decode_object(&object).unwrap() {
        for (position, column) in decoded.meta.columns.iter().enumerate() {
            let (page_bytes, page_rows) = match column.tag.as_str() {
                "late" => (64, 8),
                "plain" => (40, 0),
                "snappy" => (200, 0),
                "zstd" => (0, 10),
                _ => (0, 0),
            };
            let path = format!("edge-cases {} {}", column.logical, column.tag);
            assert_rewritten(&object, &decoded, &[position], &options(page_bytes, page_rows), &path);
        }
    }
}

/// The object that the specification annotates byte by byte (chapter 15).
#[test]
fn the_annotated_object_is_written_identically() {
    let options = options(2 << 20, 10_000);
    let timestamp_ns = 1_700_000_000_000_000_000;
    let mut streams = StreamsWriter::new("t", &options);
    let labels = [("app", "a")];
    let stream = StreamRow {
        id: 1,
        min_timestamp_ns: timestamp_ns,
        max_timestamp_ns: timestamp_ns,
        rows: 1,
        uncompressed_bytes: 2,
        labels: &labels,
    };
    streams.append(&stream).unwrap();
    let mut logs = LogsWriter::new("t", SortOrder::StreamAscending, &options);
    logs.append(&LogRow {
        stream_id: 1,
        timestamp_ns,
        line: b"hi",
        metadata: &[],
    })
    .unwrap();
    let mut object = ObjectWriter::new();
    object.push_section(streams.finish().unwrap());
    object.push_section(logs.finish().unwrap());
    let object = object.finish().unwrap();

    let annotated = fixture_object("logs-one-record");
    // Outside of compressed values, and of the page entries that hold their checksums, every byte is the same.
    assert_eq!(object.len(), annotated.len());
    let mut differing: Vec<usize> = (0..object.len()).filter(|&i| object[i] != annotated[i]).collect();
    for section in decode_object(&annotated).unwrap() {
        for column in section
            .meta
            .columns
            .iter()
            .filter(|column| column.compression == Compression::Zstd)
        {
            let values = column.pages[0].range.start + 3..column.pages[0].range.end;
            differing.retain(|&i| !values.contains(&(i as u64)) && !column.metadata.contains(&(i as u64)));
        }
    }
    assert_eq!(differing, [0usize; 0]);
}
