//! The right to work on keys: the gate is held, shared or alone.

use super::{Engine, Interest};
use crate::error::{KeyError, KeyExists};
use crate::keyspace::{DATABASES, Database, Entry, Value};
use crate::labels::{Filters, Selected};
use crate::options::{Changes, SeriesOptions};
use crate::record::{Record, append_record};
use crate::series::Series;
use parking_lot::{MappedRwLockReadGuard, RwLockReadGuard, RwLockWriteGuard};
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The right to work on keys, from getting it to dropping it. Hold it for a batch of commands, and never while waiting for anything.
pub struct Access<'a> {
    pub(crate) engine: &'a Engine,
    gate: Gate<'a>,
    /// Records of a transaction, to become one frame.
    group: RefCell<Vec<u8>>,
    /// Buffer for a record or a run of samples, reused.
    pub(super) scratch: RefCell<Vec<u8>>,
    last_sequence: Cell<u64>,
}

enum Gate<'a> {
    Shared(#[expect(dead_code, reason = "held")] RwLockReadGuard<'a, ()>),
    Exclusive(#[expect(dead_code, reason = "held")] RwLockWriteGuard<'a, ()>),
}

impl<'a> Access<'a> {
    pub(super) fn shared(engine: &'a Engine) -> Access<'a> {
        Access::new(engine, Gate::Shared(engine.gate.read()))
    }

    pub(super) fn exclusive(engine: &'a Engine) -> Access<'a> {
        Access::new(engine, Gate::Exclusive(engine.gate.write()))
    }

    fn new(engine: &'a Engine, gate: Gate<'a>) -> Access<'a> {
        Access {
            engine,
            gate,
            group: RefCell::default(),
            scratch: RefCell::default(),
            last_sequence: Cell::new(0),
        }
    }

    /// Whether nobody else works on keys.
    pub fn is_exclusive(&self) -> bool {
        matches!(self.gate, Gate::Exclusive(_))
    }

    /// The engine.
    pub fn engine(&self) -> &'a Engine {
        self.engine
    }

    /// The sequence number of the last frame that this access wrote to the journal; 0 if it wrote none. Of an exclusive access it is the
    /// number that the frame will have.
    pub fn last_sequence(&self) -> u64 {
        self.last_sequence.get()
    }

    pub(crate) fn database(&self, db: u8) -> MappedRwLockReadGuard<'a, Database> {
        assert!(usize::from(db) < DATABASES, "bug: database {db} does not exist");
        RwLockReadGuard::map(self.engine.databases.read(), |databases| &databases[usize::from(db)])
    }

    /// Writes records to the journal, or keeps them for the frame of the transaction. Called under the locks of what they change, so
    /// that the order of the journal is the order of changes. Gives the sequence number.
    pub(super) fn log_bytes(&self, records: &[u8]) -> u64 {
        let sequence = if self.is_exclusive() {
            self.group.borrow_mut().extend_from_slice(records);
            self.engine.journal.next_sequence()
        } else {
            self.engine.journal.append(records)
        };
        self.last_sequence.set(sequence);
        sequence
    }

    pub(crate) fn log(&self, record: &Record<'_>) -> u64 {
        let mut scratch = self.scratch.borrow_mut();
        scratch.clear();
        append_record(record, &mut scratch);
        self.log_bytes(&scratch)
    }

    pub(super) fn tell_changed(&self, db: u8, key: &[u8]) {
        if self.engine.interest().has(Interest::CHANGED)
            && let Some(listener) = self.engine.listener()
        {
            listener.changed(db, key);
        }
    }

    /// What a key holds. A key whose time is over is removed first.
    pub fn value(&self, db: u8, key: &[u8]) -> Option<Value> {
        let database = self.database(db);
        let shard = database.read(key);
        let entry = shard.get(key)?;
        if entry.expires_at == i64::MAX || entry.expires_at > self.engine.now_ms() {
            return Some(entry.value.clone());
        }
        drop(shard);
        drop(database);
        self.expire(db, key);
        None
    }

    /// The series of a key.
    pub fn series(&self, db: u8, key: &[u8]) -> Result<Arc<Series>, KeyError> {
        match self.value(db, key) {
            Some(Value::Series(series)) => Ok(series),
            Some(Value::Text(_) | Value::List(_)) => Err(KeyError::WrongType),
            None => Err(KeyError::Missing),
        }
    }

    /// Makes a series (TS.CREATE). Fails if the key holds anything.
    pub fn create(&self, db: u8, key: &[u8], options: SeriesOptions) -> Result<Arc<Series>, KeyExists> {
        // An expired key makes room.
        if self.value(db, key).is_some() {
            return Err(KeyExists);
        }
        let key: Arc<[u8]> = key.into();
        let id = self.engine.next_id.fetch_add(1, Ordering::Relaxed);
        let labels = options.labels.clone();
        let series = Series::new(id, db, Arc::clone(&key), options);
        self.insert_new(db, &key, &series)?;
        self.database(db).index.write().insert(key, &series, &labels);
        Ok(series)
    }

    /// Enters a series that nobody knows under a free key, and logs it.
    fn insert_new(&self, db: u8, key: &Arc<[u8]>, series: &Arc<Series>) -> Result<(), KeyExists> {
        let database = self.database(db);
        let mut shard = database.write(key);
        if shard.contains_key(key) {
            return Err(KeyExists);
        }
        let mut state = series.state.lock();
        state.applied = self.log(&Record::Create {
            id: series.id(),
            db,
            key,
            options: &state.options(),
        });
        drop(state);
        shard.insert(Arc::clone(key), Entry::new(Value::Series(Arc::clone(series))));
        drop(shard);
        self.tell_changed(db, key);
        Ok(())
    }

    /// Changes attributes of a series (TS.ALTER).
    pub fn alter(&self, series: &Arc<Series>, changes: Changes) {
        let (db, key) = {
            let state = series.state.lock();
            (state.db, Arc::clone(&state.key))
        };
        let database = self.database(db);
        // The index is locked before the series; while it is, no other change of labels can come between.
        let mut index = changes.labels.is_some().then(|| database.index.write());
        let mut state = series.state.lock();
        if !series.is_alive() {
            return;
        }
        if let (Some(index), Some(labels)) = (&mut index, &changes.labels) {
            index.remove(series.id(), &state.labels);
            index.insert(Arc::clone(&key), series, labels);
        }
        // What late samples changed is computed under the old retention.
        if let Err(error) = state.deliver_all() {
            self.engine.journal.warn(error.to_string());
        }
        state.applied = self.log(&Record::Alter {
            id: series.id(),
            changes: &changes,
        });
        state.alter(changes);
        drop(state);
        drop(index);
        self.tell_changed(db, &key);
    }

    /// The series that filters choose, ascending by key.
    pub fn select(&self, db: u8, filters: &Filters) -> Vec<Selected> {
        self.expire_some(db);
        self.database(db).index.read().select(filters)
    }

    /// Distinct label names of the series that filters choose, or of all, ascending.
    pub fn label_names(&self, db: u8, filters: Option<&Filters>) -> Vec<Vec<u8>> {
        self.expire_some(db);
        self.database(db).index.read().label_names(filters)
    }

    /// Distinct values of a label of the series that filters choose, or of all, ascending.
    pub fn label_values(&self, db: u8, name: &[u8], filters: Option<&Filters>) -> Vec<Vec<u8>> {
        self.expire_some(db);
        self.database(db).index.read().label_values(name, filters)
    }
}

impl Drop for Access<'_> {
    fn drop(&mut self) {
        let group = self.group.get_mut();
        if !group.is_empty() {
            let sequence = self.engine.journal.append(group);
            debug_assert_eq!(sequence, self.last_sequence.get());
        }
    }
}
