//! Writes what was found in an object.

use super::object::{Object, Part};
use super::rows::Rows;
use crate::plain_table::PlainTable;
use crate::time;
use crate::units::about_bytes;
use jiff::tz::TimeZone;
use serde_json::json;
use std::collections::BTreeSet;
use std::io::{self, Write};
use timberline_dataobj::{ColumnMeta, Direction, PageMeta, SectionMeta, Stats, Value, column};

/// Longest text of a value in the readable form.
const VALUE_CHARS: usize = 40;
/// Longest text of a value in a row.
const ROW_VALUE_CHARS: usize = 200;

/// Writes the readable form.
pub(super) fn text(out: &mut impl Write, name: &str, object: &Object, rows: &[Rows], pages: bool) -> io::Result<()> {
    let size = about_bytes(object.size_bytes);
    writeln!(
        out,
        "{name}: {size}, header {} bytes, {} sections",
        object.header_bytes,
        object.sections.len()
    )?;
    for (part, rows) in object.sections.iter().zip(rows) {
        writeln!(out)?;
        section(out, part, pages)?;
        if let (Some(meta), false) = (&part.meta, rows.is_empty()) {
            some_rows(out, meta, rows)?;
        }
    }
    Ok(())
}

fn section(out: &mut impl Write, part: &Part, pages: bool) -> io::Result<()> {
    let section = &part.section;
    let bytes = |range: &std::ops::Range<u64>| about_bytes(range.end - range.start);
    write!(
        out,
        "section {}: {} v{}, tenant {:?}",
        section.index, section.kind, section.version, section.tenant
    )?;
    writeln!(
        out,
        ", data {}, metadata {}",
        bytes(&section.data),
        bytes(&section.metadata)
    )?;
    let Some(meta) = &part.meta else {
        return writeln!(out, "  of a kind that this version does not know");
    };
    let raw: u64 = meta.columns.iter().map(|c| c.raw_bytes).sum();
    let stored: u64 = meta.columns.iter().map(|c| c.stored_bytes).sum();
    writeln!(
        out,
        "  {} rows, {} columns, {} raw, ratio {}",
        meta.rows,
        meta.columns.len(),
        about_bytes(raw),
        ratio(raw, stored)
    )?;
    if let Some(order) = order(meta) {
        writeln!(out, "  sorted by {order}")?;
    }
    writeln!(out, "{}", columns_table(meta))?;
    if pages {
        writeln!(out, "{}", pages_table(meta))?;
    }
    Ok(())
}

fn order(meta: &SectionMeta) -> Option<String> {
    let sort = meta.sort.as_ref()?;
    let mut keys: Vec<String> = sort.schema_keys.clone();
    for by in &sort.columns {
        let name = meta
            .columns
            .get(by.column as usize)
            .map_or_else(|| format!("column {}", by.column), title);
        keys.push(format!("{name} {}", direction(by.direction)));
    }
    (!keys.is_empty()).then(|| keys.join(", "))
}

fn direction(direction: Direction) -> String {
    match direction {
        Direction::Ascending => "ascending".to_owned(),
        Direction::Descending => "descending".to_owned(),
        Direction::Other(number) => format!("direction {number}"),
    }
}

fn columns_table(meta: &SectionMeta) -> PlainTable {
    let mut table = PlainTable::new([
        "column",
        "type",
        "values",
        "pages",
        "encoding",
        "compression",
        "stored",
        "raw",
        "ratio",
        "distinct",
        "min",
        "max",
    ]);
    for column in &meta.columns {
        table.row(vec![
            title(column),
            lower(column.physical),
            column.values.to_string(),
            column.pages.len().to_string(),
            encodings(column),
            lower(column.compression),
            about_bytes(column.stored_bytes),
            about_bytes(column.raw_bytes),
            ratio(column.raw_bytes, column.stored_bytes),
            column
                .stats
                .as_ref()
                .filter(|s| s.cardinality > 0)
                .map(|s| s.cardinality.to_string())
                .unwrap_or_default(),
            bound(column, column.stats.as_ref(), |s| s.min.as_ref()),
            bound(column, column.stats.as_ref(), |s| s.max.as_ref()),
        ]);
    }
    table.align_right(2..4);
    table.align_right(6..10);
    table
}

