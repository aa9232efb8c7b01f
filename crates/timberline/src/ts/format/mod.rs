//! Series in files.
//!
//! | format | a line is | file |
//! |---|---|---|
//! | `csv` | a sample: key, timestamp, value; no labels, and series without samples leave no trace | `csv.rs` |
//! | `jsonl` | up to a thousand samples of a series, with its labels | `json_lines.rs` |

mod csv;
mod json_lines;

use super::attributes::Labels;
use super::{Sample, number};
use clap::builder::PossibleValue;
use jiff::Timestamp;
use std::io::{self, BufRead, Write};
use std::path::Path;

/// How series are written in files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Csv,
    JsonLines,
}

impl clap::ValueEnum for Format {
    fn value_variants<'a>() -> &'a [Self] {
        &[Self::Csv, Self::JsonLines]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(match self {
            Self::Csv => PossibleValue::new("csv").help("Lines of key,timestamp,value"),
            Self::JsonLines => PossibleValue::new("jsonl").help("A JSON object on each line, with labels"),
        })
    }
}

impl Format {
    /// The format that a file's name tells; CSV if it tells none.
    pub(super) fn of(path: Option<&Path>) -> Self {
        match path.and_then(Path::extension).and_then(|extension| extension.to_str()) {
            Some("jsonl" | "ndjson" | "json") => Self::JsonLines,
            _ => Self::Csv,
        }
    }

    /// Begins a file.
    pub(super) fn writer<'w>(self, out: Box<dyn Write + 'w>) -> io::Result<Box<dyn SeriesWriter + 'w>> {
        Ok(match self {
            Self::Csv => Box::new(csv::Writer::new(out)?),
            Self::JsonLines => Box::new(json_lines::Writer::new(out)),
        })
    }

    /// Reads a file.
    pub(super) fn reader(self, input: Box<dyn BufRead>) -> anyhow::Result<Box<dyn Records>> {
        Ok(match self {
            Self::Csv => Box::new(csv::Reader::new(input)?),
            Self::JsonLines => Box::new(json_lines::Reader::new(input)),
        })
    }
}

/// Writes series to a file.
pub(super) trait SeriesWriter {
    /// Begins a series.
    fn start(&mut self, key: &[u8], labels: &Labels) -> io::Result<()>;
    /// Adds samples of it.
    fn samples(&mut self, samples: &[Sample]) -> io::Result<()>;
    /// Ends the file.
    fn finish(&mut self) -> io::Result<()>;
}

/// Samples of a series, as they stand in a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Record {
    /// Where it stands.
    pub(super) line: u64,
    pub(super) key: Vec<u8>,
    pub(super) labels: Labels,
    pub(super) samples: Vec<Sample>,
}

/// Why there is no next record.
#[derive(Debug)]
pub(super) enum Unreadable {
    /// The line is wrong, the next one may be right. The text is without what the line holds, so that mistakes can be counted by kind.
    Line { line: u64, mistake: String },
    /// Nothing more can be read.
    File(io::Error),
}

/// Reads series from a file.
pub(super) trait Records {
    /// The next record; none at the end.
    fn next(&mut self) -> Option<Result<Record, Unreadable>>;
}

/// Reads a timestamp: milliseconds, or a date and time of RFC 3339.
fn parse_timestamp(text: &str) -> Result<i64, &'static str> {
    let parsed = match text.parse::<i64>() {
        Ok(number) => Some(number),
        Err(_) => text.parse::<Timestamp>().ok().map(Timestamp::as_millisecond),
    };
    match parsed {
        Some(timestamp) if timestamp >= 0 => Ok(timestamp),
        Some(_) => Err("a timestamp before 0"),
        None => Err("not a timestamp, which is milliseconds since 1970 or RFC 3339"),
    }
}

/// Reads a value.
fn parse_value(text: &str) -> Result<f64, &'static str> {
    number::parse(text).ok_or("not a value, which is a decimal number, NaN, Infinity or -Infinity")
}

#[cfg(test)]
mod tests;
