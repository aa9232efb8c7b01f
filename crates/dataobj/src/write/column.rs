//! One column of a section being written: an open page and the closed ones (specification chapters 4, 5 and 7).
// hot path: no locks, no logging, no allocation per row.

use super::compressor::PageSink;
use crate::cardinality::Cardinality;
use crate::compression::Compression;
use crate::encoding::{bitmap, delta, plain};
use crate::error::Error;
use crate::extension::{ColumnObserver, PageRecord};
use crate::limits::{MAX_PAGE_BYTES, MAX_PAGE_ROWS, check_limit};
use crate::proto::{ColumnPages, PageEntry};
use crate::stats::{Physical, RangeBuilder, Stats};
use crate::varint::{append_uvarint, uvarint_len, zigzag};

/// What a column is and what is kept about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnSpec {
    /// `Int64` or `Binary`: the types that have a codec.
    pub physical: Physical,
    /// What the column is, see [`crate::column`].
    pub logical: String,
    /// Tells columns of one logical name apart; empty for none.
    pub tag: String,
    /// Compression of all its pages.
    pub compression: Compression,
    /// Keep smallest and largest value of pages and column.
    pub range: bool,
    /// Keep the number of distinct values.
    pub cardinality: bool,
}

impl ColumnSpec {
    /// Integers, not compressed.
    pub(crate) fn int64(logical: &str, tag: &str, range: bool) -> ColumnSpec {
        ColumnSpec {
            physical: Physical::Int64,
            logical: logical.to_owned(),
            tag: tag.to_owned(),
            compression: Compression::None,
            range,
            cardinality: false,
        }
    }

    /// Byte strings, compressed with Zstandard.
    pub(crate) fn binary(logical: &str, tag: &str, range: bool) -> ColumnSpec {
        ColumnSpec {
            physical: Physical::Binary,
            compression: Compression::Zstd,
            ..ColumnSpec::int64(logical, tag, range)
        }
    }

    /// The same, with another compression.
    pub(crate) fn compressed(self, compression: Compression) -> ColumnSpec {
        ColumnSpec { compression, ..self }
    }
}

/// When a column closes a page by itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PageLimits {
    /// Raw bytes, 0 for no limit.
    pub(crate) bytes: usize,
    /// Rows, 0 for no limit.
    pub(crate) rows: usize,
}

/// Estimated bytes of a gap of nulls and of one explicit null (specification chapter 7).
pub(crate) const GAP_ESTIMATE: i64 = 4;
const NULL_ESTIMATE: i64 = 1;

/// Estimated bytes of an integer: those of the value, not of its delta.
pub(crate) fn int64_estimate(value: i64) -> i64 {
    uvarint_len(zigzag(value)) as i64
}

/// Estimated bytes of a byte string: its length less one, as Loki has it.
pub(crate) fn binary_estimate(value: &[u8]) -> i64 {
    value.len() as i64 - 1
}

#[derive(Debug)]
pub(crate) struct ColumnWriter {
    pub(crate) spec: ColumnSpec,
    limits: PageLimits,
    rows: u64,
    values: u64,
    raw_bytes: u64,
    open: OpenPage,
    page_stats: Vec<Stats>,
    pages: Vec<PageEntry>,
    data: Vec<u8>,
    cardinality: Option<Cardinality>,
    /// Makes filters of pages as they close.
    observer: Option<ColumnObserver>,
}

#[derive(Debug, Default)]
struct OpenPage {
    presence: bitmap::Encoder,
    encoded: Vec<u8>,
    rows: u64,
    values: u64,
    previous: i64,
    range: RangeBuilder,
}

/// A column with all its pages closed.
#[derive(Debug)]
pub(crate) struct FinishedColumn {
    pub(crate) spec: ColumnSpec,
    pub(crate) rows: u64,
    pub(crate) values: u64,
    pub(crate) raw_bytes: u64,
    pub(crate) stats: Stats,
    /// Page offsets are relative to `data`.
    pub(crate) pages: ColumnPages,
    pub(crate) data: Vec<u8>,
    /// What its observer made of its pages, if it had one.
    pub(crate) filters: Option<Vec<PageRecord>>,
}

impl ColumnWriter {
    pub(crate) fn new(spec: ColumnSpec, limits: PageLimits) -> ColumnWriter {
        let cardinality = spec.cardinality.then(Cardinality::default);
        ColumnWriter {
            spec,
            limits,
            rows: 0,
            values: 0,
            raw_bytes: 0,
            open: OpenPage::default(),
            page_stats: Vec::new(),
            pages: Vec::new(),
            data: Vec::new(),
            cardinality,
            observer: None,
        }
    }

    /// Counts the distinct values of an earlier column too.
    pub(crate) fn count_values_of(&mut self, earlier: &ColumnWriter) {
        self.cardinality.clone_from(&earlier.cardinality);
    }

    /// From now on pages are shown to `observer` as they close.
    pub(crate) fn observe(&mut self, observer: ColumnObserver) {
        self.observer = Some(observer);
    }

    /// Rows so far, nulls included.
    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    /// Size of the open page as the cut rules see it.
    pub(crate) fn open_bytes(&self) -> i64 {
        (self.open.presence.emitted_bytes() + self.open.encoded.len()) as i64
    }

    /// Bytes of closed pages as they will be stored.
    pub(crate) fn stored_bytes(&self) -> usize {
        self.data.len()
    }

