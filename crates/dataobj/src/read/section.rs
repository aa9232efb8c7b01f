//! A columnar section's metadata (specification chapter 3).

use super::layout::Section;
use crate::compression::Compression;
use crate::error::{Damage, Error};
use crate::limits::{MAX_PAGE_BYTES, MAX_PAGE_ROWS, NameBudget};
use crate::proto::{self, ColumnEntry, ColumnPages, Extent, PageEntry, SectionTable, decode_framed};
use crate::stats::{Physical, Stats};
use std::ops::Range;

/// Columns and order of a section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SectionMeta {
    /// Position of the section in the object, from 0.
    pub index: usize,
    /// Rows of the longest column; shorter ones are null in the remaining rows.
    pub rows: u64,
    /// Columns in file order.
    pub columns: Vec<ColumnMeta>,
    /// The order that the section declares.
    pub sort: Option<SortInfo>,
    /// The section's string table: logical names and tags.
    pub strings: Vec<String>,
}

/// The order of a section's rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SortInfo {
    /// Columns by which rows are ordered.
    pub columns: Vec<OrderBy>,
    /// Stream labels, each as `label:<name>`, by whose values rows are ordered first.
    pub schema_keys: Vec<String>,
}

/// One column of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderBy {
    /// Position of the column in the section.
    pub column: u32,
    /// Which way.
    pub direction: Direction,
}

/// Which way a column is sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Smallest first.
    Ascending,
    /// Largest first.
    Descending,
    /// Neither, by its number.
    Other(i32),
}

impl Direction {
    pub(crate) fn from_number(number: i32) -> Direction {
        match number {
            1 => Direction::Ascending,
            2 => Direction::Descending,
            other => Direction::Other(other),
        }
    }

    pub(crate) fn number(self) -> i32 {
        match self {
            Direction::Ascending => 1,
            Direction::Descending => 2,
            Direction::Other(other) => other,
        }
    }
}

/// A column: identified within its section by physical type, logical name and tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnMeta {
    /// Position of the section in the object, for error messages.
    pub section: usize,
    /// Type of the values.
    pub physical: Physical,
    /// What the column is, see [`crate::column`].
    pub logical: String,
    /// Label name or metadata key; empty for none.
    pub tag: String,
    /// Rows, nulls included.
    pub rows: u64,
    /// Rows that are not null.
    pub values: u64,
    /// Compression of all its pages.
    pub compression: Compression,
    /// Size of its pages with values uncompressed.
    pub raw_bytes: u64,
    /// Size of its pages as stored.
    pub stored_bytes: u64,
    /// File offsets of the list of its pages.
    pub metadata: Range<u64>,
    /// What is known about its values.
    pub stats: Option<Stats>,
    /// Its pages. The first row of a page is the sum of the rows of those before.
    pub pages: Vec<PageMeta>,
}

/// A page of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageMeta {
    /// File offsets.
    pub range: Range<u64>,
    /// Rows, nulls included.
    pub rows: u64,
    /// Rows that are not null.
    pub values: u64,
    /// How values are encoded.
    pub encoding: Encoding,
    /// CRC-32C of the stored page.
    pub crc: u32,
    /// Size with values uncompressed.
    pub raw_bytes: u64,
    /// What is known about its values; empty if all are null.
    pub stats: Option<Stats>,
}

/// How a page's values are encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// Byte strings behind their lengths.
    Plain,
    /// Integers as differences.
    Delta,
    /// Presence bits; never of values.
    Bitmap,
    /// An encoding this build doesn't know, by its number.
    Other(i32),
}

impl Encoding {
    fn from_number(number: i32) -> Encoding {
        match number {
            1 => Encoding::Plain,
            2 => Encoding::Delta,
            3 => Encoding::Bitmap,
            other => Encoding::Other(other),
        }
    }
}

impl SectionMeta {
    /// Parses a section's metadata region, fetched whole.
    pub fn parse(section: &Section, metadata_region: &[u8]) -> Result<SectionMeta, Error> {
        let at = |damage: Damage, meta_offset: u64| {
            damage.at(Some(section.index), section.metadata.start.saturating_add(meta_offset))
        };
        let expected = section.metadata.end.saturating_sub(section.metadata.start);
        if metadata_region.len() as u64 != expected {
            let reason = format!(
                "metadata region of {} bytes where the header says {expected}",
                metadata_region.len()
            );
            return Err(at(Damage::new(reason), 0));
        }
        let locator: Extent = decode_framed(&section.extension).map_err(|damage| at(damage, 0))?;
        let table: SectionTable = part(metadata_region, locator)
            .and_then(decode_framed)
            .map_err(|damage| at(damage, locator.offset))?;

        // Lists of pages that overlapped would let a small region describe any number of pages.
        let listed = table
            .columns
            .iter()
            .fold(0u64, |sum, entry| sum.saturating_add(entry.pages_length));
        if listed > expected {
            let reason = format!("lists of pages of {listed} bytes in a metadata region of {expected}");
            return Err(at(Damage::new(reason), locator.offset));
        }
        let mut names = NameBudget::new(metadata_region.len());
        let mut columns = Vec::with_capacity(table.columns.len());
        for entry in &table.columns {
            let column = read_column(section, metadata_region, entry, |reference| {
                names.name(&table.strings, reference)
            });
            columns.push(column.map_err(|damage| at(damage, entry.pages_offset))?);
        }
        Ok(SectionMeta {
            index: section.index,
            rows: columns.iter().map(|column| column.rows).max().unwrap_or(0),
            columns,
            sort: table.ordering.map(SortInfo::decode),
            strings: table.strings,
        })
    }

