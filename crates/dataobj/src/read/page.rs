//! Decoding of pages into Arrow arrays (specification chapter 4).
// hot path: no locks, no logging, no allocation per row.

use super::section::{ColumnMeta, Encoding, PageMeta};
use crate::compression::Decompressor;
use crate::encoding::bitmap::{self, Presence};
use crate::encoding::{delta, plain};
use crate::error::{Damage, Error};
use crate::limits::{MAX_PAGE_BYTES, MAX_PAGE_ROWS};
use crate::stats::Physical;
use crate::varint::read_uvarint;
use arrow_array::{BinaryArray, Int64Array};
use arrow_buffer::{BooleanBuffer, NullBuffer, OffsetBuffer, ScalarBuffer};

/// Decompression context and buffer, to be used for one page after another.
#[derive(Debug, Default)]
pub struct Scratch {
    decompressor: Decompressor,
}

impl Scratch {
    /// An empty one; it grows to the largest page it meets.
    pub fn new() -> Scratch {
        Scratch::default()
    }
}

/// Decodes a page of integers. `bytes` are the stored page, `page.range` of the object.
pub fn decode_int64(
    column: &ColumnMeta,
    page: &PageMeta,
    bytes: &[u8],
    scratch: &mut Scratch,
) -> Result<Int64Array, Error> {
    decode_int64_page(column, page, bytes, scratch).map_err(|damage| damage.at(Some(column.section), page.range.start))
}

/// Decodes a page of byte strings. `bytes` are the stored page, `page.range` of the object.
pub fn decode_binary(
    column: &ColumnMeta,
    page: &PageMeta,
    bytes: &[u8],
    scratch: &mut Scratch,
) -> Result<BinaryArray, Error> {
    decode_binary_page(column, page, bytes, scratch).map_err(|damage| damage.at(Some(column.section), page.range.start))
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
    let mut next = 0u64;
    for &row in rows {
        if u64::from(row) < next || u64::from(row) >= page.rows {
            return Err(Error::Selection { row, rows: page.rows });
        }
        next = u64::from(row) + 1;
    }
    decode_binary_page_rows(column, page, bytes, rows, scratch)
        .map_err(|damage| damage.at(Some(column.section), page.range.start))
}

fn decode_int64_page(
    column: &ColumnMeta,
    page: &PageMeta,
    bytes: &[u8],
    scratch: &mut Scratch,
) -> Result<Int64Array, Damage> {
    check_codec(column, page, Physical::Int64, Encoding::Delta)?;
    let (presence, encoded) = open(column, page, bytes, scratch)?;
    let values = delta::decode(encoded, page.values as usize)?;
    let Presence::Some(bits) = presence else {
        return Ok(Int64Array::new(values.into(), None));
    };
    let mut spread = vec![0i64; bits.len()];
    let mut rest = values.as_slice();
    for (start, end) in bits.set_slices() {
        if let Some((run, behind)) = rest.split_at_checked(end - start)
            && let Some(target) = spread.get_mut(start..end)
        {
            target.copy_from_slice(run);
            rest = behind;
        }
    }
    Ok(Int64Array::new(spread.into(), Some(NullBuffer::new(bits))))
}

fn decode_binary_page(
    column: &ColumnMeta,
    page: &PageMeta,
    bytes: &[u8],
    scratch: &mut Scratch,
) -> Result<BinaryArray, Damage> {
    check_codec(column, page, Physical::Binary, Encoding::Plain)?;
    let (presence, encoded) = open(column, page, bytes, scratch)?;
    let (data, ends) = plain::decode(encoded, page.values as usize)?;
    let mut offsets = Vec::with_capacity(page.rows as usize + 1);
    offsets.push(0i32);
    let Presence::Some(bits) = presence else {
        offsets.extend_from_slice(&ends);
        return Ok(binary_array(offsets, data, None));
    };
    let mut rest = ends.as_slice();
    let mut last = 0;
    for (start, end) in bits.set_slices() {
        offsets.resize(start + 1, last);
        if let Some((run, behind)) = rest.split_at_checked(end - start) {
            offsets.extend_from_slice(run);
            last = run.last().copied().unwrap_or(last);
            rest = behind;
        }
    }
    offsets.resize(bits.len() + 1, last);
    Ok(binary_array(offsets, data, Some(bits)))
}

