//! Compaction rules: what samples of a source become in a destination (specification, chapter 7).
//!
//! The bucket in progress is kept as the state of its aggregator. A late sample only notes which bucket it changed; such buckets are
//! computed anew from the source, each once, when somebody looks at the destination or when there are many. So the destination holds
//! exactly what a query over the source gives, to the last digit, and many late samples in one bucket cost one computation.

use crate::aggregate::{Aggregator, Bucket, Surroundings};
use crate::range::{self, Buckets};
use crate::sample::Sample;
use crate::series::{Reach, Series, State};
use crate::view::{ReadError, View};
use std::collections::BTreeSet;
use std::sync::Arc;

/// How many changed buckets may wait for the destination to be looked at.
const MAX_CHANGED: usize = 4096;

/// A rule, kept by its source.
#[derive(Debug)]
pub(crate) struct Rule {
    destination: Arc<Series>,
    pub(crate) aggregator: Aggregator,
    pub(crate) buckets: Buckets,
    /// The alignment as it was given.
    pub(crate) align_ms: i64,
    pub(crate) open: Option<OpenBucket>,
    /// Starts of closed buckets that late samples changed.
    pub(crate) changed: BTreeSet<i64>,
    /// A late sample or a deletion changed the bucket in progress since the destination was looked at: the time-weighted average of the
    /// bucket before it changed too.
    open_changed: bool,
}

/// The bucket in progress.
#[derive(Clone, Debug)]
pub(crate) struct OpenBucket {
    /// May be negative; shown as 0.
    pub(crate) start: i64,
    pub(crate) bucket: Bucket,
    /// The newest sample before the bucket, for averages weighted by time.
    pub(crate) before: Option<Sample>,
    /// A late sample or a deletion changed it: the state is of no use, it is computed from the source.
    pub(crate) stale: bool,
}

impl Rule {
    pub(crate) fn new(destination: Arc<Series>, aggregator: Aggregator, bucket_ms: i64, align_ms: i64) -> Rule {
        Rule {
            destination,
            aggregator,
            buckets: Buckets::new(bucket_ms, align_ms),
            align_ms,
            open: None,
            changed: BTreeSet::new(),
            open_changed: false,
        }
    }

    pub(crate) fn destination(&self) -> &Arc<Series> {
        &self.destination
    }

    /// The start of the bucket of a timestamp; below zero for the first one if the alignment cuts it (7.1).
    pub(crate) fn bucket_start(&self, timestamp: i64) -> i64 {
        self.buckets.start_of(timestamp)
    }

    fn bucket_end(&self, start: i64) -> i64 {
        start.saturating_add(self.buckets.duration())
    }

    /// Whether a sample newer than all others closes the bucket in progress.
    pub(crate) fn closes_at(&self, timestamp: i64) -> bool {
        self.open
            .as_ref()
            .is_some_and(|open| open.start != self.bucket_start(timestamp))
    }

    /// Whether somebody waits for what the rule writes.
    fn is_awaited(&self) -> bool {
        !self.changed.is_empty() && !self.destination.state.lock().waiters.is_empty()
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.changed.len() * 16
    }
}

impl State {
    /// Tells the rules of a sample that is newer than all others; `previous` was the newest before. Gives the destinations in which a
    /// bucket was closed to `closed`.
    pub(crate) fn feed_rules(
        &mut self,
        sample: Sample,
        previous: Option<Sample>,
        mut closed: impl FnMut(&Arc<Series>),
    ) -> Result<(), ReadError> {
        for index in 0..self.rules.len() {
            let rule = &self.rules[index];
            if rule.closes_at(sample.timestamp) && self.close(index, sample)? {
                closed(&self.rules[index].destination);
            }
            let rule = &self.rules[index];
            let start = rule.bucket_start(sample.timestamp);
            let begins_inside = previous.is_some_and(|previous| previous.timestamp >= start);
            if begins_inside && rule.open.is_none() && !rule.changed.is_empty() {
                // This bucket will not count samples from before the rule (7.3). What came before it must not have it computed later.
                self.deliver_rule(index)?;
            }
            let rule = &mut self.rules[index];
            let aggregator = rule.aggregator;
            // Of a bucket that began before the rule, only later samples count (7.3).
            let before = previous.filter(|previous| previous.timestamp < start);
            let open = rule.open.get_or_insert_with(|| OpenBucket {
                start,
                bucket: Bucket::new(aggregator),
                before,
                // The nearest number before a NaN has to be searched for.
                stale: aggregator == Aggregator::Twa && before.is_some_and(|before| before.value.is_nan()),
            });
            if !open.stale {
                open.bucket.add(sample.timestamp, sample.value);
            }
        }
        Ok(())
    }

