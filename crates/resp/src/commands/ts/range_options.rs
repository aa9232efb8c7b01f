//! The options of range queries (specification, chapter 9).
//!
//! Words are read from left to right: an option takes the words that follow it, a word that is no option is skipped, of a repeated
//! option the first counts. What is wrong with them is told in the peer's order, whatever the order of the words.

use super::numbers;
use super::refusal::{self, Refusal};
use crate::protocol::Arguments;
use timberline_series::range::{Aggregation, Aggregator, BucketTimestamp, RangeQuery};

/// The most aggregators of one list.
const MAX_AGGREGATORS: usize = 16;

/// At these words a list of SELECTED_LABELS ends.
const AFTER_SELECTED_LABELS: [&str; 10] = [
    "WITHLABELS",
    "AGGREGATION",
    "LIMIT",
    "GROUPBY",
    "REDUCE",
    "FILTER",
    "FILTER_BY_VALUE",
    "FILTER_BY_TS",
    "COUNT",
    "EXCLUDEEMPTY",
];

/// Where the options of a query stand.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Positions {
    pub(super) latest: Option<usize>,
    count: Option<usize>,
    aggregation: Option<usize>,
    empty: Option<usize>,
    bucket_timestamp: Option<usize>,
    align: Option<usize>,
    filter_by_value: Option<usize>,
    filter_by_ts: Option<usize>,
    pub(super) with_labels: Option<usize>,
    pub(super) selected_labels: Option<usize>,
    pub(super) exclude_empty: Option<usize>,
    pub(super) filter: Option<usize>,
    pub(super) group_by: Option<usize>,
}

/// What to read of each key, but for the aggregators.
#[derive(Clone, Debug)]
pub(super) struct RangeOptions {
    /// LATEST: with the bucket in progress.
    pub(super) latest: bool,
    /// COUNT.
    pub(super) count: Option<u64>,
    /// The lists of aggregators, one per key; a single one serves any number of keys. Empty without AGGREGATION.
    pub(super) aggregators: Vec<Vec<Aggregator>>,
    query: RangeQuery,
}

/// A command that asks for ranges.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    /// The word with the lower bound.
    pub(super) from: usize,
    /// How many lists of aggregators follow AGGREGATION.
    pub(super) aggregator_lists: usize,
    /// Whether there must be one list per key.
    pub(super) list_per_key: bool,
    /// Whether series are chosen by FILTER.
    pub(super) filtered: bool,
    /// Rows from the newest to the oldest.
    pub(super) reverse: bool,
}

impl Positions {
    /// Finds the options from a word on.
    pub(super) fn find(arguments: Arguments<'_>, start: usize, shape: Shape) -> Positions {
        let mut positions = Positions::default();
        let mut at = start;
        while let Some(word) = arguments.get(at) {
            let Some((position, values)) = positions.of(word, shape) else {
                at += 1;
                continue;
            };
            position.get_or_insert(at);
            at += 1 + match values {
                Values::Words(count) => count,
                Values::Timestamps => timestamps_from(arguments, at + 1).count(),
                Values::Labels => selected_labels(arguments, at).count(),
            };
            // What follows is the name of a label and of a reducer.
            if positions.group_by.is_some() && positions.filter.is_some() {
                break;
            }
        }
        positions
    }

    fn of(&mut self, word: &[u8], shape: Shape) -> Option<(&mut Option<usize>, Values)> {
        let is = |option: &str| word.eq_ignore_ascii_case(option.as_bytes());
        let found = if is("LATEST") {
            (&mut self.latest, Values::Words(0))
        } else if is("COUNT") {
            (&mut self.count, Values::Words(1))
        } else if is("AGGREGATION") {
            (&mut self.aggregation, Values::Words(shape.aggregator_lists + 1))
        } else if is("EMPTY") {
            (&mut self.empty, Values::Words(0))
        } else if is("BUCKETTIMESTAMP") {
            (&mut self.bucket_timestamp, Values::Words(1))
        } else if is("ALIGN") {
            (&mut self.align, Values::Words(1))
        } else if is("FILTER_BY_VALUE") {
            (&mut self.filter_by_value, Values::Words(2))
        } else if is("FILTER_BY_TS") {
            (&mut self.filter_by_ts, Values::Timestamps)
        } else if !shape.filtered {
            return None;
        } else if is("WITHLABELS") {
            (&mut self.with_labels, Values::Words(0))
        } else if is("SELECTED_LABELS") {
            (&mut self.selected_labels, Values::Labels)
        } else if is("EXCLUDEEMPTY") {
            (&mut self.exclude_empty, Values::Words(0))
        } else if is("FILTER") {
            (&mut self.filter, Values::Words(0))
        } else if is("GROUPBY") {
            (&mut self.group_by, Values::Words(0))
        } else {
            return None;
        };
        Some(found)
    }