fn pages_table(meta: &SectionMeta) -> PlainTable {
    let mut table = PlainTable::new([
        "column", "page", "offset", "rows", "values", "encoding", "stored", "raw", "ratio", "crc32c", "min", "max",
    ]);
    for column in &meta.columns {
        for (number, page) in column.pages.iter().enumerate() {
            table.row(vec![
                title(column),
                number.to_string(),
                page.range.start.to_string(),
                page.rows.to_string(),
                page.values.to_string(),
                lower(page.encoding),
                about_bytes(stored(page)),
                about_bytes(page.raw_bytes),
                ratio(page.raw_bytes, stored(page)),
                format!("{:08x}", page.crc),
                bound(column, page.stats.as_ref(), |s| s.min.as_ref()),
                bound(column, page.stats.as_ref(), |s| s.max.as_ref()),
            ]);
        }
    }
    table.align_right(1..5);
    table.align_right(6..9);
    table
}

fn some_rows(out: &mut impl Write, meta: &SectionMeta, rows: &Rows) -> io::Result<()> {
    for (number, row) in rows.iter().enumerate() {
        write!(out, "  row {number}:")?;
        for (column, value) in meta.columns.iter().zip(row) {
            if let Some(value) = value {
                write!(out, " {}={}", title(column), readable(column, value, ROW_VALUE_CHARS))?;
            }
        }
        writeln!(out)?;
    }
    Ok(())
}

/// `timestamp`, or `label/app` for a column with a tag.
fn title(column: &ColumnMeta) -> String {
    if column.tag.is_empty() {
        column.logical.clone()
    } else {
        format!("{}/{}", column.logical, column.tag)
    }
}

fn lower(value: impl std::fmt::Debug) -> String {
    format!("{value:?}").to_lowercase()
}

fn encodings(column: &ColumnMeta) -> String {
    let all: BTreeSet<String> = column.pages.iter().map(|page| lower(page.encoding)).collect();
    all.into_iter().collect::<Vec<_>>().join(",")
}

fn stored(page: &PageMeta) -> u64 {
    page.range.end - page.range.start
}

fn ratio(raw: u64, stored: u64) -> String {
    if stored == 0 {
        String::new()
    } else {
        format!("{:.1}", raw as f64 / stored as f64)
    }
}

fn bound(column: &ColumnMeta, stats: Option<&Stats>, end: impl Fn(&Stats) -> Option<&Value>) -> String {
    stats
        .and_then(end)
        .map(|value| readable(column, value, VALUE_CHARS))
        .unwrap_or_default()
}

fn readable(column: &ColumnMeta, value: &Value, most_chars: usize) -> String {
    let is_time = [column::TIMESTAMP, column::MIN_TIMESTAMP, column::MAX_TIMESTAMP].contains(&column.logical.as_str());
    match value {
        Value::Int64(ns) if is_time => time::display(*ns, &TimeZone::UTC),
        Value::Int64(number) => number.to_string(),
        Value::Uint64(number) => number.to_string(),
        Value::Binary(bytes) => {
            let text = String::from_utf8_lossy(bytes);
            let mut short: String = text.chars().take(most_chars).collect();
            if short.len() < text.len() {
                short.push('…');
            }
            format!("{short:?}")
        }
    }
}

/// The form for programs.
pub(super) fn json(object: &Object, rows: &[Rows]) -> serde_json::Value {
    let sections: Vec<_> = object
        .sections
        .iter()
        .zip(rows)
        .map(|(part, rows)| section_json(part, rows))
        .collect();
    json!({"size_bytes": object.size_bytes, "header_bytes": object.header_bytes, "sections": sections})
}

fn section_json(part: &Part, rows: &Rows) -> serde_json::Value {
    let section = &part.section;
    let mut document = json!({
        "index": section.index,
        "namespace": section.kind.namespace(),
        "kind": section.kind.name(),
        "version": section.version,
        "tenant": section.tenant,
        "data": [section.data.start, section.data.end],
        "metadata": [section.metadata.start, section.metadata.end],
    });
    if let Some(meta) = &part.meta {
        document["row_count"] = meta.rows.into();
        document["sorted_by"] = order(meta).into();
        document["columns"] = meta.columns.iter().map(column_json).collect::<Vec<_>>().into();
        if !rows.is_empty() {
            let row = |row: &Vec<Option<Value>>| row.iter().map(|v| v.as_ref().map(value_json)).collect::<Vec<_>>();
            document["rows"] = json!(rows.iter().map(row).collect::<Vec<_>>());
        }
    }
    document
}

