//! A column during a scan: where its pages start, which of them are held, and what was decoded of those.

use super::counters::ScanCounters;
use super::rows::RowRanges;
use super::values::{ColumnValues, decode_page, decode_page_rows};
use crate::error::Error;
use crate::read::{ColumnMeta, PageMeta, Scratch};
use arrow_buffer::Buffer;
use std::collections::BTreeMap;
use std::ops::Range;

/// If at most one row in so many of a page is wanted, only these are decoded.
const SPARSE_RATIO: u64 = 8;

/// A column of the section that some test or the projection names.
#[derive(Debug)]
pub(super) struct ScanColumn<'a> {
    /// `None` if the section lacks it.
    meta: Option<&'a ColumnMeta>,
    /// First row of each page, and the row behind the last page.
    starts: Vec<u64>,
    section_rows: u64,
    /// Rows whose values some test or the projection may need, as far as statistics can tell.
    needed: RowRanges,
    held: BTreeMap<usize, HeldPage>,
    /// By page.
    was_fetched: Vec<bool>,
    /// Pages before this one are done with.
    done_pages: usize,
}

/// A stretch of rows of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    pub(super) rows: Range<u64>,
    /// The page with their values; `None` if they are all null, so that there is nothing to fetch.
    pub(super) page: Option<usize>,
}

#[derive(Debug)]
struct HeldPage {
    bytes: Buffer,
    decoded: Option<Decoded>,
}

/// Rows of the section that were decoded, and their values in the same order.
#[derive(Clone, Debug)]
pub(super) struct Decoded {
    pub(super) rows: RowRanges,
    pub(super) values: ColumnValues,
}

impl<'a> ScanColumn<'a> {
    pub(super) fn new(meta: Option<&'a ColumnMeta>, section_rows: u64) -> ScanColumn<'a> {
        let mut starts = vec![0];
        let mut end = 0u64;
        for page in meta.iter().flat_map(|meta| &meta.pages) {
            end = end.saturating_add(page.rows);
            starts.push(end);
        }
        ScanColumn {
            meta,
            starts,
            section_rows,
            needed: RowRanges::default(),
            held: BTreeMap::new(),
            was_fetched: vec![false; meta.map_or(0, |meta| meta.pages.len())],
            done_pages: 0,
        }
    }

    pub(super) fn meta(&self) -> Option<&'a ColumnMeta> {
        self.meta
    }

    /// All pages, each with its rows.
    pub(super) fn pages(&self) -> impl Iterator<Item = (Range<u64>, &'a PageMeta)> {
        let pages = self.meta.map(|meta| meta.pages.as_slice()).unwrap_or_default();
        self.starts.windows(2).map(|ends| ends[0]..ends[1]).zip(pages)
    }

    pub(super) fn page(&self, page: usize) -> Option<&'a PageMeta> {
        self.meta.and_then(|meta| meta.pages.get(page))
    }

    pub(super) fn rows_of_page(&self, page: usize) -> Range<u64> {
        match self.starts.get(page..page + 2) {
            Some([start, end]) => *start..*end,
            _ => 0..0,
        }
    }

    /// The stretch that holds a row. Behind the column's end, and for an absent column, one up to the end of the section.
    pub(super) fn segment(&self, row: u64) -> Segment {
        // Behind pages without rows, which start where they end.
        let page = self.starts.partition_point(|start| *start <= row).saturating_sub(1);
        match self.page(page) {
            Some(meta) => Segment {
                rows: self.rows_of_page(page),
                page: (meta.values > 0).then_some(page),
            },
            None => Segment {
                rows: self.starts.last().copied().unwrap_or(0)..self.section_rows.max(row + 1),
                page: None,
            },
        }
    }

    /// The pages that hold values of at least one of these rows, ascending.
    pub(super) fn pages_with(&self, rows: &RowRanges) -> Vec<usize> {
        let mut pages = Vec::new();
        for range in rows.ranges() {
            let mut row = range.start;
            // Most ranges end in the page in which the one before ended.
            if let Some(last) = pages.last() {
                row = row.max(self.rows_of_page(*last).end);
            }
            while row < range.end {
                let segment = self.segment(row);
                row = segment.rows.end;
                pages.extend(segment.page);
            }
        }
        pages
    }

    /// Adds rows whose values may be needed.
    pub(super) fn add_needed(&mut self, rows: &RowRanges) {
        self.needed = self.needed.union(rows);
    }

    /// True if a page holds values that may be needed, as far as statistics can tell.
    pub(super) fn is_needed(&self, page: usize) -> bool {
        let has_values = self.page(page).is_some_and(|meta| meta.values > 0);
        has_values && self.needed.overlap(&self.rows_of_page(page))
    }

    pub(super) fn is_held(&self, page: usize) -> bool {
        self.held.contains_key(&page)
    }

    pub(super) fn hold(&mut self, page: usize, bytes: Buffer) {
        self.held.insert(page, HeldPage { bytes, decoded: None });
        if let Some(was_fetched) = self.was_fetched.get_mut(page) {
            *was_fetched = true;
        }
    }

    /// Lets go of the pages that end at or before `row`: nobody asks for their rows any more.
    pub(super) fn release_before(&mut self, row: u64, counters: &mut ScanCounters) {
        while let Some(meta) = self.page(self.done_pages)
            && self.rows_of_page(self.done_pages).end <= row
        {
            if self.is_needed(self.done_pages) && !self.was_fetched[self.done_pages] {
                counters.skipped.add(meta.range.end - meta.range.start);
            }
            self.held.remove(&self.done_pages);
            self.done_pages += 1;
        }
    }

    /// At least these rows of a page, which is held and of which they are rows.
    pub(super) fn decode(
        &mut self,
        page: usize,
        rows: &RowRanges,
        scratch: &mut Scratch,
        counters: &mut ScanCounters,
    ) -> Result<Decoded, Error> {
        let page_rows = self.rows_of_page(page);
        let (Some(column), Some(meta), Some(held)) = (self.meta, self.page(page), self.held.get_mut(&page)) else {
            unreachable!("bug: page {page} is decoded before it is fetched");
        };
        if let Some(decoded) = &held.decoded
            && decoded.rows.contain(rows)
        {
            return Ok(decoded.clone());
        }
        let is_sparse = rows.count().saturating_mul(SPARSE_RATIO) <= meta.rows;
        let decoded = if is_sparse && held.decoded.is_none() {
            let in_page = |row: u64| (row - page_rows.start) as u32;
            let numbers: Vec<u32> = rows.ranges().iter().cloned().flatten().map(in_page).collect();
            let values = decode_page_rows(column, meta, &held.bytes, &numbers, scratch)?;
            Decoded {
                rows: rows.clone(),
                values,
            }
        } else {
            Decoded {
                rows: RowRanges::from_range(page_rows),
                values: decode_page(column, meta, &held.bytes, scratch)?,
            }
        };
        counters.decoded.add(meta.raw_bytes);
        held.decoded = Some(decoded.clone());
        Ok(decoded)
    }
}
