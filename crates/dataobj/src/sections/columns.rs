//! Columns of a section, decoded whole: what the readers of all kinds stand on.

use crate::error::{Damage, Error};
use crate::limits::MAX_PAGE_ROWS;
use crate::read::{ColumnMeta, PageMeta, Scratch, Section, SectionMeta, decode_binary, decode_int64};
use crate::schema::SectionKind;
use arrow_array::{Array, BinaryArray, Int64Array, StringArray};
use std::collections::HashSet;

/// Most memory that a section may take when it is read as rows, 8 GiB: sixteen times the largest section that anybody writes.
/// Sections that would take more are refused before anything is allocated.
pub const MAX_SECTION_BYTES: u64 = 8 << 30;

/// Bytes that a decoded row takes beside its value: those of an offset or an integer, and of its presence, rounded up.
const ROW_BYTES: u64 = 9;

/// What a page takes whatever is in it: its values, offsets and presence stand in buffers of at least 1 KiB.
const PAGE_BYTES: u64 = 3 << 10;

/// Buffers are rounded up to powers of two.
const ROUNDING: u64 = 2;

/// Decodes the columns of one section.
#[derive(Debug)]
pub(crate) struct Columns<'meta, 'open> {
    section: &'open Section,
    meta: &'meta SectionMeta,
    data: &'open [u8],
    scratch: &'open mut Scratch,
}

/// A decoded column. Rows beyond its end are null.
#[derive(Debug)]
pub(crate) struct Column<A> {
    /// Ascending by the first row; pages without values are left out.
    pages: Vec<(u64, A)>,
}

/// Decodes a page.
type Decode<A> = fn(&ColumnMeta, &PageMeta, &[u8], &mut Scratch) -> Result<A, Error>;

impl<'meta, 'open> Columns<'meta, 'open> {
    /// `data` is the data region, whole.
    pub(crate) fn open(
        kind: &SectionKind,
        section: &'open Section,
        meta: &'meta SectionMeta,
        data: &'open [u8],
        scratch: &'open mut Scratch,
    ) -> Result<Columns<'meta, 'open>, Error> {
        let columns = Columns {
            section,
            meta,
            data,
            scratch,
        };
        if section.kind != *kind {
            return Err(Error::Unsupported(format!(
                "section {}: {} read as {kind}",
                section.index, section.kind
            )));
        }
        let region = section.data.end.saturating_sub(section.data.start);
        if data.len() as u64 != region {
            return Err(columns.corrupt(format!(
                "data region of {} bytes where the header says {region}",
                data.len()
            )));
        }
        if meta.rows > MAX_PAGE_ROWS {
            return Err(columns.corrupt(format!("section of {} rows; the limit is {MAX_PAGE_ROWS}", meta.rows)));
        }
        let bytes = decoded_bytes(meta);
        if bytes > MAX_SECTION_BYTES {
            return Err(Error::TooLarge {
                what: "decoded size of a section",
                value: bytes,
                limit: MAX_SECTION_BYTES,
            });
        }
        Ok(columns)
    }

    /// Rows of the section.
    pub(crate) fn rows(&self) -> u64 {
        self.meta.rows
    }

    /// An error that names this section.
    pub(crate) fn corrupt(&self, reason: String) -> Error {
        Damage::new(reason).at(Some(self.section.index), self.section.data.start)
    }

    /// The integers of a column; all null if there is no such column.
    pub(crate) fn int64(&mut self, logical: &str) -> Result<Column<Int64Array>, Error> {
        let column = self.find(logical);
        self.decode(column, decode_int64)
    }

    /// The byte strings of a column; all null if there is no such column.
    pub(crate) fn binary(&mut self, logical: &str) -> Result<Column<BinaryArray>, Error> {
        let column = self.find(logical);
        self.decode(column, decode_binary)
    }

    /// The texts of a column; all null if there is no such column.
    pub(crate) fn text(&mut self, logical: &str) -> Result<Column<StringArray>, Error> {
        let column = self.find(logical);
        self.decode(column, decode_text)
    }

    /// The texts of all columns of that name, with their tags, each of which is there once.
    pub(crate) fn tagged_text(&mut self, logical: &str) -> Result<Vec<(&'meta str, Column<StringArray>)>, Error> {
        self.tagged(logical, decode_text)
    }

    /// The byte strings of all columns of that name, with their tags, each of which is there once.
    pub(crate) fn tagged_binary(&mut self, logical: &str) -> Result<Vec<(&'meta str, Column<BinaryArray>)>, Error> {
        self.tagged(logical, decode_binary)
    }

