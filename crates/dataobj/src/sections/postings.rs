//! Reading `postings` sections (specification chapter 8.5).

use super::columns::{Column, Columns};
use crate::error::Error;
use crate::read::{Scratch, Section, SectionMeta};
use crate::schema::{SectionKind, column};
use crate::write::{KIND_BLOOM, KIND_LABEL, PostingEntry, PostingRow};
use arrow_array::{BinaryArray, Int64Array, StringArray};

/// The postings of a section.
#[derive(Debug)]
pub struct PostingsReader {
    rows: u64,
    kind: Column<Int64Array>,
    object_path: Column<StringArray>,
    shard_buckets: Column<Int64Array>,
    section_index: Column<Int64Array>,
    column_name: Column<StringArray>,
    label_value: Column<StringArray>,
    bloom_filter: Column<BinaryArray>,
    stream_id_bitmap: Column<BinaryArray>,
    uncompressed_size: Column<Int64Array>,
    min_timestamp: Column<Int64Array>,
    max_timestamp: Column<Int64Array>,
    min_shard_bucket: Column<Int64Array>,
    max_shard_bucket: Column<Int64Array>,
}

impl PostingsReader {
    /// Decodes a section; `data` is its data region. Damage is a posting without a known kind, object, section, name or
    /// times; other missing values are 0 or empty.
    pub fn open(
        section: &Section,
        meta: &SectionMeta,
        data: &[u8],
        scratch: &mut Scratch,
    ) -> Result<PostingsReader, Error> {
        let mut columns = Columns::open(&SectionKind::Postings, section, meta, data, scratch)?;
        let reader = PostingsReader {
            rows: columns.rows(),
            kind: columns.int64(column::KIND)?,
            object_path: columns.text(column::OBJECT_PATH)?,
            shard_buckets: columns.int64(column::SHARD_BUCKETS)?,
            section_index: columns.int64(column::SECTION_INDEX)?,
            column_name: columns.text(column::COLUMN_NAME)?,
            label_value: columns.text(column::LABEL_VALUE)?,
            bloom_filter: columns.binary(column::BLOOM_FILTER)?,
            stream_id_bitmap: columns.binary(column::STREAM_ID_BITMAP)?,
            uncompressed_size: columns.int64(column::UNCOMPRESSED_SIZE)?,
            min_timestamp: columns.int64(column::MIN_TIMESTAMP)?,
            max_timestamp: columns.int64(column::MAX_TIMESTAMP)?,
            min_shard_bucket: columns.int64(column::MIN_SHARD_BUCKET)?,
            max_shard_bucket: columns.int64(column::MAX_SHARD_BUCKET)?,
        };
        columns.require(column::KIND, &reader.kind, reader.rows)?;
        columns.require(column::OBJECT_PATH, &reader.object_path, reader.rows)?;
        columns.require(column::SECTION_INDEX, &reader.section_index, reader.rows)?;
        columns.require(column::COLUMN_NAME, &reader.column_name, reader.rows)?;
        columns.require(column::MIN_TIMESTAMP, &reader.min_timestamp, reader.rows)?;
        columns.require(column::MAX_TIMESTAMP, &reader.max_timestamp, reader.rows)?;
        let is_known = |row: &u64| matches!(reader.kind.get(*row), Some(KIND_BLOOM | KIND_LABEL));
        match (0..reader.rows).find(|row| !is_known(row)) {
            None => Ok(reader),
            Some(row) => Err(columns.corrupt(format!("posting in row {row} is of no known kind"))),
        }
    }

    /// Postings, in the order of the section.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = PostingRow<'_>> {
        (0..self.rows as usize).map(|row| self.row(row as u64))
    }

    fn row(&self, row: u64) -> PostingRow<'_> {
        let integer = |column: &Column<Int64Array>| column.get(row).unwrap_or_default();
        let entry = if integer(&self.kind) == KIND_BLOOM {
            PostingEntry::Bloom {
                filter: self.bloom_filter.get(row).unwrap_or_default(),
            }
        } else {
            PostingEntry::Label {
                value: self.label_value.get(row).unwrap_or_default(),
                min_shard_bucket: integer(&self.min_shard_bucket),
                max_shard_bucket: integer(&self.max_shard_bucket),
            }
        };
        PostingRow {
            object_path: self.object_path.get(row).unwrap_or_default(),
            shard_buckets: integer(&self.shard_buckets),
            section_index: integer(&self.section_index),
            column_name: self.column_name.get(row).unwrap_or_default(),
            entry,
            stream_id_bitmap: self.stream_id_bitmap.get(row).unwrap_or_default(),
            uncompressed_bytes: integer(&self.uncompressed_size),
            min_timestamp_ns: integer(&self.min_timestamp),
            max_timestamp_ns: integer(&self.max_timestamp),
        }
    }
}