    /// Tells the rules of a sample that was placed in order or changed a value.
    pub(crate) fn note_late(&mut self, timestamp: i64) -> Result<(), ReadError> {
        let Some(newest) = self.last else { return Ok(()) };
        let mut due = false;
        for rule in &mut self.rules {
            let start = rule.bucket_start(timestamp);
            if start == rule.bucket_start(newest.timestamp) {
                rule.spoil_open(start);
            } else {
                rule.changed.insert(start);
                due |= rule.changed.len() > MAX_CHANGED || rule.is_awaited();
            }
        }
        if due { self.deliver_all() } else { Ok(()) }
    }

    /// Tells the rules of deleted timestamps, ascending (7.5).
    pub(crate) fn note_deleted(&mut self, deleted: &[i64]) -> Result<(), ReadError> {
        for index in 0..self.rules.len() {
            let rule = &self.rules[index];
            let mut starts: Vec<i64> = deleted.iter().map(|timestamp| rule.bucket_start(*timestamp)).collect();
            starts.dedup();
            let current = self.last.map(|last| rule.bucket_start(last.timestamp));
            self.reopen(index, current);
            let rule = &mut self.rules[index];
            if let Some(open) = rule.open.as_ref().map(|open| open.start)
                && starts.contains(&open)
            {
                rule.spoil_open(open);
            }
            rule.changed
                .extend(starts.iter().filter(|start| Some(**start) != current));
        }
        self.deliver_all()
    }

    /// Where the bucket in progress lost its last sample, the last closed bucket becomes the one in progress again.
    fn reopen(&mut self, index: usize, current: Option<i64>) {
        let rule = &mut self.rules[index];
        let Some(open) = &rule.open else { return };
        if Some(open.start) == current {
            return;
        }
        rule.open = None;
        let Some(current) = current else { return };
        let mut destination = rule.destination.state.lock();
        if destination.remove_bucket(current) {
            drop(destination);
            rule.spoil_open(current);
        }
    }

    /// Writes the bucket in progress of a rule to its destination, and leaves none. Says whether there was something to write.
    fn close(&mut self, index: usize, next: Sample) -> Result<bool, ReadError> {
        let rule = &mut self.rules[index];
        let Some(open) = rule.open.take() else { return Ok(false) };
        let (aggregator, buckets, end) = (rule.aggregator, rule.buckets, rule.bucket_end(open.start));
        if std::mem::take(&mut rule.open_changed) && aggregator == Aggregator::Twa {
            rule.changed.insert(open.start);
        }
        let value = if open.stale {
            let view = self.rule_view(aggregator, open.start, end)?;
            range::bucket_value(&view, aggregator, &buckets, open.start)?
        } else {
            let after = Some(next).filter(|next| !next.value.is_nan());
            open.bucket.value(&Surroundings {
                from: open.start.max(0),
                to: end,
                before: open.before,
                after,
            })
        };
        let Some(value) = value else { return Ok(false) };
        self.rules[index]
            .destination
            .state
            .lock()
            .write_bucket(open.start, value)?;
        Ok(true)
    }

    /// What a rule computes from: stored samples, also those that the retention hides already, so that a late sample does not lower
    /// the value of a bucket that is partly hidden.
    fn rule_view(&mut self, aggregator: Aggregator, from: i64, to: i64) -> Result<View, ReadError> {
        let reach = if aggregator == Aggregator::Twa {
            Reach::Neighbours
        } else {
            Reach::Inside
        };
        self.view_above(from, to, reach, 0)
    }

    /// Writes the changed buckets of the rule to a destination, and tells its bucket in progress if that is wanted.
    pub(crate) fn deliver(&mut self, destination: u64, latest: bool) -> Result<Option<Sample>, ReadError> {
        let Some(index) = self.rules.iter().position(|rule| rule.destination.id() == destination) else {
            return Ok(None);
        };
        self.deliver_rule(index)?;
        if latest { self.open_value(index) } else { Ok(None) }
    }

    /// Writes the changed buckets of all rules.
    pub(crate) fn deliver_all(&mut self) -> Result<(), ReadError> {
        (0..self.rules.len()).try_for_each(|index| self.deliver_rule(index))
    }

