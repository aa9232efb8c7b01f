//! Reading `logs` sections (specification chapter 8.2).

use super::columns::{Column, Columns};
use crate::error::Error;
use crate::read::{ColumnMeta, Scratch, Section, SectionMeta};
use crate::schema::{SectionKind, column};
use arrow_array::{BinaryArray, Int64Array};
use std::fmt;

/// The records of a logs section.
#[derive(Debug)]
pub struct LogsReader<'a> {
    rows: u64,
    stream_id: Column<Int64Array>,
    timestamp: Column<Int64Array>,
    message: Column<BinaryArray>,
    /// Ascending by key.
    metadata: Vec<(&'a str, Column<BinaryArray>)>,
}

/// One record.
#[derive(Clone, Copy)]
pub struct LogRecord<'a> {
    /// Number of its stream in the tenant's streams section.
    pub stream_id: i64,
    /// Nanoseconds since 1970.
    pub timestamp_ns: i64,
    /// The line, any bytes.
    pub line: &'a [u8],
    reader: &'a LogsReader<'a>,
    row: u64,
}

impl<'a> LogsReader<'a> {
    /// Decodes a section; `data` is its data region. Records without stream or time are damage, and so are other columns of
    /// the format before these two; missing lines are empty.
    pub fn open(
        section: &Section,
        meta: &'a SectionMeta,
        data: &[u8],
        scratch: &mut Scratch,
    ) -> Result<LogsReader<'a>, Error> {
        let mut columns = Columns::open(&SectionKind::Logs, section, meta, data, scratch)?;
        let first = known_columns(meta).map(|column| column.logical.as_str());
        let wanted = [column::STREAM_ID, column::TIMESTAMP];
        if meta.rows > 0 && !first.take(wanted.len()).eq(wanted) {
            return Err(columns.corrupt("a logs section must begin with stream_id and timestamp".into()));
        }
        let mut reader = LogsReader {
            rows: columns.rows(),
            stream_id: columns.int64(column::STREAM_ID)?,
            timestamp: columns.int64(column::TIMESTAMP)?,
            message: columns.binary(column::MESSAGE)?,
            metadata: columns.tagged_binary(column::METADATA)?,
        };
        columns.require(column::STREAM_ID, &reader.stream_id, reader.rows)?;
        columns.require(column::TIMESTAMP, &reader.timestamp, reader.rows)?;
        reader.metadata.sort_by_key(|(key, _)| *key);
        Ok(reader)
    }

    /// Records, in the order of the section.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = LogRecord<'_>> {
        (0..self.rows as usize).map(|row| self.row(row as u64))
    }

    fn row(&self, row: u64) -> LogRecord<'_> {
        LogRecord {
            stream_id: self.stream_id.get(row).unwrap_or_default(),
            timestamp_ns: self.timestamp.get(row).unwrap_or_default(),
            line: self.message.get(row).unwrap_or_default(),
            reader: self,
            row,
        }
    }
}

impl<'a> LogRecord<'a> {
    /// Structured metadata: keys and values, ascending by key. An empty value is one that was written as such.
    pub fn metadata(&self) -> impl Iterator<Item = (&'a str, &'a [u8])> + use<'a> {
        let row = self.row;
        let metadata = self.reader.metadata.iter();
        metadata.filter_map(move |(key, column)| Some((*key, column.get(row)?)))
    }
}

impl fmt::Debug for LogRecord<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LogRecord")
            .field("stream_id", &self.stream_id)
            .field("timestamp_ns", &self.timestamp_ns)
            .field("line", &self.line)
            .field("metadata", &self.metadata().collect::<Vec<_>>())
            .finish()
    }
}

/// The columns of a logs section that the format defines; pointers count these only.
pub(crate) fn known_columns(meta: &SectionMeta) -> impl Iterator<Item = &ColumnMeta> {
    const KNOWN: [&str; 4] = [column::STREAM_ID, column::TIMESTAMP, column::METADATA, column::MESSAGE];
    meta.columns
        .iter()
        .filter(|column| KNOWN.contains(&column.logical.as_str()))
}
