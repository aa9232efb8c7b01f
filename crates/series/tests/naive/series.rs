//! A series as a sorted map (specification, chapters 3 to 5).

use crate::aggregate::{self, Cut, Pair, start_of};
use crate::command::{Attributes, Facts, Query, Reply};
use std::collections::BTreeMap;
use timberline_series::aggregate::Aggregator;
use timberline_series::codec::Encoding;
use timberline_series::policy::DuplicatePolicy;

/// A series. What the retention hides stays in the map.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    pub(crate) db: u8,
    pub(crate) key: String,
    pub(crate) samples: BTreeMap<i64, f64>,
    pub(crate) attributes: Attributes,
    pub(crate) labels: Vec<(String, String)>,
    pub(crate) rules: Vec<Rule>,
    pub(crate) source: Option<usize>,
    /// False if values came from a rule whose aggregator is not exact.
    pub(crate) exact: bool,
    /// Whether rules may have written to it.
    pub(crate) was_destination: bool,
}

/// A rule, kept by its source.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    pub(crate) destination: usize,
    pub(crate) aggregator: Aggregator,
    pub(crate) bucket: i64,
    pub(crate) align: i64,
    pub(crate) open: Option<Open>,
}

/// The bucket in progress: the samples that came in order since the rule was made, or those that the source has.
#[derive(Clone, Debug)]
pub(crate) struct Open {
    pub(crate) start: i128,
    pub(crate) samples: Vec<Pair>,
    pub(crate) before: Option<Pair>,
    pub(crate) from_source: bool,
    /// Part of it may be dropped by the retention, so that it has no value that one could tell.
    pub(crate) unsure: bool,
}

/// What became of a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Outcome {
    Appended,
    Upserted,
}

impl Series {
    pub(crate) fn new(db: u8, key: &str, attributes: &Attributes) -> Series {
        let labels = attributes.labels.iter();
        Series {
            db,
            key: key.to_owned(),
            samples: BTreeMap::new(),
            attributes: attributes.clone(),
            labels: labels
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
            rules: Vec::new(),
            source: None,
            exact: true,
            was_destination: false,
        }
    }

    pub(crate) fn last(&self) -> Option<Pair> {
        self.samples
            .last_key_value()
            .map(|(timestamp, value)| (*timestamp, *value))
    }

    /// The lowest visible timestamp (chapter 5).
    pub(crate) fn floor(&self) -> i64 {
        let retention = self.attributes.retention;
        match self.last() {
            Some((last, _)) if retention > 0 && last > retention => last - retention,
            _ => 0,
        }
    }

    pub(crate) fn visible(&self) -> Vec<Pair> {
        pairs(self.samples.range(self.floor()..))
    }

    /// All samples of a bucket, hidden ones too.
    pub(crate) fn bucket(&self, start: i128, duration: i64) -> Vec<Pair> {
        let end = start + i128::from(duration) - 1;
        let last = i64::try_from(end).unwrap_or(i64::MAX);
        let first = i64::try_from(start.max(0)).unwrap_or(i64::MAX);
        pairs(self.samples.range(first..=last))
    }

    /// The value of a whole bucket as rules compute it from the source (7.4).
    pub(crate) fn bucket_value(&self, rule: &Rule, start: i128, late: bool) -> Option<f64> {
        let bucket = self.bucket(start, rule.bucket);
        // Documented: a late sample makes countnan count all samples.
        let aggregator = match rule.aggregator {
            Aggregator::CountNan if late => Aggregator::CountAll,
            other => other,
        };
        if !aggregate::found(aggregator, &bucket) {
            return None;
        }
        let end = start + i128::from(rule.bucket);
        Some(match aggregator {
            Aggregator::Twa => {
                let cut = Cut {
                    start,
                    end,
                    from: start.max(0),
                    to: end.min(i128::from(i64::MAX)),
                };
                aggregate::time_weighted(&pairs(self.samples.iter()), cut, rule.bucket, rule.align)
            }
            _ => aggregate::value(aggregator, &bucket, false),
        })
    }

    /// Writes a sample (chapter 3, chapter 4). An error is the reply.
    pub(crate) fn add(&mut self, timestamp: i64, value: f64, policy: DuplicatePolicy) -> Result<Outcome, Reply> {
        let Some((last, last_value)) = self.last() else {
            self.samples.insert(timestamp, value);
            return Ok(Outcome::Appended);
        };
        if policy == DuplicatePolicy::Last && self.ignores(last, last_value, timestamp, value) {
            return Err(Reply::Number(last));
        }
        if timestamp > last {
            self.samples.insert(timestamp, value);
            return Ok(Outcome::Appended);
        }
        let retention = self.attributes.retention;
        if retention > 0 && i128::from(timestamp) < i128::from(last) - i128::from(retention) {
            return Err(Reply::TooOld);
        }
        let new = match self.samples.get(&timestamp) {
            None => value,
            Some(old) => resolve(policy, *old, value).ok_or(Reply::Blocked)?,
        };
        self.samples.insert(timestamp, new);
        Ok(Outcome::Upserted)
    }

