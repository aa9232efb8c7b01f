//! Rules, followed at once (specification, chapter 7).

use crate::aggregate::{self, Pair, numbers};
use crate::series::{Open, Outcome, Rule};
use crate::store::{Store, Unsure};
use std::collections::BTreeSet;
use timberline_series::aggregate::Aggregator;

impl Store {
    /// Tells the rules of a sample that was written; `previous` was the newest before.
    pub(crate) fn tell_rules(&mut self, source: usize, outcome: Outcome, sample: Pair, previous: Option<Pair>) {
        for index in 0..self.series[source].rules.len() {
            match outcome {
                Outcome::Appended => self.feed(source, index, sample, previous),
                Outcome::Upserted => self.upserted(source, index, sample.0),
            }
        }
    }

    fn feed(&mut self, source: usize, index: usize, sample: Pair, previous: Option<Pair>) {
        let start = self.series[source].rules[index].start_of(sample.0);
        if let Some(open) = self.series[source].rules[index].open.clone()
            && open.start != start
        {
            self.series[source].rules[index].open = None;
            self.close(source, index, &open, sample);
        }
        let rule = &mut self.series[source].rules[index];
        let is_twa = rule.aggregator == Aggregator::Twa;
        // Of a bucket that began before the rule, only later samples count (7.3).
        let before = previous.filter(|previous| i128::from(previous.0) < start);
        let open = rule.open.get_or_insert_with(|| Open {
            start,
            samples: Vec::new(),
            before,
            from_source: is_twa && before.is_some_and(|before| before.1.is_nan()),
            unsure: false,
        });
        open.samples.push(sample);
    }

    fn close(&mut self, source: usize, index: usize, open: &Open, next: Pair) {
        let rule = self.series[source].rules[index].clone();
        let value = if open.from_source {
            self.series[source].bucket_value(&rule, open.start, false)
        } else {
            kept_value(&rule, open, Some(next))
        };
        if open.unsure {
            self.doubt(rule.destination, shown(open.start), None);
        }
        if let Some(value) = value {
            self.series[rule.destination].write_bucket(open.start, value);
        }
    }

    /// A sample was placed in order or met an existing timestamp.
    fn upserted(&mut self, source: usize, index: usize, timestamp: i64) {
        let rule = &self.series[source].rules[index];
        let start = rule.start_of(timestamp);
        let newest = self.series[source].last().map(|last| rule.start_of(last.0));
        if Some(start) == newest {
            self.open_from_source(source, index, start);
        } else {
            self.recompute(source, index, start);
        }
        self.recompute_neighbours(source, index, start);
    }

    /// Makes a bucket the one in progress, to be computed from the source.
    fn open_from_source(&mut self, source: usize, index: usize, start: i128) {
        let floor = self.series[source].floor();
        let rule = &mut self.series[source].rules[index];
        let was_unsure = rule
            .open
            .as_ref()
            .is_some_and(|open| open.start == start && open.unsure);
        rule.open = Some(Open {
            start,
            samples: Vec::new(),
            before: None,
            from_source: true,
            unsure: was_unsure || shown(start) < floor,
        });
    }

    /// Computes a closed bucket from the source.
    fn recompute(&mut self, source: usize, index: usize, start: i128) {
        let rule = self.series[source].rules[index].clone();
        let value = self.series[source].bucket_value(&rule, start, true);
        let timestamp = shown(start);
        let destination = &mut self.series[rule.destination];
        let old = destination.samples.get(&timestamp).copied();
        match value {
            Some(value) => destination.write_bucket(start, value),
            None => {
                destination.samples.remove(&timestamp);
            }
        }
        // A bucket that is partly outside of the retention keeps the value that it has, if something of it was dropped.
        if timestamp < self.series[source].floor() {
            self.doubt(rule.destination, timestamp, Some([old, value]));
        }
    }

    /// Notes that a bucket has one of these values, or any.
    fn doubt(&mut self, series: usize, timestamp: i64, legal: Option<[Option<f64>; 2]>) {
        let mut known = self.unsure.iter_mut();
        if let Some(unsure) = known.find(|unsure| unsure.series == series && unsure.timestamp == timestamp) {
            match (&mut unsure.legal, legal) {
                (Some(known), Some(legal)) => known.extend(legal),
                (known, _) => *known = None,
            }
            return;
        }
        self.unsure.push(Unsure {
            series,
            timestamp,
            legal: legal.map(Vec::from),
        });
    }

