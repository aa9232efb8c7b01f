//! Moving chunks to the object store, and deleting objects that nobody needs.

use super::ColdTier;
use super::container::{Row, write};
use super::object::ColdObject;
use crate::codec::Chunk;
use crate::engine::Engine;
use crate::record::Record;
use crate::series::{Place, Series};
use crate::view::ColdPart;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::ops::Range;
use std::sync::Arc;

const DAY_MS: i64 = 86_400_000;

/// Chunks that take fewer bytes stay: a reference to them would take as much.
const MIN_CHUNK_BYTES: usize = 256;

/// First letters of the names of objects.
const PREFIX: &str = "series-";

/// Which chunks go.
#[derive(Clone, Debug)]
pub struct Cooling {
    /// Chunks of days that ended this long before the newest sample of their series, and before now.
    pub closed_for_ms: i64,
    /// When all keys take more memory than this, the oldest chunks go until they don't, whatever their day.
    pub memory_budget: Option<u64>,
    /// About how many bytes of chunks an object holds.
    pub object_bytes: usize,
}

impl Default for Cooling {
    fn default() -> Cooling {
        Cooling {
            closed_for_ms: 2 * DAY_MS,
            memory_budget: None,
            object_bytes: 16 << 20,
        }
    }
}

/// What went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cooled {
    /// Objects that were stored.
    pub objects: usize,
    /// Chunks whose memory is free.
    pub chunks: usize,
}

/// A chunk that may go.
struct Candidate {
    series: Arc<Series>,
    chunk: Arc<Chunk>,
}

impl Engine {
    /// Moves chunks to the object store. Does nothing if there is none. Writers go on meanwhile; a chunk that they change stays.
    pub fn cool(&self, cooling: &Cooling) -> io::Result<Cooled> {
        let mut cooled = Cooled::default();
        let Some(tier) = self.durability.tier.clone() else {
            return Ok(cooled);
        };
        let mut batch = Vec::new();
        let mut bytes = 0;
        for candidate in self.candidates(cooling) {
            bytes += candidate.chunk.memory_bytes();
            batch.push(candidate);
            if bytes >= cooling.object_bytes {
                self.move_to(&tier, &batch, &mut cooled)?;
                (bytes, batch) = (0, Vec::new());
            }
        }
        if !batch.is_empty() {
            self.move_to(&tier, &batch, &mut cooled)?;
        }
        Ok(cooled)
    }

    /// Chunks that are to go, those of a series together.
    fn candidates(&self, cooling: &Cooling) -> Vec<Candidate> {
        let now = self.now_ms();
        let (mut closed, mut others) = (Vec::new(), Vec::new());
        let all: Vec<Arc<Series>> = self
            .databases
            .read()
            .iter()
            .flat_map(|database| database.all_series())
            .collect();
        for series in all {
            let state = series.state.lock();
            let newest = state.last.map_or(0, |last| last.timestamp);
            let end = newest.min(now).saturating_sub(cooling.closed_for_ms);
            let end = end - end.rem_euclid(DAY_MS);
            let last_slot = state.slots.len().saturating_sub(1);
            for (index, slot) in state.slots.iter().enumerate() {
                let Place::Hot(chunk) = &slot.place else { continue };
                if !slot.pending.is_empty() || chunk.memory_bytes() < MIN_CHUNK_BYTES {
                    continue;
                }
                let candidate = Candidate {
                    series: Arc::clone(&series),
                    chunk: Arc::clone(chunk),
                };
                if chunk.last_timestamp() < end {
                    closed.push(candidate);
                } else if index < last_slot {
                    others.push(candidate);
                }
            }
        }
        let Some(budget) = cooling.memory_budget else {
            return closed;
        };
        let freed: u64 = closed
            .iter()
            .map(|candidate| candidate.chunk.memory_bytes() as u64)
            .sum();
        let mut excess = self.memory_bytes().saturating_sub(freed).saturating_sub(budget);
        others.sort_by_key(|candidate| candidate.chunk.last_timestamp());
        for candidate in others {
            if excess == 0 {
                break;
            }
            excess = excess.saturating_sub(candidate.chunk.memory_bytes() as u64);
            closed.push(candidate);
        }
        closed
    }

