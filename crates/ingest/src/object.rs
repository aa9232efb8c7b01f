//! From a frozen part of the head to the bytes of one data object (dataobj-format.md 9).

use crate::Error;
use crate::head::{Block, FrozenSegment, HeadSource};
use bytes::Bytes;
use hashbrown::HashSet;
use std::cmp::{Ordering, Reverse};
use std::sync::Arc;
use timberline_dataobj::{
    LogRow, LogsWriter, ObjectWriter, PageCut, SortOrder, StreamRow, StreamsWriter, WriterOptions,
};
use timberline_store::{ObjectMeta, TenantId};

/// A logs section is closed when its rows take more than this, uncompressed (dataobj-format.md 9.4).
const SECTION_BYTES: usize = 128 << 20;
/// From this many rows with one stream and timestamp on, duplicates are found by hashing instead of comparing all pairs.
const HASHED_GROUP_ROWS: usize = 16;

/// An object ready to be stored.
#[derive(Debug)]
pub(crate) struct BuiltObject {
    pub(crate) bytes: Bytes,
    pub(crate) tenants: Vec<(TenantId, ObjectMeta)>,
    pub(crate) rows: u64,
    /// Rows left out because an equal one is there.
    pub(crate) duplicates: u64,
}

/// Builds the object that will be stored under `key`. The same rows give the same bytes.
pub(crate) fn build(segment: &FrozenSegment, key: &str) -> Result<BuiltObject, Error> {
    let options = WriterOptions {
        cut: PageCut::Aligned,
        ..WriterOptions::default()
    };
    let mut object = ObjectWriter::new();
    let mut tenants: Vec<_> = segment.tenants.iter().collect();
    tenants.sort_by(|(a, _), (b, _)| natural_order(a.as_str(), b.as_str()));
    let mut metas = Vec::new();
    let (mut rows, mut duplicates) = (0, 0);
    for (tenant, source) in tenants {
        let sorted = sorted_rows(source);
        duplicates += source
            .blocks()
            .iter()
            .map(|block| block.info().rows as u64)
            .sum::<u64>()
            - sorted.len() as u64;
        rows += sorted.len() as u64;
        metas.push((
            tenant.clone(),
            write_tenant(&mut object, tenant, source, &sorted, key, &options)?,
        ));
    }
    let bytes = Bytes::from(object.finish().map_err(object_error)?);
    for (_, meta) in &mut metas {
        meta.size_bytes = bytes.len() as u64;
    }
    Ok(BuiltObject {
        bytes,
        tenants: metas,
        rows,
        duplicates,
    })
}

#[expect(clippy::needless_pass_by_value, reason = "used as a function of map_err")]
fn object_error(error: timberline_dataobj::Error) -> Error {
    Error::Object(error.to_string())
}

/// Where a row lies: order of the object, then the newest arrival first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct RowRef {
    stream: i64,
    timestamp_ns: Reverse<i64>,
    block: Reverse<u32>,
    row: Reverse<u32>,
}

/// All rows by (stream, newest first, later arrival first), of equal ones only the first that arrived.
fn sorted_rows(source: &HeadSource) -> Vec<RowRef> {
    let mut rows = Vec::with_capacity(source.blocks().iter().map(|block| block.info().rows).sum());
    for (number, block) in source.blocks().iter().enumerate() {
        let keys = block.keys();
        for (row, (&stream, &timestamp_ns)) in keys.streams.values().iter().zip(keys.timestamps.values()).enumerate() {
            rows.push(RowRef {
                stream,
                timestamp_ns: Reverse(timestamp_ns),
                block: Reverse(number as u32),
                row: Reverse(row as u32),
            });
        }
    }
    rows.sort_unstable();
    drop_duplicates(rows, source.blocks())
}

fn drop_duplicates(rows: Vec<RowRef>, blocks: &[Arc<Block>]) -> Vec<RowRef> {
    let same_key = |a: &RowRef, b: &RowRef| (a.stream, a.timestamp_ns) == (b.stream, b.timestamp_ns);
    if !rows.is_sorted_by(|a, b| !same_key(a, b)) {
        let mut kept = Vec::with_capacity(rows.len());
        for group in rows.chunk_by(same_key) {
            let start = kept.len();
            // Oldest arrival first, so that it is the one that stays.
            if group.len() < HASHED_GROUP_ROWS {
                for row in group.iter().rev() {
                    if !kept[start..]
                        .iter()
                        .any(|other| content(row, blocks).eq(content(other, blocks)))
                    {
                        kept.push(*row);
                    }
                }
            } else {
                let mut seen = HashSet::new();
                kept.extend(
                    group
                        .iter()
                        .rev()
                        .filter(|row| seen.insert(content(row, blocks).collect::<Vec<_>>())),
                );
            }
            kept[start..].reverse();
        }
        return kept;
    }
    rows
}

