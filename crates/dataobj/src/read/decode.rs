//! From the bytes of a page to Arrow arrays.
// hot path: no locks, no logging, no allocation per row, none per page in steady state.

use super::page::{OpenPage, Presence, RawValues, Scratch, open};
use super::section::{ColumnMeta, Encoding, PageMeta};
use crate::encoding::{delta, plain};
use crate::error::{Damage, Error};
use crate::pool::BufferPool;
use crate::stats::Physical;
use arrow_array::{Array, BinaryArray, BinaryViewArray, Int64Array};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};

/// Decodes a page of integers. `bytes` are the stored page, `page.range` of the object.
pub fn decode_int64(
    column: &ColumnMeta,
    page: &PageMeta,
    bytes: &[u8],
    scratch: &mut Scratch,
) -> Result<Int64Array, Error> {
    int64(column, page, bytes, scratch).map_err(|damage| damage.at(Some(column.section), page.range.start))
}

/// Decodes only some rows of a page of integers: ascending row numbers within the page, without repeats.
pub fn decode_int64_rows(
    column: &ColumnMeta,
    page: &PageMeta,
    bytes: &[u8],
    rows: &[u32],
    scratch: &mut Scratch,
) -> Result<Int64Array, Error> {
    check_rows(rows, page)?;
    // Each value is the sum of all before it, so there is nothing to skip.
    let whole = decode_int64(column, page, bytes, scratch)?;
    let mut values = scratch.pool.take(rows.len() * 8);
    for (value, &row) in values.as_mut_values::<i64>().iter_mut().zip(rows) {
        *value = whole.value(row as usize);
    }
    let nulls = whole.nulls().map(|nulls| select_nulls(nulls, rows, &scratch.pool));
    Ok(Int64Array::new(frozen(values, rows.len()), nulls.and_then(some_null)))
}

/// Decodes a page of byte strings into offsets and one buffer. `bytes` are the stored page, `page.range` of the object.
pub fn decode_binary(
    column: &ColumnMeta,
    page: &PageMeta,
    bytes: &[u8],
    scratch: &mut Scratch,
) -> Result<BinaryArray, Error> {
    binary(column, page, bytes, scratch).map_err(|damage| damage.at(Some(column.section), page.range.start))
}

/// Decodes only some rows of a page of byte strings: ascending row numbers within the page, without repeats. Only their
/// values are copied.
pub fn decode_binary_rows(
    column: &ColumnMeta,
    page: &PageMeta,
    bytes: &[u8],
    rows: &[u32],
    scratch: &mut Scratch,
) -> Result<BinaryArray, Error> {
    check_rows(rows, page)?;
    binary_rows(column, page, bytes, rows, scratch).map_err(|damage| damage.at(Some(column.section), page.range.start))
}

/// Decodes a page of byte strings into views. `bytes` are the stored page, `page.range` of the object. Values are not copied: views
/// point into `bytes` where the column is not compressed, else into what was decompressed.
pub fn decode_binary_view(
    column: &ColumnMeta,
    page: &PageMeta,
    bytes: &Buffer,
    scratch: &mut Scratch,
) -> Result<BinaryViewArray, Error> {
    binary_view(column, page, bytes, scratch).map_err(|damage| damage.at(Some(column.section), page.range.start))
}

fn check_rows(rows: &[u32], page: &PageMeta) -> Result<(), Error> {
    let mut next = 0u64;
    for &row in rows {
        if u64::from(row) < next || u64::from(row) >= page.rows {
            return Err(Error::Selection { row, rows: page.rows });
        }
        next = u64::from(row) + 1;
    }
    Ok(())
}

fn int64(column: &ColumnMeta, page: &PageMeta, bytes: &[u8], scratch: &mut Scratch) -> Result<Int64Array, Damage> {
    let page = open(column, page, bytes, (Physical::Int64, Encoding::Delta), &scratch.pool)?;
    let raw = page.raw(&mut scratch.decompressor, &scratch.pool)?;
    let mut values = scratch.pool.take(page.rows * 8);
    let slots: &mut [i64] = values.as_mut_values();
    let mut decoder = delta::Decoder::new(raw.as_slice());
    decoder.fill(&mut slots[..page.values])?;
    decoder.finish()?;
    if let Presence::Some(nulls) = &page.presence {
        spread(slots, page.values, nulls.inner());
    }
    Ok(Int64Array::new(frozen(values, page.rows), page.presence.into_nulls()))
}

