//! The `pointers` section: in which logs sections streams and metadata keys are (specification chapter 8.3).

use super::WriterOptions;
use super::column::ColumnSpec;
use super::compressor::PageCompressor;
use super::section::{ColumnId, FinishedSection, SectionWriter};
use crate::compression::Compression;
use crate::error::Error;
use crate::read::{Direction, OrderBy, SortInfo};
use crate::schema::{SectionKind, column};

/// Version of `pointers` sections.
const VERSION: u32 = 2;

/// Values of the column `pointer_kind`.
pub(crate) const KIND_STREAM: i64 = 1;
pub(crate) const KIND_COLUMN: i64 = 2;

/// What is to be found in one logs section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PointerRow<'a> {
    /// Key of the log object, see [`crate::log_object_path`].
    pub path: &'a str,
    /// Position among the logs sections of the object, in file order, counting all tenants.
    pub section: i64,
    /// A stream or a metadata key.
    pub target: PointerTarget<'a>,
}

/// What a pointer points to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PointerTarget<'a> {
    /// Records of a stream.
    Stream(StreamPointer),
    /// Values of a metadata key.
    Column(ColumnPointer<'a>),
}

/// The records of one stream in one logs section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamPointer {
    /// Number of the stream in the streams section of the index object.
    pub stream_id: i64,
    /// Its number in the log object.
    pub stream_id_ref: i64,
    /// Earliest of the records, nanoseconds.
    pub min_timestamp_ns: i64,
    /// Latest of the records, nanoseconds.
    pub max_timestamp_ns: i64,
    /// How many they are.
    pub rows: i64,
    /// Bytes of their lines, without metadata.
    pub line_bytes: i64,
}

/// The values of one metadata key in one logs section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnPointer<'a> {
    /// The key.
    pub name: &'a str,
    /// Position of the column among those of the section that the format defines.
    pub index: i64,
    /// Bloom filter over the values, see [`crate::BloomFilter`].
    pub values_bloom: &'a [u8],
}

/// Writes a `pointers` section of a tenant.
#[derive(Debug)]
pub struct PointersWriter {
    section: SectionWriter,
    rows: u64,
    /// Kind, and stream or column number, of the row before.
    last: Option<(i64, i64)>,
    path: ColumnId,
    section_index: ColumnId,
    kind: ColumnId,
    stream_id: ColumnId,
    stream_id_ref: ColumnId,
    min_timestamp: ColumnId,
    max_timestamp: ColumnId,
    row_count: ColumnId,
    uncompressed_size: ColumnId,
    column_name: ColumnId,
    column_index: ColumnId,
    values_bloom_filter: ColumnId,
}

impl PointersWriter {
    /// A section without pointers. Pages are always cut per column.
    pub fn new(tenant: &str, options: &WriterOptions) -> PointersWriter {
        let mut section = SectionWriter::new(SectionKind::Pointers, VERSION, tenant, options);
        let mut add = |spec| section.add_column(spec);
        let integers = |logical| ColumnSpec::int64(logical, "", true);
        PointersWriter {
            path: add(ColumnSpec::binary(column::PATH, column::PATH, true)),
            section_index: add(integers(column::SECTION)),
            kind: add(integers(column::POINTER_KIND)),
            stream_id: add(integers(column::STREAM_ID)),
            stream_id_ref: add(integers(column::STREAM_ID_REF)),
            min_timestamp: add(integers(column::MIN_TIMESTAMP)),
            max_timestamp: add(integers(column::MAX_TIMESTAMP)),
            row_count: add(integers(column::ROW_COUNT)),
            uncompressed_size: add(integers(column::UNCOMPRESSED_SIZE)),
            column_name: add(ColumnSpec::binary(column::COLUMN_NAME, column::COLUMN_NAME, true)),
            column_index: add(integers(column::COLUMN_INDEX)),
            values_bloom_filter: add(ColumnSpec::binary(
                column::VALUES_BLOOM_FILTER,
                column::VALUES_BLOOM_FILTER,
                false,
            )
            .compressed(Compression::None)),
            section,
            rows: 0,
            last: None,
        }
    }

    /// Pages are compressed by `compressor` instead of this crate's own codecs.
    #[must_use]
    pub fn with_compressor(mut self, compressor: Box<dyn PageCompressor>) -> PointersWriter {
        self.section = self.section.with_compressor(compressor);
        self
    }

    /// Pointers so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Adds a pointer. First come those to streams, by stream number, then those to columns, by column position.
    pub fn append(&mut self, pointer: &PointerRow<'_>) -> Result<(), Error> {
        let (row, section) = (self.rows, &mut self.section);
        let key = match &pointer.target {
            PointerTarget::Stream(stream) => (KIND_STREAM, stream.stream_id),
            PointerTarget::Column(column) => (KIND_COLUMN, column.index),
        };
        debug_assert!(
            self.last.is_none_or(|last| last <= key),
            "pointer out of order: {key:?} after {:?}",
            self.last
        );
        self.last = Some(key);
        section.append_binary(self.path, row, pointer.path.as_bytes())?;
        section.append_int64(self.section_index, row, pointer.section)?;
        section.append_int64(self.kind, row, key.0)?;
        match &pointer.target {
            PointerTarget::Stream(stream) => {
                section.append_int64(self.stream_id, row, stream.stream_id)?;
                section.append_int64(self.stream_id_ref, row, stream.stream_id_ref)?;
                section.append_int64(self.min_timestamp, row, stream.min_timestamp_ns)?;
                section.append_int64(self.max_timestamp, row, stream.max_timestamp_ns)?;
                section.append_int64(self.row_count, row, stream.rows)?;
                section.append_int64(self.uncompressed_size, row, stream.line_bytes)?;
            }
            PointerTarget::Column(column) => {
                section.append_binary(self.column_name, row, column.name.as_bytes())?;
                section.append_int64(self.column_index, row, column.index)?;
                section.append_binary(self.values_bloom_filter, row, column.values_bloom)?;
            }
        }
        self.rows += 1;
        Ok(())
    }

    /// Closes the section.
    pub fn finish(self) -> Result<FinishedSection, Error> {
        let order = [
            self.path,
            self.section_index,
            self.kind,
            self.stream_id,
            self.stream_id_ref,
            self.min_timestamp,
            self.max_timestamp,
            self.row_count,
            self.uncompressed_size,
            self.column_name,
            self.column_index,
            self.values_bloom_filter,
        ];
        let by_kind = OrderBy {
            column: 2,
            direction: Direction::Ascending,
        };
        let sort = SortInfo {
            columns: vec![by_kind],
            schema_keys: Vec::new(),
        };
        self.section.finish(&order, Some(sort))
    }
}
