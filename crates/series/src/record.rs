//! What the journal remembers: effects, by number of series or by key.
//!
//! A frame of the journal is a row of records. A record begins with a byte that says its kind; what follows are variable-length
//! integers (zigzag where they may be negative), doubles of eight bytes, and texts behind their length. Reading is safe with any bytes.

mod samples;

pub use samples::{Run, SamplesRecord, WriteKind};

use crate::aggregate::Aggregator;
use crate::codec::Encoding;
use crate::keyspace::{DATABASES, Plain};
use crate::labels::Labels;
use crate::options::{Changes, MAX_CHUNK_BYTES, MIN_CHUNK_BYTES, SeriesOptions};
use crate::policy::DuplicatePolicy;
use crate::wire::{Reader, append_double, append_signed, append_text, append_varint};

/// One effect.
#[derive(Clone, Debug)]
pub enum Record<'a> {
    /// A series was made.
    Create {
        /// The number of the series.
        id: u64,
        /// The database of its key.
        db: u8,
        /// Its key.
        key: &'a [u8],
        /// Its attributes.
        options: &'a SeriesOptions,
    },
    /// Attributes of a series changed.
    Alter {
        /// The number of the series.
        id: u64,
        /// What changed.
        changes: &'a Changes,
    },
    /// Samples were written to a series. Written by [`SamplesRecord`] alone.
    Samples {
        /// The number of the series.
        id: u64,
        /// The samples in the order of writing.
        run: Run<'a>,
    },
    /// Samples between two inclusive bounds were deleted.
    Delete {
        /// The number of the series.
        id: u64,
        /// The lowest timestamp.
        from: i64,
        /// The highest timestamp.
        to: i64,
    },
    /// A rule was made.
    Rule {
        /// The number of the source.
        source: u64,
        /// The number of the destination.
        destination: u64,
        /// What a bucket becomes.
        aggregator: Aggregator,
        /// Length of a bucket, above zero.
        bucket_ms: i64,
        /// A time at which a bucket starts.
        align_ms: i64,
    },
    /// A rule was ended.
    Unrule {
        /// The number of the source.
        source: u64,
        /// The number of the destination.
        destination: u64,
    },
    /// A key was removed.
    Remove {
        /// The database.
        db: u8,
        /// The key.
        key: &'a [u8],
    },
    /// A key got another name; what had the name was removed by a record of its own.
    Rename {
        /// The database.
        db: u8,
        /// The old name.
        from: &'a [u8],
        /// The new name.
        to: &'a [u8],
    },
    /// A key went to another database.
    Move {
        /// The database where it was.
        db: u8,
        /// The key.
        key: &'a [u8],
        /// The database where it is.
        to_db: u8,
    },
    /// Two databases were exchanged.
    Swap {
        /// One of them.
        one: u8,
        /// The other.
        other: u8,
    },
    /// The end of a key changed.
    Expire {
        /// The database.
        db: u8,
        /// The key.
        key: &'a [u8],
        /// Milliseconds since 1970; `i64::MAX` for never.
        expires_at: i64,
    },
    /// A key was set to a text or a list.
    Text {
        /// Which of the two.
        plain: Plain,
        /// The database.
        db: u8,
        /// The key.
        key: &'a [u8],
        /// The text.
        text: &'a [u8],
        /// When it ends: milliseconds since 1970; `i64::MAX` for never.
        expires_at: i64,
    },
    /// A series was made from the bytes of a body (RESTORE, COPY).
    Restore {
        /// The number of the series.
        id: u64,
        /// The database of its key.
        db: u8,
        /// Its key.
        key: &'a [u8],
        /// When it ends: milliseconds since 1970; `i64::MAX` for never.
        expires_at: i64,
        /// What [`append_body`](crate::snapshot::append_body) gave.
        body: &'a [u8],
    },
    /// All keys of a database, or of all, were removed.
    Flush {
        /// The database; none for all.
        db: Option<u8>,
    },
    /// A chunk of a series went to the object store.
    Cold {
        /// The number of the series.
        id: u64,
        /// The lowest timestamp of the chunk.
        first_timestamp: i64,
        /// The highest timestamp of the chunk.
        last_timestamp: i64,
        /// How many samples it holds.
        len: u64,
        /// The name of the object.
        object: &'a [u8],
        /// Where in the object the bytes of the chunk begin.
        offset: u64,
        /// How many bytes they are.
        bytes: u64,
    },
}