    /// Reads bounds and options of ranges.
    pub(super) fn read(&self, arguments: Arguments<'_>, shape: Shape) -> Result<RangeOptions, Refusal> {
        let from_text = arguments.get(shape.from).ok_or(Refusal::Arity)?;
        let to_text = arguments.get(shape.from + 1).ok_or(Refusal::Arity)?;
        let (from, to) = numbers::bounds(from_text, to_text)?;
        let count = self.count.map(|at| count(arguments.get(at + 1))).transpose()?;
        let (aggregators, mut aggregation) = match self.aggregation {
            Some(at) => {
                let (aggregators, bucket) = aggregation(arguments, at, shape)?;
                // Of a command with several lists, positions count from the last one.
                let last_list = at + shape.aggregator_lists - 1;
                let aggregation = Aggregation {
                    aggregators: Vec::new(),
                    bucket,
                    align: 0,
                    empty: self.empty(last_list)?,
                    bucket_timestamp: self.bucket_timestamp(arguments, last_list)?,
                };
                (aggregators, Some(aggregation))
            }
            None => (Vec::new(), None),
        };
        if let Some(at) = self.align {
            let text = arguments.get(at + 1).ok_or(Refusal::Arity)?;
            let aggregation = aggregation.as_mut().ok_or(refusal::ALIGN_ALONE)?;
            aggregation.align = align(text, (from_text, from), (to_text, to))?;
        }
        let values = match self.filter_by_value {
            Some(at) => Some(value_bounds(arguments.get(at + 1), arguments.get(at + 2))?),
            None => None,
        };
        let timestamps = match self.filter_by_ts {
            Some(at) => Some(timestamps(arguments, at + 1)?),
            None => None,
        };
        Ok(RangeOptions {
            latest: self.latest.is_some(),
            count,
            aggregators,
            query: RangeQuery {
                from,
                to,
                timestamps,
                values,
                aggregation,
                count,
                reverse: shape.reverse,
            },
        })
    }

    fn empty(&self, last_list: usize) -> Result<bool, Refusal> {
        match self.empty {
            Some(at) if at != last_list + 3 && at != last_list + 5 => Err(refusal::EMPTY_POSITION),
            at => Ok(at.is_some()),
        }
    }

    fn bucket_timestamp(&self, arguments: Arguments<'_>, last_list: usize) -> Result<BucketTimestamp, Refusal> {
        let Some(at) = self.bucket_timestamp else {
            return Ok(BucketTimestamp::Start);
        };
        if at != last_list + 3 && at != last_list + 4 {
            return Err(refusal::BUCKETTIMESTAMP_POSITION);
        }
        let text = arguments.get(at + 1).ok_or(Refusal::Arity)?;
        let is = |name: &str, sign: &[u8]| text.eq_ignore_ascii_case(name.as_bytes()) || text == sign;
        if is("START", b"-") {
            Ok(BucketTimestamp::Start)
        } else if is("MID", b"~") {
            Ok(BucketTimestamp::Mid)
        } else if is("END", b"+") {
            Ok(BucketTimestamp::End)
        } else {
            Err(refusal::BUCKETTIMESTAMP)
        }
    }
}

impl RangeOptions {
    /// What to read of the key with this number, with these rows at most.
    pub(super) fn query(&self, key: usize, count: Option<u64>) -> RangeQuery {
        let mut query = RangeQuery {
            count,
            ..self.query.clone()
        };
        if let Some(aggregation) = &mut query.aggregation {
            let list = self.aggregators.get(key).or(self.aggregators.first());
            aggregation.aggregators = list.cloned().unwrap_or_default();
        }
        query
    }

    /// The bounds.
    pub(super) fn bounds(&self) -> (i64, i64) {
        (self.query.from, self.query.to)
    }

    /// Whether rows come from the newest to the oldest.
    pub(super) fn is_reverse(&self) -> bool {
        self.query.reverse
    }

    /// Whether the answer depends on samples outside of the bounds: what empty buckets need, and twa, whose lines begin at neighbours.
    pub(super) fn looks_beyond(&self) -> bool {
        self.query
            .aggregation
            .as_ref()
            .is_some_and(|aggregation| aggregation.empty)
            || self
                .aggregators
                .iter()
                .flatten()
                .any(|aggregator| *aggregator == Aggregator::Twa)
    }
}

enum Values {
    Words(usize),
    Timestamps,
    Labels,
}

