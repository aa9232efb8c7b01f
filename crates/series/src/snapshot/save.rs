//! Taking snapshots.

use super::blocks::{BlockError, BlockWriter};
use super::groups::Groups;
use super::items::{append_chunk_item, append_end, append_series, append_series_key, append_text_key};
use super::load::load;
use super::open::{list_snapshots, snapshot_name};
use super::state::SnapshotFigures;
use crate::engine::Engine;
use crate::journal::{JournalError, list_segments, sync_folder};
use crate::keyspace::{Plain, Value};
use crate::series::Place;
use crate::view::ReadError;
use ahash::{AHashMap, AHashSet};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// Why no snapshot was taken.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// A file can't be written.
    #[error("the snapshot can't be written: {0}")]
    Io(#[from] io::Error),
    /// A chunk in the object store is needed and can't be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// What the snapshot holds is not in the journal yet.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// What was written can't be read back.
    #[error("corrupt: snapshot: {0}")]
    Corrupt(String),
}

/// A key at the moment at which the snapshot began.
struct Key {
    db: u8,
    key: Arc<[u8]>,
    expires_at: i64,
    value: Value,
}

impl Engine {
    /// Takes a snapshot and deletes what it replaces (SAVE, BGSAVE, BGREWRITEAOF). Writers go on meanwhile. Waits for one that is being
    /// taken. Nothing happens if nothing is kept.
    pub fn save(&self) -> Result<(), SnapshotError> {
        let Some(folder) = &self.durability.folder else {
            return Ok(());
        };
        let _one_at_a_time = self.durability.saving.lock();
        self.durability.figures.lock().is_running = true;
        let begin = Instant::now();
        let saved = self.save_to(folder);
        *self.durability.new_rules.lock() = None;
        let mut figures = self.durability.figures.lock();
        figures.is_running = false;
        match &saved {
            Ok(bytes) => {
                figures.last_ms = self.now_ms();
                figures.last_bytes = *bytes;
                figures.last_duration_ms = u64::try_from(begin.elapsed().as_millis()).unwrap_or(u64::MAX);
                figures.taken += 1;
                figures.last_error = None;
            }
            Err(error) => figures.last_error = Some(error.to_string()),
        }
        saved.map(|_| ())
    }

    /// Whether the journal has grown so long that a snapshot pays, or the last attempt failed.
    pub fn snapshot_is_due(&self) -> bool {
        if self.durability.folder.is_none() {
            return false;
        }
        let figures = self.snapshots();
        let limit = self.durability.snapshot_after_bytes.max(figures.last_bytes);
        !figures.is_running && (figures.last_error.is_some() || self.journal.statistics().bytes_since_snapshot > limit)
    }

    /// How snapshots are.
    pub fn snapshots(&self) -> SnapshotFigures {
        self.durability.figures.lock().clone()
    }

    /// Writes everything into memory, forgets it, and reads it back (DEBUG RELOAD).
    pub fn reload(&self) -> Result<(), SnapshotError> {
        let access = self.exclusive();
        let mut writer = BlockWriter::new(Vec::new())?;
        write_keys(&mut writer, &self.directory())?;
        let mut objects = AHashSet::new();
        write_series(self, self.directory(), &mut writer, &mut objects, false)?;
        writer.item(|out| append_end(self.next_id.load(Ordering::Relaxed), 0, 0, out))?;
        let (bytes, _) = writer.finish()?;
        access.forget_all();
        let corrupt = |error| match error {
            BlockError::Io(error) => SnapshotError::Io(error),
            BlockError::Corrupt(offset, what) => SnapshotError::Corrupt(format!("{what} at offset {offset}")),
        };
        load(&access, &*bytes, self.durability.tier.as_ref()).map_err(corrupt)?;
        Ok(())
    }

