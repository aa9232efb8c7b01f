//! The `streams` section: one row per stream of a tenant (specification chapter 8.1).

use super::WriterOptions;
use super::column::ColumnSpec;
use super::compressor::PageCompressor;
use super::section::{ColumnId, FinishedSection, SectionWriter};
use crate::compression::Compression;
use crate::error::Error;
use crate::schema::{SectionKind, column};
use crate::stats::Physical;
use std::collections::HashMap;
use std::hash::Hasher;
use twox_hash::XxHash64;

/// Version of `streams` sections.
const VERSION: u32 = 2;

/// One stream.
#[derive(Clone, Copy, Debug)]
pub struct StreamRow<'a> {
    /// Its number, unique within tenant and object. Loki wants 1 to N without holes, in row order.
    pub id: i64,
    /// Earliest record, nanoseconds.
    pub min_timestamp_ns: i64,
    /// Latest record, nanoseconds.
    pub max_timestamp_ns: i64,
    /// Records.
    pub rows: i64,
    /// Bytes of lines and metadata values.
    pub uncompressed_bytes: i64,
    /// Names and values, ascending by name.
    pub labels: &'a [(&'a str, &'a str)],
}

/// Writes the one `streams` section of a tenant.
#[derive(Debug)]
pub struct StreamsWriter {
    section: SectionWriter,
    rows: u64,
    id: ColumnId,
    min_timestamp: ColumnId,
    max_timestamp: ColumnId,
    row_count: ColumnId,
    uncompressed_size: ColumnId,
    shard_bucket: ColumnId,
    labels: HashMap<Box<str>, ColumnId>,
    /// In the order first met.
    label_order: Vec<ColumnId>,
}

impl StreamsWriter {
    /// A section without streams. Pages are always cut per column; [`super::PageCut`] concerns logs only.
    pub fn new(tenant: &str, options: &WriterOptions) -> StreamsWriter {
        let mut section = SectionWriter::new(SectionKind::Streams, VERSION, tenant, options);
        let mut integers = |logical: &str| {
            section.add_column(ColumnSpec {
                physical: Physical::Int64,
                logical: logical.to_owned(),
                tag: String::new(),
                compression: Compression::None,
                range: true,
                cardinality: false,
            })
        };
        StreamsWriter {
            id: integers(column::STREAM_ID),
            min_timestamp: integers(column::MIN_TIMESTAMP),
            max_timestamp: integers(column::MAX_TIMESTAMP),
            row_count: integers(column::ROWS),
            uncompressed_size: integers(column::UNCOMPRESSED_SIZE),
            shard_bucket: integers(column::SHARD_BUCKET),
            section,
            rows: 0,
            labels: HashMap::new(),
            label_order: Vec::new(),
        }
    }

    /// Pages are compressed by `compressor` instead of this crate's own codecs.
    #[must_use]
    pub fn with_compressor(mut self, compressor: Box<dyn PageCompressor>) -> StreamsWriter {
        self.section = self.section.with_compressor(compressor);
        self
    }

    /// Streams so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Adds a stream.
    pub fn append(&mut self, stream: &StreamRow<'_>) -> Result<(), Error> {
        debug_assert!(
            stream.labels.is_sorted_by(|a, b| a.0 < b.0),
            "labels ascend by name, each name once"
        );
        let row = self.rows;
        self.section.append_int64(self.id, row, stream.id)?;
        self.section
            .append_int64(self.min_timestamp, row, stream.min_timestamp_ns)?;
        self.section
            .append_int64(self.max_timestamp, row, stream.max_timestamp_ns)?;
        self.section.append_int64(self.row_count, row, stream.rows)?;
        self.section
            .append_int64(self.uncompressed_size, row, stream.uncompressed_bytes)?;
        for (name, value) in stream.labels {
            let column = self.label_column(name);
            self.section.append_binary(column, row, value.as_bytes())?;
        }
        self.section
            .append_int64(self.shard_bucket, row, shard_bucket(stream.labels))?;
        self.rows += 1;
        Ok(())
    }

    /// Closes the section.
    pub fn finish(mut self) -> Result<FinishedSection, Error> {
        for column in &self.label_order {
            self.section.fill(*column, self.rows)?;
        }
        let mut order = vec![
            self.id,
            self.min_timestamp,
            self.max_timestamp,
            self.row_count,
            self.uncompressed_size,
        ];
        order.append(&mut self.label_order);
        order.push(self.shard_bucket);
        self.section.finish(&order, None)
    }

    fn label_column(&mut self, name: &str) -> ColumnId {
        if let Some(column) = self.labels.get(name) {
            return *column;
        }
        let column = self.section.add_column(ColumnSpec {
            physical: Physical::Binary,
            logical: column::LABEL.to_owned(),
            tag: name.to_owned(),
            compression: Compression::Zstd,
            range: true,
            cardinality: false,
        });
        self.labels.insert(name.into(), column);
        self.label_order.push(column);
        column
    }
}

/// The hash bucket of a stream, 0 to 31, by its labels ascending by name.
pub fn shard_bucket(labels: &[(&str, &str)]) -> i64 {
    let mut hash = XxHash64::with_seed(0);
    for (name, value) in labels {
        hash.write(name.as_bytes());
        hash.write(&[0xff]);
        hash.write(value.as_bytes());
        hash.write(&[0xff]);
    }
    (hash.finish() >> 59).cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_of_the_specification() {
        assert_eq!(shard_bucket(&[("app", "a")]), 15);
        assert_eq!(shard_bucket(&[("env", "prod"), ("service", "billing")]), 0);
    }
}
