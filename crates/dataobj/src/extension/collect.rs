//! Filters collected while a logs section is written: column by column, as its pages close.
// hot path: no locks, no logging, no allocation per row.

use super::fuse::{FuseBuilder, KEY_SHIFT, sort_keys};
use super::grams::{PageGrams, WORD_SHIFT};
use super::page_filter::FilterShape;
use crate::proto::PageEntry;
use crate::varint::read_uvarint;
use std::hash::Hasher;
use twox_hash::XxHash64;

/// Pages larger than this, uncompressed, get no filter; it bounds the memory for their grams. Writers close a page at 2 MiB
/// or behind one huge line.
const MAX_RAW_BYTES: u64 = 64 << 20;

/// Filters take at most this share of their page's stored bytes, in percent.
const MAX_PERCENT: u64 = 12;

/// Of it, that of words; ids may take what they leave.
const MAX_WORDS_PERCENT: u64 = 6;

/// Of the lines' words. One needle in 8 that a page does not hold passes per gram; six letters have three.
pub(super) const WORDS: FilterShape = FilterShape {
    width: 3,
    lowest_bit: WORD_SHIFT,
};

/// Of the lines' ids.
pub(super) const IDS: FilterShape = FilterShape {
    width: 2,
    lowest_bit: KEY_SHIFT,
};

/// Of the values of a metadata column.
pub(super) const VALUES: FilterShape = FilterShape {
    width: 8,
    lowest_bit: KEY_SHIFT,
};

/// What is kept of the pages of a column.
#[derive(Debug)]
pub(crate) enum ColumnObserver {
    Lines(Box<PageGrams>, FilterBuffers, Vec<PageRecord>),
    Values(FilterBuffers, Vec<PageRecord>),
}

#[derive(Debug, Default)]
pub(crate) struct FilterBuffers {
    builder: FuseBuilder,
    keys: Vec<u32>,
    other: Vec<u32>,
}

/// The filters of a page, and by what the page is known again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PageRecord {
    pub(crate) page: u64,
    pub(crate) rows: u64,
    pub(crate) crc: u32,
    /// Lines: words and ids. Values: one.
    pub(crate) filters: [Option<Vec<u8>>; 2],
}

impl ColumnObserver {
    pub(crate) fn of_lines() -> ColumnObserver {
        ColumnObserver::Lines(Box::default(), FilterBuffers::default(), Vec::new())
    }

    pub(crate) fn of_values() -> ColumnObserver {
        ColumnObserver::Values(FilterBuffers::default(), Vec::new())
    }

    /// A page was closed. `encoded` are its values, each behind its length.
    pub(crate) fn page_closed(&mut self, page: usize, encoded: &[u8], entry: &PageEntry) {
        if entry.values == 0 || entry.raw_bytes > MAX_RAW_BYTES {
            return;
        }
        let (filters, records) = match self {
            ColumnObserver::Lines(grams, buffers, records) => (line_filters(grams, buffers, encoded, entry), records),
            ColumnObserver::Values(buffers, records) => ([value_filter(buffers, encoded, entry), None], records),
        };
        if filters.iter().any(Option::is_some) {
            records.push(PageRecord {
                page: page as u64,
                rows: entry.rows,
                crc: entry.crc,
                filters,
            });
        }
    }

    pub(crate) fn into_records(self) -> Vec<PageRecord> {
        match self {
            ColumnObserver::Lines(_, _, records) | ColumnObserver::Values(_, records) => records,
        }
    }
}

fn line_filters(
    grams: &mut PageGrams,
    buffers: &mut FilterBuffers,
    encoded: &[u8],
    entry: &PageEntry,
) -> [Option<Vec<u8>>; 2] {
    for line in (Values { rest: encoded }) {
        grams.add_line(line);
    }
    grams.take_words(&mut buffers.keys);
    let max_bytes = (entry.stored_bytes * MAX_PERCENT / 100) as usize;
    let max_words_bytes = (entry.stored_bytes * MAX_WORDS_PERCENT / 100) as usize;
    let words = WORDS.build(&mut buffers.keys, max_words_bytes, &mut buffers.builder);
    let max_ids_bytes = max_bytes - words.as_ref().map_or(0, Vec::len).min(max_bytes);
    let keys = grams.ids_mut();
    sort_keys(keys, &mut buffers.other);
    let ids = IDS.build(keys, max_ids_bytes, &mut buffers.builder);
    keys.clear();
    [words, ids]
}

fn value_filter(buffers: &mut FilterBuffers, encoded: &[u8], entry: &PageEntry) -> Option<Vec<u8>> {
    let FilterBuffers { builder, keys, other } = buffers;
    keys.clear();
    let mut last: Option<&[u8]> = None;
    for value in (Values { rest: encoded }) {
        if last != Some(value) {
            keys.push(value_key(value));
            last = Some(value);
        }
    }
    sort_keys(keys, other);
    let max_bytes = (entry.stored_bytes * MAX_PERCENT / 100) as usize;
    VALUES.build(keys, max_bytes, builder)
}

/// The key of a metadata value.
pub(super) fn value_key(value: &[u8]) -> u32 {
    let mut hash = XxHash64::with_seed(0);
    hash.write(value);
    (hash.finish() >> 32) as u32 >> KEY_SHIFT << KEY_SHIFT
}

/// Values of an encoded page that we wrote ourselves.
struct Values<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Values<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        if self.rest.is_empty() {
            return None;
        }
        let value = read_uvarint(self.rest).and_then(|(length, prefix)| {
            let (value, rest) = self.rest.get(prefix..)?.split_at_checked(length as usize)?;
            self.rest = rest;
            Some(value)
        });
        Some(value.expect("bug: a page's own encoding can't be read"))
    }
}