/// The bytes are no row of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("corrupt: record: {what}, {left} bytes before the end of the frame")]
pub struct RecordError {
    /// What is wrong.
    pub what: &'static str,
    /// How many bytes of the frame were not read.
    pub left: usize,
}

/// First bytes of records. Numbers are never used again for something else.
mod kind {
    pub(super) const CREATE: u8 = 1;
    pub(super) const ALTER: u8 = 2;
    pub(super) const SAMPLES: u8 = 3;
    pub(super) const DELETE: u8 = 4;
    pub(super) const RULE: u8 = 5;
    pub(super) const UNRULE: u8 = 6;
    pub(super) const REMOVE: u8 = 7;
    pub(super) const RENAME: u8 = 8;
    pub(super) const MOVE: u8 = 9;
    pub(super) const SWAP: u8 = 10;
    pub(super) const EXPIRE: u8 = 11;
    pub(super) const TEXT: u8 = 12;
    pub(super) const RESTORE: u8 = 13;
    pub(super) const FLUSH: u8 = 14;
    pub(super) const COLD: u8 = 15;
    pub(super) const LIST: u8 = 16;
}

/// Stands for "no policy" and "all databases".
const NONE: u8 = 0xff;

/// Appends the bytes of a record.
pub fn append_record(record: &Record<'_>, out: &mut Vec<u8>) {
    match *record {
        Record::Create { id, db, key, options } => {
            out.push(kind::CREATE);
            append_varint(id, out);
            append_key(db, key, out);
            append_options(options, out);
        }
        Record::Alter { id, changes } => {
            out.push(kind::ALTER);
            append_varint(id, out);
            append_changes(changes, out);
        }
        Record::Samples { id, run } => {
            let mut samples = SamplesRecord::new(id, Vec::new());
            run.for_each(|(timestamp, value, kind)| samples.push(timestamp, value, kind));
            out.extend_from_slice(samples.take_frame().unwrap_or_default());
        }
        Record::Delete { id, from, to } => {
            out.push(kind::DELETE);
            append_varint(id, out);
            append_signed(from, out);
            append_signed(to, out);
        }
        Record::Rule {
            source,
            destination,
            aggregator,
            bucket_ms,
            align_ms,
        } => {
            out.push(kind::RULE);
            append_varint(source, out);
            append_varint(destination, out);
            append_text(aggregator.name().as_bytes(), out);
            append_signed(bucket_ms, out);
            append_signed(align_ms, out);
        }
        Record::Unrule { source, destination } => {
            out.push(kind::UNRULE);
            append_varint(source, out);
            append_varint(destination, out);
        }
        Record::Remove { db, key } => {
            out.push(kind::REMOVE);
            append_key(db, key, out);
        }
        Record::Rename { db, from, to } => {
            out.push(kind::RENAME);
            append_key(db, from, out);
            append_text(to, out);
        }
        Record::Move { db, key, to_db } => {
            out.push(kind::MOVE);
            append_key(db, key, out);
            out.push(to_db);
        }
        Record::Swap { one, other } => out.extend_from_slice(&[kind::SWAP, one, other]),
        Record::Expire { db, key, expires_at } => {
            out.push(kind::EXPIRE);
            append_key(db, key, out);
            append_signed(expires_at, out);
        }
        Record::Text {
            plain,
            db,
            key,
            text,
            expires_at,
        } => {
            out.push(match plain {
                Plain::Text => kind::TEXT,
                Plain::List => kind::LIST,
            });
            append_key(db, key, out);
            append_signed(expires_at, out);
            append_text(text, out);
        }
        Record::Restore {
            id,
            db,
            key,
            expires_at,
            body,
        } => {
            out.push(kind::RESTORE);
            append_varint(id, out);
            append_key(db, key, out);
            append_signed(expires_at, out);
            append_text(body, out);
        }
        Record::Flush { db } => out.extend_from_slice(&[kind::FLUSH, db.unwrap_or(NONE)]),
        Record::Cold {
            id,
            first_timestamp,
            last_timestamp,
            len,
            object,
            offset,
            bytes,
        } => {
            out.push(kind::COLD);
            append_varint(id, out);
            append_signed(first_timestamp, out);
            append_signed(last_timestamp, out);
            append_varint(len, out);
            append_text(object, out);
            append_varint(offset, out);
            append_varint(bytes, out);
        }
    }
}

