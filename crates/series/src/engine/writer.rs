// hot path: no locks shared between cores but the journal's, no logging above debug, no allocation per sample.
//! Writing samples to one series: its lock is held for a run of commands, and the run is one frame of the journal.

use super::{Access, Interest};
use crate::error::{AddError, IncrementError};
use crate::policy::DuplicatePolicy;
use crate::record::{SamplesRecord, WriteKind};
use crate::sample::Sample;
use crate::series::{Outcome, Series, State};
use crate::view::ReadError;
use parking_lot::{ArcMutexGuard, RawMutex};
use std::sync::Arc;

/// The lock of a series and what was written under it. The run reaches the journal when this is dropped.
pub struct SeriesWriter<'a> {
    access: &'a Access<'a>,
    series: Arc<Series>,
    state: ArcMutexGuard<RawMutex, State>,
    records: SamplesRecord,
    changed: bool,
}

impl<'a> Access<'a> {
    /// Begins to write to a series; nothing if its key was removed meanwhile, so that it has to be looked up again.
    pub fn writer(&'a self, series: Arc<Series>) -> Result<Option<SeriesWriter<'a>>, ReadError> {
        // What the source owes comes first, so that it does not overwrite what is written now.
        series.collect_from_source(false)?;
        let state = series.state.lock_arc();
        if !series.is_alive() {
            return Ok(None);
        }
        let records = SamplesRecord::new(series.id(), self.scratch.take());
        Ok(Some(SeriesWriter {
            access: self,
            series,
            state,
            records,
            changed: false,
        }))
    }
}

impl SeriesWriter<'_> {
    /// The series.
    pub fn series(&self) -> &Arc<Series> {
        &self.series
    }

    /// The clock, in milliseconds since 1970. Asked while the lock is held it does not go back between writers.
    pub fn now_ms(&self) -> i64 {
        self.access.engine.now_ms()
    }

    /// Writes a sample (TS.ADD, TS.MADD). Gives the timestamp to answer with: the sample's, or the newest one if the IGNORE rule dropped
    /// the sample (4.3).
    pub fn add(&mut self, timestamp: i64, value: f64, on_duplicate: Option<DuplicatePolicy>) -> Result<i64, AddError> {
        let policy = on_duplicate
            .or(self.state.duplicate_policy)
            .unwrap_or_else(|| self.access.engine.duplicate_policy());
        let previous = self.state.last;
        let outcome = self.state.add(timestamp, value, policy)?;
        match outcome {
            Outcome::Ignored(newest) => return Ok(newest),
            // Rules compute the bucket of a duplicate that is accepted, whatever its value; so it must not depend on where the sample
            // lies whether that is compared.
            Outcome::Unchanged if self.state.rules.is_empty() => return Ok(timestamp),
            Outcome::Unchanged | Outcome::Appended | Outcome::Upserted => {}
        }
        self.records.push(timestamp, value, WriteKind::Add(policy));
        self.changed = true;
        if !self.state.rules.is_empty() {
            self.tell_rules(outcome, Sample { timestamp, value }, previous)?;
        }
        Ok(timestamp)
    }

    /// Writes the newest value plus `delta` at a time that is not older than the newest sample (TS.INCRBY, TS.DECRBY).
    pub fn increment(&mut self, delta: f64, timestamp: i64) -> Result<i64, IncrementError> {
        let previous = self.state.last;
        if previous.is_some_and(|last| timestamp < last.timestamp) {
            return Err(IncrementError::Older);
        }
        let start = previous.map_or(0.0, |last| last.value);
        if start.is_nan() {
            return Err(IncrementError::Nan);
        }
        let value = start + delta;
        let outcome = if previous.is_some_and(|last| last.timestamp == timestamp) {
            if self.effective_policy() == DuplicatePolicy::Last && self.state.ignores_increment(timestamp, value) {
                return Ok(timestamp);
            }
            self.state.overwrite_newest(value)?
        } else {
            let policy = self.effective_policy();
            match self.state.add(timestamp, value, policy) {
                Ok(Outcome::Ignored(newest)) => return Ok(newest),
                Ok(outcome) => outcome,
                Err(AddError::Read(error)) => return Err(error.into()),
                // The timestamp is newer than all samples: there is nothing to block and nothing too old.
                Err(AddError::Blocked | AddError::OlderThanRetention) => return Err(IncrementError::Older),
            }
        };
        self.records.push(timestamp, value, WriteKind::Overwrite);
        self.changed = true;
        if !self.state.rules.is_empty() {
            self.tell_rules(outcome, Sample { timestamp, value }, previous)?;
        }
        Ok(timestamp)
    }

    fn effective_policy(&self) -> DuplicatePolicy {
        self.state
            .duplicate_policy
            .unwrap_or_else(|| self.access.engine.duplicate_policy())
    }

    /// Writes a sample whose fate is known: replay of the journal.
    pub(crate) fn replay(&mut self, timestamp: i64, value: f64, kind: WriteKind) -> Result<(), AddError> {
        match kind {
            WriteKind::Add(policy) => self.add(timestamp, value, Some(policy)).map(|_| ()),
            WriteKind::Overwrite => {
                let previous = self.state.last;
                let outcome = if previous.is_some_and(|last| last.timestamp == timestamp) {
                    self.state.overwrite_newest(value)?
                } else {
                    self.state.add(timestamp, value, DuplicatePolicy::Block)?
                };
                self.changed = true;
                if self.state.rules.is_empty() {
                    Ok(())
                } else {
                    Ok(self.tell_rules(outcome, Sample { timestamp, value }, previous)?)
                }
            }
        }
    }

    #[cold]
    fn tell_rules(&mut self, outcome: Outcome, sample: Sample, previous: Option<Sample>) -> Result<(), ReadError> {
        self.state.rules.retain(|rule| rule.destination().is_alive());
        if outcome != Outcome::Appended {
            return self.state.note_late(sample.timestamp);
        }
        if self.state.rules.iter().any(|rule| rule.closes_at(sample.timestamp)) {
            // The journal must hold this before anything that is written to the destination later.
            self.flush();
        }
        let access = self.access;
        self.state.feed_rules(sample, previous, |destination| {
            let (db, key) = {
                let state = destination.state.lock();
                (state.db, Arc::clone(&state.key))
            };
            access.tell_changed(db, &key);
            if access.engine.interest().has(Interest::BUCKET_CLOSED)
                && let Some(listener) = access.engine.listener()
            {
                listener.bucket_closed(db, &key);
            }
        })
    }

    /// Writes the run so far to the journal.
    fn flush(&mut self) {
        if let Some(bytes) = self.records.take_frame() {
            self.state.applied = self.access.log_bytes(bytes);
        }
    }
}

impl Drop for SeriesWriter<'_> {
    fn drop(&mut self) {
        self.flush();
        self.access.scratch.replace(self.records.take_buffer());
        if self.changed {
            if !self.state.waiters.is_empty() {
                self.state.waiters.wake();
            }
            self.access.tell_changed(self.state.db, &self.state.key);
        }
    }
}