    /// The first column with that logical name and tag (empty for none).
    pub fn column(&self, logical: &str, tag: &str) -> Option<&ColumnMeta> {
        self.columns
            .iter()
            .find(|column| column.logical == logical && column.tag == tag)
    }

    /// True if every column has the same number of pages with the same rows, so that page n of one holds the rows of page n
    /// of every other.
    pub fn is_aligned(&self) -> bool {
        let rows = |column: &ColumnMeta| column.pages.iter().map(|page| page.rows).collect::<Vec<_>>();
        let Some(first) = self.columns.first().map(rows) else {
            return true;
        };
        self.columns
            .iter()
            .all(|column| column.pages.iter().map(|page| page.rows).eq(first.iter().copied()))
    }
}

impl SortInfo {
    fn decode(ordering: proto::Ordering) -> SortInfo {
        let order_by = |by: &proto::OrderBy| OrderBy {
            column: by.column,
            direction: Direction::from_number(by.direction),
        };
        SortInfo {
            columns: ordering.columns.iter().map(order_by).collect(),
            schema_keys: ordering.schema_keys,
        }
    }
}

fn part(region: &[u8], extent: Extent) -> Result<&[u8], Damage> {
    let Extent { offset, length } = extent;
    let range = usize::try_from(offset)
        .ok()
        .and_then(|start| Some(start..start.checked_add(length.try_into().ok()?)?));
    range.and_then(|range| region.get(range)).ok_or_else(|| {
        Damage::new(format!(
            "{length} bytes at {offset} are outside of a metadata region of {}",
            region.len()
        ))
    })
}

fn read_column(
    section: &Section,
    region: &[u8],
    entry: &ColumnEntry,
    mut name: impl FnMut(u32) -> Result<String, Damage>,
) -> Result<ColumnMeta, Damage> {
    let kind = entry.kind.unwrap_or_default();
    let physical = Physical::from_number(kind.physical);
    let extent = Extent {
        offset: entry.pages_offset,
        length: entry.pages_length,
    };
    let list: ColumnPages = part(region, extent).and_then(decode_framed)?;

    let mut pages = Vec::with_capacity(list.pages.len());
    let (mut rows, mut values) = (0u64, 0u64);
    for page in &list.pages {
        let page = read_page(section, physical, page)?;
        // Each page is bounded, so the sums of a list that fits into memory can't overflow.
        rows += page.rows;
        values += page.values;
        pages.push(page);
    }
    if (pages.len() as u64, rows, values) != (entry.pages, entry.rows, entry.values) {
        let reason = format!(
            "column says {} pages, {} rows, {} values; its pages are {}, {rows}, {values}",
            entry.pages,
            entry.rows,
            entry.values,
            pages.len()
        );
        return Err(Damage::new(reason));
    }
    let metadata = section.metadata.start + extent.offset..section.metadata.start + extent.offset + extent.length;
    Ok(ColumnMeta {
        section: section.index,
        physical,
        logical: name(kind.logical)?,
        tag: name(entry.tag)?,
        rows,
        values,
        compression: Compression::from_number(entry.compression),
        raw_bytes: entry.raw_bytes,
        stored_bytes: entry.stored_bytes,
        metadata,
        stats: entry
            .stats
            .as_ref()
            .map(|stats| Stats::decode(stats, physical))
            .transpose()?,
        pages,
    })
}

fn read_page(section: &Section, physical: Physical, page: &PageEntry) -> Result<PageMeta, Damage> {
    if page.rows > MAX_PAGE_ROWS || page.raw_bytes > MAX_PAGE_BYTES || page.length > MAX_PAGE_BYTES {
        let reason = format!(
            "page of {} rows, {} bytes, {} stored; the limits are {MAX_PAGE_ROWS} rows and {MAX_PAGE_BYTES} bytes",
            page.rows, page.raw_bytes, page.length
        );
        return Err(Damage::new(reason));
    }
    if page.values > page.rows || page.length != page.stored_bytes {
        let reason = format!(
            "page of {} values in {} rows, length {} for {} stored bytes",
            page.values, page.rows, page.length, page.stored_bytes
        );
        return Err(Damage::new(reason));
    }
    let start = section.data.start.checked_add(page.offset);
    let range = start.and_then(|start| Some(start..start.checked_add(page.length)?));
    let Some(range) = range.filter(|range| range.end <= section.data.end) else {
        return Err(Damage::new(format!(
            "page of {} bytes at {} is outside of the data region",
            page.length, page.offset
        )));
    };
    Ok(PageMeta {
        range,
        rows: page.rows,
        values: page.values,
        encoding: Encoding::from_number(page.encoding),
        crc: page.crc,
        raw_bytes: page.raw_bytes,
        stats: page
            .stats
            .as_ref()
            .map(|stats| Stats::decode(stats, physical))
            .transpose()?,
    })
}
