//! Doing again what the journal tells.

use super::{Access, Bodies, Engine};
use crate::cold::ColdTier;
use crate::error::{AddError, DeleteError};
use crate::keyspace::Expiry;
use crate::record::{Record, RecordError, read_records};
use crate::series::{BodyError, Series};
use crate::snapshot::read_body;
use crate::view::ReadError;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Why a frame can't be done again.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReplayError {
    #[error(transparent)]
    Record(#[from] RecordError),
    #[error(transparent)]
    Body(#[from] BodyError),
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error("a sample is refused that was taken before: {0}")]
    Add(AddError),
    #[error("a deletion is refused that was done before: {0}")]
    Delete(DeleteError),
    #[error("a chunk lies in an object store, and none is configured")]
    NoStore,
}

/// Does frames again, in order. Keys don't expire meanwhile: their removal is a record too.
pub(crate) struct Replay<'a> {
    engine: &'a Engine,
    tier: Option<ColdTier>,
    bodies: Bodies,
    /// Series that the frame at hand changes: its number is theirs when the frame is done, since it may change one several times.
    touched: Vec<Arc<Series>>,
    objects: Vec<Box<str>>,
}

impl<'a> Replay<'a> {
    pub(crate) fn new(engine: &'a Engine, bodies: Bodies, tier: Option<ColdTier>) -> Replay<'a> {
        engine.replaying.store(true, Ordering::Relaxed);
        Replay {
            engine,
            tier,
            bodies,
            touched: Vec::new(),
            objects: Vec::new(),
        }
    }

    /// Does a frame again. What series hold already is skipped.
    pub(crate) fn frame(&mut self, sequence: u64, frame: &[u8]) -> Result<(), ReplayError> {
        let access = self.engine.exclusive();
        read_records(frame, |record| {
            self.bodies.make_rules();
            self.record(&access, sequence, &record)
        })?;
        for series in self.touched.drain(..) {
            series.state.lock().applied = sequence;
        }
        Ok(())
    }

    /// Ends the replay; gives the names of objects that records refer to.
    pub(crate) fn finish(mut self) -> Vec<Box<str>> {
        self.bodies.make_rules();
        self.bodies.settle_ids(&self.engine.exclusive());
        self.engine.replaying.store(false, Ordering::Relaxed);
        self.objects
    }

    /// A series if it does not hold the frame yet.
    fn due(&mut self, id: u64, sequence: u64) -> Option<Arc<Series>> {
        let series = Arc::clone(self.bodies.get(id)?);
        if series.state.lock().applied >= sequence {
            return None;
        }
        self.touched.push(Arc::clone(&series));
        Some(series)
    }

    fn record(&mut self, access: &Access<'_>, sequence: u64, record: &Record<'_>) -> Result<(), ReplayError> {
        match *record {
            Record::Create { id, db, key, options } => {
                if !self.bodies.give_birth(access, id, db, key, i64::MAX)? {
                    let series = Series::new(id, db, key.into(), options.clone());
                    self.bodies.enter(access, &series, db, key, i64::MAX);
                    self.touched.push(series);
                }
            }
            Record::Restore {
                id,
                db,
                key,
                expires_at,
                body,
            } => {
                if !self.bodies.give_birth(access, id, db, key, expires_at)? {
                    let series = Series::from_body(id, db, key.into(), &read_body(body)?)?;
                    self.bodies.enter(access, &series, db, key, expires_at);
                    self.touched.push(series);
                }
            }
            Record::Samples { id, run } => {
                let Some(series) = self.due(id, sequence) else {
                    return Ok(());
                };
                // Who waited for the lock while the key was removed may have written behind the removal.
                let Some(mut writer) = access.writer(series)? else {
                    return Ok(());
                };
                for (timestamp, value, kind) in run {
                    writer.replay(timestamp, value, kind).map_err(ReplayError::Add)?;
                }
            }
            Record::Alter { id, changes } => {
                if let Some(series) = self.due(id, sequence) {
                    access.alter(&series, changes.clone());
                }
            }
            Record::Delete { id, from, to } => {
                if let Some(series) = self.due(id, sequence) {
                    access.delete(&series, from, to).map_err(ReplayError::Delete)?;
                }
            }
            Record::Rule {
                source,
                destination,
                aggregator,
                bucket_ms,
                align_ms,
            } => {
                let Some(destination) = self.bodies.get(destination).cloned() else {
                    return Ok(());
                };
                if let Some(source) = self.due(source, sequence) {
                    access.connect(&source, &destination, aggregator, bucket_ms, align_ms);
                }
            }
            Record::Unrule { source, destination } => {
                let Some(destination) = self.bodies.get(destination).cloned() else {
                    return Ok(());
                };
                if let Some(source) = self.due(source, sequence) {
                    // A rule that is gone already is as good as ended.
                    let _ = access.disconnect(&source, &destination);
                }
            }
            Record::Cold {
                id,
                first_timestamp,
                last_timestamp,
                len,
                object,
                offset,
                bytes,
            } => {
                let tier = self.tier.as_ref().ok_or(ReplayError::NoStore)?;
                let object = String::from_utf8_lossy(object);
                self.objects.push((&*object).into());
                let len = usize::try_from(len).unwrap_or(usize::MAX);
                let part = tier.part(
                    &object,
                    offset..offset.saturating_add(bytes),
                    (first_timestamp, last_timestamp),
                    len,
                );
                if let Some(series) = self.due(id, sequence) {
                    // Where chunks were cut elsewhere this time, the samples stay in memory.
                    series.state.lock().make_cold(part)?;
                }
            }
            Record::Remove { db, key } => drop(access.remove(db, key)),
            Record::Rename { db, from, to } => drop(access.rename(db, from, to, false)),
            Record::Move { db, key, to_db } => drop(access.move_key(db, key, to_db)),
            Record::Swap { one, other } => access.swap(one, other),
            Record::Expire { db, key, expires_at } => drop(access.set_expiry(db, key, some_time(expires_at))),
            Record::Text {
                plain,
                db,
                key,
                text,
                expires_at,
            } => {
                access.set_plain(
                    plain,
                    db,
                    key,
                    text,
                    some_time(expires_at).map_or(Expiry::Clear, Expiry::At),
                );
            }
            Record::Flush { db } => access.flush(db),
        }
        Ok(())
    }
}

fn some_time(expires_at: i64) -> Option<i64> {
    (expires_at != i64::MAX).then_some(expires_at)
}
