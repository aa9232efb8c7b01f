//! Reading a series: views, the newest sample, counts.

use super::Series;
use super::state::State;
use crate::labels::Labels;
use crate::sample::{Sample, Samples};
use crate::view::{Part, ReadError, View};
use std::sync::Arc;

/// How far beyond the asked bounds a view reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Parts that touch the bounds.
    Inside,
    /// The whole series, for aggregators that look at neighbours (twa) and for EMPTY.
    Neighbours,
}

impl State {
    /// Merges what waits beside the chunks that touch a range of time.
    pub(crate) fn settle(&mut self, from: i64, to: i64) -> Result<(), ReadError> {
        let mut index = 0;
        while index < self.slots.len() {
            let slot = &self.slots[index];
            if slot.first_timestamp() > to {
                break;
            }
            if !slot.pending.is_empty() && slot.last_timestamp() >= from {
                self.settle_slot(index)?;
            }
            index += 1;
        }
        Ok(())
    }

    /// A picture of the samples between two times. Late samples of the chunks that the picture holds are merged first.
    pub(crate) fn view(&mut self, from: i64, to: i64, reach: Reach) -> Result<View, ReadError> {
        let floor = self.floor();
        self.view_above(from, to, reach, floor)
    }

    /// The same with another lowest visible timestamp.
    pub(crate) fn view_above(&mut self, from: i64, to: i64, reach: Reach, floor: i64) -> Result<View, ReadError> {
        let (from, to) = match reach {
            Reach::Inside => (from.max(floor), to),
            Reach::Neighbours => (floor, i64::MAX),
        };
        let mut view = View {
            parts: Vec::new(),
            floor,
            latest: None,
        };
        if from > to {
            return Ok(view);
        }
        self.settle(from, to)?;
        let begin = self.slots.partition_point(|slot| slot.last_timestamp() < from);
        let slots = self.slots[begin..].iter().take_while(|slot| slot.start() <= to);
        view.parts.extend(slots.map(super::slot::Slot::part));
        let head = self.head.samples();
        let begin = head.timestamps.partition_point(|timestamp| *timestamp < from);
        let end = head.timestamps.partition_point(|timestamp| *timestamp <= to);
        if begin < end {
            let samples = Samples {
                timestamps: head.timestamps[begin..end].to_vec(),
                values: head.values[begin..end].to_vec(),
            };
            view.parts.push(Part::Columns(Arc::new(samples)));
        }
        Ok(view)
    }

    /// Whether a timestamp has a sample.
    pub(crate) fn contains(&self, timestamp: i64) -> Result<bool, ReadError> {
        if self.head.find(timestamp).is_ok() {
            return Ok(true);
        }
        let Some(slot) = self.slots.get(self.slot_of(timestamp)) else {
            return Ok(false);
        };
        let waits = slot
            .pending
            .binary_search_by_key(&timestamp, |(known, _)| *known)
            .is_ok();
        Ok(waits || slot.chunk()?.find(timestamp).is_ok())
    }

    /// How many samples are stored at most; those that wait beside a chunk may stand for one that the chunk has.
    pub(crate) fn stored_samples(&self) -> u64 {
        let slots: usize = self
            .slots
            .iter()
            .map(|slot| slot.chunk_len() + slot.pending.len())
            .sum();
        (slots + self.head.samples().len()) as u64
    }
}

impl Series {
    /// The newest sample (TS.GET), whatever the retention; with `latest` the bucket in progress of a destination.
    pub fn last(&self, latest: bool) -> Result<Option<Sample>, ReadError> {
        let open = self.collect_from_source(latest)?;
        Ok(open.or(self.state.lock().last))
    }

    /// A picture of the samples between two inclusive bounds; with `latest` the bucket in progress of a destination is added (7.8).
    pub fn view(&self, from: i64, to: i64, reach: Reach, latest: bool) -> Result<View, ReadError> {
        let open = self.collect_from_source(latest)?;
        let mut state = self.state.lock();
        let mut view = state.view(from, to, reach)?;
        let newest = state.last.map(|last| last.timestamp);
        view.latest = open.filter(|open| newest.is_none_or(|newest| open.timestamp > newest));
        Ok(view)
    }

    /// The labels.
    pub fn labels(&self) -> Labels {
        self.state.lock().labels.clone()
    }

    /// About how many samples there are, to tell heavy queries from light ones.
    pub fn sample_count(&self) -> u64 {
        self.state.lock().stored_samples()
    }

    /// Has the source write the buckets that late samples changed, and asks it for the bucket in progress.
    pub(crate) fn collect_from_source(&self, latest: bool) -> Result<Option<Sample>, ReadError> {
        if !self.is_destination() {
            return Ok(None);
        }
        let source = self.state.lock().source.upgrade();
        match source.filter(|source| source.is_alive()) {
            Some(source) => source.state.lock().deliver(self.id(), latest),
            None => Ok(None),
        }
    }
}
