//! Written again from their rows with the same settings, whole objects of Loki come out byte for byte; only compressed values
//! are taken as given.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod common;
#[path = "common/payloads.rs"]
mod payloads;

use common::*;
use payloads::*;
use serde_json::Value as Json;
use std::collections::HashMap;
use timberline_dataobj::*;

/// Objects of known kinds, with the settings with which they were written: page bytes and page rows. Left out are
/// `logs-stripe-merged`, whose page cuts depend on how records were buffered, and `foreign-written`, which isn't Loki's.
fn known_objects() -> Vec<(&'static str, WriterOptions)> {
    let settings = |stem: &&'static str| {
        let json = fixture_json(stem);
        let setting = |name: &str| json["settings"].get(name).and_then(Json::as_u64).map(|n| n as usize);
        match (setting("page_size_hint"), setting("page_max_rows")) {
            _ if *stem == "logs-stripe-merged" => None,
            (Some(bytes), Some(rows)) => Some((*stem, options(bytes, rows))),
            _ if *stem == "logs-one-record" => Some((*stem, options(2 << 20, 10_000))),
            _ if stem.starts_with("toc") => Some((*stem, options(4 << 20, 0))),
            _ if *stem == "index-postings-shards" => Some((*stem, options(0, 0))),
            _ => None,
        }
    };
    FIXTURES.iter().filter_map(settings).collect()
}

fn options(page_bytes: usize, page_rows: usize) -> WriterOptions {
    WriterOptions {
        page_bytes,
        page_rows,
        zstd_level: 3,
        cut: PageCut::Independent,
    }
}

/// Reads sections as rows and writes the rows.
struct Rewriter {
    options: WriterOptions,
    payloads: Payloads,
    /// By tenant: later sections count the streams of earlier ones.
    logs: HashMap<String, LogsWriter>,
}

impl Rewriter {
    fn object(&mut self, object: &[u8]) -> Vec<u8> {
        let object = WholeObject::parse(object).unwrap();
        let mut writer = ObjectWriter::new();
        let mut scratch = Scratch::new();
        for section in object.sections() {
            let (meta, data) = (object.meta(section).unwrap(), object.data(section).unwrap());
            let rewrite = match section.kind {
                SectionKind::Streams => Rewriter::streams,
                SectionKind::Logs => Rewriter::logs,
                SectionKind::Pointers => Rewriter::pointers,
                SectionKind::IndexPointers => Rewriter::index_pointers,
                SectionKind::Postings => Rewriter::postings,
                SectionKind::Stats => Rewriter::stats,
                _ => panic!("{} has no rows", section.kind),
            };
            writer.push_section(rewrite(self, section, &meta, data, &mut scratch).unwrap());
        }
        writer.finish().unwrap()
    }

    fn streams(
        &mut self,
        section: &Section,
        meta: &SectionMeta,
        data: &[u8],
        scratch: &mut Scratch,
    ) -> Result<FinishedSection, Error> {
        let reader = StreamsReader::open(section, meta, data, scratch)?;
        let mut writer = StreamsWriter::new(&section.tenant, &self.options).with_compressor(self.payloads.compressor());
        for stream in reader.rows() {
            writer.append(&StreamRow {
                id: stream.id,
                min_timestamp_ns: stream.min_timestamp_ns,
                max_timestamp_ns: stream.max_timestamp_ns,
                rows: stream.rows,
                uncompressed_bytes: stream.uncompressed_bytes,
                labels: &stream.labels().collect::<Vec<_>>(),
            })?;
        }
        writer.finish()
    }

    fn logs(
        &mut self,
        section: &Section,
        meta: &SectionMeta,
        data: &[u8],
        scratch: &mut Scratch,
    ) -> Result<FinishedSection, Error> {
        let reader = LogsReader::open(section, meta, data, scratch)?;
        let sort = meta.sort.as_ref().unwrap();
        let schema: Vec<String> = sort.schema_keys.iter().map(|key| key.replace("label:", "")).collect();
        let order = match sort.columns[0].column {
            0 if schema.is_empty() => SortOrder::StreamAscending,
            0 => SortOrder::Schema(schema),
            _ => SortOrder::TimestampDescending,
        };
        let Rewriter {
            options,
            payloads,
            logs,
        } = self;
        let new = || LogsWriter::new(&section.tenant, order, options).with_compressor(payloads.compressor());
        let writer = logs.entry(section.tenant.clone()).or_insert_with(new);
        for record in reader.rows() {
            writer.append(&LogRow {
                stream_id: record.stream_id,
                timestamp_ns: record.timestamp_ns,
                line: record.line,
                metadata: &record.metadata().collect::<Vec<_>>(),
            })?;
        }
        writer.finish_section()
    }