/// Reads the records of a frame, one after the other; ends with the first error of `visit` or of the bytes.
pub fn read_records<E: From<RecordError>>(
    frame: &[u8],
    mut visit: impl FnMut(Record<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let mut reader = Reader::new(frame);
    while !reader.is_empty() {
        let left = reader.rest().len();
        read_record(&mut reader, &mut visit).ok_or(RecordError {
            what: "not a record",
            left,
        })??;
    }
    Ok(())
}

/// Reads one record and hands it on; nothing if the bytes are not one.
fn read_record<R>(reader: &mut Reader<'_>, visit: impl FnOnce(Record<'_>) -> R) -> Option<R> {
    let record = match reader.byte()? {
        kind::CREATE => {
            let id = reader.varint()?;
            let (db, key) = read_key(reader)?;
            let options = &read_options(reader)?;
            return Some(visit(Record::Create { id, db, key, options }));
        }
        kind::ALTER => {
            let id = reader.varint()?;
            let changes = &read_changes(reader)?;
            return Some(visit(Record::Alter { id, changes }));
        }
        kind::SAMPLES => Record::Samples {
            id: reader.varint()?,
            run: Run::read(reader)?,
        },
        kind::DELETE => Record::Delete {
            id: reader.varint()?,
            from: reader.signed()?,
            to: reader.signed()?,
        },
        kind::RULE => Record::Rule {
            source: reader.varint()?,
            destination: reader.varint()?,
            aggregator: Aggregator::parse(reader.text()?)?,
            bucket_ms: reader.natural().filter(|bucket| *bucket > 0)?,
            align_ms: reader.natural()?,
        },
        kind::UNRULE => Record::Unrule {
            source: reader.varint()?,
            destination: reader.varint()?,
        },
        kind::REMOVE => {
            let (db, key) = read_key(reader)?;
            Record::Remove { db, key }
        }
        kind::RENAME => {
            let (db, from) = read_key(reader)?;
            Record::Rename {
                db,
                from,
                to: reader.text()?,
            }
        }
        kind::MOVE => {
            let (db, key) = read_key(reader)?;
            Record::Move {
                db,
                key,
                to_db: read_database(reader)?,
            }
        }
        kind::SWAP => Record::Swap {
            one: read_database(reader)?,
            other: read_database(reader)?,
        },
        kind::EXPIRE => {
            let (db, key) = read_key(reader)?;
            Record::Expire {
                db,
                key,
                expires_at: reader.signed()?,
            }
        }
        number @ (kind::TEXT | kind::LIST) => {
            let (db, key) = read_key(reader)?;
            Record::Text {
                plain: if number == kind::LIST { Plain::List } else { Plain::Text },
                db,
                key,
                expires_at: reader.signed()?,
                text: reader.text()?,
            }
        }
        kind::RESTORE => {
            let id = reader.varint()?;
            let (db, key) = read_key(reader)?;
            Record::Restore {
                id,
                db,
                key,
                expires_at: reader.signed()?,
                body: reader.text()?,
            }
        }
        kind::FLUSH if reader.rest().first() == Some(&NONE) => {
            reader.byte();
            Record::Flush { db: None }
        }
        kind::FLUSH => Record::Flush {
            db: Some(read_database(reader)?),
        },
        kind::COLD => Record::Cold {
            id: reader.varint()?,
            first_timestamp: reader.signed()?,
            last_timestamp: reader.signed()?,
            len: reader.varint()?,
            object: reader.text()?,
            offset: reader.varint()?,
            bytes: reader.varint()?,
        },
        _ => return None,
    };
    Some(visit(record))
}

fn append_key(db: u8, key: &[u8], out: &mut Vec<u8>) {
    out.push(db);
    append_text(key, out);
}

fn read_key<'a>(reader: &mut Reader<'a>) -> Option<(u8, &'a [u8])> {
    Some((read_database(reader)?, reader.text()?))
}

fn read_database(reader: &mut Reader<'_>) -> Option<u8> {
    reader.byte().filter(|db| usize::from(*db) < DATABASES)
}

