//! Series that come to life from the bodies of a snapshot.

use super::Access;
use crate::keyspace::{Entry, Value};
use crate::series::{BodyError, Place, RuleBody, Series, SeriesBody};
use ahash::{AHashMap, AHashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The series of a snapshot by number.
///
/// A snapshot is written beside traffic. So it may hold series that were made after it began, as sources or destinations of others; they come to
/// life when the replay of the journal makes them, and rules wait for destinations that are not there yet.
#[derive(Debug, Default)]
pub(crate) struct Bodies {
    alive: AHashMap<u64, Arc<Series>>,
    unborn: AHashMap<u64, SeriesBody>,
    /// Rules of series that are alive, to be made when their destinations are there too.
    unmade: Vec<(Arc<Series>, Vec<RuleBody>)>,
    /// Rules by the number of the destination, with their source and their place among its rules.
    waiting: AHashMap<u64, Vec<(Arc<Series>, usize, RuleBody)>>,
    highest_id: u64,
}

impl Bodies {
    pub(crate) fn new(unborn: AHashMap<u64, SeriesBody>) -> Bodies {
        Bodies {
            unborn,
            ..Bodies::default()
        }
    }

    /// The series of a number.
    pub(super) fn get(&self, id: u64) -> Option<&Arc<Series>> {
        self.alive.get(&id)
    }

    /// The names of the objects that the series refer to.
    pub(crate) fn objects(&self) -> AHashSet<Box<str>> {
        let mut names = AHashSet::new();
        let mut note = |place: &Place| {
            if let Place::Cold(cold) = place
                && let Some(reference) = cold.source.reference()
            {
                names.insert(reference.object_name().into());
            }
        };
        self.alive
            .values()
            .for_each(|series| series.state.lock().slots.iter().for_each(|slot| note(&slot.place)));
        self.unborn
            .values()
            .for_each(|body| body.chunks.iter().for_each(&mut note));
        names
    }

    /// Notes that a number is taken.
    pub(crate) fn note_id(&mut self, id: u64) {
        self.highest_id = self.highest_id.max(id);
    }

    /// Makes the series of a body under a key and connects it with those that it has rules with. Says whether there is such a body.
    pub(crate) fn give_birth(
        &mut self,
        access: &Access<'_>,
        id: u64,
        db: u8,
        key: &[u8],
        expires_at: i64,
    ) -> Result<bool, BodyError> {
        let Some(body) = self.unborn.remove(&id) else {
            return Ok(false);
        };
        let series = Series::from_body(id, db, key.into(), &body)?;
        self.enter(access, &series, db, key, expires_at);
        self.unmade.push((series, body.rules));
        Ok(true)
    }

    /// Enters a series under its key.
    pub(super) fn enter(&mut self, access: &Access<'_>, series: &Arc<Series>, db: u8, key: &[u8], expires_at: i64) {
        let id = series.id();
        access.place(
            db,
            key,
            Entry {
                value: Value::Series(Arc::clone(series)),
                expires_at,
            },
        );
        self.alive.insert(id, Arc::clone(series));
        self.note_id(id);
        for (source, place, rule) in self.waiting.remove(&id).unwrap_or_default() {
            source.restore_rules(&[rule], |_| Some(Arc::clone(series)));
            if let Some(behind) = source.state.lock().rules.get_mut(place..) {
                behind.rotate_right(1);
            }
        }
    }

    /// Makes the rules of series that came to life; those whose destination did not yet have to wait.
    pub(crate) fn make_rules(&mut self) {
        for (source, rules) in std::mem::take(&mut self.unmade) {
            for (place, rule) in rules.into_iter().enumerate() {
                match self.alive.get(&rule.destination) {
                    Some(destination) => source.restore_rules(&[rule], |_| Some(Arc::clone(destination))),
                    None => {
                        let waiting = self.waiting.entry(rule.destination).or_default();
                        waiting.push((Arc::clone(&source), place, rule));
                    }
                }
            }
        }
    }

    /// Has the engine give new series numbers that were never used.
    pub(crate) fn settle_ids(&self, access: &Access<'_>) {
        access.engine.next_id.fetch_max(self.highest_id + 1, Ordering::Relaxed);
    }
}

impl Access<'_> {
    /// Removes all keys from memory and logs nothing. The access must be exclusive.
    pub(crate) fn forget_all(&self) {
        for database in self.engine.databases.read().iter() {
            database.index.write().clear();
            for shard in database.shards() {
                for (_, entry) in shard.write().drain() {
                    if let Value::Series(series) = entry.value {
                        series.retire();
                    }
                }
            }
        }
    }
}