fn column_json(column: &ColumnMeta) -> serde_json::Value {
    let page = |page: &PageMeta| {
        json!({
            "range": [page.range.start, page.range.end],
            "rows": page.rows,
            "values": page.values,
            "encoding": lower(page.encoding),
            "raw_bytes": page.raw_bytes,
            "crc32c": page.crc,
            "min": page.stats.as_ref().and_then(|s| s.min.as_ref()).map(value_json),
            "max": page.stats.as_ref().and_then(|s| s.max.as_ref()).map(value_json),
        })
    };
    json!({
        "logical": column.logical,
        "tag": column.tag,
        "physical": lower(column.physical),
        "rows": column.rows,
        "values": column.values,
        "compression": lower(column.compression),
        "stored_bytes": column.stored_bytes,
        "raw_bytes": column.raw_bytes,
        "cardinality": column.stats.as_ref().map(|s| s.cardinality),
        "min": column.stats.as_ref().and_then(|s| s.min.as_ref()).map(value_json),
        "max": column.stats.as_ref().and_then(|s| s.max.as_ref()).map(value_json),
        "pages": column.pages.iter().map(page).collect::<Vec<_>>(),
    })
}

fn value_json(value: &Value) -> serde_json::Value {
    match value {
        Value::Int64(number) => json!(number),
        Value::Uint64(number) => json!(number),
        Value::Binary(bytes) => json!(String::from_utf8_lossy(bytes)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::object::Object;
    use super::super::rows;
    use super::*;
    use timberline_dataobj::*;

    fn object() -> Vec<u8> {
        let options = WriterOptions::default();
        let mut streams = StreamsWriter::new("t", &options);
        let labels = [("app", "a")];
        let times = (1_780_315_200_000_000_000, 1_780_315_201_000_000_000);
        let row = StreamRow {
            id: 1,
            min_timestamp_ns: times.0,
            max_timestamp_ns: times.1,
            rows: 2,
            uncompressed_bytes: 9,
            labels: &labels,
        };
        streams.append(&row).unwrap();
        let mut logs = LogsWriter::new("t", SortOrder::StreamAscending, &options);
        let metadata = [("trace", b"x".as_slice())];
        logs.append(&LogRow {
            stream_id: 1,
            timestamp_ns: times.1,
            line: b"second",
            metadata: &metadata,
        })
        .unwrap();
        logs.append(&LogRow {
            stream_id: 1,
            timestamp_ns: times.0,
            line: b"one\xff",
            metadata: &[],
        })
        .unwrap();
        let mut object = ObjectWriter::new();
        object.push_section(streams.finish().unwrap());
        object.push_section(logs.finish().unwrap());
        object.finish().unwrap().to_vec()
    }

    #[test]
    fn everything_is_shown() {
        let bytes = object();
        let object = Object::parse(&bytes).unwrap();
        let rows: Vec<Rows> = object
            .sections
            .iter()
            .map(|s| rows::first(&bytes, s, 5).unwrap())
            .collect();
        let mut out = Vec::new();
        text(&mut out, "x", &object, &rows, true).unwrap();
        let out = String::from_utf8(out).unwrap();
        for part in [
            "section 0: streams v",
            "section 1: logs v",
            "tenant \"t\"",
            "label/app",
            "metadata/trace",
            "2026-06-01T12:00:01Z",
            "message=\"second\"",
            "sorted by",
            "delta",
            "zstd",
        ] {
            assert!(out.contains(part), "{part} is missing in:\n{out}");
        }
        let document = json(&object, &rows);
        assert_eq!(document["sections"][1]["row_count"], 2);
        assert_eq!(document["sections"][1]["rows"].as_array().unwrap().len(), 2);
    }

    #[test]
    fn damaged_files_are_errors() {
        let bytes = object();
        for length in 0..bytes.len() {
            if let Ok(object) = Object::parse(&bytes[..length]) {
                let found: Result<Vec<_>, _> = object
                    .sections
                    .iter()
                    .map(|s| rows::first(&bytes[..length], s, 5))
                    .collect();
                let ends_in_the_last_magic = length >= bytes.len() - 4;
                assert_eq!(
                    found.is_ok(),
                    ends_in_the_last_magic,
                    "cut to {length} of {} bytes",
                    bytes.len()
                );
            }
        }
    }
}