    fn move_to(&self, tier: &ColdTier, batch: &[Candidate], cooled: &mut Cooled) -> io::Result<()> {
        let keys: Vec<Arc<[u8]>> = batch
            .iter()
            .map(|candidate| Arc::clone(&candidate.series.state.lock().key))
            .collect();
        let rows: Vec<Row<'_>> = batch
            .iter()
            .zip(&keys)
            .map(|(candidate, key)| Row {
                id: candidate.series.id(),
                key,
                chunk: &candidate.chunk,
            })
            .collect();
        let (bytes, places) = write(&rows)?;
        let name = format!(
            "{PREFIX}{:013x}-{:016x}",
            self.now_ms(),
            RandomState::new().hash_one(batch.len())
        );
        // As long as this is held the object is not deleted.
        let object = tier.object(&name);
        tier.store().put(&name, &bytes)?;
        cooled.objects += 1;
        for (candidate, place) in batch.iter().zip(places) {
            cooled.chunks += usize::from(self.swap(tier, &object, candidate, place));
        }
        Ok(())
    }

    /// Replaces a chunk by its place in an object, unless it was changed meanwhile.
    fn swap(&self, tier: &ColdTier, object: &Arc<ColdObject>, candidate: &Candidate, place: Range<u64>) -> bool {
        let access = self.shared();
        let Candidate { series, chunk } = candidate;
        let mut state = series.state.lock();
        let is_same = |slot: &Place| matches!(slot, Place::Hot(known) if Arc::ptr_eq(known, chunk));
        let index = state
            .slots
            .binary_search_by_key(&chunk.first_timestamp(), |slot| slot.start());
        let Some(slot) = index.ok().and_then(|index| state.slots.get_mut(index)) else {
            return false;
        };
        if !series.is_alive() || !is_same(&slot.place) || !slot.pending.is_empty() {
            return false;
        }
        let part: ColdPart = tier.part(
            &object.name,
            place.clone(),
            (chunk.first_timestamp(), chunk.last_timestamp()),
            chunk.len(),
        );
        slot.place = Place::Cold(part);
        {
            // Before it is logged: a snapshot that begins now closes the gate first.
            let mut names = self.durability.objects.lock();
            names.of_journal.insert(object.name.clone());
            names.since_rotation.insert(object.name.clone());
        }
        state.applied = access.log(&Record::Cold {
            id: series.id(),
            first_timestamp: chunk.first_timestamp(),
            last_timestamp: chunk.last_timestamp(),
            len: chunk.len() as u64,
            object: object.name.as_bytes(),
            offset: place.start,
            bytes: place.end - place.start,
        });
        true
    }

    /// Deletes objects to which neither a series, nor a reader, nor the newest snapshot, nor the journal behind it refers. Gives how many.
    pub fn delete_unused_objects(&self) -> io::Result<usize> {
        let Some(tier) = &self.durability.tier else {
            return Ok(0);
        };
        // Not while a snapshot is being taken: it refers to objects before its file does.
        let _no_snapshot = self.durability.saving.lock();
        let mut deleted = 0;
        for name in tier.store().list()? {
            if !name.starts_with(PREFIX) || tier.is_referred_to(&name) {
                continue;
            }
            let is_named = {
                let names = self.durability.objects.lock();
                [&names.of_snapshot, &names.of_journal, &names.since_rotation]
                    .iter()
                    .any(|set| set.contains(&*name))
            };
            if !is_named {
                tier.store().delete(&name)?;
                deleted += 1;
            }
        }
        Ok(deleted)
    }
}
