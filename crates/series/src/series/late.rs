// hot path: no locks shared between cores, no logging above debug, no allocation per sample.
//! Placing a sample that is not the newest.

use super::add::Outcome;
use super::state::State;
use crate::error::AddError;
use crate::policy::DuplicatePolicy;
use crate::view::ReadError;

impl State {
    /// Places a sample in order, resolving a duplicate at once, so that what waits beside a chunk always wins over it.
    pub(crate) fn upsert(&mut self, timestamp: i64, value: f64, policy: DuplicatePolicy) -> Result<Outcome, AddError> {
        if self.belongs_to_head(timestamp) {
            match self.head.find(timestamp) {
                Ok(index) => {
                    let old = self.head.value(index);
                    let new = policy.resolve(old, value)?;
                    self.head.set_value(index, new);
                    return Ok(changed(old, new));
                }
                Err(index) => {
                    self.head.insert(index, timestamp, value);
                    if self.head.is_overfull() {
                        self.seal_head(true)?;
                    }
                    return Ok(Outcome::Upserted);
                }
            }
        }
        let index = self.slot_of(timestamp);
        let slot = &mut self.slots[index];
        match slot.pending.binary_search_by_key(&timestamp, |(known, _)| *known) {
            Ok(place) => {
                let old = slot.pending[place].1;
                let new = policy.resolve(old, value)?;
                slot.pending[place].1 = new;
                return Ok(changed(old, new));
            }
            Err(place) => {
                let chunk = slot.chunk()?;
                let mut new = value;
                if let Ok(existing) = chunk.find(timestamp) {
                    if policy == DuplicatePolicy::Block {
                        return Err(AddError::Blocked);
                    }
                    if !policy.ignores_old_value(value) {
                        let old = chunk.value_at(existing);
                        new = policy.resolve(old, value)?;
                        if changed(old, new) == Outcome::Unchanged {
                            return Ok(Outcome::Unchanged);
                        }
                    }
                }
                slot.pending.insert(place, (timestamp, new));
            }
        }
        if slot.is_due() {
            self.settle_slot(index)?;
        }
        Ok(Outcome::Upserted)
    }

    /// Sets the value of an existing timestamp, or enters it, asking no policy. `newest`: the timestamp is the newest one.
    pub(crate) fn place(&mut self, timestamp: i64, value: f64, newest: bool) -> Result<(), ReadError> {
        if self.belongs_to_head(timestamp) || (newest && !self.head.is_empty()) {
            match self.head.find(timestamp) {
                Ok(index) => self.head.set_value(index, value),
                Err(index) => self.head.insert(index, timestamp, value),
            }
            return Ok(());
        }
        let index = self.slot_of(timestamp);
        let slot = &mut self.slots[index];
        match slot.pending.binary_search_by_key(&timestamp, |(known, _)| *known) {
            Ok(place) => slot.pending[place].1 = value,
            Err(place) => slot.pending.insert(place, (timestamp, value)),
        }
        if slot.is_due() {
            self.settle_slot(index)?;
        }
        Ok(())
    }

    /// Whether the head covers a time: it begins there or earlier, or there is nothing else.
    fn belongs_to_head(&self, timestamp: i64) -> bool {
        self.slots.is_empty() || self.head.first_timestamp().is_some_and(|first| first <= timestamp)
    }

    /// The slot that covers a time: the last one that begins there or earlier, else the first. There is at least one.
    pub(crate) fn slot_of(&self, timestamp: i64) -> usize {
        self.slots
            .partition_point(|slot| slot.start() <= timestamp)
            .saturating_sub(1)
    }
}

fn changed(old: f64, new: f64) -> Outcome {
    if old.to_bits() == new.to_bits() {
        Outcome::Unchanged
    } else {
        Outcome::Upserted
    }
}
