//! Keys of any kind: removing, renaming, expiring, listing (specification, chapter 17).

use super::{Access, Interest};
use crate::keyspace::{Database, Entry, Value};
use crate::record::Record;
use crate::series::Series;
use std::sync::Arc;

/// How many expired keys are looked for before the index of labels is asked.
const EXPIRED_PER_LOOK: usize = 1024;

impl Access<'_> {
    /// Removes a key. Says whether there was one.
    pub fn remove(&self, db: u8, key: &[u8]) -> bool {
        self.value(db, key).is_some() && self.remove_if(db, key, |_| true)
    }

    /// Removes a key if its entry passes a test.
    fn remove_if(&self, db: u8, key: &[u8], test: impl FnOnce(&Entry) -> bool) -> bool {
        let database = self.database(db);
        let mut shard = database.write(key);
        if !shard.get(key).is_some_and(test) {
            return false;
        }
        let Some(entry) = shard.remove(key) else { return false };
        self.log(&Record::Remove { db, key });
        drop(shard);
        drop(database);
        if let Value::Series(series) = entry.value {
            self.forget(&series);
        }
        self.tell_changed(db, key);
        true
    }

    /// Takes a series that has no key any more out of the index, and ends its rules (7.6).
    pub(super) fn forget(&self, series: &Arc<Series>) {
        let (db, labels) = {
            let state = series.state.lock();
            (state.db, state.labels.clone())
        };
        self.database(db).index.write().remove(series.id(), &labels);
        series.retire();
    }

    /// Removes a key whose time is over.
    pub(super) fn expire(&self, db: u8, key: &[u8]) {
        let now = self.engine.now_ms();
        if self.remove_if(db, key, |entry| entry.expires_at <= now)
            && self.engine.interest().has(Interest::EXPIRED)
            && let Some(listener) = self.engine.listener()
        {
            listener.expired(db, key);
        }
    }

    /// Removes keys whose time is over, some of them; call it now and then. Gives how many.
    pub fn expire_some(&self, db: u8) -> usize {
        let now = self.engine.now_ms();
        let database = self.database(db);
        let due: Vec<Arc<[u8]>> = database.expired(now, EXPIRED_PER_LOOK);
        drop(database);
        due.iter().for_each(|key| self.expire(db, key));
        due.len()
    }

    /// Gives a key another name; what had the name is removed. Says whether it was done: with `only_if_new` an existing name stays.
    /// Nothing if there is no such key. Needs an exclusive access.
    pub fn rename(&self, db: u8, from: &[u8], to: &[u8], only_if_new: bool) -> Option<bool> {
        assert!(self.is_exclusive(), "bug: renaming needs an exclusive access");
        self.value(db, from)?;
        let taken = self.value(db, to).is_some();
        if only_if_new && taken {
            return Some(false);
        }
        if from == to {
            return Some(true);
        }
        if taken {
            self.remove(db, to);
        }
        let database = self.database(db);
        let entry = database.write(from).remove(from)?;
        self.log(&Record::Rename { db, from, to });
        self.place(db, to, entry);
        self.tell_changed(db, from);
        self.tell_changed(db, to);
        Some(true)
    }

    /// Moves a key to another database. Says whether it was done: not if there is none, or the name is taken there.
    /// Needs an exclusive access.
    pub fn move_key(&self, db: u8, key: &[u8], to_db: u8) -> bool {
        assert!(self.is_exclusive(), "bug: moving needs an exclusive access");
        if db == to_db || self.value(db, key).is_none() || self.value(to_db, key).is_some() {
            return false;
        }
        let Some(entry) = self.database(db).write(key).remove(key) else {
            return false;
        };
        if let Value::Series(series) = &entry.value {
            let labels = series.labels();
            self.database(db).index.write().remove(series.id(), &labels);
        }
        self.log(&Record::Move { db, key, to_db });
        self.place(to_db, key, entry);
        self.tell_changed(db, key);
        self.tell_changed(to_db, key);
        true
    }

    /// Enters an entry under a name of a database; a series learns its new name, and so does the index.
    pub(crate) fn place(&self, db: u8, key: &[u8], entry: Entry) {
        let key: Arc<[u8]> = key.into();
        let database = self.database(db);
        if let Value::Series(series) = &entry.value {
            let labels = {
                let mut state = series.state.lock();
                state.db = db;
                state.key = Arc::clone(&key);
                state.labels.clone()
            };
            let mut index = database.index.write();
            index.remove(series.id(), &labels);
            index.insert(Arc::clone(&key), series, &labels);
        }
        let mut shard = database.write(&key);
        database.note_expiry(&key, entry.expires_at);
        shard.insert(Arc::clone(&key), entry);
    }

    /// Exchanges two databases. Needs an exclusive access.
    pub fn swap(&self, one: u8, other: u8) {
        assert!(self.is_exclusive(), "bug: swapping needs an exclusive access");
        if one == other {
            return;
        }
        self.log(&Record::Swap { one, other });
        let mut databases = self.engine.databases.write();
        databases.swap(usize::from(one), usize::from(other));
        for db in [one, other] {
            for series in databases[usize::from(db)].all_series() {
                series.state.lock().db = db;
            }
        }
    }

    /// When a key expires, in milliseconds since 1970, if ever. Nothing if there is no key.
    pub fn expires_at(&self, db: u8, key: &[u8]) -> Option<Option<i64>> {
        self.value(db, key)?;
        let expires_at = self.database(db).read(key).get(key)?.expires_at;
        Some((expires_at != i64::MAX).then_some(expires_at))
    }

    /// Sets when a key expires. Says whether there is such a key.
    pub fn set_expiry(&self, db: u8, key: &[u8], expires_at: Option<i64>) -> bool {
        if self.value(db, key).is_none() {
            return false;
        }
        let database = self.database(db);
        let mut shard = database.write(key);
        let Some(entry) = shard.get_mut(key) else { return false };
        entry.expires_at = expires_at.unwrap_or(i64::MAX);
        database.note_expiry(key, entry.expires_at);
        self.log(&Record::Expire {
            db,
            key,
            expires_at: entry.expires_at,
        });
        drop(shard);
        self.tell_changed(db, key);
        true
    }

    /// Removes all keys of a database, or of all. Needs an exclusive access.
    pub fn flush(&self, db: Option<u8>) {
        assert!(self.is_exclusive(), "bug: flushing needs an exclusive access");
        self.log(&Record::Flush { db });
        for (number, database) in (0u8..).zip(self.engine.databases.read().iter()) {
            if db.is_some_and(|db| db != number) {
                continue;
            }
            database.index.write().clear();
            for shard in database.shards() {
                for (key, entry) in shard.write().drain() {
                    if let Value::Series(series) = entry.value {
                        series.retire();
                    }
                    self.tell_changed(number, &key);
                }
            }
        }
    }

    /// How many keys a database has; expired ones that nobody met yet count.
    pub fn len(&self, db: u8) -> usize {
        self.database(db).len()
    }

    /// Whether a database has no keys.
    pub fn is_empty(&self, db: u8) -> bool {
        self.len(db) == 0
    }

    /// How many keys of a database have an end.
    pub fn expiring(&self, db: u8) -> usize {
        self.database(db).expiring()
    }

    /// All keys of a database, in no order.
    pub fn keys(&self, db: u8) -> Vec<Arc<[u8]>> {
        let now = self.engine.now_ms();
        let database = self.database(db);
        let mut keys = Vec::new();
        for shard in database.shards() {
            let shard = shard.read();
            keys.extend(
                shard
                    .iter()
                    .filter(|(_, entry)| entry.expires_at > now)
                    .map(|(key, _)| Arc::clone(key)),
            );
        }
        keys
    }

    /// About `count` keys from a cursor on, and the cursor that goes on from there; 0 begins and ends. Keys that are there all along
    /// are told once.
    pub fn scan(&self, db: u8, cursor: u64, count: usize) -> (u64, Vec<Arc<[u8]>>) {
        let (next, mut keys) = self.database(db).scan(cursor, count);
        keys.retain(|key| self.value(db, key).is_some());
        (next, keys)
    }

    /// Any key. `seed` chooses.
    pub fn random_key(&self, db: u8, seed: u64) -> Option<Arc<[u8]>> {
        let keys = self.keys(db);
        let place = seed.checked_rem(keys.len() as u64)?;
        keys.get(place as usize).cloned()
    }

    /// Bytes of memory that a key takes; nothing if there is no such key.
    pub fn memory_usage(&self, db: u8, key: &[u8]) -> Option<Result<u64, crate::view::ReadError>> {
        let own = (size_of::<Entry>() + 2 * key.len()) as u64;
        Some(match self.value(db, key)? {
            Value::Series(series) => series.memory_usage().map(|bytes| bytes + own),
            Value::Text(text) | Value::List(text) => Ok(own + text.len() as u64),
        })
    }
}

impl Database {
    /// All series.
    pub(crate) fn all_series(&self) -> Vec<Arc<Series>> {
        let mut all = Vec::new();
        for shard in self.shards() {
            all.extend(shard.read().values().filter_map(|entry| match &entry.value {
                Value::Series(series) => Some(Arc::clone(series)),
                Value::Text(_) | Value::List(_) => None,
            }));
        }
        all
    }

    fn expiring(&self) -> usize {
        self.shards()
            .iter()
            .map(|shard| {
                shard
                    .read()
                    .values()
                    .filter(|entry| entry.expires_at != i64::MAX)
                    .count()
            })
            .sum()
    }

    /// Bytes of memory of all keys.
    pub(crate) fn memory_bytes(&self) -> u64 {
        let mut bytes = 0;
        for shard in self.shards() {
            let shard = shard.read();
            for (key, entry) in shard.iter() {
                bytes += (size_of::<Entry>() + 2 * key.len()) as u64;
                bytes += match &entry.value {
                    Value::Series(series) => series.state.lock().memory_bytes() as u64,
                    Value::Text(text) | Value::List(text) => text.len() as u64,
                };
            }
        }
        bytes
    }
}
