//! `{"key":"a","labels":{"site":"north"},"timestamps":[1,2],"values":[0.5,"NaN"]}`.
//!
//! Values that JSON has no numbers for are the texts `NaN`, `Infinity` and `-Infinity`. A key or a label that is not UTF-8 is an object with
//! its bytes, `{"hex":"ff00"}`, and labels with such are an array of pairs. A single sample may also be written as `"timestamp":1,"value":0.5`.

use super::{Record, Records, SeriesWriter, Unreadable, parse_timestamp, parse_value};
use crate::ts::attributes::Labels;
use crate::ts::{Sample, number};
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::fmt;
use std::io::{self, BufRead, Write};

/// Samples on a line.
const LINE_SAMPLES: usize = 1000;

pub(super) struct Writer<'w> {
    out: Box<dyn Write + 'w>,
    /// What all lines of the series begin with.
    start: String,
    /// Whether the series has a line.
    has_line: bool,
}

impl<'w> Writer<'w> {
    pub(super) fn new(out: Box<dyn Write + 'w>) -> Self {
        Self {
            out,
            start: String::new(),
            has_line: true,
        }
    }

    fn line(&mut self, samples: &[Sample]) -> io::Result<()> {
        let mut line = self.start.clone();
        line += ",\"timestamps\":[";
        join(&mut line, samples.iter().map(|(timestamp, _)| timestamp.to_string()));
        line += "],\"values\":[";
        join(
            &mut line,
            samples.iter().map(|(_, value)| {
                let text = number::text(*value);
                if value.is_finite() { text } else { format!("\"{text}\"") }
            }),
        );
        line += "]}\n";
        self.has_line = true;
        self.out.write_all(line.as_bytes())
    }

    /// A series without samples has a line, too, so that it is there after an import.
    fn end_series(&mut self) -> io::Result<()> {
        if self.has_line { Ok(()) } else { self.line(&[]) }
    }
}

fn join(line: &mut String, parts: impl Iterator<Item = String>) {
    for (number, part) in parts.enumerate() {
        if number > 0 {
            line.push(',');
        }
        *line += &part;
    }
}

impl SeriesWriter for Writer<'_> {
    fn start(&mut self, key: &[u8], labels: &Labels) -> io::Result<()> {
        self.end_series()?;
        let json = serde_json::to_string(&Text::of(key))?;
        self.start = format!("{{\"key\":{json},\"labels\":{}", labels_json(labels)?);
        self.has_line = false;
        Ok(())
    }

    fn samples(&mut self, samples: &[Sample]) -> io::Result<()> {
        samples.chunks(LINE_SAMPLES).try_for_each(|part| self.line(part))
    }

    fn finish(&mut self) -> io::Result<()> {
        self.end_series()?;
        self.out.flush()
    }
}

/// An object in the order of the labels, also where a name is there twice; an array of pairs where something is not UTF-8.
fn labels_json(labels: &Labels) -> io::Result<String> {
    let texts: Vec<(Text, Text)> = labels
        .iter()
        .map(|(name, value)| (Text::of(name), Text::of(value)))
        .collect();
    if texts.iter().any(|(name, value)| !name.is_utf8() || !value.is_utf8()) {
        return Ok(serde_json::to_string(&texts)?);
    }
    let mut json = "{".to_owned();
    let pairs: Result<Vec<String>, serde_json::Error> = texts
        .iter()
        .map(|(name, value)| {
            Ok(format!(
                "{}:{}",
                serde_json::to_string(name)?,
                serde_json::to_string(value)?
            ))
        })
        .collect();
    join(&mut json, pairs?.into_iter());
    Ok(json + "}")
}

/// Bytes that are mostly text.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Text {
    Utf8(String),
    Bytes { hex: String },
}

impl Text {
    fn of(bytes: &[u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::Utf8(text.to_owned()),
            Err(_) => Self::Bytes {
                hex: bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
            },
        }
    }

    fn is_utf8(&self) -> bool {
        matches!(self, Self::Utf8(_))
    }

