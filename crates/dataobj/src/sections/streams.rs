//! Reading `streams` sections (specification chapter 8.1).

use super::columns::{Column, Columns};
use crate::error::Error;
use crate::read::{Scratch, Section, SectionMeta};
use crate::schema::{SectionKind, column};
use arrow_array::{Int64Array, StringArray};
use std::fmt;

/// The streams of a tenant in an object.
#[derive(Debug)]
pub struct StreamsReader<'a> {
    rows: u64,
    id: Column<Int64Array>,
    min_timestamp: Column<Int64Array>,
    max_timestamp: Column<Int64Array>,
    row_count: Column<Int64Array>,
    uncompressed_size: Column<Int64Array>,
    /// Ascending by name.
    labels: Vec<(&'a str, Column<StringArray>)>,
}

/// One stream.
#[derive(Clone, Copy)]
pub struct StreamRecord<'a> {
    /// Its number, unique within tenant and object.
    pub id: i64,
    /// Earliest record, nanoseconds.
    pub min_timestamp_ns: i64,
    /// Latest record, nanoseconds.
    pub max_timestamp_ns: i64,
    /// Records, before duplicates were dropped. In index objects twice the number of log objects that have the stream.
    pub rows: i64,
    /// Bytes of lines and metadata values.
    pub uncompressed_bytes: i64,
    reader: &'a StreamsReader<'a>,
    row: u64,
}

impl<'a> StreamsReader<'a> {
    /// Decodes a section; `data` is its data region. Streams without number or times are damage; missing sizes are 0.
    pub fn open(
        section: &Section,
        meta: &'a SectionMeta,
        data: &[u8],
        scratch: &mut Scratch,
    ) -> Result<StreamsReader<'a>, Error> {
        let mut columns = Columns::open(&SectionKind::Streams, section, meta, data, scratch)?;
        let mut reader = StreamsReader {
            rows: columns.rows(),
            id: columns.int64(column::STREAM_ID)?,
            min_timestamp: columns.int64(column::MIN_TIMESTAMP)?,
            max_timestamp: columns.int64(column::MAX_TIMESTAMP)?,
            row_count: columns.int64(column::ROWS)?,
            uncompressed_size: columns.int64(column::UNCOMPRESSED_SIZE)?,
            labels: columns.tagged_text(column::LABEL)?,
        };
        columns.require(column::STREAM_ID, &reader.id, reader.rows)?;
        columns.require(column::MIN_TIMESTAMP, &reader.min_timestamp, reader.rows)?;
        columns.require(column::MAX_TIMESTAMP, &reader.max_timestamp, reader.rows)?;
        reader.labels.sort_by_key(|(name, _)| *name);
        Ok(reader)
    }

    /// Streams, in the order of the section.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = StreamRecord<'_>> {
        (0..self.rows as usize).map(|row| self.row(row as u64))
    }

    fn row(&self, row: u64) -> StreamRecord<'_> {
        let integer = |column: &Column<Int64Array>| column.get(row).unwrap_or_default();
        StreamRecord {
            id: integer(&self.id),
            min_timestamp_ns: integer(&self.min_timestamp),
            max_timestamp_ns: integer(&self.max_timestamp),
            rows: integer(&self.row_count),
            uncompressed_bytes: integer(&self.uncompressed_size),
            reader: self,
            row,
        }
    }
}

impl<'a> StreamRecord<'a> {
    /// Names and values, ascending by name.
    pub fn labels(&self) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
        let row = self.row;
        let labels = self.reader.labels.iter();
        labels.filter_map(move |(name, column)| Some((*name, column.get(row)?)))
    }
}

impl fmt::Debug for StreamRecord<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamRecord")
            .field("id", &self.id)
            .field("min_timestamp_ns", &self.min_timestamp_ns)
            .field("max_timestamp_ns", &self.max_timestamp_ns)
            .field("rows", &self.rows)
            .field("uncompressed_bytes", &self.uncompressed_bytes)
            .field("labels", &self.labels().collect::<Vec<_>>())
            .finish()
    }
}
