//! Values of a column as they come out of pages: cut, picked and decoded.
// hot path: no locks, no logging, no allocation per row.

use super::rows::RowRanges;
use crate::error::Error;
use crate::read::{
    ColumnMeta, PageMeta, Scratch, decode_binary_rows, decode_binary_view, decode_int64, decode_int64_rows,
};
use crate::stats::Physical;
use arrow_array::builder::make_view;
use arrow_array::{Array, BinaryArray, BinaryViewArray, Int64Array};
use arrow_buffer::{BooleanBufferBuilder, Buffer, NullBuffer};

/// Values of some rows of a column.
#[derive(Clone, Debug)]
pub enum ColumnValues {
    /// Integers.
    Int64(Int64Array),
    /// Byte strings, not copied out of their page.
    Binary(BinaryViewArray),
    /// So many rows without a value: of a column that the section lacks, behind the end of a column, or of pages that hold
    /// nothing.
    Null(usize),
}

impl ColumnValues {
    /// Number of rows.
    pub fn len(&self) -> usize {
        match self {
            ColumnValues::Int64(array) => array.len(),
            ColumnValues::Binary(array) => array.len(),
            ColumnValues::Null(rows) => *rows,
        }
    }

    /// True if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// True if row `i` has no value. Panics if there is no row `i`, as arrays do.
    pub fn is_null(&self, i: usize) -> bool {
        match self {
            ColumnValues::Int64(array) => array.is_null(i),
            ColumnValues::Binary(array) => array.is_null(i),
            ColumnValues::Null(rows) => {
                assert!(i < *rows, "row {i} of {rows}");
                true
            }
        }
    }

    /// The integer of row `i`; `None` for null and for byte strings. Panics if there is no row `i`, as arrays do.
    pub fn int64(&self, i: usize) -> Option<i64> {
        match self {
            ColumnValues::Int64(array) if array.is_valid(i) => Some(array.value(i)),
            _ => None,
        }
    }

    /// The byte string of row `i`; `None` for null and for integers. Panics if there is no row `i`, as arrays do.
    pub fn bytes(&self, i: usize) -> Option<&[u8]> {
        match self {
            ColumnValues::Binary(array) if array.is_valid(i) => Some(array.value(i)),
            _ => None,
        }
    }

    /// The values at these positions, which lie within. One stretch is not copied, and byte strings never are.
    pub(super) fn pick(&self, positions: &RowRanges) -> ColumnValues {
        if let [range] = positions.ranges() {
            let (start, length) = (range.start as usize, (range.end - range.start) as usize);
            return match self {
                ColumnValues::Int64(array) => ColumnValues::Int64(array.slice(start, length)),
                ColumnValues::Binary(array) => ColumnValues::Binary(array.slice(start, length)),
                ColumnValues::Null(_) => ColumnValues::Null(length),
            };
        }
        match self {
            ColumnValues::Int64(array) => {
                let values = pick_items(array.values(), positions);
                ColumnValues::Int64(Int64Array::new(values.into(), pick_nulls(array.nulls(), positions)))
            }
            ColumnValues::Binary(array) => {
                let (views, buffers, nulls) = array.clone().into_parts();
                let views = pick_items(&views, positions);
                ColumnValues::Binary(BinaryViewArray::new(
                    views.into(),
                    buffers,
                    pick_nulls(nulls.as_ref(), positions),
                ))
            }
            ColumnValues::Null(_) => ColumnValues::Null(positions.count() as usize),
        }
    }
}

fn pick_items<T: Copy>(items: &[T], positions: &RowRanges) -> Vec<T> {
    let mut picked = Vec::with_capacity(positions.count() as usize);
    for range in positions.ranges() {
        picked.extend_from_slice(&items[range.start as usize..range.end as usize]);
    }
    picked
}

fn pick_nulls(nulls: Option<&NullBuffer>, positions: &RowRanges) -> Option<NullBuffer> {
    let bits = nulls?.inner();
    let mut picked = BooleanBufferBuilder::new(positions.count() as usize);
    for range in positions.ranges() {
        picked.append_packed_range(
            bits.offset() + range.start as usize..bits.offset() + range.end as usize,
            bits.values(),
        );
    }
    Some(NullBuffer::new(picked.finish())).filter(|nulls| nulls.null_count() > 0)
}

/// Decodes a whole page.
pub(super) fn decode_page(
    column: &ColumnMeta,
    page: &PageMeta,
    bytes: &Buffer,
    scratch: &mut Scratch,
) -> Result<ColumnValues, Error> {
    match column.physical {
        Physical::Int64 => decode_int64(column, page, bytes, scratch).map(ColumnValues::Int64),
        _ => decode_binary_view(column, page, bytes, scratch).map(ColumnValues::Binary),
    }
}

/// Decodes some rows of a page, given by their numbers within it. Unlike with a whole page, their values are copied, so that the page
/// need not be kept for the sake of a few.
pub(super) fn decode_page_rows(
    column: &ColumnMeta,
    page: &PageMeta,
    bytes: &Buffer,
    rows: &[u32],
    scratch: &mut Scratch,
) -> Result<ColumnValues, Error> {
    match column.physical {
        Physical::Int64 => decode_int64_rows(column, page, bytes, rows, scratch).map(ColumnValues::Int64),
        _ => decode_binary_rows(column, page, bytes, rows, scratch).map(|array| ColumnValues::Binary(views_of(&array))),
    }
}

fn views_of(array: &BinaryArray) -> BinaryViewArray {
    let view = |ends: &[i32]| {
        let value = &array.value_data()[ends[0] as usize..ends[1] as usize];
        make_view(value, 0, ends[0] as u32)
    };
    let views: Vec<u128> = array.value_offsets().windows(2).map(view).collect();
    BinaryViewArray::new(views.into(), [array.values().clone()], array.nulls().cloned())
}
