//! The JSON push body (http-api.md 3.2), decoded straight into a [`PushBatch`].
//!
//! Streams of the older form (http-api.md 18) are read as well, at either path: clients that still send it take any 2xx
//! as success, so passing it over would lose their lines without a word.

// hot path: no locks, no logging, no allocation per row.

use super::DecodeError;
use super::json_reader::{JsonError, JsonReader, Kind};
use super::pairs::{Pairs, lossy};
use timberline_ingest::{PushBatch, StreamLabels};
use timberline_logql::labels::{Label, LabelSet};

/// Decodes a whole body. On an error nothing of it may be stored; labels and timestamps that are wrong are no error of the body, and noted
/// in the batch.
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

/// How the entries of a stream are written.
#[derive(Clone, Copy)]
enum Form {
    /// `["nanoseconds", "line", {metadata}]` under `values`.
    Arrays,
    /// `{"ts": "RFC 3339", "line": ".."}` under `entries`, of the older form.
    Objects,
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

    /// One stream. Its labels may stand behind its entries: then the entries are passed over and read afterwards.
    fn stream(&mut self, reader: &mut JsonReader<'_>) -> Result<(), DecodeError> {
        let mut begun = false;
        let mut passed_over = None;
        reader.begin_object()?;
        let mut first = true;
        while let Some(key) = reader.next_key(first, &mut self.scratch.key)? {
            first = false;
            let form = match key {
                b"values" => Some(Form::Arrays),
                b"entries" => Some(Form::Objects),
                _ => None,
            };
            match (key, form) {
                (b"stream", _) if !begun => {
                    let labels = self.labels(reader)?;
                    self.batch.begin_stream(labels);
                    begun = true;
                }
                (b"labels", _) if !begun && reader.kind()? == Kind::String => {
                    let labels = lossy(reader.string(&mut self.scratch.value)?);
                    super::begin_stream_of_text(&mut self.batch, &labels);
                    begun = true;
                }
                (_, Some(form)) if begun => self.entries(reader, form)?,
                (_, Some(form)) => {
                    passed_over = Some((reader.offset(), form));
                    reader.skip_value()?;
                }
                _ => reader.skip_value()?,
            }
        }
        if !begun {
            self.batch.begin_stream(LabelSet::default());
        }
        if let Some((offset, form)) = passed_over {
            self.entries(&mut reader.at(offset), form)?;
        }
        Ok(())
    }

    /// Labels of a stream. What is wrong with them is for the write path to say, so that the other streams are stored.
    fn labels(&mut self, reader: &mut JsonReader<'_>) -> Result<StreamLabels, DecodeError> {
        let mut labels = Vec::new();
        let mut mistake = None;
        if reader.null()? {
            return Ok(LabelSet::default().into());
        }
        reader.begin_object()?;
        let mut first = true;
        while let Some(key) = reader.next_key(first, &mut self.scratch.key)? {
            first = false;
            let name = lossy(key);
            let value = match reader.kind()? {
                Kind::String => lossy(reader.string(&mut self.scratch.value)?).into(),
                Kind::Number | Kind::Bool => reader.literal()?.into(),
                Kind::Null => {
                    reader.skip_value()?;
                    continue;
                }
                kind @ (Kind::Object | Kind::Array) => {
                    let (name, found) = (shown(&name), kind.name());
                    mistake = Some(format!("label {name:?} must be a string, {found} was found"));
                    reader.skip_value()?;
                    continue;
                }
            };
            labels.push(Label {
                name: name.as_ref().into(),
                value,
            });
        }
        // Of a key that stands twice in an object the last counts; a label set keeps the first.
        labels.reverse();
        let labels = LabelSet::from_labels(labels);
        Ok(match mistake {
            Some(error) => StreamLabels::Unreadable {
                text: labels.to_string(),
                error,
            },
            None => labels.into(),
        })
    }

