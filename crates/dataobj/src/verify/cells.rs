//! Decoded columns, and walking over their rows.

use crate::read::{ColumnMeta, Section, SectionMeta};
use arrow_array::{Array, BinaryArray, Int64Array};
use std::cmp::Ordering;

/// A section whose rows can be looked at.
pub(super) struct Decoded<'a> {
    pub(super) section: &'a Section,
    pub(super) meta: SectionMeta,
    /// By column: its pages, if all of them were decoded and kept.
    pub(super) columns: Vec<Option<Vec<Page>>>,
}

/// A decoded page.
pub(super) enum Page {
    Int64(Int64Array),
    Binary(BinaryArray),
}

/// A value, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cell<'a> {
    Null,
    Int64(i64),
    Binary(&'a [u8]),
}

impl<'a> Cell<'a> {
    /// As the format orders values: null first, and equal to the empty byte string.
    pub(super) fn compare(self, other: Cell<'_>) -> Ordering {
        match (self, other) {
            (Cell::Int64(a), Cell::Int64(b)) => a.cmp(&b),
            (Cell::Int64(_), _) => Ordering::Greater,
            (_, Cell::Int64(_)) => Ordering::Less,
            (a, b) => a.bytes().cmp(b.bytes()),
        }
    }

    /// The byte string; empty for none.
    pub(super) fn bytes(self) -> &'a [u8] {
        match self {
            Cell::Binary(bytes) => bytes,
            _ => &[],
        }
    }

    pub(super) fn int64(self) -> Option<i64> {
        match self {
            Cell::Int64(value) => Some(value),
            _ => None,
        }
    }
}

impl Page {
    pub(super) fn rows(&self) -> usize {
        match self {
            Page::Int64(array) => array.len(),
            Page::Binary(array) => array.len(),
        }
    }

    pub(super) fn cell(&self, row: usize) -> Cell<'_> {
        match self {
            Page::Int64(array) if array.is_valid(row) => Cell::Int64(array.value(row)),
            Page::Binary(array) if array.is_valid(row) => Cell::Binary(array.value(row)),
            _ => Cell::Null,
        }
    }

    pub(super) fn bytes(&self) -> usize {
        match self {
            Page::Int64(array) => array.get_array_memory_size(),
            Page::Binary(array) => array.get_array_memory_size(),
        }
    }
}

impl Decoded<'_> {
    /// The rows of a column, then nulls without end; `None` if there is no such column, or it couldn't be decoded.
    pub(super) fn cells(&self, logical: &str) -> Option<Cells<'_>> {
        let position = self.meta.columns.iter().position(|column| column.logical == logical)?;
        self.cells_at(position)
    }

    /// As [`Decoded::cells`], by position of the column.
    pub(super) fn cells_at(&self, position: usize) -> Option<Cells<'_>> {
        let pages = self.columns.get(position)?.as_deref()?;
        Some(Cells { pages, row: 0 })
    }

    /// Position of the column with that logical name and tag.
    pub(super) fn position(&self, logical: &str, tag: &str) -> Option<usize> {
        let is_it = |column: &ColumnMeta| column.logical == logical && column.tag == tag;
        self.meta.columns.iter().position(is_it)
    }

    /// The value of a column in a row; null if it can't be told.
    pub(super) fn cell(&self, position: usize, mut row: usize) -> Cell<'_> {
        for page in self
            .columns
            .get(position)
            .and_then(Option::as_deref)
            .unwrap_or_default()
        {
            if row < page.rows() {
                return page.cell(row);
            }
            row -= page.rows();
        }
        Cell::Null
    }
}

/// Walks over the rows of a column.
pub(super) struct Cells<'a> {
    pages: &'a [Page],
    row: usize,
}

impl<'a> Cells<'a> {
    /// The next row.
    pub(super) fn next_cell(&mut self) -> Cell<'a> {
        while let Some((page, rest)) = self.pages.split_first() {
            if self.row < page.rows() {
                self.row += 1;
                return page.cell(self.row - 1);
            }
            (self.pages, self.row) = (rest, 0);
        }
        Cell::Null
    }
}
