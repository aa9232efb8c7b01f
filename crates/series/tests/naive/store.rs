//! The naive store: what every command does, in the plainest code.

use crate::aggregate::Pair;
use crate::command::{Attributes, Command, Name, Reply, texts};
use crate::series::{Rule, Series};
use std::collections::BTreeMap;
use timberline_series::aggregate::Aggregator;
use timberline_series::codec::Encoding;
use timberline_series::error::RuleError;
use timberline_series::options::Changes;
use timberline_series::policy::DuplicatePolicy;
use timberline_series::settings::CompactionPolicy;

/// What a key holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Held {
    Series(usize),
    Text,
}

/// A bucket of a destination whose value depends on what the retention dropped already.
#[derive(Debug)]
pub(crate) struct Unsure {
    pub(crate) series: usize,
    pub(crate) timestamp: i64,
    /// One of these, or any.
    pub(crate) legal: Option<Vec<Option<f64>>>,
}

/// All databases.
pub(crate) struct Store {
    pub(crate) databases: Vec<BTreeMap<String, Held>>,
    /// All series that ever were; a key names the living.
    pub(crate) series: Vec<Series>,
    pub(crate) policy: DuplicatePolicy,
    compaction: CompactionPolicy,
    /// For the caller to settle after each command.
    pub(crate) unsure: Vec<Unsure>,
}

impl Default for Store {
    fn default() -> Store {
        Store {
            databases: vec![BTreeMap::new(); 16],
            series: Vec::new(),
            policy: DuplicatePolicy::Block,
            compaction: CompactionPolicy::default(),
            unsure: Vec::new(),
        }
    }
}

/// What a series made by writing to it has.
pub(crate) fn defaults(policy: DuplicatePolicy) -> Attributes {
    Attributes {
        retention: 0,
        encoding: Encoding::Compressed,
        chunk_bytes: 4096,
        policy: Some(policy),
        ignore: (0, 0.0),
        labels: Vec::new(),
    }
}

type Answer = Result<Reply, Reply>;

impl Store {
    pub(crate) fn held(&self, name: &Name) -> Option<Held> {
        self.databases[usize::from(name.db)].get(name.key).copied()
    }

    /// The series that have a key, with their keys.
    pub(crate) fn living(&self) -> impl Iterator<Item = (u8, &String, usize)> {
        (0u8..).zip(&self.databases).flat_map(|(db, keys)| keys_of(db, keys))
    }

    fn series_of(&self, name: &Name) -> Result<usize, Reply> {
        match self.held(name) {
            Some(Held::Series(id)) => Ok(id),
            Some(Held::Text) => Err(Reply::WrongType),
            None => Err(Reply::Missing),
        }
    }

    pub(crate) fn run(&mut self, command: &Command) -> Reply {
        self.try_run(command).unwrap_or_else(|reply| reply)
    }

