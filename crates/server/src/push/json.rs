//! The JSON push body (http-api.md 3.2), decoded straight into a [`PushBatch`].

// hot path: no locks, no logging, no allocation per row.

use super::DecodeError;
use super::json_reader::{JsonError, JsonReader, Kind};
use super::pairs::{Pairs, lossy};
use timberline_ingest::PushBatch;
use timberline_logql::labels::{Label, LabelSet};

/// Decodes a whole body. On an error nothing of it may be stored.
pub(crate) fn decode(body: &[u8]) -> Result<PushBatch, DecodeError> {
    let mut decoder = Decoder {
        batch: PushBatch::new(),
        scratch: Scratch::default(),
    };
    let mut reader = JsonReader::new(body);
    decoder.request(&mut reader)?;
    reader.end()?;
    Ok(decoder.batch)
}

struct Decoder {
    batch: PushBatch,
    scratch: Scratch,
}

/// Buffers for strings with escapes, and the metadata of the entry in hand.
#[derive(Default)]
struct Scratch {
    key: Vec<u8>,
    line: Vec<u8>,
    value: Vec<u8>,
    metadata: Pairs,
}

impl Decoder {
    fn request(&mut self, reader: &mut JsonReader<'_>) -> Result<(), DecodeError> {
        reader.begin_object()?;
        let mut first = true;
        while let Some(key) = reader.next_key(first, &mut self.scratch.key)? {
            first = false;
            if key != b"streams" {
                reader.skip_value()?;
            } else if !reader.null()? {
                self.streams(reader)?;
            }
        }
        Ok(())
    }

    fn streams(&mut self, reader: &mut JsonReader<'_>) -> Result<(), DecodeError> {
        reader.begin_array()?;
        let mut first = true;
        while reader.next_element(first)? {
            first = false;
            if !reader.null()? {
                self.stream(reader)?;
            }
        }
        Ok(())
    }

    /// One stream. Its labels may stand behind its values: then the values are passed over and read afterwards.
    fn stream(&mut self, reader: &mut JsonReader<'_>) -> Result<(), DecodeError> {
        let mut begun = false;
        let mut passed_over = None;
        reader.begin_object()?;
        let mut first = true;
        while let Some(key) = reader.next_key(first, &mut self.scratch.key)? {
            first = false;
            match key {
                b"stream" if !begun => {
                    let labels = self.labels(reader)?;
                    self.batch.begin_stream(labels);
                    begun = true;
                }
                b"values" if begun => self.values(reader)?,
                b"values" => {
                    passed_over = Some(reader.offset());
                    reader.skip_value()?;
                }
                _ => reader.skip_value()?,
            }
        }
        if !begun {
            self.batch.begin_stream(LabelSet::default());
        }
        if let Some(offset) = passed_over {
            self.values(&mut reader.at(offset))?;
        }
        Ok(())
    }

    fn labels(&mut self, reader: &mut JsonReader<'_>) -> Result<LabelSet, DecodeError> {
        let mut labels = Vec::new();
        if reader.null()? {
            return Ok(LabelSet::default());
        }
        reader.begin_object()?;
        let mut first = true;
        while let Some(key) = reader.next_key(first, &mut self.scratch.key)? {
            first = false;
            let name = lossy(key);
            if let Some(offset) = illegal_byte(&name) {
                return Err(DecodeError::Labels(format!(
                    "label name {name:?} is invalid at byte {offset}"
                )));
            }
            let value = match reader.kind()? {
                Kind::String => lossy(reader.string(&mut self.scratch.value)?).into(),
                Kind::Number | Kind::Bool => reader.literal()?.into(),
                Kind::Null => {
                    reader.skip_value()?;
                    continue;
                }
                kind @ (Kind::Object | Kind::Array) => {
                    return Err(DecodeError::Labels(format!(
                        "label {name:?} must be a string, {} was found",
                        kind.name()
                    )));
                }
            };
            labels.push(Label {
                name: name.as_ref().into(),
                value,
            });
        }
        // Of a key that stands twice in an object the last counts; a label set keeps the first.
        labels.reverse();
        Ok(LabelSet::from_labels(labels))
    }

    fn values(&mut self, reader: &mut JsonReader<'_>) -> Result<(), DecodeError> {
        if reader.null()? {
            return Ok(());
        }
        reader.begin_array()?;
        let mut first = true;
        while reader.next_element(first)? {
            first = false;
            if !reader.null()? {
                self.entry(reader)?;
            }
        }
        Ok(())
    }

    fn entry(&mut self, reader: &mut JsonReader<'_>) -> Result<(), DecodeError> {
        let Scratch {
            key,
            line,
            value,
            metadata,
        } = &mut self.scratch;
        let need = |reader: &mut JsonReader<'_>, first, what| match reader.next_element(first) {
            Ok(true) => Ok(()),
            Ok(false) => Err(reader.error(format!("entry without a {what}"))),
            Err(error) => Err(error),
        };
        reader.begin_array()?;

        need(reader, true, "timestamp")?;
        let timestamp_ns = timestamp(reader, value)?;

        need(reader, false, "line")?;
        let line = reader.string(line)?;

        metadata.clear();
        if reader.next_element(false)? {
            if !reader.null()? {
                read_metadata(reader, key, value, metadata)?;
            }
            while reader.next_element(false)? {
                reader.skip_value()?;
            }
        }
        self.batch.push_entry(timestamp_ns, line, metadata.iter());
        Ok(())
    }
}

fn timestamp(reader: &mut JsonReader<'_>, scratch: &mut Vec<u8>) -> Result<i64, DecodeError> {
    let text = lossy(reader.string(scratch)?);
    text.parse().map_err(|_| {
        let shown: String = text.chars().take(40).collect();
        reader
            .error(format!("timestamp {shown:?} is not a decimal number of nanoseconds"))
            .into()
    })
}

fn read_metadata(
    reader: &mut JsonReader<'_>,
    key: &mut Vec<u8>,
    value: &mut Vec<u8>,
    metadata: &mut Pairs,
) -> Result<(), JsonError> {
    reader.begin_object()?;
    let mut first = true;
    while let Some(name) = reader.next_key(first, key)? {
        first = false;
        match reader.kind()? {
            Kind::String => metadata.push(name, reader.string(value)?),
            Kind::Null => reader.skip_value()?,
            other => {
                let name = lossy(name);
                return Err(reader.error(format!(
                    "metadata {name:?} must be a string, {} was found",
                    other.name()
                )));
            }
        }
    }
    Ok(())
}

/// The first byte that a label name must not have there; 0 for the empty name.
fn illegal_byte(name: &str) -> Option<usize> {
    if name.is_empty() || name.as_bytes()[0].is_ascii_digit() {
        return Some(0);
    }
    name.bytes().position(|b| !b.is_ascii_alphanumeric() && b != b'_')
}