    fn entries(&mut self, reader: &mut JsonReader<'_>, form: Form) -> Result<(), DecodeError> {
        if reader.null()? {
            return Ok(());
        }
        reader.begin_array()?;
        let mut first = true;
        while reader.next_element(first)? {
            first = false;
            if reader.null()? {
                continue;
            }
            match form {
                Form::Arrays => self.entry(reader)?,
                Form::Objects => self.entry_object(reader)?,
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
        let timestamp_ns = match timestamp(reader, value)? {
            Ok(timestamp_ns) => timestamp_ns,
            Err(mistake) => {
                while reader.next_element(false)? {
                    reader.skip_value()?;
                }
                self.batch.refuse_entry(mistake);
                return Ok(());
            }
        };

        need(reader, false, "line")?;
        expect_string(reader, "line", "a string")?;
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

    /// An entry of the older form: `{"ts": "RFC 3339", "line": ".."}`.
    fn entry_object(&mut self, reader: &mut JsonReader<'_>) -> Result<(), DecodeError> {
        let Scratch { key, line, value, .. } = &mut self.scratch;
        let mut timestamp_ns = None;
        let mut text: &[u8] = b"";
        reader.begin_object()?;
        let mut first = true;
        while let Some(name) = reader.next_key(first, key)? {
            first = false;
            match name {
                b"ts" => timestamp_ns = Some(rfc3339(reader, value)?),
                b"line" => {
                    expect_string(reader, "line", "a string")?;
                    text = reader.string(line)?;
                }
                _ => reader.skip_value()?,
            }
        }
        match timestamp_ns {
            Some(Ok(timestamp_ns)) => self.batch.push_entry(timestamp_ns, text, []),
            Some(Err(mistake)) => self.batch.refuse_entry(mistake),
            None => return Err(reader.error("entry without a \"ts\"").into()),
        }
        Ok(())
    }
}

/// An error that names the part of the entry, unless a string comes next.
fn expect_string(reader: &mut JsonReader<'_>, part: &str, wanted: &str) -> Result<(), JsonError> {
    match reader.kind()? {
        Kind::String => Ok(()),
        other => Err(reader.error(format!("{part} must be {wanted}, {} was found", other.name()))),
    }
}

/// A time that an entry is stored under, or what is wrong with it.
type Timestamp = Result<i64, String>;

/// Reads a string with a time; `parse` says what is wrong with its text.
fn time_text(
    reader: &mut JsonReader<'_>,
    scratch: &mut Vec<u8>,
    part: &str,
    wanted: &str,
    parse: impl Fn(&str) -> Timestamp,
) -> Result<Timestamp, JsonError> {
    let kind = reader.kind()?;
    if kind != Kind::String {
        reader.skip_value()?;
        return Ok(Err(format!("{part} must be {wanted}, {} was found", kind.name())));
    }
    Ok(parse(&lossy(reader.string(scratch)?)))
}

fn rfc3339(reader: &mut JsonReader<'_>, scratch: &mut Vec<u8>) -> Result<Timestamp, JsonError> {
    time_text(reader, scratch, "\"ts\"", "a string with a time of RFC 3339", |text| {
        let time = text.parse::<jiff::Timestamp>().ok();
        time.and_then(|time| i64::try_from(time.as_nanosecond()).ok())
            .ok_or_else(|| {
                let shown = shown(text);
                format!("\"ts\" {shown:?} is not a time of RFC 3339 between 1677 and 2262")
            })
    })
}

/// The commonest mistake of all is a timestamp that is a number.
fn timestamp(reader: &mut JsonReader<'_>, scratch: &mut Vec<u8>) -> Result<Timestamp, JsonError> {
    time_text(
        reader,
        scratch,
        "timestamp",
        "a string of decimal nanoseconds",
        |text| {
            let mistake = || format!("timestamp {:?} is not a decimal number of nanoseconds", shown(text));
            text.parse().map_err(|_| mistake())
        },
    )
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
                return Err(reader.error(format!(
                    "metadata {:?} must be a string, {} was found",
                    shown(&lossy(name)),
                    other.name()
                )));
            }
        }
    }
    Ok(())
}

/// As much of a text as an error shows: a sender's mistake must not come back to it in megabytes.
fn shown(text: &str) -> &str {
    const MOST_CHARACTERS: usize = 100;
    text.char_indices()
        .nth(MOST_CHARACTERS)
        .map_or(text, |(end, _)| &text[..end])
}