    fn pointers(
        &mut self,
        section: &Section,
        meta: &SectionMeta,
        data: &[u8],
        scratch: &mut Scratch,
    ) -> Result<FinishedSection, Error> {
        let reader = PointersReader::open(section, meta, data, scratch)?;
        let writer = PointersWriter::new(&section.tenant, &self.options);
        let mut writer = writer.with_compressor(self.payloads.compressor());
        reader.rows().try_for_each(|row| writer.append(&row))?;
        writer.finish()
    }

    fn index_pointers(
        &mut self,
        section: &Section,
        meta: &SectionMeta,
        data: &[u8],
        scratch: &mut Scratch,
    ) -> Result<FinishedSection, Error> {
        let reader = IndexPointersReader::open(section, meta, data, scratch)?;
        let writer = IndexPointersWriter::new(&section.tenant, &self.options);
        let mut writer = writer.with_compressor(self.payloads.compressor());
        reader.rows().try_for_each(|row| writer.append(&row))?;
        writer.finish()
    }

    fn postings(
        &mut self,
        section: &Section,
        meta: &SectionMeta,
        data: &[u8],
        scratch: &mut Scratch,
    ) -> Result<FinishedSection, Error> {
        let reader = PostingsReader::open(section, meta, data, scratch)?;
        let writer = PostingsWriter::new(&section.tenant, &self.options);
        let mut writer = writer.with_compressor(self.payloads.compressor());
        reader.rows().try_for_each(|row| writer.append(&row))?;
        writer.finish()
    }

    fn stats(
        &mut self,
        section: &Section,
        meta: &SectionMeta,
        data: &[u8],
        scratch: &mut Scratch,
    ) -> Result<FinishedSection, Error> {
        let reader = StatsReader::open(section, meta, data, scratch)?;
        let labels: Vec<&str> = reader.label_names().collect();
        let writer = StatsWriter::new(&section.tenant, &labels, &self.options);
        let mut writer = writer.with_compressor(self.payloads.compressor());
        for row in reader.rows() {
            writer.append(&StatsRow {
                object_path: row.object_path,
                section_index: row.section_index,
                shard_bucket: row.shard_bucket,
                min_timestamp_ns: row.min_timestamp_ns,
                max_timestamp_ns: row.max_timestamp_ns,
                rows: row.rows,
                uncompressed_bytes: row.uncompressed_bytes,
                labels: &row.labels().collect::<Vec<_>>(),
            })?;
        }
        writer.finish()
    }
}

#[test]
fn objects_of_known_kinds() {
    let objects = known_objects();
    assert_eq!(objects.len(), FIXTURES.len() - 3);
    for (stem, options) in objects {
        let object = fixture_object(stem);
        let mut rewriter = Rewriter {
            options,
            payloads: Payloads::of(&object),
            logs: HashMap::new(),
        };
        assert_same_object(&rewriter.object(&object), &object, stem);
    }
}

/// Kinds that nobody knows, written column by column with page settings of their own.
#[test]
fn hand_made_sections() {
    let object = fixture_object("edge-cases");
    let payloads = Payloads::of(&object);
    let mut written = ObjectWriter::new();
    for decoded in decode_object(&object).unwrap() {
        let Section {
            kind, version, tenant, ..
        } = &decoded.section;
        let mut writer =
            SectionWriter::new(kind.clone(), *version, tenant, &options(0, 0)).with_compressor(payloads.compressor());
        let mut ids = Vec::new();
        for (column, cells) in decoded.meta.columns.iter().zip(&decoded.columns) {
            let (page_bytes, page_rows) = match column.tag.as_str() {
                "late" => (64, 8),
                "plain" => (40, 0),
                "snappy" => (200, 0),
                "zstd" => (0, 10),
                _ => (0, 0),
            };
            let spec = ColumnSpec {
                physical: column.physical,
                logical: column.logical.clone(),
                tag: column.tag.clone(),
                compression: column.compression,
                range: column.pages.iter().any(|page| page.stats.is_some()),
                cardinality: column.stats.as_ref().is_some_and(|stats| stats.cardinality > 0),
            };
            let id = writer.add_column_with_pages(spec, page_bytes, page_rows);
            for (row, cell) in cells.iter().enumerate() {
                match cell {
                    Cell::Null => {}
                    Cell::Int64(value) => writer.append_int64(id, row as u64, *value).unwrap(),
                    Cell::Binary(value) => writer.append_binary(id, row as u64, value).unwrap(),
                }
            }
            writer.fill(id, cells.len() as u64).unwrap();
            ids.push(id);
        }
        written.push_section(writer.finish(&ids, decoded.meta.sort.clone()).unwrap());
    }
    assert_same_object(&written.finish().unwrap(), &object, "edge-cases");
}
