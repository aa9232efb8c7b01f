//! From rows to pages and back: which pages hold the wanted rows of a column, and the rows out of these pages.
// hot path: no locks, no logging, no allocation per row.

use crate::source::Selection;
use arrow_array::{Array, BinaryArray, Int64Array};
use arrow_buffer::{NullBufferBuilder, OffsetBuffer, ScalarBuffer};
use bytes::Bytes;
use std::cell::RefCell;
use std::ops::Range;
use timberline_dataobj::{
    ColumnMeta, PageMeta, Scratch, decode_binary, decode_binary_rows, decode_int64, decode_int64_rows,
};

thread_local! {
    /// One decompression context per thread; making one takes longer than decoding a small page.
    static SCRATCH: RefCell<Scratch> = RefCell::new(Scratch::new());
}

/// A column and the first row of each of its pages.
#[derive(Debug)]
pub(super) struct PagedColumn {
    pub(super) meta: ColumnMeta,
    starts: Vec<u64>,
}

/// The wanted rows of a column, page by page.
#[derive(Debug)]
pub(super) struct ColumnPlan<'a> {
    column: &'a ColumnMeta,
    pieces: Vec<Piece<'a>>,
}

#[derive(Debug)]
enum Piece<'a> {
    /// So many rows without a value: a page of nulls, or behind the last page of a column that ends early.
    Nulls(usize),
    /// Rows of a page, from one to another.
    Stretch(&'a PageMeta, Range<usize>),
    /// Some rows of a page.
    Rows(&'a PageMeta, Vec<u32>),
}

impl PagedColumn {
    pub(super) fn new(meta: ColumnMeta) -> Self {
        let mut next = 0;
        let start = |page: &PageMeta| {
            next += page.rows;
            next - page.rows
        };
        let starts = meta.pages.iter().map(start).collect();
        Self { meta, starts }
    }

    /// The pages that have rows in a range, each with the row at which it starts.
    pub(super) fn pages_in(&self, rows: Range<u64>) -> impl Iterator<Item = (u64, &PageMeta)> {
        self.numbered_pages_in(rows).map(|(_, start, page)| (start, page))
    }

    /// The same with the position of each page in the column.
    pub(super) fn numbered_pages_in(&self, rows: Range<u64>) -> impl Iterator<Item = (usize, u64, &PageMeta)> {
        let first = self
            .starts
            .partition_point(|start| *start <= rows.start)
            .saturating_sub(1);
        let pages = self.starts.iter().zip(&self.meta.pages).enumerate().skip(first);
        pages
            .map(|(number, (start, page))| (number, *start, page))
            .take_while(move |(_, start, _)| *start < rows.end)
            .filter(move |(_, start, page)| page.rows > 0 && start + page.rows > rows.start)
    }

    /// What to fetch for the selected rows of a run. The caller has checked the selection.
    pub(super) fn plan(&self, run: &Range<u64>, selection: &Selection) -> ColumnPlan<'_> {
        let pieces = match selection {
            Selection::All => self.plan_all(run),
            Selection::Rows(rows) => self.plan_rows(run, rows),
        };
        ColumnPlan {
            column: &self.meta,
            pieces,
        }
    }

    fn plan_all(&self, run: &Range<u64>) -> Vec<Piece<'_>> {
        let mut pieces = Vec::new();
        let mut covered = run.start;
        for (start, page) in self.pages_in(run.clone()) {
            let end = (start + page.rows).min(run.end);
            let stretch = (run.start.max(start) - start) as usize..(end - start) as usize;
            covered = end;
            pieces.push(if page.values == 0 {
                Piece::Nulls(stretch.len())
            } else {
                Piece::Stretch(page, stretch)
            });
        }
        if covered < run.end {
            pieces.push(Piece::Nulls((run.end - covered) as usize));
        }
        pieces
    }

    fn plan_rows(&self, run: &Range<u64>, mut rows: &[u32]) -> Vec<Piece<'_>> {
        let mut pieces = Vec::new();
        for (start, page) in self.pages_in(run.clone()) {
            let count = rows.partition_point(|row| run.start + u64::from(*row) < start + page.rows);
            let (here, later) = rows.split_at(count);
            rows = later;
            if here.is_empty() {
                continue;
            }
            let in_page = |row: &u32| (run.start + u64::from(*row) - start) as u32;
            pieces.push(match page.values {
                0 => Piece::Nulls(here.len()),
                _ => Piece::Rows(page, here.iter().map(in_page).collect()),
            });
        }
        if !rows.is_empty() {
            pieces.push(Piece::Nulls(rows.len()));
        }
        pieces
    }
}