    fn tagged<A>(&mut self, logical: &str, decode: Decode<A>) -> Result<Vec<(&'meta str, Column<A>)>, Error> {
        let mut tags = HashSet::new();
        let mut tagged = Vec::new();
        for column in self.meta.columns.iter().filter(|column| column.logical == logical) {
            let tag = column.tag.as_str();
            if !tags.insert(tag) {
                return Err(self.corrupt(format!("there are two columns {logical} {tag:?}")));
            }
            tagged.push((tag, self.decode(Some(column), decode)?));
        }
        Ok(tagged)
    }

    /// An error unless the column has a value in each of the rows.
    pub(crate) fn require<A: Array>(&self, logical: &str, column: &Column<A>, rows: u64) -> Result<(), Error> {
        match column.first_null(rows) {
            None => Ok(()),
            Some(row) => Err(self.corrupt(format!("column {logical} is null in row {row}"))),
        }
    }

    fn find(&self, logical: &str) -> Option<&'meta ColumnMeta> {
        self.meta.columns.iter().find(|column| column.logical == logical)
    }

    fn decode<A>(&mut self, column: Option<&ColumnMeta>, decode: Decode<A>) -> Result<Column<A>, Error> {
        let mut pages = Vec::new();
        let mut row = 0;
        for (column, page) in column.iter().flat_map(|&c| c.pages.iter().map(move |page| (c, page))) {
            let start = row;
            row += page.rows;
            if page.values == 0 {
                continue;
            }
            let offset = |position: u64| usize::try_from(position.saturating_sub(self.section.data.start)).ok();
            let bytes = offset(page.range.start)
                .zip(offset(page.range.end))
                .and_then(|(start, end)| self.data.get(start..end));
            let Some(bytes) = bytes else {
                return Err(self.corrupt(format!("page at {} is outside of the data region", page.range.start)));
            };
            pages.push((start, decode(column, page, bytes, self.scratch)?));
        }
        Ok(Column { pages })
    }
}

/// Memory for all pages that have values; the others take none.
fn decoded_bytes(meta: &SectionMeta) -> u64 {
    let pages = meta.columns.iter().flat_map(|column| &column.pages);
    let with_values = pages.filter(|page| page.values > 0);
    // Pages are bounded, so the sum over a list that fits into memory can't overflow.
    let bytes = |page: &PageMeta| ROUNDING * (page.rows * ROW_BYTES + page.raw_bytes) + PAGE_BYTES;
    with_values.map(bytes).sum()
}

fn decode_text(
    column: &ColumnMeta,
    page: &PageMeta,
    bytes: &[u8],
    scratch: &mut Scratch,
) -> Result<StringArray, Error> {
    StringArray::try_from_binary(decode_binary(column, page, bytes, scratch)?).map_err(|_| {
        let ColumnMeta { logical, tag, .. } = column;
        Damage::new(format!("column {logical} {tag:?} has a value that is not UTF-8"))
            .at(Some(column.section), page.range.start)
    })
}

impl<A: Array> Column<A> {
    /// The page with that row, and the row's position in it; `None` if it is null.
    fn find(&self, row: u64) -> Option<(&A, usize)> {
        let behind = self.pages.partition_point(|(start, _)| *start <= row);
        let (start, page) = self.pages.get(behind.checked_sub(1)?)?;
        let position = usize::try_from(row - start).ok()?;
        (position < page.len() && page.is_valid(position)).then_some((page, position))
    }

    /// The first null row before `rows`.
    fn first_null(&self, rows: u64) -> Option<u64> {
        let mut next = 0;
        for (start, page) in &self.pages {
            if *start > next {
                break;
            }
            if page.null_count() > 0 {
                let null = (0..page.len()).find(|&position| page.is_null(position));
                next = start + null.unwrap_or_default() as u64;
                break;
            }
            next = start + page.len() as u64;
        }
        (next < rows).then_some(next)
    }
}

impl Column<Int64Array> {
    /// The value in a row; `None` if it is null.
    pub(crate) fn get(&self, row: u64) -> Option<i64> {
        self.find(row).map(|(page, position)| page.value(position))
    }
}

impl Column<BinaryArray> {
    /// The value in a row; `None` if it is null.
    pub(crate) fn get(&self, row: u64) -> Option<&[u8]> {
        self.find(row).map(|(page, position)| page.value(position))
    }
}

impl Column<StringArray> {
    /// The value in a row; `None` if it is null.
    pub(crate) fn get(&self, row: u64) -> Option<&str> {
        self.find(row).map(|(page, position)| page.value(position))
    }
}
