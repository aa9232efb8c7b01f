//! What a sequence consists of, and what commands answer.

use timberline_series::aggregate::Aggregator;
use timberline_series::codec::Encoding;
use timberline_series::error::RuleError;
use timberline_series::labels::Labels;
use timberline_series::options::{Changes, SeriesOptions};
use timberline_series::policy::DuplicatePolicy;

use crate::aggregate::Pair;

/// A database and a key in it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Name {
    pub(crate) db: u8,
    pub(crate) key: &'static str,
}

/// Attributes of a new series.
#[derive(Clone, Debug)]
pub(crate) struct Attributes {
    pub(crate) retention: i64,
    pub(crate) encoding: Encoding,
    pub(crate) chunk_bytes: u32,
    pub(crate) policy: Option<DuplicatePolicy>,
    pub(crate) ignore: (i64, f64),
    pub(crate) labels: Vec<(&'static str, &'static str)>,
}

/// A range query; bounds are inclusive.
#[derive(Clone, Debug)]
pub(crate) struct Query {
    pub(crate) from: i64,
    pub(crate) to: i64,
    pub(crate) reverse: bool,
    pub(crate) latest: bool,
    pub(crate) count: Option<usize>,
    /// Aggregator, bucket, alignment.
    pub(crate) aggregation: Option<(Aggregator, i64, i64)>,
}

