// hot path: no locks shared between cores, no logging above debug, no allocation per sample.
//! A chunk and the late samples that wait to be merged with it.

use crate::codec::{Chunk, Encoding};
use crate::sample::Samples;
use crate::view::{ColdPart, Part, ReadError};
use std::sync::Arc;

/// The fewest pending samples that are worth a merge.
const MIN_PENDING: usize = 32;

/// Where the chunk of a slot is.
#[derive(Clone, Debug)]
pub enum Place {
    /// In memory.
    Hot(Arc<Chunk>),
    /// In the object store.
    Cold(ColdPart),
}

/// A chunk, and late samples of the time between its first timestamp and that of the next slot.
#[derive(Debug)]
pub struct Slot {
    pub(crate) place: Place,
    /// Ascending; a timestamp that the chunk has too replaces its value.
    pub(crate) pending: Vec<(i64, f64)>,
}

impl Slot {
    pub(crate) fn new(chunk: Chunk) -> Slot {
        Slot {
            place: Place::Hot(Arc::new(chunk)),
            pending: Vec::new(),
        }
    }

    /// The first timestamp of the chunk: where the slot begins.
    pub(crate) fn start(&self) -> i64 {
        match &self.place {
            Place::Hot(chunk) => chunk.first_timestamp(),
            Place::Cold(cold) => cold.first_timestamp,
        }
    }

    /// The highest timestamp, pending samples included.
    pub(crate) fn last_timestamp(&self) -> i64 {
        let chunk = match &self.place {
            Place::Hot(chunk) => chunk.last_timestamp(),
            Place::Cold(cold) => cold.last_timestamp,
        };
        self.pending
            .last()
            .map_or(chunk, |(timestamp, _)| chunk.max(*timestamp))
    }

    /// The lowest timestamp, pending samples included.
    pub(crate) fn first_timestamp(&self) -> i64 {
        self.pending
            .first()
            .map_or(self.start(), |(timestamp, _)| self.start().min(*timestamp))
    }

    /// How many samples the chunk holds.
    pub(crate) fn chunk_len(&self) -> usize {
        match &self.place {
            Place::Hot(chunk) => chunk.len(),
            Place::Cold(cold) => cold.len,
        }
    }

    /// Whether enough samples wait.
    pub(crate) fn is_due(&self) -> bool {
        self.pending.len() >= MIN_PENDING.max(self.chunk_len() / 8)
    }

    /// The chunk, fetched if it is not in memory.
    pub(crate) fn chunk(&self) -> Result<Arc<Chunk>, ReadError> {
        match &self.place {
            Place::Hot(chunk) => Ok(Arc::clone(chunk)),
            Place::Cold(cold) => cold.source.fetch(),
        }
    }

    /// What a view holds of the slot; there must be no pending samples.
    pub(crate) fn part(&self) -> Part {
        debug_assert!(self.pending.is_empty());
        match &self.place {
            Place::Hot(chunk) => Part::Chunk(Arc::clone(chunk)),
            Place::Cold(cold) => Part::Cold(cold.clone()),
        }
    }

    /// All samples, pending ones merged in, as columns in `out`, which is overwritten.
    pub(crate) fn merge_into(&self, scratch: &mut Samples, out: &mut Samples) -> Result<(), ReadError> {
        let chunk = self.chunk()?;
        out.clear();
        if self.pending.is_empty() {
            chunk.append_timestamps(0..chunk.len(), &mut out.timestamps);
            chunk.append_values(0..chunk.len(), &mut out.values);
            return Ok(());
        }
        scratch.clear();
        chunk.append_timestamps(0..chunk.len(), &mut scratch.timestamps);
        chunk.append_values(0..chunk.len(), &mut scratch.values);
        let mut from = 0;
        for (timestamp, value) in &self.pending {
            let rest = &scratch.timestamps[from..];
            let to = from + rest.iter().position(|known| known >= timestamp).unwrap_or(rest.len());
            out.timestamps.extend_from_slice(&scratch.timestamps[from..to]);
            out.values.extend_from_slice(&scratch.values[from..to]);
            out.push(*timestamp, *value);
            from = to + usize::from(scratch.timestamps.get(to) == Some(timestamp));
        }
        out.timestamps.extend_from_slice(&scratch.timestamps[from..]);
        out.values.extend_from_slice(&scratch.values[from..]);
        Ok(())
    }

    /// Bytes of memory behind the slot, itself not included.
    pub(crate) fn heap_bytes(&self) -> usize {
        let chunk = match &self.place {
            Place::Hot(chunk) => chunk.memory_bytes() + 16,
            Place::Cold(_) => 0,
        };
        chunk + self.pending.capacity() * size_of::<(i64, f64)>()
    }
}

/// Appends slots that hold the samples, cut into chunks of nearly equal length, none longer than `max`.
pub(crate) fn encode_slots(samples: &Samples, max: usize, encoding: Encoding, out: &mut Vec<Slot>) {
    let parts = samples.len().div_ceil(max.max(1));
    for part in 0..parts {
        let range = samples.len() * part / parts..samples.len() * (part + 1) / parts;
        out.push(Slot::new(Chunk::encode(
            &samples.timestamps[range.clone()],
            &samples.values[range],
            encoding,
        )));
    }
}
