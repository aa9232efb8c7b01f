//! Reading `pointers` sections (specification chapter 8.3).

use super::columns::{Column, Columns};
use crate::error::Error;
use crate::read::{Scratch, Section, SectionMeta};
use crate::schema::{SectionKind, column};
use crate::write::{ColumnPointer, KIND_COLUMN, KIND_STREAM, PointerRow, PointerTarget, StreamPointer};
use arrow_array::{BinaryArray, Int64Array, StringArray};

/// The pointers of a section.
#[derive(Debug)]
pub struct PointersReader {
    rows: u64,
    path: Column<StringArray>,
    section: Column<Int64Array>,
    kind: Column<Int64Array>,
    stream_id: Column<Int64Array>,
    stream_id_ref: Column<Int64Array>,
    min_timestamp: Column<Int64Array>,
    max_timestamp: Column<Int64Array>,
    row_count: Column<Int64Array>,
    uncompressed_size: Column<Int64Array>,
    column_name: Column<StringArray>,
    column_index: Column<Int64Array>,
    values_bloom_filter: Column<BinaryArray>,
}

impl PointersReader {
    /// Decodes a section; `data` is its data region. Damage is a pointer without path, section or a known kind, a stream
    /// without numbers or times, and a column without name; missing counts are 0, a missing filter is empty.
    pub fn open(
        section: &Section,
        meta: &SectionMeta,
        data: &[u8],
        scratch: &mut Scratch,
    ) -> Result<PointersReader, Error> {
        let mut columns = Columns::open(&SectionKind::Pointers, section, meta, data, scratch)?;
        let reader = PointersReader {
            rows: columns.rows(),
            path: columns.text(column::PATH)?,
            section: columns.int64(column::SECTION)?,
            kind: columns.int64(column::POINTER_KIND)?,
            stream_id: columns.int64(column::STREAM_ID)?,
            stream_id_ref: columns.int64(column::STREAM_ID_REF)?,
            min_timestamp: columns.int64(column::MIN_TIMESTAMP)?,
            max_timestamp: columns.int64(column::MAX_TIMESTAMP)?,
            row_count: columns.int64(column::ROW_COUNT)?,
            uncompressed_size: columns.int64(column::UNCOMPRESSED_SIZE)?,
            column_name: columns.text(column::COLUMN_NAME)?,
            column_index: columns.int64(column::COLUMN_INDEX)?,
            values_bloom_filter: columns.binary(column::VALUES_BLOOM_FILTER)?,
        };
        columns.require(column::PATH, &reader.path, reader.rows)?;
        columns.require(column::SECTION, &reader.section, reader.rows)?;
        for row in 0..reader.rows {
            if let Some(reason) = reader.damage(row) {
                return Err(columns.corrupt(format!("pointer in row {row} {reason}")));
            }
        }
        Ok(reader)
    }

    /// Pointers, in the order of the section.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = PointerRow<'_>> {
        (0..self.rows as usize).map(|row| self.row(row as u64))
    }

    fn damage(&self, row: u64) -> Option<&'static str> {
        let of_stream = [
            &self.stream_id,
            &self.stream_id_ref,
            &self.min_timestamp,
            &self.max_timestamp,
        ];
        match self.kind.get(row) {
            Some(KIND_STREAM) if of_stream.iter().any(|column| column.get(row).is_none()) => {
                Some("lacks a number or time of its stream")
            }
            Some(KIND_COLUMN) if self.column_name.get(row).is_none() => Some("lacks the name of its column"),
            Some(KIND_STREAM | KIND_COLUMN) => None,
            _ => Some("is of no known kind"),
        }
    }

    fn row(&self, row: u64) -> PointerRow<'_> {
        let integer = |column: &Column<Int64Array>| column.get(row).unwrap_or_default();
        let target = if integer(&self.kind) == KIND_STREAM {
            PointerTarget::Stream(StreamPointer {
                stream_id: integer(&self.stream_id),
                stream_id_ref: integer(&self.stream_id_ref),
                min_timestamp_ns: integer(&self.min_timestamp),
                max_timestamp_ns: integer(&self.max_timestamp),
                rows: integer(&self.row_count),
                line_bytes: integer(&self.uncompressed_size),
            })
        } else {
            PointerTarget::Column(ColumnPointer {
                name: self.column_name.get(row).unwrap_or_default(),
                index: integer(&self.column_index),
                values_bloom: self.values_bloom_filter.get(row).unwrap_or_default(),
            })
        };
        PointerRow {
            path: self.path.get(row).unwrap_or_default(),
            section: integer(&self.section),
            target,
        }
    }
}