    fn save_to(&self, folder: &Path) -> Result<u64, SnapshotError> {
        let (segment, first_sequence, keys) = {
            let _closed = self.exclusive();
            let mut objects = self.durability.objects.lock();
            objects.since_rotation.clear();
            *self.durability.new_rules.lock() = Some(AHashMap::new());
            (self.journal.rotate(), self.journal.next_sequence(), self.directory())
        };
        let name = snapshot_name(segment);
        let temporary = folder.join(format!("{name}.tmp"));
        let mut writer = BlockWriter::new(BufWriter::new(File::create(&temporary)?))?;
        write_keys(&mut writer, &keys)?;
        let mut objects = AHashSet::new();
        write_series(self, keys, &mut writer, &mut objects, true)?;
        let next_sequence = self.journal.next_sequence();
        let next_id = self.next_id.load(Ordering::Relaxed);
        writer.item(|out| append_end(next_id, first_sequence, next_sequence, out))?;
        let (out, bytes) = writer.finish()?;
        out.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
        // A transaction that only some of the series hold must not be missing in the journal.
        self.journal.sync(next_sequence.saturating_sub(1))?;
        fs::rename(&temporary, folder.join(&name))?;
        sync_folder(folder)?;
        {
            let mut names = self.durability.objects.lock();
            names.of_snapshot = objects;
            names.of_journal = names.since_rotation.clone();
        }
        delete_replaced(folder, segment)?;
        Ok(bytes)
    }

    /// All keys. The gate must be closed.
    fn directory(&self) -> Vec<Key> {
        let mut keys = Vec::new();
        for (db, database) in (0u8..).zip(self.databases.read().iter()) {
            for shard in database.shards() {
                keys.extend(shard.read().iter().map(|(key, entry)| Key {
                    db,
                    key: Arc::clone(key),
                    expires_at: entry.expires_at,
                    value: entry.value.clone(),
                }));
            }
        }
        keys
    }
}

fn write_keys<W: Write>(writer: &mut BlockWriter<W>, keys: &[Key]) -> io::Result<()> {
    for Key {
        db,
        key,
        expires_at,
        value,
    } in keys
    {
        writer.item(|out| match value {
            Value::Series(series) => append_series_key(*db, key, *expires_at, series.id(), out),
            Value::Text(text) => append_text_key(Plain::Text, *db, key, *expires_at, text, out),
            Value::List(list) => append_text_key(Plain::List, *db, key, *expires_at, list, out),
        })?;
    }
    Ok(())
}

/// Writes the series of keys, each with its rules and their destinations, and notes to which objects they refer.
fn write_series<W: Write>(
    engine: &Engine,
    keys: Vec<Key>,
    writer: &mut BlockWriter<W>,
    objects: &mut AHashSet<Box<str>>,
    gate_is_open: bool,
) -> Result<(), SnapshotError> {
    let mut groups = Groups::default();
    for key in keys {
        let Value::Series(series) = key.value else { continue };
        let due = {
            // No rule is made or ended meanwhile.
            let _shared = gate_is_open.then(|| engine.shared());
            groups.with(&series, &engine.durability)?
        };
        for (place, (id, body)) in due.into_iter().flat_map(|group| group.into_iter().enumerate()) {
            writer.item(|out| append_series(id, place == 0, &body, out))?;
            for place in &body.chunks {
                if let Place::Cold(cold) = place
                    && let Some(reference) = cold.source.reference()
                    && !objects.contains(reference.object_name())
                {
                    objects.insert(reference.object_name().into());
                }
                let mut appended = Ok(());
                writer.item(|out| appended = append_chunk_item(place, out))?;
                appended?;
            }
        }
    }
    Ok(())
}

/// Deletes the snapshots and segments before a segment.
fn delete_replaced(folder: &Path, segment: u64) -> io::Result<()> {
    let replaced = list_segments(folder)?.into_iter().chain(list_snapshots(folder)?);
    for (number, path) in replaced.filter(|(number, _)| *number < segment) {
        debug_assert!(number < segment);
        fs::remove_file(path)?;
    }
    Ok(())
}
