//! Reading `stats` sections (specification chapter 8.6).

use super::columns::{Column, Columns};
use crate::error::Error;
use crate::read::{Scratch, Section, SectionMeta};
use crate::schema::{SectionKind, column};
use arrow_array::{Int64Array, StringArray};
use std::fmt;

/// The rows of a stats section.
#[derive(Debug)]
pub struct StatsReader<'a> {
    rows: u64,
    object_path: Column<StringArray>,
    section_index: Column<Int64Array>,
    sort_schema: Column<StringArray>,
    shard_bucket: Column<Int64Array>,
    min_timestamp: Column<Int64Array>,
    max_timestamp: Column<Int64Array>,
    row_count: Column<Int64Array>,
    uncompressed_size: Column<Int64Array>,
    /// In the order of the section, which is that of the schema.
    labels: Vec<(&'a str, Column<StringArray>)>,
}

/// The records of one logs section with one hash bucket and one value of each label.
#[derive(Clone, Copy)]
pub struct StatsRecord<'a> {
    /// Key of the log object.
    pub object_path: &'a str,
    /// Position among the logs sections of the object, in file order, counting all tenants.
    pub section_index: i64,
    /// The labels that the section is sorted by, joined with commas, such as `label:service,label:env`.
    pub sort_schema: &'a str,
    /// Hash bucket of the streams.
    pub shard_bucket: i64,
    /// Earliest of the records, nanoseconds.
    pub min_timestamp_ns: i64,
    /// Latest of the records, nanoseconds.
    pub max_timestamp_ns: i64,
    /// How many they are.
    pub rows: i64,
    /// Bytes of their lines and metadata values.
    pub uncompressed_bytes: i64,
    reader: &'a StatsReader<'a>,
    row: u64,
}

impl<'a> StatsReader<'a> {
    /// Decodes a section; `data` is its data region. Rows without object, section or times are damage; other missing values
    /// are 0 or empty.
    pub fn open(
        section: &Section,
        meta: &'a SectionMeta,
        data: &[u8],
        scratch: &mut Scratch,
    ) -> Result<StatsReader<'a>, Error> {
        let mut columns = Columns::open(&SectionKind::Stats, section, meta, data, scratch)?;
        let reader = StatsReader {
            rows: columns.rows(),
            object_path: columns.text(column::OBJECT_PATH)?,
            section_index: columns.int64(column::SECTION_INDEX)?,
            sort_schema: columns.text(column::SORT_SCHEMA)?,
            shard_bucket: columns.int64(column::SHARD_BUCKET)?,
            min_timestamp: columns.int64(column::MIN_TIMESTAMP)?,
            max_timestamp: columns.int64(column::MAX_TIMESTAMP)?,
            row_count: columns.int64(column::ROW_COUNT)?,
            uncompressed_size: columns.int64(column::UNCOMPRESSED_SIZE)?,
            labels: columns.tagged_text(column::LABEL)?,
        };
        columns.require(column::OBJECT_PATH, &reader.object_path, reader.rows)?;
        columns.require(column::SECTION_INDEX, &reader.section_index, reader.rows)?;
        columns.require(column::MIN_TIMESTAMP, &reader.min_timestamp, reader.rows)?;
        columns.require(column::MAX_TIMESTAMP, &reader.max_timestamp, reader.rows)?;
        Ok(reader)
    }

    /// Names of the labels, in the order of [`StatsRecord::labels`].
    pub fn label_names(&self) -> impl Iterator<Item = &'a str> {
        self.labels.iter().map(|(name, _)| *name)
    }

    /// Rows, in the order of the section.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = StatsRecord<'_>> {
        (0..self.rows as usize).map(|row| self.row(row as u64))
    }

    fn row(&self, row: u64) -> StatsRecord<'_> {
        let integer = |column: &Column<Int64Array>| column.get(row).unwrap_or_default();
        StatsRecord {
            object_path: self.object_path.get(row).unwrap_or_default(),
            section_index: integer(&self.section_index),
            sort_schema: self.sort_schema.get(row).unwrap_or_default(),
            shard_bucket: integer(&self.shard_bucket),
            min_timestamp_ns: integer(&self.min_timestamp),
            max_timestamp_ns: integer(&self.max_timestamp),
            rows: integer(&self.row_count),
            uncompressed_bytes: integer(&self.uncompressed_size),
            reader: self,
            row,
        }
    }
}

impl<'a> StatsRecord<'a> {
    /// The value of each label of the section; empty where the streams lack it.
    pub fn labels(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        let row = self.row;
        let labels = self.reader.labels.iter();
        labels.map(move |(_, column)| column.get(row).unwrap_or_default())
    }
}

impl fmt::Debug for StatsRecord<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StatsRecord")
            .field("object_path", &self.object_path)
            .field("section_index", &self.section_index)
            .field("sort_schema", &self.sort_schema)
            .field("shard_bucket", &self.shard_bucket)
            .field("min_timestamp_ns", &self.min_timestamp_ns)
            .field("max_timestamp_ns", &self.max_timestamp_ns)
            .field("rows", &self.rows)
            .field("uncompressed_bytes", &self.uncompressed_bytes)
            .field("labels", &self.labels().collect::<Vec<_>>())
            .finish()
    }
}