impl<'a> ColumnPlan<'a> {
    /// The pages to fetch, in the order in which [`ColumnPlan::decode_int64`] and [`ColumnPlan::decode_binary`] want their bytes.
    pub(super) fn pages(&self) -> impl Iterator<Item = &'a PageMeta> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Nulls(_) => None,
            Piece::Stretch(page, _) | Piece::Rows(page, _) => Some(*page),
        })
    }

    pub(super) fn decode_int64(
        &self,
        bytes: &mut impl Iterator<Item = Bytes>,
    ) -> Result<Int64Array, timberline_dataobj::Error> {
        let decode = |page: &PageMeta, bytes: Bytes| {
            SCRATCH.with_borrow_mut(|scratch| decode_int64(self.column, page, &bytes, scratch))
        };
        if let [Piece::Stretch(page, stretch)] = self.pieces.as_slice() {
            return Ok(decode(page, next(bytes))?.slice(stretch.start, stretch.len()));
        }
        let mut values = Vec::new();
        let mut nulls = NullBufferBuilder::new(0);
        for piece in &self.pieces {
            match piece {
                Piece::Nulls(rows) => {
                    values.resize(values.len() + rows, 0);
                    nulls.append_n_nulls(*rows);
                }
                Piece::Stretch(page, stretch) => {
                    let part = decode(page, next(bytes))?.slice(stretch.start, stretch.len());
                    values.extend_from_slice(part.values());
                    append_nulls(&mut nulls, &part);
                }
                Piece::Rows(page, rows) => {
                    let bytes = next(bytes);
                    let part = SCRATCH
                        .with_borrow_mut(|scratch| decode_int64_rows(self.column, page, &bytes, rows, scratch))?;
                    values.extend_from_slice(part.values());
                    append_nulls(&mut nulls, &part);
                }
            }
        }
        Ok(Int64Array::new(values.into(), nulls.finish()))
    }

    /// `None` if the values together do not fit one array of 2 GiB.
    pub(super) fn decode_binary(
        &self,
        bytes: &mut impl Iterator<Item = Bytes>,
    ) -> Result<Option<BinaryArray>, timberline_dataobj::Error> {
        let mut parts = Vec::with_capacity(self.pieces.len());
        for piece in &self.pieces {
            parts.push(match piece {
                Piece::Nulls(rows) => BinaryArray::new_null(*rows),
                Piece::Stretch(page, stretch) => {
                    let bytes = next(bytes);
                    SCRATCH
                        .with_borrow_mut(|scratch| decode_binary(self.column, page, &bytes, scratch))?
                        .slice(stretch.start, stretch.len())
                }
                Piece::Rows(page, rows) => {
                    let bytes = next(bytes);
                    SCRATCH.with_borrow_mut(|scratch| decode_binary_rows(self.column, page, &bytes, rows, scratch))?
                }
            });
        }
        Ok(if parts.len() == 1 {
            parts.pop()
        } else {
            concat_binary(&parts)
        })
    }
}

fn next(bytes: &mut impl Iterator<Item = Bytes>) -> Bytes {
    bytes.next().expect("bug: bytes were fetched for each page of the plan")
}

fn append_nulls(nulls: &mut NullBufferBuilder, part: &dyn Array) {
    match part.nulls() {
        Some(buffer) => nulls.append_buffer(buffer),
        None => nulls.append_n_non_nulls(part.len()),
    }
}

fn concat_binary(parts: &[BinaryArray]) -> Option<BinaryArray> {
    let used = |part: &BinaryArray| {
        let offsets = part.value_offsets();
        (
            offsets.first().copied().unwrap_or(0) as usize,
            offsets.last().copied().unwrap_or(0) as usize,
        )
    };
    let total = parts.iter().map(|part| used(part).1 - used(part).0).sum::<usize>();
    i32::try_from(total).ok()?;
    let rows = parts.iter().map(Array::len).sum::<usize>();
    let mut offsets = Vec::with_capacity(rows + 1);
    offsets.push(0i32);
    let mut data = Vec::with_capacity(total);
    let mut nulls = NullBufferBuilder::new(rows);
    for part in parts {
        let (start, end) = used(part);
        let shift = data.len() as i32 - start as i32;
        data.extend_from_slice(&part.value_data()[start..end]);
        offsets.extend(part.value_offsets().iter().skip(1).map(|offset| offset + shift));
        append_nulls(&mut nulls, part);
    }
    Some(BinaryArray::new(
        OffsetBuffer::new(ScalarBuffer::from(offsets)),
        data.into(),
        nulls.finish(),
    ))
}
