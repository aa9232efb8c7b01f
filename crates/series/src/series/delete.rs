//! Deleting a range of time (TS.DEL; specification, chapter 3).

use super::slot::{Slot, encode_slots};
use super::state::State;
use crate::error::DeleteError;
use crate::sample::{Sample, Samples};
use crate::view::ReadError;

impl State {
    /// Deletes the samples between two inclusive bounds and tells their timestamps, ascending.
    pub(crate) fn delete(&mut self, from: i64, to: i64) -> Result<Vec<i64>, DeleteError> {
        if from > to {
            return Ok(Vec::new());
        }
        self.check_rules_allow_deletion(from)?;
        let mut deleted = Vec::new();
        self.delete_from_slots(from, to, &mut deleted)?;
        let head = self.head.samples();
        let begin = head.timestamps.partition_point(|timestamp| *timestamp < from);
        let end = head.timestamps.partition_point(|timestamp| *timestamp <= to);
        deleted.extend_from_slice(&head.timestamps[begin..end]);
        self.head.remove(begin, end);
        if self.last.is_some_and(|last| (from..=to).contains(&last.timestamp)) {
            self.last = self.newest_sample()?;
        }
        Ok(deleted)
    }

    /// Buckets that are partly outside of the retention could not be recomputed (7.5).
    fn check_rules_allow_deletion(&self, from: i64) -> Result<(), DeleteError> {
        let floor = self.floor();
        let beyond = |start: i64| start < floor;
        if self.retention_ms > 0
            && !self.rules.is_empty()
            && (beyond(from) || self.rules.iter().any(|rule| beyond(rule.bucket_start(from))))
        {
            return Err(DeleteError::BeyondRetention);
        }
        Ok(())
    }

    fn delete_from_slots(&mut self, from: i64, to: i64, deleted: &mut Vec<i64>) -> Result<(), ReadError> {
        self.settle(from, to)?;
        let begin = self.slots.partition_point(|slot| slot.last_timestamp() < from);
        let end = begin + self.slots[begin..].partition_point(|slot| slot.first_timestamp() <= to);
        let (mut scratch, mut samples, mut kept) = (Samples::default(), Samples::default(), Samples::default());
        let mut left: Vec<Slot> = Vec::new();
        for slot in &self.slots[begin..end] {
            slot.merge_into(&mut scratch, &mut samples)?;
            kept.clear();
            for (timestamp, value) in samples.timestamps.iter().zip(&samples.values) {
                if (from..=to).contains(timestamp) {
                    deleted.push(*timestamp);
                } else {
                    kept.push(*timestamp, *value);
                }
            }
            encode_slots(&kept, self.max_samples(), self.encoding, &mut left);
        }
        self.slots.splice(begin..end, left);
        Ok(())
    }

    /// The newest sample that is stored.
    pub(crate) fn newest_sample(&self) -> Result<Option<Sample>, ReadError> {
        if let Some(last) = self.head.last() {
            return Ok(Some(last));
        }
        let Some(slot) = self.slots.last() else { return Ok(None) };
        let chunk = slot.chunk()?;
        let newest = Sample {
            timestamp: chunk.last_timestamp(),
            value: chunk.value_at(chunk.len() - 1),
        };
        let pending = slot.pending.last().map(|(timestamp, value)| Sample {
            timestamp: *timestamp,
            value: *value,
        });
        Ok(pending
            .filter(|pending| pending.timestamp >= newest.timestamp)
            .or(Some(newest)))
    }
}