/// Moves the first `count` values to the rows that have one, from the last one on; the other rows get 0.
fn spread(slots: &mut [i64], count: usize, present: &BooleanBuffer) {
    let mut next = count;
    for row in (0..slots.len()).rev() {
        let is_present = present.value(row);
        next -= usize::from(is_present);
        slots[row] = if is_present { slots[next] } else { 0 };
    }
}

fn binary(column: &ColumnMeta, page: &PageMeta, bytes: &[u8], scratch: &mut Scratch) -> Result<BinaryArray, Damage> {
    let page = open(column, page, bytes, (Physical::Binary, Encoding::Plain), &scratch.pool)?;
    let mut data = scratch.pool.take(page.raw_bytes);
    // Room behind the values lets them be copied in whole steps.
    data.grow_to_capacity();
    let mut offsets = scratch.pool.take((page.rows + 1) * 4);
    let ends: &mut [i32] = offsets.as_mut_values();
    ends[0] = 0;
    let end = match &page.presence {
        Presence::All => {
            let (mut at, mut copied, mut end) = (0, 0, 0);
            let mut copy = |raw: &[u8]| {
                let mut values = plain::Values::at(raw, at);
                copied += values.copy_available(&mut data, end, &mut ends[1 + copied..]);
                at = values.position();
                end = ends[copied] as usize;
            };
            let raw = page.raw_in_steps(&mut scratch.decompressor, &scratch.pool, &mut copy)?;
            copy(raw.as_slice());
            let mut values = plain::Values::at(raw.as_slice(), at);
            end = values.copy_into(&mut data, end, &mut ends[1 + copied..])?;
            values.finish()?;
            end
        }
        Presence::Some(nulls) => {
            let raw = page.raw(&mut scratch.decompressor, &scratch.pool)?;
            let mut values = plain::Values::new(raw.as_slice());
            let (mut row, mut end) = (0, 0);
            for (first, behind) in nulls.inner().set_slices() {
                ends[1 + row..1 + first].fill(end as i32);
                end = values.copy_into(&mut data, end, &mut ends[1 + first..1 + behind])?;
                row = behind;
            }
            ends[1 + row..].fill(end as i32);
            values.finish()?;
            end
        }
    };
    let offsets = OffsetBuffer::new(frozen(offsets, page.rows + 1));
    Ok(BinaryArray::new(offsets, data.freeze(end), page.presence.into_nulls()))
}

fn binary_rows(
    column: &ColumnMeta,
    page: &PageMeta,
    bytes: &[u8],
    rows: &[u32],
    scratch: &mut Scratch,
) -> Result<BinaryArray, Damage> {
    let page = open(column, page, bytes, (Physical::Binary, Encoding::Plain), &scratch.pool)?;
    let raw = page.raw(&mut scratch.decompressor, &scratch.pool)?;
    let nulls = match &page.presence {
        Presence::All => None,
        Presence::Some(nulls) => Some(select_nulls(nulls, rows, &scratch.pool)),
    };
    find_values(&page, raw.as_slice(), rows, &mut scratch.value_ranges)?;

    let mut offsets = scratch.pool.take((rows.len() + 1) * 4);
    let ends: &mut [i32] = offsets.as_mut_values();
    ends[0] = 0;
    let mut end = 0;
    for (slot, (start, behind)) in ends[1..].iter_mut().zip(&scratch.value_ranges) {
        end += behind - start;
        *slot = end as i32;
    }
    let mut data = scratch.pool.take(end);
    let mut rest: &mut [u8] = &mut data;
    for &(start, behind) in &scratch.value_ranges {
        let (value, later) = rest.split_at_mut(behind - start);
        value.copy_from_slice(&raw.as_slice()[start..behind]);
        rest = later;
    }
    let offsets = OffsetBuffer::new(frozen(offsets, rows.len() + 1));
    Ok(BinaryArray::new(offsets, data.freeze(end), nulls.and_then(some_null)))
}