    fn try_run(&mut self, command: &Command) -> Answer {
        match command {
            Command::Create(name, attributes) => match self.held(name) {
                Some(_) => Err(Reply::Exists),
                None => {
                    self.enter(name.db, name.key, Series::new(name.db, name.key, attributes));
                    Ok(Reply::Done)
                }
            },
            Command::Alter(name, changes) => self.alter(name, changes),
            Command::Add(name, samples, policy) => {
                let id = self.series_or_new(name)?;
                let replies = samples.iter().map(|sample| self.add(id, *sample, *policy));
                Ok(Reply::Many(replies.collect()))
            }
            Command::Increment(name, delta, timestamp) => {
                let id = self.series_or_new(name)?;
                self.increment(id, *delta, *timestamp)
            }
            Command::Delete(name, from, to) => self.delete(name, *from, *to),
            Command::CreateRule(name, destination, aggregator, bucket, align) => {
                self.create_rule(name, destination, *aggregator, *bucket, *align)
            }
            Command::DeleteRule(name, destination) => self.delete_rule(name, destination),
            Command::Range(name, query) => {
                let id = self.series_of(name)?;
                let latest = self.open_bucket(id).filter(|_| query.latest);
                // A bucket that may have been dropped in part has no value to compare.
                if latest.is_some_and(|(_, sure)| !sure) {
                    return Ok(Reply::Done);
                }
                Ok(self.series[id].query(query, latest.map(|(sample, _)| sample)))
            }
            Command::Get(name, latest) => {
                let series = &self.series[self.series_of(name)?];
                let exact = series.exact;
                let stored = series.last().map(|(timestamp, value)| (timestamp, Some(value)));
                let open = self.open_bucket(self.series_of(name)?).filter(|_| *latest);
                let open = open.map(|((timestamp, value), sure)| (timestamp, sure.then_some(value)));
                Ok(Reply::Sample(open.or(stored), exact))
            }
            Command::Info(name) => {
                let id = self.series_of(name)?;
                Ok(self.facts(id))
            }
            Command::Select(db, label) => Ok(Reply::Names(self.select(*db, label))),
            Command::Remove(name) => Ok(Reply::Flag(self.remove(name.db, name.key))),
            Command::Expire(name) => Ok(Reply::Flag(self.remove(name.db, name.key))),
            Command::Text(name) => {
                self.remove(name.db, name.key);
                self.databases[usize::from(name.db)].insert(name.key.to_owned(), Held::Text);
                Ok(Reply::Done)
            }
            Command::Rename(name, to, only_if_new) => self.rename(name, to, *only_if_new),
            Command::Copy(from, to, replace) => Ok(self.copy(from, to, *replace).unwrap_or(Reply::Flag(false))),
            Command::DumpRestore(from, to, replace) => {
                if self.held(from).is_none() {
                    return Err(Reply::Missing);
                }
                if self.held(to).is_some() && !replace {
                    return Err(Reply::Exists);
                }
                self.duplicate(from, to);
                Ok(Reply::Done)
            }
            Command::Move(name, to_db) => {
                let to = Name {
                    db: *to_db,
                    key: name.key,
                };
                let Some(held) = self
                    .held(name)
                    .filter(|_| name.db != *to_db && self.held(&to).is_none())
                else {
                    return Ok(Reply::Flag(false));
                };
                self.databases[usize::from(name.db)].remove(name.key);
                self.place(*to_db, name.key, held);
                Ok(Reply::Flag(true))
            }
            Command::Swap(one, other) => {
                self.databases.swap(usize::from(*one), usize::from(*other));
                for (db, _, id) in self
                    .living()
                    .map(|(db, key, id)| (db, key.clone(), id))
                    .collect::<Vec<_>>()
                {
                    self.series[id].db = db;
                }
                Ok(Reply::Done)
            }
            Command::Flush(db) => {
                for number in 0..16u8 {
                    if db.is_some_and(|db| db != number) {
                        continue;
                    }
                    let keys: Vec<String> = self.databases[usize::from(number)].keys().cloned().collect();
                    keys.iter().for_each(|key| {
                        self.remove(number, key);
                    });
                }
                Ok(Reply::Done)
            }
            Command::Policy(policy) => {
                self.policy = *policy;
                Ok(Reply::Done)
            }
            Command::Compaction(text) => {
                self.compaction = CompactionPolicy::parse(text).unwrap_or_default();
                Ok(Reply::Done)
            }
            Command::Check | Command::Reopen(_) => Ok(Reply::Done),
        }
    }

    /// Enters a series under a free key.
    fn enter(&mut self, db: u8, key: &str, series: Series) -> usize {
        self.series.push(series);
        let id = self.series.len() - 1;
        self.place(db, key, Held::Series(id));
        id
    }

    fn place(&mut self, db: u8, key: &str, held: Held) {
        if let Held::Series(id) = held {
            self.series[id].db = db;
            self.series[id].key = key.to_owned();
        }
        self.databases[usize::from(db)].insert(key.to_owned(), held);
    }

    /// Removes a key; rules with it end.
    fn remove(&mut self, db: u8, key: &str) -> bool {
        let Some(held) = self.databases[usize::from(db)].remove(key) else {
            return false;
        };
        if let Held::Series(gone) = held {
            for series in &mut self.series {
                series.rules.retain(|rule| rule.destination != gone);
                series.source = series.source.filter(|source| *source != gone);
            }
            self.series[gone].rules.clear();
            self.series[gone].source = None;
        }
        true
    }

