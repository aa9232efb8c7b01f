//! Reading `indexpointers` sections (specification chapter 8.4).

use super::columns::{Column, Columns};
use crate::error::Error;
use crate::read::{Scratch, Section, SectionMeta};
use crate::schema::{SectionKind, column};
use crate::write::IndexPointerRow;
use arrow_array::{Int64Array, StringArray};

/// The pointers of a section of a table of contents.
#[derive(Debug)]
pub struct IndexPointersReader {
    rows: u64,
    path: Column<StringArray>,
    min_timestamp: Column<Int64Array>,
    max_timestamp: Column<Int64Array>,
    file_size: Column<Int64Array>,
    uncompressed_logs_size: Column<Int64Array>,
}

impl IndexPointersReader {
    /// Decodes a section; `data` is its data region. Pointers without path or times are damage; sizes, which older objects
    /// lack, are 0.
    pub fn open(
        section: &Section,
        meta: &SectionMeta,
        data: &[u8],
        scratch: &mut Scratch,
    ) -> Result<IndexPointersReader, Error> {
        let mut columns = Columns::open(&SectionKind::IndexPointers, section, meta, data, scratch)?;
        let reader = IndexPointersReader {
            rows: columns.rows(),
            path: columns.text(column::PATH)?,
            min_timestamp: columns.int64(column::MIN_TIMESTAMP)?,
            max_timestamp: columns.int64(column::MAX_TIMESTAMP)?,
            file_size: columns.int64(column::FILE_SIZE)?,
            uncompressed_logs_size: columns.int64(column::UNCOMPRESSED_LOGS_SIZE)?,
        };
        columns.require(column::PATH, &reader.path, reader.rows)?;
        columns.require(column::MIN_TIMESTAMP, &reader.min_timestamp, reader.rows)?;
        columns.require(column::MAX_TIMESTAMP, &reader.max_timestamp, reader.rows)?;
        Ok(reader)
    }

    /// Pointers, in the order of the section.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = IndexPointerRow<'_>> {
        (0..self.rows as usize).map(|row| self.row(row as u64))
    }

    fn row(&self, row: u64) -> IndexPointerRow<'_> {
        let integer = |column: &Column<Int64Array>| column.get(row).unwrap_or_default();
        IndexPointerRow {
            path: self.path.get(row).unwrap_or_default(),
            min_timestamp_ns: integer(&self.min_timestamp),
            max_timestamp_ns: integer(&self.max_timestamp),
            file_bytes: integer(&self.file_size),
            uncompressed_logs_bytes: integer(&self.uncompressed_logs_size),
        }
    }
}
