// hot path: no locks shared between cores, no logging above debug, no allocation per sample.
//! Writing one sample: in order, late, or on an existing timestamp (specification, chapters 3 and 4).

use super::head::HEAD_SAMPLES;
use super::slot::{Slot, encode_slots};
use super::state::State;
use crate::error::AddError;
use crate::policy::DuplicatePolicy;
use crate::sample::{Sample, Samples};
use crate::view::ReadError;
use std::cell::RefCell;

thread_local! {
    /// Columns to merge and encode in, reused.
    static SCRATCH: RefCell<(Samples, Samples)> = RefCell::default();
}

/// What became of a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Outcome {
    /// It is the newest one.
    Appended,
    /// It was placed in order, or changed a value.
    Upserted,
    /// It met an existing timestamp and changed nothing.
    Unchanged,
    /// The IGNORE rule dropped it (4.3); the newest timestamp stays this one.
    Ignored(i64),
}

impl State {
    /// Writes a sample under a policy. The rules of the series are not told, see [`crate::rules`].
    pub(crate) fn add(&mut self, timestamp: i64, value: f64, policy: DuplicatePolicy) -> Result<Outcome, AddError> {
        let Some(last) = self.last else {
            return Ok(self.append(timestamp, value)?);
        };
        if policy == DuplicatePolicy::Last && self.ignores(last, timestamp, value) {
            return Ok(Outcome::Ignored(last.timestamp));
        }
        if timestamp > last.timestamp {
            return Ok(self.append(timestamp, value)?);
        }
        if self.retention_ms > 0 && timestamp < last.timestamp.saturating_sub(self.retention_ms) {
            return Err(AddError::OlderThanRetention);
        }
        let outcome = self.upsert(timestamp, value, policy)?;
        if timestamp == last.timestamp && outcome == Outcome::Upserted {
            self.last = self.newest_sample()?;
        }
        Ok(outcome)
    }

    /// Whether the IGNORE rule drops a sample under LAST (4.3).
    fn ignores(&self, last: Sample, timestamp: i64, value: f64) -> bool {
        timestamp >= last.timestamp
            && timestamp - last.timestamp <= self.ignore_time_ms
            && (value - last.value).abs() <= self.ignore_value
    }

    /// Whether the IGNORE rule drops an increment of the newest sample.
    pub(crate) fn ignores_increment(&self, timestamp: i64, value: f64) -> bool {
        self.last.is_some_and(|last| self.ignores(last, timestamp, value))
    }

    /// Sets the newest sample whatever the policy (TS.INCRBY; specification, chapter 3).
    pub(crate) fn overwrite_newest(&mut self, value: f64) -> Result<Outcome, ReadError> {
        let Some(last) = self.last else {
            return Ok(Outcome::Unchanged);
        };
        self.place(last.timestamp, value, true)?;
        self.last = Some(Sample {
            timestamp: last.timestamp,
            value,
        });
        Ok(Outcome::Upserted)
    }

    /// Adds a sample newer than all others.
    pub(crate) fn append(&mut self, timestamp: i64, value: f64) -> Result<Outcome, ReadError> {
        if self.head.is_full() {
            self.seal_head(true)?;
        }
        self.head.push(timestamp, value);
        self.last = Some(Sample { timestamp, value });
        Ok(Outcome::Appended)
    }

    /// Encodes the head into the last chunk, or into new ones, and drops what is outside of the retention.
    pub(crate) fn seal_head(&mut self, more_is_coming: bool) -> Result<(), ReadError> {
        if self.head.is_empty() {
            self.head.clear(more_is_coming);
            return Ok(());
        }
        let head = self.head.samples();
        let target = self.target_samples();
        let joins = |slot: &Slot| {
            matches!(slot.place, super::slot::Place::Hot(_))
                && slot.chunk_len() + slot.pending.len() + head.len().min(HEAD_SAMPLES) <= target
        };
        if self.slots.last().is_some_and(joins) {
            let slot = self.slots.pop();
            SCRATCH.with_borrow_mut(|(scratch, merged)| {
                merged.clear();
                if let Some(slot) = slot {
                    // The chunk is in memory, so this can't fail.
                    slot.merge_into(scratch, merged)?;
                }
                merged.timestamps.extend_from_slice(&head.timestamps);
                merged.values.extend_from_slice(&head.values);
                encode_slots(merged, target, self.encoding, &mut self.slots);
                Ok::<_, ReadError>(())
            })?;
        } else {
            encode_slots(head, target, self.encoding, &mut self.slots);
        }
        self.head.clear(more_is_coming);
        self.drop_expired()
    }

    /// Drops chunks that are wholly outside of the retention.
    fn drop_expired(&mut self) -> Result<(), ReadError> {
        let floor = self.floor();
        let is_expired = |slot: &Slot| slot.last_timestamp() < floor;
        if !self.slots.first().is_some_and(is_expired) {
            return Ok(());
        }
        // Buckets that late samples changed are computed while their samples are there. This may cut the slots anew.
        self.deliver_all()?;
        let expired = self.slots.iter().take_while(|slot| is_expired(slot)).count();
        if expired > 0 {
            self.dropped_before = self.dropped_before.max(self.slots[expired - 1].last_timestamp() + 1);
            self.slots.drain(..expired);
        }
        Ok(())
    }

    /// Merges the pending samples of a slot with its chunk.
    pub(crate) fn settle_slot(&mut self, index: usize) -> Result<(), ReadError> {
        let slot = &self.slots[index];
        if slot.pending.is_empty() {
            return Ok(());
        }
        let mut slots = Vec::with_capacity(1);
        SCRATCH.with_borrow_mut(|(scratch, merged)| {
            slot.merge_into(scratch, merged)?;
            let most = self.max_samples();
            let max = if merged.len() > most {
                merged.len().div_ceil(2).min(most)
            } else {
                most
            };
            encode_slots(merged, max, self.encoding, &mut slots);
            Ok::<_, ReadError>(())
        })?;
        self.slots.splice(index..=index, slots);
        Ok(())
    }
}
