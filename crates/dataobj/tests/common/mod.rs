//! What the integration tests share: fixtures, and an object decoded into plain rows and into the JSON that describes it.

#![allow(dead_code, reason = "each test binary uses a part")]
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use arrow_array::{BinaryArray, Int64Array};
use serde_json::{Value as Json, json};
use std::ops::Range;
use std::path::{Path, PathBuf};
use timberline_dataobj::*;

/// All fixtures.
pub(crate) const FIXTURES: [&str; 15] = [
    "edge-cases",
    "foreign-written",
    "index-full",
    "index-merged",
    "index-one-record",
    "index-postings-shards",
    "index-schema-sorted",
    "logs-one-record",
    "logs-other-ids",
    "logs-schema-sorted",
    "logs-stream-asc",
    "logs-stripe-merged",
    "logs-timestamp-desc",
    "toc-1",
    "toc-2",
];

pub(crate) fn fixture_path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

pub(crate) fn fixture_object(stem: &str) -> Vec<u8> {
    std::fs::read(fixture_path(&format!("{stem}.dataobj"))).unwrap()
}

pub(crate) fn fixture_json(stem: &str) -> Json {
    let compressed = std::fs::read(fixture_path(&format!("{stem}.json.zst"))).unwrap();
    serde_json::from_slice(&zstd::stream::decode_all(compressed.as_slice()).unwrap()).unwrap()
}

/// A value of any column; null is absence.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Cell {
    Null,
    Int64(i64),
    Binary(Vec<u8>),
}

/// A section with its columns decoded.
pub(crate) struct DecodedSection {
    pub(crate) section: Section,
    pub(crate) meta: SectionMeta,
    /// By column, then by row; each as long as its column says.
    pub(crate) columns: Vec<Vec<Cell>>,
}

pub(crate) fn slice<'a>(object: &'a [u8], range: &Range<u64>) -> &'a [u8] {
    let range = range.start.min(object.len() as u64) as usize..range.end.min(object.len() as u64) as usize;
    object.get(range).unwrap_or_default()
}

pub(crate) fn layout(object: &[u8]) -> Result<ObjectLayout, Error> {
    match ObjectLayout::parse(object)? {
        Parsed::Complete(layout) => Ok(layout),
        Parsed::NeedBytes(bytes) => Err(Error::Unsupported(format!("truncated: needs {bytes}"))),
    }
}

/// Decodes everything in an object.
pub(crate) fn decode_object(object: &[u8]) -> Result<Vec<DecodedSection>, Error> {
    let mut scratch = Scratch::new();
    let mut sections = Vec::new();
    for section in layout(object)?.sections() {
        let meta = SectionMeta::parse(section, slice(object, &section.metadata))?;
        let mut columns = Vec::new();
        for column in &meta.columns {
            let mut cells = Vec::new();
            for page in &column.pages {
                cells.extend(decode_page(column, page, slice(object, &page.range), &mut scratch)?);
            }
            columns.push(cells);
        }
        sections.push(DecodedSection {
            section: section.clone(),
            meta,
            columns,
        });
    }
    Ok(sections)
}

pub(crate) fn decode_page(
    column: &ColumnMeta,
    page: &PageMeta,
    bytes: &[u8],
    scratch: &mut Scratch,
) -> Result<Vec<Cell>, Error> {
    match column.physical {
        Physical::Int64 => Ok(int64_cells(&decode_int64(column, page, bytes, scratch)?)),
        _ => Ok(binary_cells(&decode_binary(column, page, bytes, scratch)?)),
    }
}

pub(crate) fn int64_cells(array: &Int64Array) -> Vec<Cell> {
    array
        .iter()
        .map(|value| value.map_or(Cell::Null, Cell::Int64))
        .collect()
}

pub(crate) fn binary_cells(array: &BinaryArray) -> Vec<Cell> {
    array
        .iter()
        .map(|value| value.map_or(Cell::Null, |value| Cell::Binary(value.to_vec())))
        .collect()
}

impl DecodedSection {
    /// Row by row; short columns are null at their end.
    pub(crate) fn rows(&self) -> Vec<Vec<Cell>> {
        let cell = |column: &Vec<Cell>, row: usize| column.get(row).cloned().unwrap_or(Cell::Null);
        (0..self.meta.rows as usize)
            .map(|row| self.columns.iter().map(|column| cell(column, row)).collect())
            .collect()
    }

    /// As `tests/fixtures/README.md` describes.
    pub(crate) fn json(&self, body_start: u64) -> Json {
        let Section {
            index,
            kind,
            version,
            tenant,
            metadata,
            data,
            extension,
        } = &self.section;
        let columns: Vec<Json> = self
            .meta
            .columns
            .iter()
            .map(|column| self.column_json(column))
            .collect();
        let rows: Vec<Json> = self
            .rows()
            .iter()
            .map(|row| {
                row.iter()
                    .zip(&self.meta.columns)
                    .map(|(cell, column)| cell_json(cell, &column.logical))
                    .collect()
            })
            .collect();
        let sort = self.meta.sort.as_ref();
        let direction = |direction| if direction == Direction::Ascending { 1 } else { 2 };
        let sorts: Vec<Json> = sort
            .iter()
            .flat_map(|s| &s.columns)
            .map(|by| json!([by.column, direction(by.direction)]))
            .collect();
        json!({
            "index": index,
            "namespace": kind.namespace(),
            "kind": kind.name(),
            "version": version,
            "tenant": tenant,
            "metadata_region": [metadata.start - body_start, metadata.end - metadata.start],
            "data_region": [data.start - body_start, data.end - data.start],
            "extension_data_hex": hex(extension),
            "dictionary": self.meta.strings,
            "has_sort_info": sort.is_some(),
            "column_sorts": sorts,
            "schema_labels": sort.map(|s| s.schema_keys.clone()).unwrap_or_default(),
            "columns": columns,
            "row_count": self.meta.rows,
            "rows": rows,
        })
    }

