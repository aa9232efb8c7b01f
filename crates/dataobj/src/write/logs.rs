//! The `logs` section: one row per record (specification chapter 8.2).
// hot path: no locks, no logging, no allocation per row.

use super::column::{ColumnSpec, ColumnWriter, GAP_ESTIMATE, binary_estimate, int64_estimate};
use super::compressor::PageCompressor;
use super::section::{ColumnId, FinishedSection, SectionWriter};
use super::{PageCut, WriterOptions};
use crate::compression::Compression;
use crate::error::Error;
use crate::extension::{ColumnObserver, VolumeBuilder};
use crate::read::{Direction, OrderBy, SortInfo};
use crate::schema::{SectionKind, column};
use crate::stats::Physical;
use std::collections::HashMap;

/// Versions of `logs` sections: the second one tells from the header that rows are sorted by labels.
const VERSION: u32 = 2;
const VERSION_SCHEMA_SORTED: u32 = 3;

/// In which order the rows of a tenant stand, across all its logs sections of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SortOrder {
    /// By stream number ascending, then latest first.
    StreamAscending,
    /// Latest first, then by stream number ascending.
    TimestampDescending,
    /// By these label names' values, then as [`SortOrder::StreamAscending`]. Stream numbers must be given in the order of the
    /// values.
    Schema(Vec<String>),
}

/// One record.
#[derive(Clone, Copy, Debug)]
pub struct LogRow<'a> {
    /// Number of its stream in the tenant's streams section.
    pub stream_id: i64,
    /// Nanoseconds since 1970.
    pub timestamp_ns: i64,
    /// The line, any bytes.
    pub line: &'a [u8],
    /// Structured metadata: keys and values, ascending by key.
    pub metadata: &'a [(&'a str, &'a [u8])],
}

/// Writes a `logs` section of a tenant.
#[derive(Debug)]
pub struct LogsWriter {
    section: SectionWriter,
    tenant: String,
    options: WriterOptions,
    sort: SortOrder,
    /// `None`: columns cut their pages themselves.
    aligned: Option<AlignedCuts>,
    rows: u64,
    raw_bytes: usize,
    /// Stream and time of the row before.
    last: Option<(i64, i64)>,
    stream_id: ColumnId,
    timestamp: ColumnId,
    message: ColumnId,
    metadata: HashMap<Box<str>, usize>,
    /// By the positions in `metadata`.
    keys: Vec<(Box<str>, ColumnId)>,
    /// Positions in `keys` of the row before and of this one: records of one kind carry the same keys, so comparing with
    /// the row before saves most look-ups.
    last_keys: Vec<usize>,
    /// Present if the section contributes to extension sections.
    volume: Option<VolumeBuilder>,
}

#[derive(Debug)]
struct AlignedCuts {
    page_bytes: i64,
    page_rows: u64,
    /// The row at which the open pages start.
    start: u64,
    /// The rows at which pages were cut.
    cuts: Vec<u64>,
}

impl LogsWriter {
    /// A section without records.
    pub fn new(tenant: &str, sort: SortOrder, options: &WriterOptions) -> LogsWriter {
        let version = if matches!(sort, SortOrder::Schema(_)) {
            VERSION_SCHEMA_SORTED
        } else {
            VERSION
        };
        let mut section = SectionWriter::new(SectionKind::Logs, version, tenant, options);
        let aligned = match options.cut {
            PageCut::Independent => None,
            PageCut::Aligned => {
                section = section.without_own_cuts();
                Some(AlignedCuts {
                    page_bytes: options.page_bytes as i64,
                    page_rows: options.page_rows as u64,
                    start: 0,
                    cuts: Vec::new(),
                })
            }
        };
        let mut add = |physical, logical: &str, compression, range, cardinality| {
            let (logical, tag) = (logical.to_owned(), String::new());
            section.add_column(ColumnSpec {
                physical,
                logical,
                tag,
                compression,
                range,
                cardinality,
            })
        };
        LogsWriter {
            stream_id: add(Physical::Int64, column::STREAM_ID, Compression::None, true, true),
            timestamp: add(Physical::Int64, column::TIMESTAMP, Compression::None, true, false),
            message: add(Physical::Binary, column::MESSAGE, Compression::Zstd, false, false),
            section,
            tenant: tenant.to_owned(),
            options: options.clone(),
            sort,
            aligned,
            rows: 0,
            raw_bytes: 0,
            last: None,
            metadata: HashMap::new(),
            keys: Vec::new(),
            last_keys: Vec::new(),
            volume: None,
        }
    }