/// Leaves in `ranges`, for each of the rows, where its value is; an empty range for a null.
fn find_values(page: &OpenPage<'_>, raw: &[u8], rows: &[u32], ranges: &mut Vec<(usize, usize)>) -> Result<(), Damage> {
    ranges.clear();
    let mut values = plain::Values::new(raw);
    // How many values `values` has passed.
    let mut passed = 0;
    let mut find = |position: usize, ranges: &mut Vec<(usize, usize)>| {
        values.skip(position - passed)?;
        let length = values.next_value()?.len();
        passed = position + 1;
        ranges.push((values.position() - length, values.position()));
        Ok(())
    };
    let nulls = match &page.presence {
        Presence::All => return rows.iter().try_for_each(|row| find(*row as usize, ranges)),
        Presence::Some(nulls) => nulls,
    };
    // How many values stand before `counted_to`.
    let (mut position, mut counted_to) = (0, 0);
    for &row in rows {
        let row = row as usize;
        position += nulls.inner().slice(counted_to, row - counted_to).count_set_bits();
        counted_to = row;
        if nulls.is_valid(row) {
            find(position, ranges)?;
        } else {
            ranges.push((0, 0));
        }
    }
    Ok(())
}

fn binary_view(
    column: &ColumnMeta,
    page: &PageMeta,
    bytes: &Buffer,
    scratch: &mut Scratch,
) -> Result<BinaryViewArray, Damage> {
    scratch.buffer_lists.release();
    let page = open(column, page, bytes, (Physical::Binary, Encoding::Plain), &scratch.pool)?;
    let mut view_buffer = scratch.pool.take(page.rows * 16);
    let views: &mut [u128] = view_buffer.as_mut_values();
    let raw = match &page.presence {
        Presence::All => {
            let (mut at, mut viewed) = (0, 0);
            let mut view = |raw: &[u8]| {
                let mut values = plain::Values::at(raw, at);
                viewed += values.view_available(&mut views[viewed..]);
                at = values.position();
            };
            let raw = page.raw_in_steps(&mut scratch.decompressor, &scratch.pool, &mut view)?;
            view(raw.as_slice());
            let mut values = plain::Values::at(raw.as_slice(), at);
            values.view_into(&mut views[viewed..])?;
            values.finish()?;
            raw
        }
        Presence::Some(nulls) => {
            let raw = page.raw(&mut scratch.decompressor, &scratch.pool)?;
            let mut values = plain::Values::new(raw.as_slice());
            views.fill(0);
            for (first, behind) in nulls.inner().set_slices() {
                values.view_into(&mut views[first..behind])?;
            }
            values.finish()?;
            raw
        }
    };
    let data = match raw {
        RawValues::Stored(stored) => bytes.slice_with_length(bytes.len() - stored.len(), stored.len()),
        RawValues::Pooled(raw) => raw.freeze(page.raw_bytes),
    };
    let buffers = scratch.buffer_lists.take(data);
    // SAFETY: each view was made from a value within `data`, buffer 0: its length, and the value itself with zeros behind it or its
    // first four bytes and its place; those of nulls are empty. A page has at most `MAX_PAGE_BYTES`, so places fit.
    // `nulls` has as many rows as the page. Checking it all again took a quarter of the decoding time.
    Ok(unsafe { BinaryViewArray::new_unchecked(frozen(view_buffer, page.rows), buffers, page.presence.into_nulls()) })
}

/// Presence of some rows.
fn select_nulls(nulls: &NullBuffer, rows: &[u32], pool: &BufferPool) -> NullBuffer {
    let mut bits = pool.take(rows.len().div_ceil(64) * 8);
    for (word, rows) in bits.as_mut_values::<u64>().iter_mut().zip(rows.chunks(64)) {
        let bit = |(i, row): (usize, &u32)| u64::from(nulls.is_valid(*row as usize)) << i;
        *word = rows.iter().enumerate().map(bit).fold(0, |word, bit| word | bit);
    }
    NullBuffer::new(BooleanBuffer::new(bits.freeze(rows.len().div_ceil(8)), 0, rows.len()))
}

fn some_null(nulls: NullBuffer) -> Option<NullBuffer> {
    (nulls.null_count() > 0).then_some(nulls)
}

fn frozen<T: arrow_buffer::ArrowNativeType>(buffer: crate::pool::PooledBuffer, values: usize) -> ScalarBuffer<T> {
    let bytes = buffer.freeze(values * size_of::<T>());
    ScalarBuffer::new(bytes, 0, values)
}