    fn ignores(&self, last: i64, last_value: f64, timestamp: i64, value: f64) -> bool {
        let (time, difference) = self.attributes.ignore;
        timestamp >= last && timestamp - last <= time && (value - last_value).abs() <= difference
    }

    /// Writes the newest value plus a number.
    pub(crate) fn increment(
        &mut self,
        delta: f64,
        timestamp: i64,
        policy: DuplicatePolicy,
    ) -> Result<(Outcome, f64), Reply> {
        let Some((last, last_value)) = self.last() else {
            self.samples.insert(timestamp, 0.0 + delta);
            return Ok((Outcome::Appended, 0.0 + delta));
        };
        if timestamp < last {
            return Err(Reply::NotNewest);
        }
        if last_value.is_nan() {
            return Err(Reply::NotANumber);
        }
        let value = last_value + delta;
        if policy == DuplicatePolicy::Last && self.ignores(last, last_value, timestamp, value) {
            return Err(Reply::Number(last));
        }
        self.samples.insert(timestamp, value);
        let outcome = if timestamp == last {
            Outcome::Upserted
        } else {
            Outcome::Appended
        };
        Ok((outcome, value))
    }

    /// A rule writes a bucket, whatever the policy, unless it is outside of the retention.
    pub(crate) fn write_bucket(&mut self, start: i128, value: f64) {
        let timestamp = i64::try_from(start.max(0)).unwrap_or(i64::MAX);
        if timestamp >= self.floor() {
            self.samples.insert(timestamp, value);
        }
    }

    pub(crate) fn query(&self, query: &Query, latest: Option<Pair>) -> Reply {
        let mut samples = self.visible();
        // The bucket in progress is looked at if it lies within the bounds and is newer than all samples (7.8).
        let is_asked_for = |latest: &Pair| query.from <= latest.0 && latest.0 <= query.to;
        let is_newest = |latest: &Pair| self.last().is_none_or(|last| latest.0 > last.0);
        samples.extend(latest.filter(|latest| is_asked_for(latest) && is_newest(latest)));
        let inside: Vec<Pair> = samples
            .iter()
            .copied()
            .filter(|(timestamp, _)| query.from <= *timestamp && *timestamp <= query.to)
            .collect();
        let mut exact = self.exact;
        let mut rows = match query.aggregation {
            None => inside,
            Some((aggregator, duration, align)) => {
                let mut buckets: BTreeMap<i128, Vec<Pair>> = BTreeMap::new();
                for sample in &inside {
                    buckets
                        .entry(start_of(sample.0, duration, align))
                        .or_default()
                        .push(*sample);
                }
                let mut rows = Vec::new();
                for (start, bucket) in buckets {
                    if !aggregate::found(aggregator, &bucket) {
                        continue;
                    }
                    exact &= aggregate::is_exact(aggregator, &bucket);
                    let end = start + i128::from(duration);
                    let value = if aggregator == Aggregator::Twa {
                        let cut = Cut {
                            start,
                            end,
                            from: start.max(i128::from(query.from)),
                            to: end.min(i128::from(query.to)),
                        };
                        aggregate::time_weighted(&samples, cut, duration, align)
                    } else {
                        aggregate::value(aggregator, &bucket, query.reverse)
                    };
                    rows.push((i64::try_from(start.max(0)).unwrap_or(i64::MAX), value));
                }
                rows
            }
        };
        if query.reverse {
            rows.reverse();
        }
        rows.truncate(query.count.unwrap_or(usize::MAX));
        Reply::Rows(rows, exact)
    }

    /// What TS.INFO shows; the keys of source and destinations are the caller's to add.
    pub(crate) fn facts(&self) -> Facts {
        let visible = self.visible();
        Facts {
            total: visible.len() as u64,
            first: visible.first().map_or(0, |sample| sample.0),
            last: self.last().map_or(0, |sample| sample.0),
            retention: self.attributes.retention,
            policy: self.attributes.policy,
            is_compressed: self.attributes.encoding == Encoding::Compressed,
            chunk_bytes: self.attributes.chunk_bytes,
            ignore: self.attributes.ignore,
            labels: self.labels.clone(),
            source: None,
            rules: Vec::new(),
        }
    }
}

impl Rule {
    pub(crate) fn start_of(&self, timestamp: i64) -> i128 {
        start_of(timestamp, self.bucket, self.align)
    }
}

fn pairs<'a>(samples: impl Iterator<Item = (&'a i64, &'a f64)>) -> Vec<Pair> {
    samples.map(|(timestamp, value)| (*timestamp, *value)).collect()
}

/// The value that stays (4.2, 4.4); nothing if the new one is refused.
fn resolve(policy: DuplicatePolicy, old: f64, new: f64) -> Option<f64> {
    match policy {
        DuplicatePolicy::Block => None,
        DuplicatePolicy::First => Some(if old.is_nan() { new } else { old }),
        DuplicatePolicy::Last => Some(if new.is_nan() { old } else { new }),
        _ if old.is_nan() != new.is_nan() => None,
        DuplicatePolicy::Min => Some(if new < old { new } else { old }),
        DuplicatePolicy::Max => Some(if new > old { new } else { old }),
        DuplicatePolicy::Sum => Some(old + new),
    }
}