    /// The series of a key, made with the configured rules if there is none (chapter 16).
    fn series_or_new(&mut self, name: &Name) -> Result<usize, Reply> {
        match self.held(name) {
            Some(Held::Series(id)) => return Ok(id),
            Some(Held::Text) => return Err(Reply::WrongType),
            None => {}
        }
        let attributes = defaults(self.policy);
        let id = self.enter(name.db, name.key, Series::new(name.db, name.key, &attributes));
        for rule in self.compaction.rules().to_vec() {
            let (aggregator, bucket, align) = (rule.aggregator, rule.bucket_ms, rule.align_ms);
            let mut key = format!("{}_{}_{bucket}", name.key, aggregator.capital_name());
            if align != 0 {
                key.push_str(&format!("_{align}"));
            }
            if self.databases[usize::from(name.db)].contains_key(&key) {
                continue;
            }
            let mut attributes = defaults(self.policy);
            attributes.policy = None;
            attributes.encoding = Encoding::Uncompressed;
            attributes.retention = rule.retention_ms;
            let mut series = Series::new(name.db, &key, &attributes);
            series.labels = self.series[id].labels.clone();
            let own = [
                ("aggregation".to_owned(), aggregator.capital_name().to_owned()),
                ("time_bucket".to_owned(), bucket.to_string()),
            ];
            series.labels.extend(own);
            let destination = self.enter(name.db, &key, series);
            self.connect(id, destination, aggregator, bucket, align);
        }
        Ok(id)
    }

    fn add(&mut self, id: usize, sample: Pair, policy: Option<DuplicatePolicy>) -> Reply {
        let policy = policy.or(self.series[id].attributes.policy).unwrap_or(self.policy);
        let previous = self.series[id].last();
        match self.series[id].add(sample.0, sample.1, policy) {
            Ok(outcome) => {
                self.tell_rules(id, outcome, sample, previous);
                Reply::Number(sample.0)
            }
            Err(reply) => reply,
        }
    }

    fn increment(&mut self, id: usize, delta: f64, timestamp: i64) -> Answer {
        let policy = self.series[id].attributes.policy.unwrap_or(self.policy);
        let previous = self.series[id].last();
        let (outcome, value) = self.series[id].increment(delta, timestamp, policy)?;
        self.tell_rules(id, outcome, (timestamp, value), previous);
        Ok(Reply::Number(timestamp))
    }

    fn delete(&mut self, name: &Name, from: i64, to: i64) -> Answer {
        let id = self.series_of(name)?;
        let series = &mut self.series[id];
        if from > to {
            return Ok(Reply::Number(0));
        }
        let floor = series.floor();
        let begins_beyond = |rule: &Rule| rule.start_of(from) < i128::from(floor);
        let is_beyond = from < floor || series.rules.iter().any(begins_beyond);
        if series.attributes.retention > 0 && !series.rules.is_empty() && is_beyond {
            return Err(Reply::BeyondRetention);
        }
        let deleted: Vec<i64> = series
            .samples
            .range(from..=to)
            .map(|(timestamp, _)| *timestamp)
            .collect();
        // Of buckets that were hidden at once it depends on when they were computed whether they were kept.
        let may_have_more = series.was_destination && series.attributes.retention > 0;
        let visible = deleted.iter().filter(|timestamp| **timestamp >= floor).count();
        series.samples.retain(|timestamp, _| !(from..=to).contains(timestamp));
        if !deleted.is_empty() {
            self.tell_rules_deleted(id, &deleted);
        }
        let most = if may_have_more { i64::MAX } else { deleted.len() as i64 };
        Ok(Reply::Between(visible as i64, most))
    }

    fn alter(&mut self, name: &Name, changes: &Changes) -> Answer {
        let id = self.series_of(name)?;
        let series = &mut self.series[id];
        let attributes = &mut series.attributes;
        attributes.retention = changes.retention_ms.unwrap_or(attributes.retention);
        attributes.chunk_bytes = changes.chunk_bytes.unwrap_or(attributes.chunk_bytes);
        attributes.policy = changes.duplicate_policy.or(attributes.policy);
        attributes.ignore = changes.ignore.unwrap_or(attributes.ignore);
        if let Some(labels) = &changes.labels {
            series.labels = texts(labels);
        }
        Ok(Reply::Done)
    }

    fn create_rule(
        &mut self,
        name: &Name,
        destination: &'static str,
        aggregator: Aggregator,
        bucket: i64,
        align: i64,
    ) -> Answer {
        if name.key == destination {
            return Err(Reply::Rule(RuleError::SameKey));
        }
        let (from, to) = self.rule_ends(name, destination, true)?;
        self.connect(from, to, aggregator, bucket, align);
        Ok(Reply::Done)
    }

