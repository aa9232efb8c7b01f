//! Columns of an extension section: small columnar sections whose columns are not compressed, written and read whole.

use crate::compression::Compression;
use crate::error::{Damage, Error};
use crate::read::{ColumnMeta, Scratch, Section, SectionMeta, decode_binary, decode_int64};
use crate::schema::SectionKind;
use crate::stats::Physical;
use crate::write::{ColumnId, ColumnSpec, FinishedSection, SectionWriter, WriterOptions};
use arrow_array::{Array, BinaryArray, Int64Array};

/// Raw bytes after which a page is closed: checksums then cover pieces of this size, and a piece can be fetched alone.
const PAGE_BYTES: usize = 64 << 10;

/// A column by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Column {
    name: &'static str,
    physical: Physical,
}

impl Column {
    pub(super) const fn integers(name: &'static str) -> Column {
        let physical = Physical::Int64;
        Column { name, physical }
    }

    pub(super) const fn bytes(name: &'static str) -> Column {
        let physical = Physical::Binary;
        Column { name, physical }
    }
}

#[derive(Debug)]
pub(super) struct TableWriter {
    section: SectionWriter,
    columns: Vec<(Column, ColumnId)>,
}

impl TableWriter {
    pub(super) fn new(kind: SectionKind, version: u32, tenant: &str, columns: &[Column]) -> TableWriter {
        let options = WriterOptions {
            page_bytes: PAGE_BYTES,
            page_rows: 0,
            ..WriterOptions::default()
        };
        let mut section = SectionWriter::new(kind, version, tenant, &options);
        let mut add = |column: &Column| {
            section.add_column(ColumnSpec {
                physical: column.physical,
                logical: column.name.to_owned(),
                tag: String::new(),
                compression: Compression::None,
                range: false,
                cardinality: false,
            })
        };
        let columns = columns.iter().map(|column| (*column, add(column))).collect();
        TableWriter { section, columns }
    }

    pub(super) fn integer(&mut self, column: Column, row: u64, value: i64) -> Result<(), Error> {
        let id = self.id(column);
        self.section.append_int64(id, row, value)
    }

    pub(super) fn bytes(&mut self, column: Column, row: u64, value: &[u8]) -> Result<(), Error> {
        let id = self.id(column);
        self.section.append_binary(id, row, value)
    }

    fn id(&self, column: Column) -> ColumnId {
        let found = self.columns.iter().find(|(known, _)| *known == column);
        found.expect("bug: a table has all columns that are written").1
    }

    pub(super) fn finish(self) -> Result<FinishedSection, Error> {
        let order: Vec<ColumnId> = self.columns.iter().map(|(_, id)| *id).collect();
        self.section.finish(&order, None)
    }
}

#[derive(Debug)]
pub(super) struct TableReader<'a> {
    section: &'a Section,
    data: &'a [u8],
    meta: SectionMeta,
}

/// A column of byte strings, some of which may be null.
#[derive(Debug, Default)]
pub(super) struct ByteColumn {
    /// Pages, each with its first row.
    pages: Vec<(usize, BinaryArray)>,
}

impl ByteColumn {
    pub(super) fn get(&self, row: usize) -> Option<&[u8]> {
        let behind = self.pages.partition_point(|(start, _)| *start <= row);
        let (start, page) = self.pages.get(behind.checked_sub(1)?)?;
        let at = row - start;
        (at < page.len() && page.is_valid(at)).then(|| page.value(at))
    }
}