    /// Fills up to `row` with nulls, then appends `value`.
    pub(crate) fn append_int64(&mut self, row: u64, value: i64, compressor: &mut PageSink) -> Result<(), Error> {
        debug_assert_eq!(self.spec.physical, Physical::Int64);
        self.start_value(row, int64_estimate(value), compressor)?;
        delta::append(&mut self.open.encoded, self.open.previous, value);
        self.open.previous = value;
        if self.spec.range {
            self.open.range.add_int64(value);
        }
        if let Some(cardinality) = &mut self.cardinality {
            cardinality.add_int64(value);
        }
        Ok(())
    }

    /// Fills up to `row` with nulls, then appends `value`.
    pub(crate) fn append_binary(&mut self, row: u64, value: &[u8], compressor: &mut PageSink) -> Result<(), Error> {
        debug_assert_eq!(self.spec.physical, Physical::Binary);
        self.start_value(row, binary_estimate(value), compressor)?;
        plain::append(&mut self.open.encoded, value);
        if self.spec.range {
            self.open.range.add_binary(value);
        }
        if let Some(cardinality) = &mut self.cardinality {
            cardinality.add_binary(value);
        }
        Ok(())
    }

    /// Fills up to `row` with nulls, then appends one explicit null, which the cut rules count differently from a gap.
    pub(crate) fn append_null(&mut self, row: u64, compressor: &mut PageSink) -> Result<(), Error> {
        self.fill(row, compressor)?;
        self.append_nulls(1, NULL_ESTIMATE, compressor)
    }

    /// Fills with nulls up to `rows` rows, in one gap.
    pub(crate) fn fill(&mut self, rows: u64, compressor: &mut PageSink) -> Result<(), Error> {
        debug_assert!(rows >= self.rows, "rows must ascend");
        match rows.saturating_sub(self.rows) {
            0 => Ok(()),
            gap => self.append_nulls(gap, GAP_ESTIMATE, compressor),
        }
    }

    fn start_value(&mut self, row: u64, estimate: i64, compressor: &mut PageSink) -> Result<(), Error> {
        self.fill(row, compressor)?;
        if !self.fits(1, estimate) {
            self.close_page(compressor)?;
        }
        self.open.presence.append(true);
        self.open.rows += 1;
        self.open.values += 1;
        self.rows += 1;
        Ok(())
    }

    fn append_nulls(&mut self, count: u64, estimate: i64, compressor: &mut PageSink) -> Result<(), Error> {
        if !self.fits(count, estimate) {
            self.close_page(compressor)?;
        }
        self.open.presence.append_n(false, count);
        self.open.rows += count;
        self.rows += count;
        Ok(())
    }

    fn fits(&self, count: u64, estimate: i64) -> bool {
        let (max_rows, max_bytes) = (self.limits.rows as u64, self.limits.bytes as i64);
        let too_many = max_rows > 0 && count <= max_rows && self.open.rows + count > max_rows;
        let size = self.open_bytes();
        let too_large = max_bytes > 0 && size > 0 && size + estimate > max_bytes;
        !too_many && !too_large
    }

    /// Closes the open page unless it has no rows.
    pub(crate) fn close_page(&mut self, compressor: &mut PageSink) -> Result<(), Error> {
        let open = &mut self.open;
        if open.rows == 0 {
            return Ok(());
        }
        let presence = open.presence.finish();
        let prefix = uvarint_len(presence.len() as u64) + presence.len();
        let raw_bytes = (prefix + open.encoded.len()) as u64;
        check_limit("page size", raw_bytes, MAX_PAGE_BYTES)?;
        check_limit("number of rows of a page", open.rows, MAX_PAGE_ROWS)?;

        let offset = self.data.len();
        append_uvarint(&mut self.data, presence.len() as u64);
        self.data.extend_from_slice(presence);
        self.data
            .extend_from_slice(compressor.compress(self.spec.compression, &open.encoded)?);
        let stored = self.data.get(offset..).unwrap_or_default();
        check_limit("stored page size", stored.len() as u64, MAX_PAGE_BYTES)?;

        let stats = open.range.take(self.spec.physical);
        let entry = PageEntry {
            raw_bytes,
            stored_bytes: stored.len() as u64,
            crc: crc32c::crc32c(stored),
            rows: open.rows,
            values: open.values,
            encoding: if self.spec.physical == Physical::Int64 {
                ENCODING_DELTA
            } else {
                ENCODING_PLAIN
            },
            offset: offset as u64,
            length: stored.len() as u64,
            stats: self.spec.range.then(|| stats.encode()),
        };
        if let Some(observer) = &mut self.observer {
            observer.page_closed(self.pages.len(), &open.encoded, &entry);
        }
        self.pages.push(entry);
        self.page_stats.push(stats);
        self.raw_bytes += raw_bytes;
        self.values += open.values;
        open.presence.clear();
        open.encoded.clear();
        (open.rows, open.values, open.previous) = (0, 0, 0);
        Ok(())
    }

    pub(crate) fn finish(mut self, compressor: &mut PageSink) -> Result<FinishedColumn, Error> {
        self.close_page(compressor)?;
        let mut stats = Stats::fold_range(self.page_stats.iter());
        stats.cardinality = self.cardinality.as_ref().map_or(0, Cardinality::estimate);
        Ok(FinishedColumn {
            spec: self.spec,
            rows: self.rows,
            values: self.values,
            raw_bytes: self.raw_bytes,
            stats,
            pages: ColumnPages { pages: self.pages },
            data: self.data,
            filters: self.observer.map(ColumnObserver::into_records),
        })
    }
}

/// Numbers of the value encodings in a page entry.
pub(crate) const ENCODING_PLAIN: i32 = 1;
pub(crate) const ENCODING_DELTA: i32 = 2;