    /// Source and destination, checked in the order of chapter 2.
    fn rule_ends(&self, name: &Name, destination: &'static str, is_new: bool) -> Result<(usize, usize), Reply> {
        let from = self.series_of(name).map_err(|reply| match reply {
            Reply::Missing => Reply::Rule(RuleError::SourceMissing),
            _ => Reply::Rule(RuleError::SourceWrongType),
        })?;
        if is_new && self.series[from].source.is_some() {
            return Err(Reply::Rule(RuleError::SourceIsDestination));
        }
        let destination = Name {
            db: name.db,
            key: destination,
        };
        let to = self.series_of(&destination).map_err(|reply| match reply {
            Reply::Missing => Reply::Rule(RuleError::DestinationMissing),
            _ => Reply::Rule(RuleError::DestinationWrongType),
        })?;
        if is_new && !self.series[to].rules.is_empty() {
            return Err(Reply::Rule(RuleError::DestinationHasRules));
        }
        if is_new && self.series[to].source.is_some() {
            return Err(Reply::Rule(RuleError::DestinationHasSource));
        }
        Ok((from, to))
    }

    fn connect(&mut self, source: usize, destination: usize, aggregator: Aggregator, bucket: i64, align: i64) {
        self.series[destination].source = Some(source);
        self.series[destination].was_destination = true;
        self.series[destination].exact &= match aggregator {
            Aggregator::VarP | Aggregator::VarS | Aggregator::StdP | Aggregator::StdS | Aggregator::Twa => false,
            _ => self.series[source].exact,
        };
        self.series[source].rules.push(Rule {
            destination,
            aggregator,
            bucket,
            align,
            open: None,
        });
    }

    fn delete_rule(&mut self, name: &Name, destination: &'static str) -> Answer {
        let (from, to) = self.rule_ends(name, destination, false)?;
        let rules = &mut self.series[from].rules;
        let Some(index) = rules.iter().position(|rule| rule.destination == to) else {
            return Err(Reply::Rule(RuleError::NoSuchRule));
        };
        rules.remove(index);
        self.series[to].source = None;
        Ok(Reply::Done)
    }

    pub(crate) fn facts(&self, id: usize) -> Reply {
        let series = &self.series[id];
        let mut facts = series.facts();
        facts.source = series.source.map(|source| self.series[source].key.clone());
        facts.rules = series
            .rules
            .iter()
            .map(|rule| {
                let key = self.series[rule.destination].key.clone();
                (key, rule.aggregator.name(), rule.bucket, rule.align)
            })
            .collect();
        Reply::Facts(Box::new(facts))
    }

    /// The keys of a database with a label `name=value`.
    pub(crate) fn select(&self, db: u8, label: &str) -> Vec<String> {
        let passes = |id: usize| {
            let mut labels = self.series[id].labels.iter();
            labels.any(|(name, value)| format!("{name}={value}") == label)
        };
        let chosen = self.living().filter(|(number, _, id)| *number == db && passes(*id));
        chosen.map(|(_, key, _)| key.clone()).collect()
    }

    fn rename(&mut self, name: &Name, to: &'static str, only_if_new: bool) -> Answer {
        let Some(held) = self.held(name) else {
            return Err(Reply::Missing);
        };
        let target = Name { db: name.db, key: to };
        if only_if_new && self.held(&target).is_some() {
            return Ok(Reply::Flag(false));
        }
        if name.key != to {
            self.remove(name.db, to);
            self.databases[usize::from(name.db)].remove(name.key);
            self.place(name.db, to, held);
        }
        Ok(Reply::Flag(true))
    }

    fn copy(&mut self, from: &Name, to: &Name, replace: bool) -> Option<Reply> {
        self.held(from)?;
        if from == to || (self.held(to).is_some() && !replace) {
            return None;
        }
        self.duplicate(from, to);
        Some(Reply::Flag(true))
    }

    /// Puts a copy without rules under a key.
    fn duplicate(&mut self, from: &Name, to: &Name) {
        match self.held(from) {
            Some(Held::Series(id)) => {
                let mut series = self.series[id].clone();
                series.rules.clear();
                series.source = None;
                self.remove(to.db, to.key);
                self.enter(to.db, to.key, series);
            }
            _ => {
                self.remove(to.db, to.key);
                self.databases[usize::from(to.db)].insert(to.key.to_owned(), Held::Text);
            }
        }
    }
}

fn keys_of(db: u8, keys: &BTreeMap<String, Held>) -> impl Iterator<Item = (u8, &String, usize)> {
    keys.iter().filter_map(move |(key, held)| match held {
        Held::Series(id) => Some((db, key, *id)),
        Held::Text => None,
    })
}
