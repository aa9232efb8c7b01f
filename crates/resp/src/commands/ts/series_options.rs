//! The options of a series, as TS.CREATE, TS.ALTER, TS.ADD, TS.INCRBY and TS.DECRBY take them (specification, chapter 3).
//!
//! Words are read from left to right: an option takes the words that follow it, a word that is no option is skipped, of a repeated
//! option the first counts, and LABELS takes all that is left. The peer searches the whole command for each option instead, so that it
//! finds options in keys and labels too (chapter 20, item 11).

use super::numbers;
use super::refusal::{self, Refusal};
use crate::protocol::Arguments;
use timberline_series::codec::Encoding;
use timberline_series::labels::Labels;
use timberline_series::options::{Changes, SeriesOptions};
use timberline_series::policy::DuplicatePolicy;

/// The smallest and the largest chunk size.
const CHUNK_BYTES: std::ops::RangeInclusive<i64> = 48..=1_048_576;

/// Where the options of a command stand.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Positions {
    retention: Option<usize>,
    chunk_size: Option<usize>,
    encoding: Option<usize>,
    duplicate_policy: Option<usize>,
    on_duplicate: Option<usize>,
    timestamp: Option<usize>,
    ignore: Option<usize>,
    labels: Option<usize>,
}

/// What the options say; what is not named stays open.
#[derive(Debug, Default)]
pub(super) struct Given {
    /// What TS.ALTER may change.
    pub(super) changes: Changes,
    /// ENCODING, or its value alone.
    encoding: Option<Encoding>,
}

impl Positions {
    /// Finds the options from a word on.
    pub(super) fn find(arguments: Arguments<'_>, start: usize) -> Positions {
        let mut positions = Positions::default();
        let mut at = start;
        while let Some(word) = arguments.get(at) {
            let Some((position, values)) = positions.of(word) else {
                at += 1;
                continue;
            };
            position.get_or_insert(at);
            if positions.labels.is_some() {
                break;
            }
            at += 1 + values;
        }
        positions
    }

    /// The place of an option, and how many words it takes.
    fn of(&mut self, word: &[u8]) -> Option<(&mut Option<usize>, usize)> {
        let is = |option: &str| word.eq_ignore_ascii_case(option.as_bytes());
        let found = if is("RETENTION") {
            (&mut self.retention, 1)
        } else if is("CHUNK_SIZE") {
            (&mut self.chunk_size, 1)
        } else if is("ENCODING") {
            (&mut self.encoding, 1)
        } else if is("COMPRESSED") || is("UNCOMPRESSED") {
            (&mut self.encoding, 0)
        } else if is("DUPLICATE_POLICY") {
            (&mut self.duplicate_policy, 1)
        } else if is("ON_DUPLICATE") {
            (&mut self.on_duplicate, 1)
        } else if is("TIMESTAMP") {
            (&mut self.timestamp, 1)
        } else if is("IGNORE") {
            (&mut self.ignore, 2)
        } else if is("LABELS") {
            (&mut self.labels, 0)
        } else {
            return None;
        };
        Some(found)
    }

    /// The policy of ON_DUPLICATE, for one sample.
    pub(super) fn on_duplicate(&self, arguments: Arguments<'_>) -> Result<Option<DuplicatePolicy>, Refusal> {
        self.on_duplicate.map(|at| policy(arguments.get(at + 1))).transpose()
    }

    /// The word after TIMESTAMP; none is read as an empty one.
    pub(super) fn timestamp<'a>(&self, arguments: Arguments<'a>) -> Option<&'a [u8]> {
        self.timestamp.map(|at| arguments.get(at + 1).unwrap_or_default())
    }

    /// Reads the options of a series.
    pub(super) fn read(&self, arguments: Arguments<'_>) -> Result<Given, Refusal> {
        let value = |at: usize| arguments.get(at + 1);
        Ok(Given {
            changes: Changes {
                retention_ms: self.retention.map(|at| retention(value(at))).transpose()?,
                chunk_bytes: self.chunk_size.map(|at| chunk_bytes(value(at))).transpose()?,
                duplicate_policy: self.duplicate_policy.map(|at| policy(value(at))).transpose()?,
                ignore: self
                    .ignore
                    .map(|at| ignore(value(at), arguments.get(at + 2)))
                    .transpose()?,
                labels: self.labels.map(|at| labels(arguments, at + 1)).transpose()?,
            },
            encoding: self.encoding.map(|at| encoding(arguments, at)).transpose()?,
        })
    }
}