fn decode_binary_page_rows(
    column: &ColumnMeta,
    page: &PageMeta,
    bytes: &[u8],
    rows: &[u32],
    scratch: &mut Scratch,
) -> Result<BinaryArray, Damage> {
    check_codec(column, page, Physical::Binary, Encoding::Plain)?;
    let (presence, encoded) = open(column, page, bytes, scratch)?;
    let mut values = plain::Values::new(encoded);
    let mut data = Vec::new();
    let mut offsets = Vec::with_capacity(rows.len() + 1);
    offsets.push(0i32);
    // The position among the page's values of the one that `values` yields next.
    let mut position = 0usize;
    let Presence::Some(bits) = presence else {
        for &row in rows {
            values.skip(row as usize - position)?;
            data.extend_from_slice(values.next_value()?);
            position = row as usize + 1;
            offsets.push(data.len() as i32);
        }
        return Ok(binary_array(offsets, data, None));
    };
    let mut present = Vec::with_capacity(rows.len());
    let mut set = bits.set_indices_u32().peekable();
    let mut ordinal = 0usize;
    for &row in rows {
        while set.next_if(|&index| index < row).is_some() {
            ordinal += 1;
        }
        let is_present = set.peek() == Some(&row);
        if is_present {
            values.skip(ordinal - position)?;
            data.extend_from_slice(values.next_value()?);
            position = ordinal + 1;
        }
        present.push(is_present);
        offsets.push(data.len() as i32);
    }
    Ok(binary_array(offsets, data, Some(BooleanBuffer::from(present))))
}

fn binary_array(offsets: Vec<i32>, data: Vec<u8>, bits: Option<BooleanBuffer>) -> BinaryArray {
    let nulls = bits.map(NullBuffer::new).filter(|nulls| nulls.null_count() > 0);
    BinaryArray::new(OffsetBuffer::new(ScalarBuffer::from(offsets)), data.into(), nulls)
}

fn check_codec(column: &ColumnMeta, page: &PageMeta, physical: Physical, encoding: Encoding) -> Result<(), Damage> {
    if (column.physical, page.encoding) == (physical, encoding) {
        return Ok(());
    }
    let ColumnMeta {
        physical: found,
        logical,
        tag,
        ..
    } = column;
    Err(Damage::new(format!(
        "no codec for column {logical} {tag:?} of {found:?}, {:?} read as {physical:?}",
        page.encoding
    )))
}

/// Checks a page and opens it: presence, and the encoded values. Afterwards `page.values` agrees with the presence and is
/// at most the number of encoded bytes.
fn open<'a>(
    column: &ColumnMeta,
    page: &PageMeta,
    bytes: &'a [u8],
    scratch: &'a mut Scratch,
) -> Result<(Presence, &'a [u8]), Damage> {
    let stored = page.range.end.saturating_sub(page.range.start);
    if bytes.len() as u64 != stored {
        return Err(Damage::new(format!(
            "page of {} bytes where its entry says {stored}",
            bytes.len()
        )));
    }
    let crc = crc32c::crc32c(bytes);
    if crc != page.crc {
        return Err(Damage::new(format!(
            "page checksum is {crc:08x}, its entry says {:08x}",
            page.crc
        )));
    }
    if page.rows > MAX_PAGE_ROWS || page.raw_bytes > MAX_PAGE_BYTES {
        return Err(Damage::new(format!(
            "page of {} rows and {} raw bytes is too large",
            page.rows, page.raw_bytes
        )));
    }
    let (length, prefix) = read_uvarint(bytes).ok_or(Damage::new("length of presence is cut short or too long"))?;
    let presence_bytes = usize::try_from(length).ok();
    let rest = bytes.get(prefix..).unwrap_or_default();
    let Some((presence, values)) = presence_bytes.and_then(|length| rest.split_at_checked(length)) else {
        return Err(Damage::new(format!(
            "presence of {length} bytes in a page of {}",
            bytes.len()
        )));
    };
    let before_values = (prefix + presence.len()) as u64;
    let Some(raw_bytes) = page.raw_bytes.checked_sub(before_values) else {
        return Err(Damage::new(format!(
            "page of {} raw bytes has {before_values} before its values",
            page.raw_bytes
        )));
    };
    if page.values > raw_bytes {
        return Err(Damage::new(format!("{} values in {raw_bytes} bytes", page.values)));
    }
    let presence = bitmap::decode(presence, page.rows as usize)?;
    let present = match &presence {
        Presence::All => page.rows,
        Presence::Some(bits) => bits.count_set_bits() as u64,
    };
    if present != page.values {
        return Err(Damage::new(format!(
            "presence has {present} values, the page entry {}",
            page.values
        )));
    }
    let values = scratch
        .decompressor
        .decompress(column.compression, values, raw_bytes as usize)?;
    Ok((presence, values))
}
