//! A series as snapshots, DUMP and COPY carry it.

use super::Series;
use super::slot::{Place, Slot};
use super::state::State;
use crate::aggregate::{Aggregator, Bucket};
use crate::options::SeriesOptions;
use crate::rules::{OpenBucket, Rule};
use crate::sample::Sample;
use crate::view::ReadError;
use std::sync::Arc;

/// Everything about a series but its key, its database and its number.
#[derive(Clone, Debug)]
pub struct SeriesBody {
    /// Attributes.
    pub options: SeriesOptions,
    /// The newest sample.
    pub last: Option<Sample>,
    /// No sample older than this was dropped for its age.
    pub dropped_before: i64,
    /// The sequence number of the last record of the journal that is in here.
    pub applied: u64,
    /// Chunks, ascending, without overlap.
    pub chunks: Vec<Place>,
    /// Rules of which the series is the source.
    pub rules: Vec<RuleBody>,
}

/// A rule as snapshots carry it.
#[derive(Clone, Debug)]
pub struct RuleBody {
    /// The number of the destination.
    pub destination: u64,
    /// What a bucket becomes.
    pub aggregator: Aggregator,
    /// Milliseconds, above zero.
    pub bucket_ms: i64,
    /// A time at which a bucket starts.
    pub align_ms: i64,
    /// The bucket in progress.
    pub open: Option<OpenBody>,
}

/// The bucket in progress of a rule as snapshots carry it.
#[derive(Clone, Debug)]
pub struct OpenBody {
    /// May be below zero.
    pub start: i64,
    /// The state of the aggregator.
    pub bucket: Bucket,
    /// The newest sample before the bucket.
    pub before: Option<Sample>,
    /// Whether it is to be computed from the source.
    pub stale: bool,
}

/// A body breaks a rule that every series keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("corrupt: series: {0}")]
pub struct BodyError(pub &'static str);

impl State {
    /// Everything about the series. What late samples changed is written to the destinations and merged first.
    pub(crate) fn body(&mut self) -> Result<SeriesBody, ReadError> {
        self.rules.retain(|rule| rule.destination().is_alive());
        self.deliver_all()?;
        self.settle(0, i64::MAX)?;
        // The newest samples join the last chunk, else every snapshot would leave a small one behind.
        self.seal_head(true)?;
        Ok(SeriesBody {
            options: self.options(),
            last: self.last,
            dropped_before: self.dropped_before,
            applied: self.applied,
            chunks: self.slots.iter().map(|slot| slot.place.clone()).collect(),
            rules: self.rules.iter().map(Rule::body).collect(),
        })
    }
}

impl Series {
    /// A series of a body, without its rules: [`Series::restore_rules`] makes those when all series are there.
    pub(crate) fn from_body(id: u64, db: u8, key: Arc<[u8]>, body: &SeriesBody) -> Result<Arc<Series>, BodyError> {
        let mut state = State::new(db, key, body.options.clone());
        state.slots = body
            .chunks
            .iter()
            .map(|place| Slot {
                place: place.clone(),
                pending: Vec::new(),
            })
            .collect();
        let ascending = |pair: &[Slot]| pair[0].last_timestamp() < pair[1].start();
        if !state.slots.windows(2).all(ascending) {
            return Err(BodyError("chunks overlap"));
        }
        let newest = state.slots.last().map(Slot::last_timestamp);
        if newest != body.last.map(|last| last.timestamp) {
            return Err(BodyError("the newest sample is not in the newest chunk"));
        }
        state.last = body.last;
        state.dropped_before = body.dropped_before;
        state.applied = body.applied;
        Ok(Series::from_state(id, state))
    }

    /// Connects a series with the destinations of its rules.
    pub(crate) fn restore_rules(self: &Arc<Self>, rules: &[RuleBody], find: impl Fn(u64) -> Option<Arc<Series>>) {
        for rule in rules {
            // A destination that is gone ended the rule (7.6).
            if let Some(destination) = find(rule.destination) {
                self.connect(Rule::from_body(rule, destination));
            }
        }
    }

    /// Adds a rule, and tells the destination its source.
    pub(crate) fn connect(self: &Arc<Self>, rule: Rule) {
        let mut state = self.state.lock();
        rule.destination().set_destination(true);
        rule.destination().state.lock().source = Arc::downgrade(self);
        state.rules.push(rule);
    }
}

impl Rule {
    fn body(&self) -> RuleBody {
        RuleBody {
            destination: self.destination().id(),
            aggregator: self.aggregator,
            bucket_ms: self.buckets.duration(),
            align_ms: self.align_ms,
            open: self.open.as_ref().map(|open| OpenBody {
                start: open.start,
                bucket: open.bucket,
                before: open.before,
                stale: open.stale,
            }),
        }
    }

    fn from_body(body: &RuleBody, destination: Arc<Series>) -> Rule {
        let mut rule = Rule::new(destination, body.aggregator, body.bucket_ms, body.align_ms);
        let open = body.open.clone();
        rule.open = open.map(|open| OpenBucket {
            start: open.start,
            bucket: open.bucket,
            before: open.before,
            stale: open.stale,
        });
        rule
    }
}