impl Given {
    /// The options of a new series: those given, and the defaults for all others.
    pub(super) fn or(self, defaults: SeriesOptions) -> SeriesOptions {
        let Changes {
            retention_ms,
            chunk_bytes,
            duplicate_policy,
            ignore,
            labels,
        } = self.changes;
        let (ignore_time_ms, ignore_value) = ignore.unwrap_or((defaults.ignore_time_ms, defaults.ignore_value));
        SeriesOptions {
            retention_ms: retention_ms.unwrap_or(defaults.retention_ms),
            encoding: self.encoding.unwrap_or(defaults.encoding),
            chunk_bytes: chunk_bytes.unwrap_or(defaults.chunk_bytes),
            duplicate_policy: duplicate_policy.or(defaults.duplicate_policy),
            ignore_time_ms,
            ignore_value,
            labels: labels.unwrap_or(defaults.labels),
        }
    }
}

fn retention(text: Option<&[u8]>) -> Result<i64, Refusal> {
    match text.and_then(numbers::integer) {
        Some(retention) if retention >= 0 => Ok(retention),
        Some(_) => Err(refusal::NEGATIVE_RETENTION),
        None => Err(refusal::RETENTION),
    }
}

fn chunk_bytes(text: Option<&[u8]>) -> Result<u32, Refusal> {
    let bytes = text.and_then(numbers::integer).ok_or(refusal::CHUNK_SIZE)?;
    if !CHUNK_BYTES.contains(&bytes) || bytes % 8 != 0 {
        return Err(refusal::CHUNK_SIZE_RANGE);
    }
    u32::try_from(bytes).map_err(|_| refusal::CHUNK_SIZE_RANGE)
}

fn encoding(arguments: Arguments<'_>, at: usize) -> Result<Encoding, Refusal> {
    let named = arguments
        .get(at)
        .is_some_and(|word| word.eq_ignore_ascii_case(b"ENCODING"));
    let text = arguments.get(at + usize::from(named)).ok_or(Refusal::Arity)?;
    if text.eq_ignore_ascii_case(b"COMPRESSED") {
        Ok(Encoding::Compressed)
    } else if text.eq_ignore_ascii_case(b"UNCOMPRESSED") {
        Ok(Encoding::Uncompressed)
    } else {
        Err(refusal::ENCODING)
    }
}

fn policy(text: Option<&[u8]>) -> Result<DuplicatePolicy, Refusal> {
    DuplicatePolicy::parse(text.ok_or(refusal::DUPLICATE_POLICY)?).ok_or(refusal::UNKNOWN_DUPLICATE_POLICY)
}

fn ignore(time: Option<&[u8]>, value: Option<&[u8]>) -> Result<(i64, f64), Refusal> {
    let time = time.and_then(numbers::integer).ok_or(refusal::IGNORE)?;
    let value = value.and_then(numbers::float).ok_or(refusal::IGNORE)?;
    if time < 0 || value < 0.0 {
        return Err(refusal::NEGATIVE_IGNORE);
    }
    Ok((time, value))
}

/// Pairs to the end of the command. A last name without a value is dropped, as the peer does.
fn labels(arguments: Arguments<'_>, start: usize) -> Result<Labels, Refusal> {
    let mut pairs = Vec::new();
    let mut at = start;
    while let (Some(name), Some(value)) = (arguments.get(at), arguments.get(at + 1)) {
        if name.is_empty() || value.is_empty() || value.iter().any(|byte| b"(),".contains(byte)) {
            return Err(refusal::LABELS);
        }
        pairs.push((name.to_vec(), value.to_vec()));
        at += 2;
    }
    Ok(Labels::from_pairs(pairs))
}
