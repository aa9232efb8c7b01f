//! Bodies of series as bytes.

use crate::aggregate::{Aggregator, BUCKET_BYTES, Bucket};
use crate::codec::Chunk;
use crate::cold::ColdTier;
use crate::record::{append_options, read_options};
use crate::sample::Sample;
use crate::series::{BodyError, OpenBody, Place, RuleBody, SeriesBody};
use crate::view::{ColdPart, ReadError};
use crate::wire::{Reader, append_double, append_signed, append_text, append_varint};
use std::sync::Arc;

const HOT: u8 = 0;
const COLD: u8 = 1;

/// Appends the bytes of a body that needs nothing beside itself: chunks in the object store are fetched (DUMP, COPY).
pub fn append_body(body: &SeriesBody, out: &mut Vec<u8>) -> Result<(), ReadError> {
    append_head(body, out);
    for place in &body.chunks {
        match place {
            Place::Hot(chunk) => append_chunk(chunk, out),
            Place::Cold(cold) => append_chunk(&*cold.source.fetch()?, out),
        }
    }
    Ok(())
}

/// Reads what [`append_body`] wrote. Any bytes are safe; that the parts fit together is for the series to check.
pub fn read_body(bytes: &[u8]) -> Result<SeriesBody, BodyError> {
    let mut reader = Reader::new(bytes);
    let (mut body, chunks) = read_head(&mut reader).ok_or(BodyError("attributes are damaged"))?;
    for _ in 0..chunks {
        body.chunks
            .push(read_place(&mut reader, None).ok_or(BodyError("a chunk is damaged"))?);
    }
    if reader.is_empty() {
        Ok(body)
    } else {
        Err(BodyError("bytes follow"))
    }
}

/// Appends everything but chunks, and how many there are.
pub(super) fn append_head(body: &SeriesBody, out: &mut Vec<u8>) {
    append_options(&body.options, out);
    append_sample(body.last, out);
    append_signed(body.dropped_before, out);
    append_varint(body.applied, out);
    append_varint(body.rules.len() as u64, out);
    body.rules.iter().for_each(|rule| append_rule(rule, out));
    append_varint(body.chunks.len() as u64, out);
}

/// Reads what [`append_head`] wrote: a body without chunks, and how many belong to it.
pub(super) fn read_head(reader: &mut Reader<'_>) -> Option<(SeriesBody, u64)> {
    let body = SeriesBody {
        options: read_options(reader)?,
        last: read_sample(reader)?,
        dropped_before: reader.signed()?,
        applied: reader.varint()?,
        rules: {
            let count = reader.count()?;
            (0..count).map(|_| read_rule(reader)).collect::<Option<Vec<_>>>()?
        },
        chunks: Vec::new(),
    };
    Some((body, reader.varint()?))
}

/// Appends a chunk, or where it lies.
pub(super) fn append_place(place: &Place, out: &mut Vec<u8>) -> Result<(), ReadError> {
    match place {
        Place::Hot(chunk) => append_chunk(chunk, out),
        Place::Cold(cold) => match cold.source.reference() {
            Some(reference) => {
                out.push(COLD);
                append_signed(cold.first_timestamp, out);
                append_signed(cold.last_timestamp, out);
                append_varint(cold.len as u64, out);
                append_text(reference.object_name().as_bytes(), out);
                append_varint(reference.offset(), out);
                append_varint(reference.bytes(), out);
            }
            None => append_chunk(&*cold.source.fetch()?, out),
        },
    }
    Ok(())
}

/// Reads a chunk, or where it lies in the object store.
pub(super) fn read_place(reader: &mut Reader<'_>, tier: Option<&ColdTier>) -> Option<Place> {
    match reader.byte()? {
        HOT => Some(Place::Hot(Arc::new(Chunk::from_bytes(reader.text()?).ok()?))),
        COLD => read_cold(reader, tier?).map(Place::Cold),
        _ => None,
    }
}

fn read_cold(reader: &mut Reader<'_>, tier: &ColdTier) -> Option<ColdPart> {
    let (first, last) = (reader.natural()?, reader.natural()?);
    let len = usize::try_from(reader.varint()?).ok().filter(|len| *len > 0)?;
    let object = std::str::from_utf8(reader.text()?).ok()?;
    let offset = reader.varint()?;
    let end = offset.checked_add(reader.varint()?)?;
    (first <= last).then(|| tier.part(object, offset..end, (first, last), len))
}

fn append_chunk(chunk: &Chunk, out: &mut Vec<u8>) {
    let mut bytes = Vec::new();
    chunk.append_bytes(&mut bytes);
    out.push(HOT);
    append_text(&bytes, out);
}

fn append_sample(sample: Option<Sample>, out: &mut Vec<u8>) {
    out.push(u8::from(sample.is_some()));
    if let Some(sample) = sample {
        append_signed(sample.timestamp, out);
        append_double(sample.value, out);
    }
}

fn read_sample(reader: &mut Reader<'_>) -> Option<Option<Sample>> {
    match reader.byte()? {
        0 => Some(None),
        1 => Some(Some(Sample {
            timestamp: reader.signed()?,
            value: reader.double()?,
        })),
        _ => None,
    }
}

fn append_rule(rule: &RuleBody, out: &mut Vec<u8>) {
    append_varint(rule.destination, out);
    append_text(rule.aggregator.name().as_bytes(), out);
    append_signed(rule.bucket_ms, out);
    append_signed(rule.align_ms, out);
    out.push(u8::from(rule.open.is_some()));
    if let Some(open) = &rule.open {
        append_signed(open.start, out);
        open.bucket.append_bytes(out);
        append_sample(open.before, out);
        out.push(u8::from(open.stale));
    }
}

fn read_rule(reader: &mut Reader<'_>) -> Option<RuleBody> {
    Some(RuleBody {
        destination: reader.varint()?,
        aggregator: Aggregator::parse(reader.text()?)?,
        bucket_ms: reader.natural().filter(|bucket| *bucket > 0)?,
        align_ms: reader.natural()?,
        open: match reader.byte()? {
            0 => None,
            1 => Some(OpenBody {
                start: reader.signed()?,
                bucket: Bucket::from_bytes(reader.take(BUCKET_BYTES)?)?,
                before: read_sample(reader)?,
                stale: reader.byte()? == 1,
            }),
            _ => return None,
        },
    })
}