    /// A changed bucket changes the time-weighted averages next to it.
    fn recompute_neighbours(&mut self, source: usize, index: usize, start: i128) {
        let rule = self.series[source].rules[index].clone();
        if rule.aggregator != Aggregator::Twa {
            return;
        }
        let end = start + i128::from(rule.bucket);
        let samples = self.series[source].samples.iter();
        let all: Vec<Pair> = samples.map(|(timestamp, value)| (*timestamp, *value)).collect();
        let all = numbers(&all);
        let before = all.iter().rfind(|sample| i128::from(sample.0) < start);
        let after = all.iter().find(|sample| i128::from(sample.0) >= end);
        for neighbour in [before, after].into_iter().flatten() {
            let bucket = rule.start_of(neighbour.0);
            if rule.open.as_ref().is_some_and(|open| open.start == bucket) {
                self.open_from_source(source, index, bucket);
            } else if self.series[rule.destination].samples.contains_key(&shown(bucket)) {
                self.recompute(source, index, bucket);
            }
        }
    }

    /// Samples were deleted (7.5).
    pub(crate) fn tell_rules_deleted(&mut self, source: usize, deleted: &[i64]) {
        for index in 0..self.series[source].rules.len() {
            let rule = &self.series[source].rules[index];
            let mut starts: BTreeSet<i128> = deleted.iter().map(|timestamp| rule.start_of(*timestamp)).collect();
            let current = self.series[source].last().map(|last| rule.start_of(last.0));
            let destination = rule.destination;
            // Where the bucket in progress lost its last sample, the last closed bucket becomes the one in progress again.
            let open = rule.open.as_ref().map(|open| open.start);
            if open.is_some() && open != current {
                self.series[source].rules[index].open = None;
                if let Some(current) = current
                    && self.series[destination].samples.remove(&shown(current)).is_some()
                {
                    self.open_from_source(source, index, current);
                    starts.insert(current);
                }
            }
            for start in &starts {
                let rule = &self.series[source].rules[index];
                if rule.open.as_ref().is_some_and(|open| open.start == *start) {
                    self.open_from_source(source, index, *start);
                } else if Some(*start) != current {
                    self.recompute(source, index, *start);
                }
            }
            for start in starts {
                self.recompute_neighbours(source, index, start);
            }
        }
    }

    /// The bucket in progress of a destination at its start (7.8), and whether its value is sure.
    pub(crate) fn open_bucket(&self, destination: usize) -> Option<(Pair, bool)> {
        let source = &self.series[self.series[destination].source?];
        let rule = source.rules.iter().find(|rule| rule.destination == destination)?;
        let open = rule.open.as_ref()?;
        let value = if open.from_source {
            source.bucket_value(rule, open.start, true)
        } else {
            kept_value(rule, open, None)
        };
        let value = value.unwrap_or_else(|| match rule.aggregator {
            Aggregator::Sum | Aggregator::Count | Aggregator::CountNan | Aggregator::CountAll => 0.0,
            _ => f64::NAN,
        });
        Some(((shown(open.start), value), !open.unsure))
    }
}

/// The value of a bucket in progress of the samples that came in order.
fn kept_value(rule: &Rule, open: &Open, next: Option<Pair>) -> Option<f64> {
    if !aggregate::found(rule.aggregator, &open.samples) {
        return None;
    }
    Some(if rule.aggregator == Aggregator::Twa {
        let next = next.filter(|next| !next.1.is_nan());
        let end = (open.start + i128::from(rule.bucket)).min(i128::from(i64::MAX));
        aggregate::area_by_length(open.before, &numbers(&open.samples), next, open.start.max(0), end)
    } else {
        aggregate::value(rule.aggregator, &open.samples, false)
    })
}

/// The timestamp that is shown for a start.
pub(crate) fn shown(start: i128) -> i64 {
    i64::try_from(start.max(0)).unwrap_or(i64::MAX)
}
