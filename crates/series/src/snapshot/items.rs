//! What a snapshot consists of. Keys come first, then series with their chunks, at last the end.

use super::body::{append_head, append_place, read_head, read_place};
use crate::cold::ColdTier;
use crate::keyspace::{DATABASES, Plain};
use crate::series::{Place, SeriesBody};
use crate::view::ReadError;
use crate::wire::{Reader, append_signed, append_text, append_varint};

/// First bytes of items. Numbers are never used again for something else.
const SERIES_KEY: u8 = 1;
const TEXT_KEY: u8 = 2;
const SERIES: u8 = 3;
const CHUNK: u8 = 4;
const END: u8 = 5;
const LIST_KEY: u8 = 6;

/// One item.
pub(super) enum Item<'a> {
    /// A key that holds a series.
    SeriesKey {
        db: u8,
        key: &'a [u8],
        expires_at: i64,
        id: u64,
    },
    /// A key that holds a text or a list.
    TextKey {
        plain: Plain,
        db: u8,
        key: &'a [u8],
        expires_at: i64,
        text: &'a [u8],
    },
    /// A series without its chunks, so many of which follow. A group are a source and its destinations at one moment.
    Series {
        id: u64,
        begins_group: bool,
        body: SeriesBody,
        chunks: u64,
    },
    /// The next chunk of the last series.
    Chunk(Place),
    /// There are no more items; without it the snapshot is not whole.
    End {
        /// The number of the next series.
        next_id: u64,
        /// The sequence number of the first frame of the journal behind the snapshot.
        first_sequence: u64,
        /// The sequence number that the next frame of the journal must have at least: series hold what is before.
        next_sequence: u64,
    },
}

pub(super) fn append_series_key(db: u8, key: &[u8], expires_at: i64, id: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(&[SERIES_KEY, db]);
    append_text(key, out);
    append_signed(expires_at, out);
    append_varint(id, out);
}

pub(super) fn append_text_key(plain: Plain, db: u8, key: &[u8], expires_at: i64, text: &[u8], out: &mut Vec<u8>) {
    let kind = match plain {
        Plain::Text => TEXT_KEY,
        Plain::List => LIST_KEY,
    };
    out.extend_from_slice(&[kind, db]);
    append_text(key, out);
    append_signed(expires_at, out);
    append_text(text, out);
}

pub(super) fn append_series(id: u64, begins_group: bool, body: &SeriesBody, out: &mut Vec<u8>) {
    out.extend_from_slice(&[SERIES, u8::from(begins_group)]);
    append_varint(id, out);
    append_head(body, out);
}

pub(super) fn append_chunk_item(place: &Place, out: &mut Vec<u8>) -> Result<(), ReadError> {
    out.push(CHUNK);
    append_place(place, out)
}

pub(super) fn append_end(next_id: u64, first_sequence: u64, next_sequence: u64, out: &mut Vec<u8>) {
    out.push(END);
    append_varint(next_id, out);
    append_varint(first_sequence, out);
    append_varint(next_sequence, out);
}

/// Reads an item; nothing if the bytes are not one.
pub(super) fn read_item<'a>(reader: &mut Reader<'a>, tier: Option<&ColdTier>) -> Option<Item<'a>> {
    match reader.byte()? {
        SERIES_KEY => Some(Item::SeriesKey {
            db: read_database(reader)?,
            key: reader.text()?,
            expires_at: reader.signed()?,
            id: reader.varint()?,
        }),
        kind @ (TEXT_KEY | LIST_KEY) => Some(Item::TextKey {
            plain: if kind == LIST_KEY { Plain::List } else { Plain::Text },
            db: read_database(reader)?,
            key: reader.text()?,
            expires_at: reader.signed()?,
            text: reader.text()?,
        }),
        SERIES => {
            let begins_group = reader.byte()? == 1;
            let id = reader.varint()?;
            let (body, chunks) = read_head(reader)?;
            Some(Item::Series {
                id,
                begins_group,
                body,
                chunks,
            })
        }
        CHUNK => read_place(reader, tier).map(Item::Chunk),
        END => Some(Item::End {
            next_id: reader.varint()?,
            first_sequence: reader.varint()?,
            next_sequence: reader.varint()?,
        }),
        _ => None,
    }
}

fn read_database(reader: &mut Reader<'_>) -> Option<u8> {
    reader.byte().filter(|db| usize::from(*db) < DATABASES)
}
