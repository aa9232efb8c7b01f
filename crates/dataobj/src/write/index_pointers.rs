//! The `indexpointers` section: which index objects hold a tenant's records of a time window (specification chapter 8.4).

use super::WriterOptions;
use super::column::ColumnSpec;
use super::compressor::PageCompressor;
use super::section::{ColumnId, FinishedSection, SectionWriter};
use crate::error::Error;
use crate::read::{Direction, OrderBy, SortInfo};
use crate::schema::{SectionKind, column};

/// Version of `indexpointers` sections.
const VERSION: u32 = 2;

/// One index object, as far as it concerns one tenant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexPointerRow<'a> {
    /// Key of the index object, see [`crate::index_object_path`].
    pub path: &'a str,
    /// Earliest of the tenant's records behind it, nanoseconds.
    pub min_timestamp_ns: i64,
    /// Latest of them, nanoseconds.
    pub max_timestamp_ns: i64,
    /// Stored size of the index object; 0 if unknown.
    pub file_bytes: i64,
    /// Sum of the sizes of the streams behind it; 0 if unknown.
    pub uncompressed_logs_bytes: i64,
}

/// Writes an `indexpointers` section of a tenant.
#[derive(Debug)]
pub struct IndexPointersWriter {
    section: SectionWriter,
    rows: u64,
    path: ColumnId,
    min_timestamp: ColumnId,
    max_timestamp: ColumnId,
    file_size: ColumnId,
    uncompressed_logs_size: ColumnId,
}

impl IndexPointersWriter {
    /// A section without pointers. Pages are always cut per column.
    pub fn new(tenant: &str, options: &WriterOptions) -> IndexPointersWriter {
        let mut section = SectionWriter::new(SectionKind::IndexPointers, VERSION, tenant, options);
        let mut integers = |logical, range| section.add_column(ColumnSpec::int64(logical, logical, range));
        IndexPointersWriter {
            min_timestamp: integers(column::MIN_TIMESTAMP, true),
            max_timestamp: integers(column::MAX_TIMESTAMP, true),
            file_size: integers(column::FILE_SIZE, false),
            uncompressed_logs_size: integers(column::UNCOMPRESSED_LOGS_SIZE, false),
            path: section.add_column(ColumnSpec::binary(column::PATH, column::PATH, true)),
            section,
            rows: 0,
        }
    }

    /// Pages are compressed by `compressor` instead of this crate's own codecs.
    #[must_use]
    pub fn with_compressor(mut self, compressor: Box<dyn PageCompressor>) -> IndexPointersWriter {
        self.section = self.section.with_compressor(compressor);
        self
    }

    /// Pointers so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Adds a pointer. They should come by time, but the order that such sections declare is a loose one: index objects may
    /// overlap.
    pub fn append(&mut self, pointer: &IndexPointerRow<'_>) -> Result<(), Error> {
        let (row, section) = (self.rows, &mut self.section);
        section.append_binary(self.path, row, pointer.path.as_bytes())?;
        section.append_int64(self.min_timestamp, row, pointer.min_timestamp_ns)?;
        section.append_int64(self.max_timestamp, row, pointer.max_timestamp_ns)?;
        section.append_int64(self.file_size, row, pointer.file_bytes)?;
        section.append_int64(self.uncompressed_logs_size, row, pointer.uncompressed_logs_bytes)?;
        self.rows += 1;
        Ok(())
    }

    /// Closes the section.
    pub fn finish(self) -> Result<FinishedSection, Error> {
        let order = [
            self.path,
            self.min_timestamp,
            self.max_timestamp,
            self.file_size,
            self.uncompressed_logs_size,
        ];
        let by_start = OrderBy {
            column: 1,
            direction: Direction::Ascending,
        };
        let sort = SortInfo {
            columns: vec![by_start],
            schema_keys: Vec::new(),
        };
        self.section.finish(&order, Some(sort))
    }
}