    fn into_bytes(self) -> Result<Vec<u8>, &'static str> {
        match self {
            Self::Utf8(text) => Ok(text.into_bytes()),
            Self::Bytes { hex } => {
                let digits: Option<Vec<u8>> = hex.chars().map(|c| c.to_digit(16).map(|digit| digit as u8)).collect();
                let digits = digits
                    .filter(|digits| digits.len() % 2 == 0)
                    .ok_or("bytes that are not hexadecimal")?;
                Ok(digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect())
            }
        }
    }
}

/// Labels as an object or as pairs; an object keeps its order, and names that are there twice.
#[derive(Default)]
struct LabelTexts(Vec<(Text, Text)>);

impl<'de> Deserialize<'de> for LabelTexts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Pairs;
        impl<'de> Visitor<'de> for Pairs {
            type Value = LabelTexts;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("labels as an object or as an array of pairs")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<LabelTexts, A::Error> {
                let mut pairs = Vec::new();
                while let Some((name, value)) = map.next_entry()? {
                    pairs.push((Text::Utf8(name), Text::Utf8(value)));
                }
                Ok(LabelTexts(pairs))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<LabelTexts, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = seq.next_element()? {
                    pairs.push(pair);
                }
                Ok(LabelTexts(pairs))
            }
        }
        deserializer.deserialize_any(Pairs)
    }
}

/// A line as it stands there.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line<'l> {
    key: Text,
    #[serde(default)]
    labels: LabelTexts,
    #[serde(default, borrow)]
    timestamps: Vec<&'l RawValue>,
    #[serde(default, borrow)]
    values: Vec<&'l RawValue>,
    #[serde(borrow)]
    timestamp: Option<&'l RawValue>,
    #[serde(borrow)]
    value: Option<&'l RawValue>,
}

pub(super) struct Reader {
    input: Box<dyn BufRead>,
    line: u64,
    text: Vec<u8>,
}

impl Reader {
    pub(super) fn new(input: Box<dyn BufRead>) -> Self {
        Self {
            input,
            line: 0,
            text: Vec::new(),
        }
    }

    fn record(&self) -> Result<Record, String> {
        let line: Line = serde_json::from_slice(&self.text).map_err(|error| mistake(&error))?;
        if line.timestamps.len() != line.values.len() || line.timestamp.is_some() != line.value.is_some() {
            return Err("not as many timestamps as values".to_owned());
        }
        let timestamps = line.timestamps.iter().chain(&line.timestamp);
        let values = line.values.iter().chain(&line.value);
        let mut samples = Vec::with_capacity(line.timestamps.len() + 1);
        for (timestamp, value) in timestamps.zip(values) {
            samples.push((parse_timestamp(unquoted(timestamp))?, parse_value(unquoted(value))?));
        }
        let labels: Result<Labels, &str> = line
            .labels
            .0
            .into_iter()
            .map(|(name, value)| Ok((name.into_bytes()?, value.into_bytes()?)))
            .collect();
        Ok(Record {
            line: self.line,
            key: line.key.into_bytes()?,
            labels: labels?,
            samples,
        })
    }
}

/// What is wrong with a line, without the place in it.
fn mistake(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let end = text.rfind(" at line ").unwrap_or(text.len());
    format!("not as expected: {}", &text[..end])
}

/// A number as it stands there, or what is between quotes. Nothing that is read from it has escapes.
fn unquoted(raw: &RawValue) -> &str {
    let text = raw.get();
    let inner = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    inner.unwrap_or(text)
}

impl Records for Reader {
    fn next(&mut self) -> Option<Result<Record, Unreadable>> {
        loop {
            self.text.clear();
            match self.input.read_until(b'\n', &mut self.text) {
                Ok(0) => return None,
                Ok(_) => self.line += 1,
                Err(error) => return Some(Err(Unreadable::File(error))),
            }
            if !self.text.trim_ascii().is_empty() {
                let line = self.line;
                return Some(self.record().map_err(|mistake| Unreadable::Line { line, mistake }));
            }
        }
    }
}
