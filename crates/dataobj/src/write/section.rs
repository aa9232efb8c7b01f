//! A columnar section being written (specification chapter 3): any kind, any columns.

use super::WriterOptions;
use super::column::{ColumnSpec, ColumnWriter, FinishedColumn, PageLimits};
use super::compressor::{PageCompressor, PageSink};
use crate::error::Error;
use crate::extension::{ColumnFilters, ColumnObserver, LogsExtension};
use crate::limits::check_names;
use crate::proto::{self, ColumnEntry, ColumnKind, Extent, SectionTable, append_framed};
use crate::read::SortInfo;
use crate::schema::SectionKind;
use std::collections::HashMap;

/// The first byte of every metadata region.
pub(crate) const COLUMNAR_VERSION: u8 = 2;

/// A column of a [`SectionWriter`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnId(pub(crate) usize);

/// Writes a columnar section of any kind; the writers of known kinds stand on it.
///
/// Columns are written independently: each value goes to a row, skipped rows are null. A section has as many rows as its
/// longest column.
#[derive(Debug)]
pub struct SectionWriter {
    kind: SectionKind,
    version: u32,
    tenant: String,
    limits: PageLimits,
    compressor: PageSink,
    columns: Vec<ColumnWriter>,
}

/// A section ready to be put into an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FinishedSection {
    /// What the section holds.
    pub kind: SectionKind,
    /// Version of the kind.
    pub version: u32,
    /// Who owns it; empty if not one tenant.
    pub tenant: String,
    /// Rows of its longest column.
    pub rows: u64,
    pub(crate) extension: Vec<u8>,
    pub(crate) metadata: Vec<u8>,
    /// One piece per column.
    pub(crate) data: Vec<Vec<u8>>,
    /// Logs sections: what goes into the tenant's extension sections.
    pub(crate) logs_extension: Option<LogsExtension>,
}

impl FinishedSection {
    /// Bytes that the section adds to an object, apart from its entry in the header.
    pub fn stored_bytes(&self) -> u64 {
        self.metadata.len() as u64 + self.data_bytes()
    }

    pub(crate) fn data_bytes(&self) -> u64 {
        self.data.iter().map(|piece| piece.len() as u64).sum()
    }
}

impl SectionWriter {
    /// A section without columns.
    pub fn new(kind: SectionKind, version: u32, tenant: &str, options: &WriterOptions) -> SectionWriter {
        SectionWriter {
            kind,
            version,
            tenant: tenant.to_owned(),
            limits: PageLimits {
                bytes: options.page_bytes,
                rows: options.page_rows,
            },
            compressor: PageSink::new(options.zstd_level),
            columns: Vec::new(),
        }
    }

    /// Pages are compressed by `compressor` instead of this crate's own codecs.
    #[must_use]
    pub fn with_compressor(mut self, compressor: Box<dyn PageCompressor>) -> SectionWriter {
        self.compressor.replace(compressor);
        self
    }

    /// Makes a column of this section, which follows `earlier`, count the distinct values of both.
    pub(crate) fn count_values_of(&mut self, column: ColumnId, earlier: &SectionWriter) {
        self.columns[column.0].count_values_of(&earlier.columns[column.0]);
    }

    /// Takes over the compressor of a section that is at its end.
    pub(crate) fn use_compressor(&mut self, compressor: PageSink) {
        self.compressor = compressor;
    }

    /// Columns don't close pages by themselves any more; the caller does with [`SectionWriter::cut`].
    pub(crate) fn without_own_cuts(mut self) -> SectionWriter {
        self.limits = PageLimits { bytes: 0, rows: 0 };
        self
    }

    /// Opens a column.
    pub fn add_column(&mut self, spec: ColumnSpec) -> ColumnId {
        self.columns.push(ColumnWriter::new(spec, self.limits));
        ColumnId(self.columns.len() - 1)
    }

    /// Opens a column whose pages are closed after other numbers of raw bytes and rows (0 for no limit) than the section's.
    pub fn add_column_with_pages(&mut self, spec: ColumnSpec, page_bytes: usize, page_rows: usize) -> ColumnId {
        let limits = PageLimits {
            bytes: page_bytes,
            rows: page_rows,
        };
        self.columns.push(ColumnWriter::new(spec, limits));
        ColumnId(self.columns.len() - 1)
    }

    /// Puts an integer into a row; the rows that the column lacks before it become null.
    pub fn append_int64(&mut self, column: ColumnId, row: u64, value: i64) -> Result<(), Error> {
        self.columns[column.0].append_int64(row, value, &mut self.compressor)
    }

    /// Puts a byte string into a row; the rows that the column lacks before it become null.
    pub fn append_binary(&mut self, column: ColumnId, row: u64, value: &[u8]) -> Result<(), Error> {
        self.columns[column.0].append_binary(row, value, &mut self.compressor)
    }

    /// Puts an explicit null into a row. Same rows as leaving it out, but other page cuts (specification chapter 7).
    pub fn append_null(&mut self, column: ColumnId, row: u64) -> Result<(), Error> {
        self.columns[column.0].append_null(row, &mut self.compressor)
    }

    /// Fills a column with nulls up to `rows` rows.
    pub fn fill(&mut self, column: ColumnId, rows: u64) -> Result<(), Error> {
        self.columns[column.0].fill(rows, &mut self.compressor)
    }

    /// Fills all columns up to `rows` rows and closes their pages.
    pub(crate) fn cut(&mut self, rows: u64) -> Result<(), Error> {
        (0..self.columns.len()).try_for_each(|column| self.cut_column(ColumnId(column), rows))
    }