/// Appends the attributes of a series; bodies have them too.
pub(crate) fn append_options(options: &SeriesOptions, out: &mut Vec<u8>) {
    append_signed(options.retention_ms, out);
    out.push(u8::from(options.encoding == Encoding::Uncompressed));
    append_varint(u64::from(options.chunk_bytes), out);
    out.push(options.duplicate_policy.map_or(NONE, DuplicatePolicy::number));
    append_signed(options.ignore_time_ms, out);
    append_double(options.ignore_value, out);
    append_labels(&options.labels, out);
}

/// Reads what [`append_options`] wrote, within the bounds of the specification's chapter 3.
pub(crate) fn read_options(reader: &mut Reader<'_>) -> Option<SeriesOptions> {
    Some(SeriesOptions {
        retention_ms: reader.natural()?,
        encoding: match reader.byte()? {
            0 => Encoding::Compressed,
            1 => Encoding::Uncompressed,
            _ => return None,
        },
        chunk_bytes: read_chunk_bytes(reader)?,
        duplicate_policy: match reader.byte()? {
            NONE => None,
            number => Some(DuplicatePolicy::from_number(number)?),
        },
        ignore_time_ms: reader.natural()?,
        ignore_value: reader.double()?,
        labels: read_labels(reader)?,
    })
}

/// Which attributes a change names.
mod changed {
    pub(super) const RETENTION: u8 = 1;
    pub(super) const CHUNK_BYTES: u8 = 2;
    pub(super) const POLICY: u8 = 4;
    pub(super) const IGNORE: u8 = 8;
    pub(super) const LABELS: u8 = 16;
}

fn append_changes(changes: &Changes, out: &mut Vec<u8>) {
    let flag = |is_named: bool, flag: u8| if is_named { flag } else { 0 };
    out.push(
        flag(changes.retention_ms.is_some(), changed::RETENTION)
            | flag(changes.chunk_bytes.is_some(), changed::CHUNK_BYTES)
            | flag(changes.duplicate_policy.is_some(), changed::POLICY)
            | flag(changes.ignore.is_some(), changed::IGNORE)
            | flag(changes.labels.is_some(), changed::LABELS),
    );
    if let Some(retention_ms) = changes.retention_ms {
        append_signed(retention_ms, out);
    }
    if let Some(chunk_bytes) = changes.chunk_bytes {
        append_varint(u64::from(chunk_bytes), out);
    }
    if let Some(policy) = changes.duplicate_policy {
        out.push(policy.number());
    }
    if let Some((time_ms, value)) = changes.ignore {
        append_signed(time_ms, out);
        append_double(value, out);
    }
    if let Some(labels) = &changes.labels {
        append_labels(labels, out);
    }
}

fn read_changes(reader: &mut Reader<'_>) -> Option<Changes> {
    let named = reader.byte()?;
    let mut changes = Changes::default();
    if named & changed::RETENTION != 0 {
        changes.retention_ms = Some(reader.natural()?);
    }
    if named & changed::CHUNK_BYTES != 0 {
        changes.chunk_bytes = Some(read_chunk_bytes(reader)?);
    }
    if named & changed::POLICY != 0 {
        changes.duplicate_policy = Some(DuplicatePolicy::from_number(reader.byte()?)?);
    }
    if named & changed::IGNORE != 0 {
        changes.ignore = Some((reader.natural()?, reader.double()?));
    }
    if named & changed::LABELS != 0 {
        changes.labels = Some(read_labels(reader)?);
    }
    Some(changes)
}

fn read_chunk_bytes(reader: &mut Reader<'_>) -> Option<u32> {
    let bytes = u32::try_from(reader.varint()?).ok()?;
    (MIN_CHUNK_BYTES..=MAX_CHUNK_BYTES).contains(&bytes).then_some(bytes)
}

fn append_labels(labels: &Labels, out: &mut Vec<u8>) {
    append_varint(labels.len() as u64, out);
    for (name, value) in labels.iter() {
        append_text(name, out);
        append_text(value, out);
    }
}

fn read_labels(reader: &mut Reader<'_>) -> Option<Labels> {
    let count = reader.count()?;
    let pairs = (0..count).map(|_| Some((reader.text()?.to_vec(), reader.text()?.to_vec())));
    Some(Labels::from_pairs(pairs.collect::<Option<Vec<_>>>()?))
}

#[cfg(test)]
mod tests;