impl<'a> TableReader<'a> {
    /// Takes the two regions of a section. A row takes a byte of each column without nulls, and no byte belongs to two pages,
    /// so that memory is bounded by the size of the section, whatever it claims.
    pub(super) fn open(
        section: &'a Section,
        kind: &SectionKind,
        version: u32,
        metadata: &[u8],
        data: &'a [u8],
    ) -> Result<TableReader<'a>, Error> {
        if section.kind != *kind || section.version != version {
            return Err(Error::Unsupported(format!(
                "section {}: {} of version {} read as {kind} of version {version}",
                section.index, section.kind, section.version
            )));
        }
        let meta = SectionMeta::parse(section, metadata)?;
        let table = TableReader { section, data, meta };
        let expected = section.data.end.saturating_sub(section.data.start);
        if data.len() as u64 != expected {
            return Err(table.damaged(format!(
                "data region of {} bytes where the header says {expected}",
                data.len()
            )));
        }
        if table.meta.rows > expected {
            return Err(table.damaged(format!("{} rows in {expected} bytes", table.meta.rows)));
        }
        let pages = table.meta.columns.iter().flat_map(|column| &column.pages);
        let lengths = pages.map(|page| page.range.end - page.range.start);
        let stored = lengths.fold(0u64, u64::saturating_add);
        if stored > expected {
            return Err(table.damaged(format!(
                "pages of {stored} bytes in a data region of {expected}: some share bytes"
            )));
        }
        Ok(table)
    }

    pub(super) fn rows(&self) -> usize {
        self.meta.rows as usize
    }

    pub(super) fn damaged(&self, reason: String) -> Error {
        Damage::new(reason).at(Some(self.section.index), self.section.data.start)
    }

    /// One value per row.
    pub(super) fn integers(&self, column: Column) -> Result<Vec<i64>, Error> {
        let mut values = Vec::with_capacity(self.rows());
        for page in self.integer_pages(column)? {
            if page.null_count() > 0 {
                return Err(self.damaged(format!("null in column {}", column.name)));
            }
            values.extend_from_slice(page.values());
        }
        if values.len() != self.rows() {
            return Err(self.damaged(format!(
                "column {} has {} rows of {}",
                column.name,
                values.len(),
                self.rows()
            )));
        }
        Ok(values)
    }

    /// One value per row, none of them negative.
    pub(super) fn counts(&self, column: Column) -> Result<Vec<u64>, Error> {
        let values = self.integers(column)?;
        let counts = values.iter().map(|value| u64::try_from(*value));
        counts
            .collect::<Result<_, _>>()
            .map_err(|_| self.damaged(format!("negative number in column {}", column.name)))
    }

    /// One value or null per row, but none for rows at the end that are null.
    pub(super) fn nullable_integers(&self, column: Column) -> Result<Vec<Option<i64>>, Error> {
        Ok(self.integer_pages(column)?.iter().flatten().collect())
    }

    fn integer_pages(&self, column: Column) -> Result<Vec<Int64Array>, Error> {
        let Some(meta) = self.column(column)? else {
            return Ok(Vec::new());
        };
        let mut scratch = Scratch::new();
        let pages = meta.pages.iter();
        pages
            .map(|page| decode_int64(meta, page, self.page(&page.range)?, &mut scratch))
            .collect()
    }

    /// A value or null per row.
    pub(super) fn bytes(&self, column: Column) -> Result<ByteColumn, Error> {
        let mut bytes = ByteColumn::default();
        let Some(meta) = self.column(column)? else {
            return Ok(bytes);
        };
        let mut scratch = Scratch::new();
        let mut start = 0;
        for page in &meta.pages {
            let values = decode_binary(meta, page, self.page(&page.range)?, &mut scratch)?;
            bytes.pages.push((start, values));
            start += page.rows as usize;
        }
        Ok(bytes)
    }

    /// `None` for a column that has no values at all.
    fn column(&self, column: Column) -> Result<Option<&ColumnMeta>, Error> {
        let Some(meta) = self.meta.column(column.name, "") else {
            return Ok(None);
        };
        if meta.physical != column.physical || meta.compression != Compression::None {
            return Err(self.damaged(format!(
                "column {} is {:?} with compression {:?}",
                column.name, meta.physical, meta.compression
            )));
        }
        Ok(Some(meta))
    }

    fn page(&self, range: &std::ops::Range<u64>) -> Result<&'a [u8], Error> {
        let start = range.start.checked_sub(self.section.data.start);
        let range = start.map(|start| start as usize..(start + (range.end - range.start)) as usize);
        let page = range.and_then(|range| self.data.get(range));
        page.ok_or_else(|| self.damaged("page outside of its section".to_owned()))
    }
}