    fn deliver_rule(&mut self, index: usize) -> Result<(), ReadError> {
        self.spread_to_neighbours(index)?;
        if self.rules[index].changed.is_empty() {
            return Ok(());
        }
        let rule = &self.rules[index];
        let (aggregator, destination) = (rule.aggregator, Arc::clone(&rule.destination));
        // Buckets that lost samples to the retention keep the value they have.
        let starts: Vec<i64> = rule
            .changed
            .iter()
            .copied()
            .filter(|start| (*start).max(0) >= self.dropped_before)
            .collect();
        if let (Some(first), Some(last)) = (starts.first(), starts.last()) {
            let buckets = rule.buckets;
            let view = self.rule_view(aggregator, *first, rule.bucket_end(*last))?;
            // The peer counts every sample when it computes a bucket of countnan for a late one, and recorded sequences demand it.
            let counted = if aggregator == Aggregator::CountNan {
                Aggregator::CountAll
            } else {
                aggregator
            };
            let values = range::bucket_values(&view, counted, &buckets, &starts)?;
            let mut state = destination.state.lock();
            for (start, value) in starts.iter().zip(values) {
                match value {
                    Some(value) => state.write_bucket(*start, value)?,
                    None => {
                        state.remove_bucket(*start);
                    }
                }
            }
            state.waiters.wake();
        }
        self.rules[index].changed.clear();
        Ok(())
    }

    /// A changed sample also changes the time-weighted averages of the buckets next to its own that hold samples.
    fn spread_to_neighbours(&mut self, index: usize) -> Result<(), ReadError> {
        let rule = &mut self.rules[index];
        let open_changed = std::mem::take(&mut rule.open_changed);
        if rule.aggregator != Aggregator::Twa || (rule.changed.is_empty() && !open_changed) {
            return Ok(());
        }
        let view = self.view_above(0, i64::MAX, Reach::Neighbours, 0)?;
        let rule = &self.rules[index];
        let open = rule.open.as_ref().filter(|_| open_changed).map(|open| open.start);
        let starts: Vec<i64> = rule.changed.iter().copied().chain(open).collect();
        for start in starts {
            let end = self.rules[index].bucket_end(start);
            let around = [
                range::number_before(&view, start.max(0))?,
                range::number_after(&view, end)?,
            ];
            let rule = &mut self.rules[index];
            for neighbour in around.into_iter().flatten() {
                let bucket = rule.bucket_start(neighbour.timestamp);
                if let Some(open) = rule.open.as_mut().filter(|open| open.start == bucket) {
                    // Its own samples are the same, so the buckets next to it are not concerned.
                    open.stale = true;
                } else if rule.destination.state.lock().has_bucket(bucket)? {
                    rule.changed.insert(bucket);
                }
            }
        }
        Ok(())
    }

    /// The bucket in progress as a sample at its start (7.8).
    fn open_value(&mut self, index: usize) -> Result<Option<Sample>, ReadError> {
        let rule = &self.rules[index];
        let (aggregator, buckets) = (rule.aggregator, rule.buckets);
        let Some(open) = rule.open.clone() else { return Ok(None) };
        let end = rule.bucket_end(open.start);
        let value = if open.stale {
            let view = self.rule_view(aggregator, open.start, end)?;
            let counted = if aggregator == Aggregator::CountNan {
                Aggregator::CountAll
            } else {
                aggregator
            };
            range::bucket_value(&view, counted, &buckets, open.start)?
        } else {
            open.bucket.value(&Surroundings {
                from: open.start.max(0),
                to: end,
                before: open.before,
                after: None,
            })
        };
        Ok(Some(Sample {
            timestamp: open.start.max(0),
            value: value.unwrap_or_else(|| aggregator.empty_value()),
        }))
    }

    /// Writes a bucket into a destination whatever its policy; one outside of its retention is left out.
    fn write_bucket(&mut self, start: i64, value: f64) -> Result<(), ReadError> {
        let timestamp = start.max(0);
        match self.last {
            Some(last) if timestamp < last.timestamp => {
                if timestamp >= self.floor() {
                    self.place(timestamp, value, false)?;
                }
            }
            Some(last) if timestamp == last.timestamp => {
                self.overwrite_newest(value)?;
            }
            _ => {
                self.append(timestamp, value)?;
            }
        }
        self.waiters.wake();
        Ok(())
    }

    /// Removes the sample at the start of a bucket. Says whether there was one.
    fn remove_bucket(&mut self, start: i64) -> bool {
        let timestamp = start.max(0);
        // A chunk that can't be fetched keeps its sample: there is nobody to tell.
        self.delete(timestamp, timestamp)
            .is_ok_and(|deleted| !deleted.is_empty())
    }

    fn has_bucket(&mut self, start: i64) -> Result<bool, ReadError> {
        self.contains(start.max(0))
    }
}

impl Rule {
    /// Makes a bucket the one in progress, to be computed from the source.
    fn spoil_open(&mut self, start: i64) {
        self.open_changed = true;
        match &mut self.open {
            Some(open) if open.start == start => open.stale = true,
            open => {
                *open = Some(OpenBucket {
                    start,
                    bucket: Bucket::new(self.aggregator),
                    before: None,
                    stale: true,
                });
            }
        }
    }
}