    /// Collects filters and volume as well, in the sections that follow too, for [`super::ObjectWriter`] to put into
    /// sections of their own (docs/extension-sections.md).
    #[must_use]
    pub fn with_extensions(mut self) -> LogsWriter {
        debug_assert!(self.rows == 0, "all records count");
        self.section.observe(self.message, ColumnObserver::of_lines());
        self.volume = Some(VolumeBuilder::default());
        self
    }

    /// Records so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The section's size as Loki estimates it: per record 9 bytes, its line and its metadata values. A section is closed
    /// when this exceeds the section target.
    pub fn raw_bytes(&self) -> usize {
        self.raw_bytes
    }

    /// Bytes of the pages closed so far.
    pub fn stored_bytes(&self) -> usize {
        self.section.columns().iter().map(ColumnWriter::stored_bytes).sum()
    }

    /// Adds a record. Records must come in the section's order.
    pub fn append(&mut self, record: &LogRow<'_>) -> Result<(), Error> {
        debug_assert!(
            record.metadata.is_sorted_by(|a, b| a.0 < b.0),
            "metadata ascends by key, each key once"
        );
        debug_assert!(
            self.is_in_order(record),
            "record out of order: {:?} after {:?}",
            record.stream_id,
            self.last
        );
        self.last = Some((record.stream_id, record.timestamp_ns));
        self.find_keys(record.metadata)?;
        self.cut_if_full(record)?;

        let row = self.rows;
        self.section.append_int64(self.stream_id, row, record.stream_id)?;
        self.section.append_int64(self.timestamp, row, record.timestamp_ns)?;
        self.raw_bytes += 1 + 8 + record.line.len();
        for ((_, value), position) in record.metadata.iter().zip(&self.last_keys) {
            self.section.append_binary(self.keys[*position].1, row, value)?;
            self.raw_bytes += value.len();
        }
        self.section.append_binary(self.message, row, record.line)?;
        if let Some(volume) = &mut self.volume {
            volume.add(record);
        }
        self.rows += 1;
        Ok(())
    }

    /// Pages are compressed by `compressor` instead of this crate's own codecs, in the sections that follow too.
    #[must_use]
    pub fn with_compressor(mut self, compressor: Box<dyn PageCompressor>) -> LogsWriter {
        self.section = self.section.with_compressor(compressor);
        self
    }

    /// Closes the section, because it is large enough, and begins the tenant's next one. The next one's order goes on where
    /// this one ended, and its number of distinct streams counts those of all sections so far, as Loki has it.
    pub fn finish_section(&mut self) -> Result<FinishedSection, Error> {
        let mut next = LogsWriter::new(&self.tenant, self.sort.clone(), &self.options);
        next.section.count_values_of(next.stream_id, &self.section);
        next.last = self.last;
        if self.volume.is_some() {
            next = next.with_extensions();
        }
        let mut full = std::mem::replace(self, next);
        let order = full.column_order()?;
        let sort = full.sort.info();
        let (mut section, compressor) = full.section.finish_keeping_compressor(&order, Some(sort))?;
        add_volume(&mut section, full.volume);
        self.section.use_compressor(compressor);
        Ok(section)
    }

    /// Closes the section.
    pub fn finish(mut self) -> Result<FinishedSection, Error> {
        let order = self.column_order()?;
        let mut section = self.section.finish(&order, Some(self.sort.info()))?;
        add_volume(&mut section, self.volume);
        Ok(section)
    }

    /// The columns as they are laid out, the metadata columns filled up to the last row.
    fn column_order(&mut self) -> Result<Vec<ColumnId>, Error> {
        self.keys.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        let mut order = vec![self.stream_id, self.timestamp];
        for (_, column) in &self.keys {
            self.section.fill(*column, self.rows)?;
            order.push(*column);
        }
        order.push(self.message);
        Ok(order)
    }

