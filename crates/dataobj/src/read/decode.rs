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
    let mut places = scratch.pool.take(rows.len() * 8);
    let (places, _) = places.as_mut_values::<u32>().as_chunks_mut::<2>();
    find_values(&page, raw.as_slice(), rows, places)?;

    let mut offsets = scratch.pool.take((rows.len() + 1) * 4);
    let ends: &mut [i32] = offsets.as_mut_values();
    ends[0] = 0;
    let mut end = 0;
    for (slot, [start, behind]) in ends[1..].iter_mut().zip(places.iter()) {
        end += (behind - start) as usize;
        *slot = end as i32;
    }
    let mut data = scratch.pool.take(end);
    let mut rest: &mut [u8] = &mut data;
    for [start, behind] in places {
        let value = &raw.as_slice()[*start as usize..*behind as usize];
        let (target, later) = rest.split_at_mut(value.len());
        target.copy_from_slice(value);
        rest = later;
    }
    let offsets = OffsetBuffer::new(frozen(offsets, rows.len() + 1));
    Ok(BinaryArray::new(offsets, data.freeze(end), nulls.and_then(some_null)))
}

/// Leaves in `places`, for each of the rows, where its value starts and ends; nothing from 0 on for a null.
fn find_values(page: &OpenPage<'_>, raw: &[u8], rows: &[u32], places: &mut [[u32; 2]]) -> Result<(), Damage> {
    let mut values = plain::Values::new(raw);
    // How many values `values` has passed.
    let mut passed = 0;
    let mut find = |position: usize| -> Result<[u32; 2], Damage> {
        values.skip(position - passed)?;
        let length = values.next_value()?.len();
        passed = position + 1;
        let behind = values.position();
        // A page has at most `MAX_PAGE_BYTES`, so places fit.
        Ok([(behind - length) as u32, behind as u32])
    };
    let nulls = match &page.presence {
        Presence::All => {
            for (place, &row) in places.iter_mut().zip(rows) {
                *place = find(row as usize)?;
            }
            return Ok(());
        }
        Presence::Some(nulls) => nulls,
    };
    // How many values stand before `counted_to`.
    let (mut position, mut counted_to) = (0, 0);
    for (place, &row) in places.iter_mut().zip(rows) {
        let row = row as usize;
        position += nulls.inner().slice(counted_to, row - counted_to).count_set_bits();
        counted_to = row;
        *place = if nulls.is_valid(row) { find(position)? } else { [0, 0] };
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Compression;
    use crate::WholeObject;
    use crate::schema::SectionKind;
    use crate::write::{ColumnSpec, ObjectWriter, SectionWriter, WriterOptions};
    use std::collections::VecDeque;

    const ROWS: u64 = if cfg!(miri) { 60 } else { 1000 };
    const PAGE_ROWS: usize = 20;

    fn integer(row: u64) -> i64 {
        (row * row) as i64 - 70
    }

    fn text(row: u64) -> Vec<u8> {
        format!("{row},").repeat(row as usize % 23).into_bytes()
    }

    fn is_null(row: u64) -> bool {
        row % 40 > 20 && row.is_multiple_of(3)
    }

    /// An uncompressed column, and its pages.
    fn column(physical: Physical) -> (ColumnMeta, Vec<Buffer>) {
        let options = WriterOptions {
            page_bytes: 0,
            page_rows: PAGE_ROWS,
            ..WriterOptions::default()
        };
        let mut section = SectionWriter::new(SectionKind::Logs, 2, "", &options);
        let id = section.add_column(ColumnSpec {
            physical,
            logical: "values".to_owned(),
            tag: String::new(),
            compression: Compression::None,
            range: false,
            cardinality: false,
        });
        for row in (0..ROWS).filter(|row| !is_null(*row)) {
            match physical {
                Physical::Int64 => section.append_int64(id, row, integer(row)).unwrap(),
                _ => section.append_binary(id, row, &text(row)).unwrap(),
            }
        }
        let mut object = ObjectWriter::new();
        object.push_section(section.finish(&[id], None).unwrap());
        let object = object.finish().unwrap();
        let whole = WholeObject::parse(&object).unwrap();
        let column = whole.meta(&whole.sections()[0]).unwrap().columns.remove(0);
        let page = |page: &PageMeta| Buffer::from(&object[page.range.start as usize..page.range.end as usize]);
        let pages = column.pages.iter().map(page).collect();
        (column, pages)
    }

    /// What was decoded, and the rows it should hold.
    enum Held {
        Integers(Int64Array, Vec<u64>),
        Texts(BinaryArray, Vec<u64>),
        Views(BinaryViewArray, Vec<u64>),
    }

    impl Held {
        fn check(&self) {
            match self {
                Held::Integers(array, rows) => assert!(
                    array
                        .iter()
                        .eq(rows.iter().map(|row| (!is_null(*row)).then(|| integer(*row))))
                ),
                Held::Texts(array, rows) => check_texts(array.iter(), rows),
                Held::Views(array, rows) => check_texts(array.iter(), rows),
            }
        }
    }

    fn check_texts<'a>(found: impl Iterator<Item = Option<&'a [u8]>>, rows: &[u64]) {
        let wanted = rows.iter().map(|row| (!is_null(*row)).then(|| text(*row)));
        assert!(found.map(|value| value.map(<[u8]>::to_vec)).eq(wanted));
    }

    /// Runs under Miri too: there it shows that no memory is written to while it is read, and none read that isn't the page's.
    #[test]
    fn arrays_keep_their_values_while_their_neighbours_come_and_go() {
        let columns = [column(Physical::Int64), column(Physical::Binary)];
        let mut scratch = Scratch::new();
        let mut held = VecDeque::new();
        let some: Vec<u32> = (0..PAGE_ROWS as u32).filter(|row| row % 3 != 1).collect();
        let mut start = 0;
        for number in 0..columns[0].1.len() {
            let page_rows = columns[0].0.pages[number].rows;
            let all: Vec<u64> = (start..start + page_rows).collect();
            let picked: Vec<u32> = some.iter().copied().filter(|row| u64::from(*row) < page_rows).collect();
            let picked_rows: Vec<u64> = picked.iter().map(|row| start + u64::from(*row)).collect();
            start += page_rows;
            for (column, pages) in &columns {
                let (page, bytes) = (&column.pages[number], &pages[number]);
                if column.physical == Physical::Int64 {
                    let array = decode_int64(column, page, bytes, &mut scratch).unwrap();
                    held.push_back(Held::Integers(array, all.clone()));
                    let array = decode_int64_rows(column, page, bytes, &picked, &mut scratch).unwrap();
                    held.push_back(Held::Integers(array, picked_rows.clone()));
                } else {
                    let array = decode_binary(column, page, bytes, &mut scratch).unwrap();
                    held.push_back(Held::Texts(array, all.clone()));
                    let array = decode_binary_rows(column, page, bytes, &picked, &mut scratch).unwrap();
                    held.push_back(Held::Texts(array, picked_rows.clone()));
                    let array = decode_binary_view(column, page, bytes, &mut scratch).unwrap();
                    held.push_back(Held::Views(array, all.clone()));
                }
            }
            held.iter().for_each(Held::check);
            // The oldest go, and one from among the others.
            held.drain(..held.len() / 2);
            held.remove(number % 3);
        }
        let stats = scratch.pool().stats();
        assert!(cfg!(miri) || stats.allocated * 4 < stats.taken, "{stats:?}");
        let shown = format!("{scratch:?}");
        assert!(
            shown.len() < 500,
            "a scratch shows nothing of what it has read: {shown}"
        );
    }
}