    /// Fills a column up to `rows` rows and closes its page.
    pub(crate) fn cut_column(&mut self, column: ColumnId, rows: u64) -> Result<(), Error> {
        let column = &mut self.columns[column.0];
        column.fill(rows, &mut self.compressor)?;
        column.close_page(&mut self.compressor)
    }

    /// From now on the column's pages are shown to `observer` as they close.
    pub(crate) fn observe(&mut self, column: ColumnId, observer: ColumnObserver) {
        self.columns[column.0].observe(observer);
    }

    pub(crate) fn column(&self, column: ColumnId) -> &ColumnWriter {
        &self.columns[column.0]
    }

    pub(crate) fn columns(&self) -> &[ColumnWriter] {
        &self.columns
    }

    /// Closes all pages and lays the columns out in the order given, in which every column must stand once. A column
    /// without rows is left out; columns of `sort` are counted without it.
    pub fn finish(self, order: &[ColumnId], sort: Option<SortInfo>) -> Result<FinishedSection, Error> {
        self.finish_keeping_compressor(order, sort).map(|(section, _)| section)
    }

    /// As [`SectionWriter::finish`], with the compressor for the section that follows.
    pub(crate) fn finish_keeping_compressor(
        self,
        order: &[ColumnId],
        sort: Option<SortInfo>,
    ) -> Result<(FinishedSection, PageSink), Error> {
        debug_assert_eq!(order.len(), self.columns.len(), "every column stands once in the order");
        let SectionWriter {
            kind,
            version,
            tenant,
            mut compressor,
            columns,
            ..
        } = self;
        let mut columns: Vec<Option<ColumnWriter>> = columns.into_iter().map(Some).collect();

        let mut strings = StringTable::default();
        let mut names_bytes = 0;
        let mut metadata = vec![COLUMNAR_VERSION];
        let mut entries = Vec::with_capacity(order.len());
        let mut data = Vec::with_capacity(order.len());
        let mut data_offset = 0u64;
        let mut logs_extension: Option<LogsExtension> = None;
        for id in order {
            let mut column = columns[id.0]
                .take()
                .expect("bug: column stands twice in the order")
                .finish(&mut compressor)?;
            if let Some(pages) = column.filters.take() {
                let filters = ColumnFilters::new(&column.spec, pages);
                logs_extension.get_or_insert_default().filters.push(filters);
            }
            // The names of columns that turn out empty stay in the string table, as Loki has it.
            let logical = strings.intern(&column.spec.logical);
            let tag = strings.intern(&column.spec.tag);
            if column.rows == 0 {
                continue;
            }
            names_bytes += column.spec.logical.len() + column.spec.tag.len();
            let (entry, bytes) = append_column(&mut metadata, column, (logical, tag), data_offset);
            data_offset += bytes.len() as u64;
            entries.push(entry);
            data.push(bytes);
        }

        let rows = entries.iter().map(|entry| entry.rows).max().unwrap_or(0);
        let table = SectionTable {
            columns: entries,
            strings: strings.into_strings(),
            ordering: sort.map(|sort| sort.encode()),
        };
        let offset = metadata.len() as u64;
        let length = append_framed(&mut metadata, &table);
        check_names("names in section metadata", names_bytes, metadata.len())?;
        let mut extension = Vec::new();
        append_framed(&mut extension, &Extent { offset, length });
        let section = FinishedSection {
            kind,
            version,
            tenant,
            rows,
            extension,
            metadata,
            data,
            logs_extension,
        };
        Ok((section, compressor))
    }
}

fn append_column(
    metadata: &mut Vec<u8>,
    column: FinishedColumn,
    (logical, tag): (u32, u32),
    data_offset: u64,
) -> (ColumnEntry, Vec<u8>) {
    let FinishedColumn {
        spec,
        rows,
        values,
        raw_bytes,
        stats,
        mut pages,
        data,
        filters: _,
    } = column;
    for page in &mut pages.pages {
        page.offset += data_offset;
    }
    let pages_offset = metadata.len() as u64;
    let pages_length = append_framed(metadata, &pages);
    let entry = ColumnEntry {
        kind: Some(ColumnKind {
            physical: spec.physical.number(),
            logical,
        }),
        tag,
        pages: pages.pages.len() as u64,
        rows,
        values,
        compression: spec.compression.number(),
        raw_bytes,
        stored_bytes: data.len() as u64,
        pages_offset,
        pages_length,
        stats: Some(stats.encode()),
    };
    (entry, data)
}

/// A table of strings that are referred to by number; number 0 is the empty one.
#[derive(Debug)]
pub(crate) struct StringTable {
    strings: Vec<String>,
    numbers: HashMap<String, u32>,
}

impl Default for StringTable {
    fn default() -> StringTable {
        StringTable {
            strings: vec![String::new()],
            numbers: HashMap::from([(String::new(), 0)]),
        }
    }
}

impl StringTable {
    /// The number of `string`, added if it isn't there.
    pub(crate) fn intern(&mut self, string: &str) -> u32 {
        if let Some(number) = self.numbers.get(string) {
            return *number;
        }
        let number = self.strings.len() as u32;
        self.strings.push(string.to_owned());
        self.numbers.insert(string.to_owned(), number);
        number
    }

    pub(crate) fn into_strings(self) -> Vec<String> {
        self.strings
    }
}

impl SortInfo {
    fn encode(self) -> proto::Ordering {
        let columns = self
            .columns
            .into_iter()
            .map(|by| proto::OrderBy {
                column: by.column,
                direction: by.direction.number(),
            })
            .collect();
        proto::Ordering {
            columns,
            schema_keys: self.schema_keys,
        }
    }
}