/// One step of a sequence.
#[derive(Clone, Debug)]
pub(crate) enum Command {
    Create(Name, Attributes),
    Alter(Name, Changes),
    /// Samples written in one run.
    Add(Name, Vec<Pair>, Option<DuplicatePolicy>),
    Increment(Name, f64, i64),
    Delete(Name, i64, i64),
    CreateRule(Name, &'static str, Aggregator, i64, i64),
    DeleteRule(Name, &'static str),
    Range(Name, Query),
    Get(Name, bool),
    Info(Name),
    Select(u8, &'static str),
    Remove(Name),
    Expire(Name),
    Text(Name),
    Rename(Name, &'static str, bool),
    Copy(Name, Name, bool),
    DumpRestore(Name, Name, bool),
    Move(Name, u8),
    Swap(u8, u8),
    Flush(Option<u8>),
    Policy(DuplicatePolicy),
    Compaction(&'static str),
    /// Compares everything.
    Check,
    /// The engine is ended and opened again.
    Reopen(Ending),
}

/// How an engine ends, before it is opened again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Ending {
    /// It is dropped: the journal has everything since the last snapshot.
    Dropped,
    /// A snapshot is taken, and nothing is written after it.
    Saved,
    /// A snapshot is taken and read back without an end (DEBUG RELOAD).
    Reloaded,
    /// A snapshot is taken, and the engine goes on.
    GoesOn,
}

/// What TS.INFO shows of a series, as far as it does not depend on the layout.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Facts {
    pub(crate) total: u64,
    pub(crate) first: i64,
    pub(crate) last: i64,
    pub(crate) retention: i64,
    pub(crate) policy: Option<DuplicatePolicy>,
    pub(crate) is_compressed: bool,
    pub(crate) chunk_bytes: u32,
    pub(crate) ignore: (i64, f64),
    pub(crate) labels: Vec<(String, String)>,
    pub(crate) source: Option<String>,
    /// Destination, aggregator, bucket, alignment.
    pub(crate) rules: Vec<(String, &'static str, i64, i64)>,
}

/// What a command answers.
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    Done,
    Number(i64),
    /// Any of these: what was hidden by the retention may be dropped already.
    Between(i64, i64),
    Flag(bool),
    Missing,
    WrongType,
    Exists,
    Blocked,
    TooOld,
    NotNewest,
    NotANumber,
    BeyondRetention,
    Rule(RuleError),
    /// Samples or buckets, and whether their values are exact.
    Rows(Vec<Pair>, bool),
    /// TS.GET; the value is left out where it depends on what the retention dropped.
    Sample(Option<(i64, Option<f64>)>, bool),
    Facts(Box<Facts>),
    Names(Vec<String>),
    Many(Vec<Reply>),
    /// Something that must not happen, and why.
    Failed(#[expect(dead_code, reason = "shown when it happens")] String),
}

impl Attributes {
    pub(crate) fn options(&self) -> SeriesOptions {
        SeriesOptions {
            retention_ms: self.retention,
            encoding: self.encoding,
            chunk_bytes: self.chunk_bytes,
            duplicate_policy: self.policy,
            ignore_time_ms: self.ignore.0,
            ignore_value: self.ignore.1,
            labels: labels(&self.labels),
        }
    }
}

pub(crate) fn labels(pairs: &[(&str, &str)]) -> Labels {
    let owned = pairs
        .iter()
        .map(|(name, value)| (name.as_bytes().to_vec(), value.as_bytes().to_vec()));
    Labels::from_pairs(owned.collect())
}

/// Labels as texts.
pub(crate) fn texts(labels: &Labels) -> Vec<(String, String)> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    labels.iter().map(|(name, value)| (text(name), text(value))).collect()
}

/// Whether the engine's answer is the one that the naive store gives.
pub(crate) fn agrees(engine: &Reply, naive: &Reply) -> bool {
    match (engine, naive) {
        (Reply::Number(number), Reply::Between(low, high)) => (low..=high).contains(&number),
        (Reply::Number(one), Reply::Number(other)) => one == other,
        (Reply::Flag(one), Reply::Flag(other)) => one == other,
        (Reply::Rule(one), Reply::Rule(other)) => one == other,
        (Reply::Facts(one), Reply::Facts(other)) => one == other,
        (Reply::Names(one), Reply::Names(other)) => one == other,
        (Reply::Rows(rows, _), Reply::Rows(wanted, exact)) => same_rows(rows, wanted, *exact),
        (Reply::Sample(None, _), Reply::Sample(None, _)) => true,
        (Reply::Sample(Some((timestamp, value)), _), Reply::Sample(Some((wanted, wanted_value)), exact)) => {
            timestamp == wanted
                && match (value, wanted_value) {
                    (Some(value), Some(wanted)) => same(*value, *wanted, *exact),
                    _ => true,
                }
        }
        (Reply::Many(ours), Reply::Many(theirs)) => {
            ours.len() == theirs.len() && ours.iter().zip(theirs).all(|(one, other)| agrees(one, other))
        }
        (
            Reply::Done
            | Reply::Missing
            | Reply::WrongType
            | Reply::Exists
            | Reply::Blocked
            | Reply::TooOld
            | Reply::NotNewest
            | Reply::NotANumber
            | Reply::BeyondRetention,
            _,
        ) => std::mem::discriminant(engine) == std::mem::discriminant(naive),
        _ => false,
    }
}

/// Whether samples are the same, in order; the values to the bit if they are exact.
pub(crate) fn same_rows(rows: &[Pair], wanted: &[Pair], exact: bool) -> bool {
    let alike = |(one, other): (&Pair, &Pair)| one.0 == other.0 && same(one.1, other.1, exact);
    rows.len() == wanted.len() && rows.iter().zip(wanted).all(alike)
}

/// Whether two values are the same: to the bit, but any NaN is as good as another; or nearly, where the order of additions is free.
pub(crate) fn same(one: f64, other: f64, exact: bool) -> bool {
    if one.to_bits() == other.to_bits() || (one.is_nan() && other.is_nan()) {
        return true;
    }
    if exact {
        return false;
    }
    // What is left of values that cancel each other is noise of their size.
    let huge = one.abs().max(other.abs()) > 1e90 || one.is_nan() || other.is_nan();
    huge || (one - other).abs() <= 1e-6 * one.abs().max(other.abs()).max(1.0)
}
