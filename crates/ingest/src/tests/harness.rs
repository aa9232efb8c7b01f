//! Opens engines, pushes entries given as data, reads everything back.

use crate::wal::{DiskStorage, LogFile, LogStorage};
use crate::{Engine, EngineOptions, Error, PushBatch, PushError, PushOutcome};
use arrow_array::Array;
use parking_lot::{Condvar, Mutex};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use timberline_logql::labels::LabelSet;
use timberline_store::{Catalog, Selection, SourceProvider, Store, TenantId, TimeSpan};

pub(super) const ALL: TimeSpan = TimeSpan {
    min_ns: i64::MIN,
    max_ns: i64::MAX,
};

/// An entry as it is read back: labels and metadata in text form.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Read {
    pub(super) labels: String,
    pub(super) timestamp_ns: i64,
    pub(super) line: String,
    pub(super) metadata: Vec<(String, String)>,
}

pub(super) fn tenant(name: &str) -> TenantId {
    TenantId::new(name).unwrap()
}

/// Options that store entries as given: no added label, no added metadata.
pub(super) fn plain(data_dir: &Path) -> EngineOptions {
    let mut options = EngineOptions::new(data_dir);
    options.limits.service_name_labels.clear();
    options.limits.discover_log_levels = false;
    options
}

/// An engine whose objects lie in the data directory too.
pub(super) async fn open(options: EngineOptions) -> Result<Engine, Error> {
    let (store, catalog) = open_store(&options.data_dir).await;
    Engine::open(options, store, catalog).await
}

pub(super) async fn open_store(data_dir: &Path) -> (Store, Catalog) {
    let store = Store::open_local(&data_dir.join("store")).unwrap();
    let catalog = Catalog::open(store.clone()).await.unwrap();
    (store, catalog)
}

/// A batch of entries (stream, timestamp, line) where stream `a` is `{s="a"}`.
pub(super) fn batch<'a>(entries: impl IntoIterator<Item = (&'a str, i64, &'a str)>) -> PushBatch {
    let mut batch = PushBatch::new();
    for (stream, timestamp_ns, line) in entries {
        batch.begin_stream(LabelSet::from_pairs([("s", stream)]));
        batch.push_entry(timestamp_ns, line.as_bytes(), []);
    }
    batch
}

pub(super) async fn push(engine: &Engine, entries: &[(&str, i64, &str)]) -> Result<PushOutcome, PushError> {
    engine.push(&TenantId::single(), batch(entries.iter().copied())).await
}

/// Everything of a tenant, source by source, as the trait hands it out.
pub(super) async fn read_sources(engine: &Engine, tenant: &TenantId, span: TimeSpan) -> Vec<(String, Vec<Read>)> {
    let mut sources = Vec::new();
    for source in engine.sources(tenant, span).await.unwrap() {
        let streams = source.streams().await.unwrap();
        let labels: BTreeMap<i64, String> = streams.iter().map(|s| (s.id, s.labels.to_string())).collect();
        let mut rows = Vec::new();
        for (run, info) in source.runs().await.unwrap().iter().enumerate() {
            let keys = source.keys(run).await.unwrap();
            let lines = source.lines(run, &Selection::All).await.unwrap();
            let metadata = source.metadata(run, &Selection::All, None).await.unwrap();
            assert_eq!(
                (keys.streams.len(), keys.timestamps.len(), lines.len()),
                (info.rows, info.rows, info.rows)
            );
            for row in 0..info.rows {
                let value = |column: &timberline_store::MetadataColumn| {
                    let value = column.values.is_valid(row).then(|| column.values.value(row));
                    value.map(|value| (column.name.to_string(), String::from_utf8(value.into()).unwrap()))
                };
                rows.push(Read {
                    labels: labels[&keys.streams.value(row)].clone(),
                    timestamp_ns: keys.timestamps.value(row),
                    line: String::from_utf8_lossy(lines.value(row)).into_owned(),
                    metadata: metadata.iter().filter_map(value).collect(),
                });
            }
        }
        sources.push((source.name().to_owned(), rows));
    }
    sources
}

/// All rows of the one tenant, sorted.
pub(super) async fn read(engine: &Engine) -> Vec<Read> {
    let sources = read_sources(engine, &TenantId::single(), ALL).await;
    let mut rows: Vec<Read> = sources.into_iter().flat_map(|(_, rows)| rows).collect();
    rows.sort();
    rows
}

/// The lines of all rows of the one tenant, sorted.
pub(super) async fn read_lines(engine: &Engine) -> Vec<String> {
    let mut lines: Vec<String> = read(engine).await.into_iter().map(|row| row.line).collect();
    lines.sort();
    lines
}

/// Copies a directory as a crash at this moment would leave it.
pub(super) fn copy_directory(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    let Ok(entries) = std::fs::read_dir(from) else { return };
    for entry in entries {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy_directory(&path, &target);
        } else {
            // A file may be gone since the directory was listed.
            let _ = std::fs::copy(&path, &target);
        }
    }
}

/// The log's segment files of a data directory.
pub(super) fn segments(data_dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(data_dir.join("wal")).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "log"));
    paths.sort();
    paths
}

/// Log files on a disk that can be made full.
#[derive(Clone, Debug)]
pub(super) struct FullDisk {
    directory: PathBuf,
    pub(super) switches: Arc<Switches>,
}

/// What fails.
#[derive(Debug, Default)]
pub(super) struct Switches {
    pub(super) create: AtomicBool,
    /// Bytes that can still be written, while `full` is on.
    pub(super) room: AtomicUsize,
    pub(super) full: AtomicBool,
    pub(super) sync: AtomicBool,
    pub(super) truncate: AtomicBool,
    /// Syncs begun so far.
    pub(super) syncs: AtomicUsize,
    held: Mutex<bool>,
    released: Condvar,
}

impl Switches {
    /// Lets syncs wait until they are released.
    pub(super) fn hold_syncs(&self, hold: bool) {
        *self.held.lock() = hold;
        self.released.notify_all();
    }
}

impl FullDisk {
    pub(super) fn new(data_dir: &Path) -> Self {
        Self {
            directory: data_dir.join("wal"),
            switches: Arc::default(),
        }
    }
}

fn fail(switch: &AtomicBool) -> io::Result<()> {
    if switch.load(Ordering::SeqCst) {
        Err(io::ErrorKind::StorageFull.into())
    } else {
        Ok(())
    }
}

impl LogStorage for FullDisk {
    fn create(&mut self, sequence: u64) -> io::Result<Box<dyn LogFile>> {
        fail(&self.switches.create)?;
        let file = DiskStorage::new(&self.directory).create(sequence)?;
        Ok(Box::new(FullDiskFile {
            file,
            switches: self.switches.clone(),
        }))
    }
}

#[derive(Debug)]
struct FullDiskFile {
    file: Box<dyn LogFile>,
    switches: Arc<Switches>,
}

impl LogFile for FullDiskFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let room = self.switches.room.load(Ordering::SeqCst);
        if self.switches.full.load(Ordering::SeqCst) && bytes.len() > room {
            self.file.append(&bytes[..room])?;
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.file.append(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.switches.syncs.fetch_add(1, Ordering::SeqCst);
        self.switches
            .released
            .wait_while(&mut self.switches.held.lock(), |held| *held);
        fail(&self.switches.sync)?;
        self.file.sync()
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        fail(&self.switches.truncate)?;
        self.file.truncate(length)
    }
}