/// The names after SELECTED_LABELS, which stands at `at`.
pub(super) fn selected_labels(arguments: Arguments<'_>, at: usize) -> impl Iterator<Item = &[u8]> {
    let words = (at + 1..arguments.len()).filter_map(move |at| arguments.get(at));
    words.take_while(|word| {
        let is = |end: &&str| word.eq_ignore_ascii_case(end.as_bytes());
        !AFTER_SELECTED_LABELS.iter().any(is)
    })
}

fn timestamps_from(arguments: Arguments<'_>, start: usize) -> impl Iterator<Item = i64> {
    (start..arguments.len()).map_while(move |at| numbers::unsigned(arguments.get(at)?))
}

fn timestamps(arguments: Arguments<'_>, start: usize) -> Result<Vec<i64>, Refusal> {
    let mut timestamps: Vec<i64> = timestamps_from(arguments, start).collect();
    if timestamps.is_empty() {
        return Err(refusal::FILTER_BY_TS_MISSING);
    }
    timestamps.sort_unstable();
    timestamps.dedup();
    Ok(timestamps)
}

fn count(text: Option<&[u8]>) -> Result<u64, Refusal> {
    let count = numbers::integer(text.ok_or(refusal::COUNT_MISSING)?).ok_or(refusal::COUNT)?;
    match u64::try_from(count) {
        Ok(count) if count > 0 => Ok(count),
        _ => Err(refusal::COUNT_RANGE),
    }
}

fn value_bounds(min: Option<&[u8]>, max: Option<&[u8]>) -> Result<(f64, f64), Refusal> {
    let (Some(min), Some(max)) = (min, max) else {
        return Err(refusal::FILTER_BY_VALUE_MISSING);
    };
    let min = numbers::float(min).ok_or(refusal::FILTER_BY_VALUE_MIN)?;
    let max = numbers::float(max).ok_or(refusal::FILTER_BY_VALUE_MAX)?;
    Ok((min, max))
}

/// Lists of aggregators and the duration behind AGGREGATION, which stands at `at`.
fn aggregation(arguments: Arguments<'_>, at: usize, shape: Shape) -> Result<(Vec<Vec<Aggregator>>, i64), Refusal> {
    let lists = shape.aggregator_lists;
    if shape.list_per_key {
        // The duration is the first number; there must be one list per key before it.
        let number = (at + 1..arguments.len()).find(|at| arguments.get(*at).and_then(numbers::integer).is_some());
        if number.is_some_and(|number| number != at + 1 + lists) {
            return Err(refusal::AGGREGATIONS_PER_KEY);
        }
    }
    let duration = arguments.get(at + 1 + lists).ok_or(refusal::AGGREGATION)?;
    let aggregators = (at + 1..at + 1 + lists)
        .map(|at| aggregator_list(arguments.get(at).unwrap_or_default()))
        .collect::<Result<_, _>>()?;
    Ok((aggregators, bucket_duration(duration)?))
}

/// One or more aggregators, separated by commas.
pub(super) fn aggregator_list(text: &[u8]) -> Result<Vec<Aggregator>, Refusal> {
    let mut aggregators = Vec::new();
    for name in text.split(|byte| *byte == b',') {
        if name.is_empty() {
            return Err(refusal::EMPTY_AGGREGATION);
        }
        if aggregators.len() == MAX_AGGREGATORS {
            return Err(refusal::TOO_MANY_AGGREGATIONS);
        }
        aggregators.push(Aggregator::parse(name).ok_or(refusal::UNKNOWN_AGGREGATION)?);
    }
    Ok(aggregators)
}

/// The duration of buckets.
pub(super) fn bucket_duration(text: &[u8]) -> Result<i64, Refusal> {
    let duration = numbers::integer(text).ok_or(refusal::AGGREGATION)?;
    if duration <= 0 {
        return Err(refusal::BUCKET_DURATION);
    }
    Ok(duration)
}

/// Where a bucket begins. The ends of the range can be named if they are numbers.
fn align(text: &[u8], (from_text, from): (&[u8], i64), (to_text, to): (&[u8], i64)) -> Result<i64, Refusal> {
    let is = |name: &str, sign: &[u8]| text.eq_ignore_ascii_case(name.as_bytes()) || text == sign;
    if is("START", b"-") {
        if from_text == b"-" {
            Err(refusal::ALIGN_START)
        } else {
            Ok(from)
        }
    } else if is("END", b"+") {
        if to_text == b"+" {
            Err(refusal::ALIGN_END)
        } else {
            Ok(to)
        }
    } else {
        numbers::unsigned(text).ok_or(refusal::ALIGN)
    }
}