    fn is_in_order(&self, record: &LogRow<'_>) -> bool {
        let Some((stream_id, timestamp_ns)) = self.last else {
            return true;
        };
        match self.sort {
            SortOrder::StreamAscending | SortOrder::Schema(_) => {
                (stream_id, record.timestamp_ns) <= (record.stream_id, timestamp_ns)
            }
            SortOrder::TimestampDescending => (record.timestamp_ns, stream_id) <= (timestamp_ns, record.stream_id),
        }
    }

    /// Leaves in `last_keys` the position of each key of the record.
    fn find_keys(&mut self, metadata: &[(&str, &[u8])]) -> Result<(), Error> {
        self.last_keys.truncate(metadata.len());
        for (i, (key, _)) in metadata.iter().enumerate() {
            if self
                .last_keys
                .get(i)
                .is_some_and(|&position| *self.keys[position].0 == **key)
            {
                continue;
            }
            let position = match self.metadata.get(*key) {
                Some(position) => *position,
                None => self.add_key(key)?,
            };
            match self.last_keys.get_mut(i) {
                Some(slot) => *slot = position,
                None => self.last_keys.push(position),
            }
        }
        Ok(())
    }

    fn add_key(&mut self, key: &str) -> Result<usize, Error> {
        let column = self.section.add_column(ColumnSpec {
            physical: Physical::Binary,
            logical: column::METADATA.to_owned(),
            tag: key.to_owned(),
            compression: Compression::Zstd,
            range: true,
            cardinality: true,
        });
        if self.volume.is_some() {
            self.section.observe(column, ColumnObserver::of_values());
        }
        // A column that starts late gets the pages that it missed.
        if let Some(aligned) = &self.aligned {
            for cut in &aligned.cuts {
                self.section.cut_column(column, *cut)?;
            }
        }
        let position = self.keys.len();
        self.keys.push((key.into(), column));
        self.metadata.insert(key.into(), position);
        Ok(position)
    }

    /// Cuts all columns before the record if one of them has no room for it.
    fn cut_if_full(&mut self, record: &LogRow<'_>) -> Result<(), Error> {
        let Some(aligned) = &mut self.aligned else {
            return Ok(());
        };
        if self.rows == aligned.start {
            return Ok(());
        }
        let is_full = |column: ColumnId, estimate: i64| {
            let column = self.section.column(column);
            let gap = if column.rows() < self.rows { GAP_ESTIMATE } else { 0 };
            column.open_bytes() + gap + estimate > aligned.page_bytes
        };
        let has_no_row_left = aligned.page_rows > 0 && self.rows - aligned.start >= aligned.page_rows;
        let has_no_byte_left = || {
            is_full(self.message, binary_estimate(record.line))
                || is_full(self.timestamp, int64_estimate(record.timestamp_ns))
                || is_full(self.stream_id, int64_estimate(record.stream_id))
                || record
                    .metadata
                    .iter()
                    .zip(&self.last_keys)
                    .any(|((_, value), &position)| is_full(self.keys[position].1, binary_estimate(value)))
        };
        if has_no_row_left || (aligned.page_bytes > 0 && has_no_byte_left()) {
            self.section.cut(self.rows)?;
            aligned.start = self.rows;
            aligned.cuts.push(self.rows);
        }
        Ok(())
    }
}

fn add_volume(section: &mut FinishedSection, volume: Option<VolumeBuilder>) {
    if let Some(extension) = &mut section.logs_extension {
        extension.volume = volume.and_then(VolumeBuilder::finish);
    }
}

impl SortOrder {
    /// How a logs section declares the order. Columns 0 and 1 are stream number and timestamp.
    fn info(&self) -> SortInfo {
        let stream = OrderBy {
            column: 0,
            direction: Direction::Ascending,
        };
        let timestamp = OrderBy {
            column: 1,
            direction: Direction::Descending,
        };
        match self {
            SortOrder::StreamAscending => SortInfo {
                columns: vec![stream, timestamp],
                schema_keys: Vec::new(),
            },
            SortOrder::TimestampDescending => SortInfo {
                columns: vec![timestamp, stream],
                schema_keys: Vec::new(),
            },
            SortOrder::Schema(labels) => SortInfo {
                columns: vec![stream, timestamp],
                schema_keys: labels.iter().map(|label| format!("label:{label}")).collect(),
            },
        }
    }
}
