//! The protobuf push body (http-api.md 3.3), decoded straight into a [`PushBatch`]: lines are copied once, from the body into
//! the batch. Written by hand because a generated decoder would first build a tree with several allocations per entry, and
//! would refuse lines that are not UTF-8.

// hot path: no locks, no logging, no allocation per row.

use super::DecodeError;
use super::pairs::{Pairs, lossy};
use super::wire::Fields;
use timberline_ingest::PushBatch;

const NANOSECONDS: i64 = 1_000_000_000;

/// Decodes a whole body. On an error nothing of it may be stored.
pub(crate) fn decode(body: &[u8]) -> Result<PushBatch, DecodeError> {
    let mut batch = PushBatch::new();
    let mut metadata = Pairs::default();
    let mut request = Fields::of(body);
    while let Some(field) = request.next_field()? {
        if field.number == 1 {
            stream(field.bytes()?, &mut batch, &mut metadata)?;
        }
    }
    Ok(batch)
}

/// One stream. Fields may come in any order, so the labels are looked for first.
fn stream(message: &[u8], batch: &mut PushBatch, metadata: &mut Pairs) -> Result<(), DecodeError> {
    let mut labels: &[u8] = b"";
    let mut fields = Fields::of(message);
    while let Some(field) = fields.next_field()? {
        if field.number == 1 {
            labels = field.bytes()?;
        }
    }
    super::begin_stream_of_text(batch, &lossy(labels));

    let mut fields = Fields::of(message);
    while let Some(field) = fields.next_field()? {
        if field.number == 2 {
            entry(field.bytes()?, batch, metadata)?;
        }
    }
    Ok(())
}

fn entry(message: &[u8], batch: &mut PushBatch, metadata: &mut Pairs) -> Result<(), DecodeError> {
    let mut time = Ok(0);
    let mut line: &[u8] = b"";
    metadata.clear();
    let mut fields = Fields::of(message);
    while let Some(field) = fields.next_field()? {
        match field.number {
            1 => time = timestamp(field.bytes()?)?,
            2 => line = field.bytes()?,
            3 => label_pair(field.bytes()?, metadata)?,
            _ => {}
        }
    }
    match time {
        Ok(timestamp_ns) => batch.push_entry(timestamp_ns, line, metadata.iter()),
        Err(mistake) => batch.refuse_entry(mistake),
    }
    Ok(())
}

/// A `google.protobuf.Timestamp`, in nanoseconds, or what is wrong with it.
fn timestamp(message: &[u8]) -> Result<Result<i64, String>, DecodeError> {
    let (mut seconds, mut nanoseconds) = (0, 0);
    let mut fields = Fields::of(message);
    while let Some(field) = fields.next_field()? {
        match field.number {
            1 => seconds = field.varint()?.cast_signed(),
            2 => nanoseconds = field.varint()?.cast_signed(),
            _ => {}
        }
    }
    let in_range = (0..NANOSECONDS).contains(&nanoseconds);
    let total = i128::from(seconds) * i128::from(NANOSECONDS) + i128::from(nanoseconds);
    Ok(i64::try_from(total)
        .ok()
        .filter(|_| in_range)
        .ok_or_else(|| format!("timestamp of {seconds} seconds and {nanoseconds} nanoseconds is out of range")))
}

fn label_pair(message: &[u8], metadata: &mut Pairs) -> Result<(), DecodeError> {
    let (mut name, mut value): (&[u8], &[u8]) = (b"", b"");
    let mut fields = Fields::of(message);
    while let Some(field) = fields.next_field()? {
        match field.number {
            1 => name = field.bytes()?,
            2 => value = field.bytes()?,
            _ => {}
        }
    }
    metadata.push(name, value);
    Ok(())
}