    fn column_json(&self, column: &ColumnMeta) -> Json {
        let ColumnMeta {
            logical, tag, stats, ..
        } = column;
        let pages: Vec<Json> = column.pages.iter().map(|page| self.page_json(column, page)).collect();
        let (min, max) = range_json(stats.as_ref(), logical);
        json!({
            "physical": match column.physical {
                Physical::Int64 => "int64",
                Physical::Binary => "binary",
                _ => "other",
            },
            "logical": logical,
            "tag": tag,
            "compression": match column.compression {
                Compression::None => "none",
                Compression::Snappy => "snappy",
                Compression::Zstd => "zstd",
                Compression::Other(_) => "other",
            },
            "pages_count": column.pages.len(),
            "rows_count": column.rows,
            "values_count": column.values,
            "uncompressed_size": column.raw_bytes,
            "compressed_size": column.stored_bytes,
            "column_metadata": [
                column.metadata.start - self.section.metadata.start,
                column.metadata.end - column.metadata.start
            ],
            "has_statistics": stats.is_some(),
            "min": min,
            "max": max,
            "cardinality": stats.as_ref().map_or(0, |stats| stats.cardinality),
            "pages": pages,
        })
    }

    fn page_json(&self, column: &ColumnMeta, page: &PageMeta) -> Json {
        let (min, max) = range_json(page.stats.as_ref(), &column.logical);
        json!({
            "encoding": if page.encoding == Encoding::Delta { "delta" } else { "plain" },
            "rows_count": page.rows,
            "values_count": page.values,
            "uncompressed_size": page.raw_bytes,
            "compressed_size": page.range.end - page.range.start,
            "crc32": page.crc,
            "data_offset": page.range.start - self.section.data.start,
            "data_size": page.range.end - page.range.start,
            "has_statistics": page.stats.is_some(),
            "min": min,
            "max": max,
        })
    }
}

/// The whole description of an object, as far as it follows from the object alone.
pub(crate) fn object_json(object: &[u8]) -> Result<Json, Error> {
    let layout = layout(object)?;
    let sections: Vec<Json> = decode_object(object)?
        .iter()
        .map(|section| section.json(layout.body_start))
        .collect();
    Ok(json!({
        "size": object.len(),
        "body_start": layout.body_start,
        "file_dictionary": layout.strings,
        "sections": sections,
    }))
}

/// Fails at the first difference, naming where it is.
pub(crate) fn assert_same(got: &Json, want: &Json, path: &str) {
    match (got, want) {
        (Json::Object(got), Json::Object(want)) => {
            assert_eq!(
                got.keys().collect::<Vec<_>>(),
                want.keys().collect::<Vec<_>>(),
                "keys of {path}"
            );
            got.iter()
                .for_each(|(key, got)| assert_same(got, &want[key], &format!("{path}.{key}")));
        }
        (Json::Array(got), Json::Array(want)) => {
            assert_eq!(got.len(), want.len(), "length of {path}");
            got.iter()
                .zip(want)
                .enumerate()
                .for_each(|(i, (got, want))| assert_same(got, want, &format!("{path}[{i}]")));
        }
        _ => assert_eq!(got, want, "{path}"),
    }
}

fn range_json(stats: Option<&Stats>, logical: &str) -> (Json, Json) {
    let json = |value: Option<&Value>| match value {
        None => Json::Null,
        Some(Value::Int64(value)) => json!(value),
        Some(Value::Uint64(value)) => json!(value),
        Some(Value::Binary(value)) => cell_json(&Cell::Binary(value.clone()), logical),
    };
    (
        json(stats.and_then(|s| s.min.as_ref())),
        json(stats.and_then(|s| s.max.as_ref())),
    )
}

pub(crate) fn cell_json(cell: &Cell, logical: &str) -> Json {
    const ALWAYS_HEX: [&str; 3] = ["bloom_filter", "stream_id_bitmap", "values_bloom_filter"];
    match cell {
        Cell::Null => Json::Null,
        Cell::Int64(value) => json!(value),
        Cell::Binary(value) => match std::str::from_utf8(value) {
            Ok(text) if !ALWAYS_HEX.contains(&logical) => json!(text),
            _ => json!({ "hex": hex(value) }),
        },
    }
}

pub(crate) fn json_cell(json: &Json) -> Cell {
    match json {
        Json::Null => Cell::Null,
        Json::Number(number) => Cell::Int64(number.as_i64().unwrap()),
        Json::String(text) => Cell::Binary(text.clone().into_bytes()),
        other => Cell::Binary(unhex(other["hex"].as_str().unwrap())),
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn unhex(text: &str) -> Vec<u8> {
    (0..text.len())
        .step_by(2)
        .map(|i| u8::from_str_radix(&text[i..i + 2], 16).unwrap())
        .collect()
}
