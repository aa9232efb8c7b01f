//! The `stats` section: sizes and times per logs section, hash bucket and values of the labels that it is sorted by
//! (specification chapter 8.6).

use super::WriterOptions;
use super::column::ColumnSpec;
use super::compressor::PageCompressor;
use super::section::{ColumnId, FinishedSection, SectionWriter};
use crate::error::Error;
use crate::read::{Direction, OrderBy, SortInfo};
use crate::schema::{SectionKind, column};

/// Version of `stats` sections.
const VERSION: u32 = 2;

/// Positions of the columns by which rows are ordered, before and behind the labels.
const SORT_SCHEMA: u32 = 2;
const SHARD_BUCKET: u32 = 3;
const MIN_TIMESTAMP: u32 = 4;
const MAX_TIMESTAMP: u32 = 5;
const FIRST_LABEL: u32 = 8;

/// The records of one logs section with one hash bucket and one value of each label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatsRow<'a> {
    /// Key of the log object, see [`crate::log_object_path`].
    pub object_path: &'a str,
    /// Position among the logs sections of the object, in file order, counting all tenants.
    pub section_index: i64,
    /// Hash bucket of the streams, see [`super::shard_bucket`].
    pub shard_bucket: i64,
    /// Earliest of the records, nanoseconds.
    pub min_timestamp_ns: i64,
    /// Latest of the records, nanoseconds.
    pub max_timestamp_ns: i64,
    /// How many they are.
    pub rows: i64,
    /// Bytes of their lines and metadata values.
    pub uncompressed_bytes: i64,
    /// Values of the section's labels, in their order; empty where the streams lack the label.
    pub labels: &'a [&'a str],
}

/// Writes a `stats` section of a tenant.
#[derive(Debug)]
pub struct StatsWriter {
    section: SectionWriter,
    rows: u64,
    /// The label names as the column `sort_schema` has them.
    schema: String,
    object_path: ColumnId,
    section_index: ColumnId,
    sort_schema: ColumnId,
    shard_bucket: ColumnId,
    min_timestamp: ColumnId,
    max_timestamp: ColumnId,
    row_count: ColumnId,
    uncompressed_size: ColumnId,
    labels: Vec<ColumnId>,
}

impl StatsWriter {
    /// A section without rows for logs sections that are sorted by `labels`. Pages are always cut per column.
    pub fn new(tenant: &str, labels: &[&str], options: &WriterOptions) -> StatsWriter {
        let mut section = SectionWriter::new(SectionKind::Stats, VERSION, tenant, options);
        let mut add = |spec| section.add_column(spec);
        let integers = |logical| ColumnSpec::int64(logical, "", false);
        let strings = |logical, tag| ColumnSpec::binary(logical, tag, false);
        StatsWriter {
            object_path: add(strings(column::OBJECT_PATH, "")),
            section_index: add(integers(column::SECTION_INDEX)),
            sort_schema: add(strings(column::SORT_SCHEMA, "")),
            shard_bucket: add(integers(column::SHARD_BUCKET)),
            min_timestamp: add(integers(column::MIN_TIMESTAMP)),
            max_timestamp: add(integers(column::MAX_TIMESTAMP)),
            row_count: add(integers(column::ROW_COUNT)),
            uncompressed_size: add(integers(column::UNCOMPRESSED_SIZE)),
            labels: labels.iter().map(|label| add(strings(column::LABEL, label))).collect(),
            schema: labels
                .iter()
                .map(|label| format!("label:{label}"))
                .collect::<Vec<_>>()
                .join(","),
            section,
            rows: 0,
        }
    }

    /// Pages are compressed by `compressor` instead of this crate's own codecs.
    #[must_use]
    pub fn with_compressor(mut self, compressor: Box<dyn PageCompressor>) -> StatsWriter {
        self.section = self.section.with_compressor(compressor);
        self
    }

    /// Rows so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Adds a row. They ascend by hash bucket, labels, times, object path and section.
    pub fn append(&mut self, stats: &StatsRow<'_>) -> Result<(), Error> {
        debug_assert_eq!(stats.labels.len(), self.labels.len(), "a value for each label");
        let (row, section) = (self.rows, &mut self.section);
        section.append_binary(self.object_path, row, stats.object_path.as_bytes())?;
        section.append_int64(self.section_index, row, stats.section_index)?;
        section.append_binary(self.sort_schema, row, self.schema.as_bytes())?;
        section.append_int64(self.shard_bucket, row, stats.shard_bucket)?;
        section.append_int64(self.min_timestamp, row, stats.min_timestamp_ns)?;
        section.append_int64(self.max_timestamp, row, stats.max_timestamp_ns)?;
        section.append_int64(self.row_count, row, stats.rows)?;
        section.append_int64(self.uncompressed_size, row, stats.uncompressed_bytes)?;
        for (column, value) in self.labels.iter().zip(stats.labels) {
            section.append_binary(*column, row, value.as_bytes())?;
        }
        self.rows += 1;
        Ok(())
    }

    /// Closes the section.
    pub fn finish(self) -> Result<FinishedSection, Error> {
        let mut order = vec![
            self.object_path,
            self.section_index,
            self.sort_schema,
            self.shard_bucket,
            self.min_timestamp,
            self.max_timestamp,
            self.row_count,
            self.uncompressed_size,
        ];
        let labels = (FIRST_LABEL..).take(self.labels.len());
        order.extend(&self.labels);
        let ascending = |column| OrderBy {
            column,
            direction: Direction::Ascending,
        };
        let columns = [SORT_SCHEMA, SHARD_BUCKET]
            .into_iter()
            .chain(labels)
            .chain([MIN_TIMESTAMP, MAX_TIMESTAMP]);
        let sort = SortInfo {
            columns: columns.map(ascending).collect(),
            schema_keys: Vec::new(),
        };
        self.section.finish(&order, Some(sort))
    }
}