/// Line and metadata, in a form that is equal only if both are.
fn content<'a>(row: &RowRef, blocks: &'a [Arc<Block>]) -> impl Iterator<Item = (u32, &'a [u8])> {
    let block = &blocks[row.block.0 as usize];
    let row = row.row.0 as usize;
    std::iter::once((u32::MAX, block.line(row))).chain(block.pairs(row))
}

fn write_tenant(
    object: &mut ObjectWriter,
    tenant: &TenantId,
    source: &HeadSource,
    rows: &[RowRef],
    key: &str,
    options: &WriterOptions,
) -> Result<ObjectMeta, Error> {
    let mut streams = StreamsWriter::new(tenant.as_str(), options);
    let mut sections = Vec::new();
    let mut logs = LogsWriter::new(tenant.as_str(), SortOrder::StreamAscending, options).with_extensions();
    let mut meta = ObjectMeta {
        key: key.to_owned(),
        min_ns: i64::MAX,
        max_ns: i64::MIN,
        rows: rows.len() as u64,
        size_bytes: 0,
        uncompressed_bytes: 0,
    };
    let mut metadata = Vec::new();
    for group in rows.chunk_by(|a, b| a.stream == b.stream) {
        let mut bytes = 0;
        for row in group {
            if logs.raw_bytes() > SECTION_BYTES {
                sections.push(logs.finish_section().map_err(object_error)?);
            }
            bytes += write_row(&mut logs, source, row, &mut metadata)?;
        }
        let stream = group[0].stream;
        let info = &source.stream_table()[(stream - 1) as usize];
        let labels: Vec<(&str, &str)> = info.labels.iter().collect();
        let row = StreamRow {
            id: stream,
            min_timestamp_ns: info.span.min_ns,
            max_timestamp_ns: info.span.max_ns,
            rows: group.len() as i64,
            uncompressed_bytes: bytes,
            labels: &labels,
        };
        streams.append(&row).map_err(object_error)?;
        meta.min_ns = meta.min_ns.min(info.span.min_ns);
        meta.max_ns = meta.max_ns.max(info.span.max_ns);
        meta.uncompressed_bytes += bytes as u64;
    }
    sections.push(logs.finish().map_err(object_error)?);
    object.push_section(streams.finish().map_err(object_error)?);
    for section in sections {
        object.push_section(section);
    }
    Ok(meta)
}

/// Appends a row; returns the bytes of its line and metadata values. `metadata` is a buffer.
fn write_row<'s>(
    logs: &mut LogsWriter,
    source: &'s HeadSource,
    row: &RowRef,
    metadata: &mut Vec<(&'s str, &'s [u8])>,
) -> Result<i64, Error> {
    let block = &source.blocks()[row.block.0 as usize];
    let at = row.row.0 as usize;
    metadata.clear();
    metadata.extend(
        block
            .pairs(at)
            .map(|(name, value)| (source.names()[name as usize].as_ref(), value)),
    );
    let line = block.line(at);
    let bytes = line.len() + metadata.iter().map(|(_, value)| value.len()).sum::<usize>();
    let record = LogRow {
        stream_id: row.stream,
        timestamp_ns: row.timestamp_ns.0,
        line,
        metadata,
    };
    logs.append(&record).map_err(object_error)?;
    Ok(bytes as i64)
}

/// `beta-2` before `beta-10`: runs of digits compare as numbers. Ties are broken bytewise.
fn natural_order(a: &str, b: &str) -> Ordering {
    let (mut left, mut right) = (a.as_bytes(), b.as_bytes());
    while let (Some(x), Some(y)) = (left.first(), right.first()) {
        if x.is_ascii_digit() && y.is_ascii_digit() {
            let (number_x, number_y) = (take_number(&mut left), take_number(&mut right));
            let order = number_x.len().cmp(&number_y.len()).then(number_x.cmp(number_y));
            if order.is_ne() {
                return order;
            }
        } else if x != y {
            return x.cmp(y);
        } else {
            left = &left[1..];
            right = &right[1..];
        }
    }
    left.len().cmp(&right.len()).then(a.cmp(b))
}

/// Cuts the digits off the front; returns them without leading zeros.
fn take_number<'a>(text: &mut &'a [u8]) -> &'a [u8] {
    let length = text
        .iter()
        .position(|byte| !byte.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, rest) = text.split_at(length);
    *text = rest;
    let zeros = number.iter().position(|&byte| byte != b'0').unwrap_or(number.len());
    &number[zeros..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tenants_are_in_natural_order() {
        let f = |a: &str, b: &str, want: Ordering| {
            assert_eq!(natural_order(a, b), want, "{a} {b}");
            assert_eq!(natural_order(b, a), want.reverse(), "{b} {a}");
        };
        f("beta-2", "beta-10", Ordering::Less);
        f("a", "b", Ordering::Less);
        f("a", "a1", Ordering::Less);
        f("a", "a", Ordering::Equal);
        f("a01", "a1", Ordering::Less);
        f("a2b", "a10a", Ordering::Less);
        f("1", "a", Ordering::Less);
    }
}
