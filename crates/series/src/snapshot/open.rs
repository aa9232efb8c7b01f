//! Opening an engine that is kept in a folder: the newest snapshot, and the journal behind it.

use super::blocks::BlockError;
use super::load::{Loaded, load};
use super::state::{Durability, ObjectNames, SnapshotFigures};
use crate::cold::ColdTier;
use crate::engine::{Bodies, Engine, Replay, ReplayError};
use crate::journal::{
    DiskStorage, FolderLock, Fsync, Journal, SegmentError, create_folder, list_segments, read_segment, set_aside,
};
use ahash::AHashSet;
use std::fs::{self, File};
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// A snapshot is taken when the journal since the last one is longer than this, unless the options say otherwise.
const SNAPSHOT_AFTER_BYTES: u64 = 64 << 20;

/// Bytes that are read at once from a snapshot.
const READ_BYTES: usize = 256 << 10;

/// How an engine is opened.
#[derive(Debug)]
pub struct OpenOptions {
    /// The folder that keeps it; made if it is missing.
    pub folder: PathBuf,
    /// When writes are made durable.
    pub fsync: Fsync,
    /// Go on where the journal is damaged in the middle or a snapshot can't be read, and lose what is there.
    pub past_damage: bool,
    /// A snapshot is taken when the journal since the last one is longer than this and than the snapshot.
    pub snapshot_after_bytes: u64,
    /// Where chunks go that are old.
    pub tier: Option<ColdTier>,
}

impl OpenOptions {
    /// The usual options for a folder.
    pub fn new(folder: impl Into<PathBuf>) -> OpenOptions {
        OpenOptions {
            folder: folder.into(),
            fsync: Fsync::EverySecond,
            past_damage: false,
            snapshot_after_bytes: SNAPSHOT_AFTER_BYTES,
            tier: None,
        }
    }
}

/// What opening found.
#[derive(Debug, Default)]
pub struct Opened {
    /// What an operator should know.
    pub warnings: Vec<String>,
    /// Whether there was a snapshot.
    pub from_snapshot: bool,
    /// Frames of the journal that were replayed.
    pub frames: u64,
}

/// Why an engine can't be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// A file can't be read or written.
    #[error("{path}: {error}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// Another process uses the folder.
    #[error("{0} is used by another process")]
    Locked(PathBuf),
    /// A file is damaged.
    #[error("corrupt: {path} at offset {offset}: {what}")]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// Where in it.
        offset: u64,
        /// What is wrong.
        what: String,
    },
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> OpenError + '_ {
    |error| OpenError::Io {
        path: path.to_owned(),
        error,
    }
}

/// The name of the snapshot of everything before a segment.
pub(super) fn snapshot_name(segment: u64) -> String {
    format!("snapshot-{segment:020}")
}

/// The snapshots of a folder, ascending by segment.
pub(super) fn list_snapshots(folder: &Path) -> io::Result<Vec<(u64, PathBuf)>> {
    let mut snapshots = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let digits = path
            .file_name()
            .and_then(|name| name.to_str())
            .and_then(|name| name.strip_prefix("snapshot-"));
        if let Some(segment) = digits
            .filter(|digits| digits.len() == 20)
            .and_then(|digits| digits.parse().ok())
        {
            snapshots.push((segment, path));
        }
    }
    snapshots.sort_unstable();
    Ok(snapshots)
}

impl Engine {
    /// Opens the engine of a folder, or a new one.
    pub fn open(options: OpenOptions) -> Result<(Engine, Opened), OpenError> {
        let folder = options.folder.clone();
        create_folder(&folder).map_err(failed(&folder))?;
        let lock = FolderLock::acquire(&folder).map_err(failed(&folder))?;
        let lock = lock.ok_or_else(|| OpenError::Locked(folder.clone()))?;
        remove_unfinished(&folder).map_err(failed(&folder))?;
        let mut opening = Opening {
            options,
            opened: Opened::default(),
            has_gap: false,
        };
        let (mut engine, start) = opening.snapshot()?;
        let of_snapshot = start.loaded.bodies.objects();
        let (of_journal, journal) = opening.journal(&engine, start.loaded, start.segment)?;
        engine.journal = journal;
        let Opening {
            options,
            mut opened,
            has_gap,
        } = opening;
        engine.durability = Durability {
            folder: Some(folder),
            snapshot_after_bytes: options.snapshot_after_bytes,
            figures: start.figures.into(),
            objects: ObjectNames {
                of_snapshot,
                of_journal: of_journal.clone(),
                since_rotation: of_journal,
            }
            .into(),
            tier: options.tier,
            lock: Some(lock),
            ..Durability::default()
        };
        if has_gap && let Err(error) = engine.save() {
            opened.warnings.push(error.to_string());
        }
        Ok((engine, opened))
    }
}

struct Opening {
    options: OpenOptions,
    opened: Opened,
    /// Numbers of frames don't follow each other: a snapshot is to be taken before the folder is opened again.
    has_gap: bool,
}

/// Where the journal is to be replayed from.
struct Start {
    segment: u64,
    loaded: Loaded,
    figures: SnapshotFigures,
}

impl Opening {
    /// The newest snapshot that can be read; without `past_damage` that is the newest one.
    fn snapshot(&mut self) -> Result<(Engine, Start), OpenError> {
        let folder = &self.options.folder;
        for (segment, path) in list_snapshots(folder).map_err(failed(folder))?.into_iter().rev() {
            let engine = Engine::in_memory();
            let file = File::open(&path).map_err(failed(&path))?;
            let metadata = file.metadata().map_err(failed(&path))?;
            let loaded = load(
                &engine.exclusive(),
                BufReader::with_capacity(READ_BYTES, file),
                self.options.tier.as_ref(),
            );
            match loaded {
                Ok(loaded) => {
                    let written = metadata
                        .modified()
                        .ok()
                        .and_then(|time| time.duration_since(UNIX_EPOCH).ok())
                        .unwrap_or_default();
                    let last_ms = i64::try_from(written.as_millis()).unwrap_or(i64::MAX);
                    let figures = SnapshotFigures {
                        last_ms,
                        last_bytes: metadata.len(),
                        ..SnapshotFigures::default()
                    };
                    self.opened.from_snapshot = true;
                    return Ok((
                        engine,
                        Start {
                            segment,
                            loaded,
                            figures,
                        },
                    ));
                }
                Err(BlockError::Io(error)) => return Err(OpenError::Io { path, error }),
                Err(BlockError::Corrupt(offset, what)) if self.options.past_damage => {
                    let aside = path.with_extension("damaged");
                    fs::rename(&path, &aside).map_err(failed(&path))?;
                    self.warn(format!(
                        "{} is damaged at offset {offset} ({what}) and is left out",
                        aside.display()
                    ));
                }
                Err(BlockError::Corrupt(offset, what)) => {
                    return Err(OpenError::Corrupt {
                        path,
                        offset,
                        what: what.to_owned(),
                    });
                }
            }
        }
        let loaded = Loaded {
            bodies: Bodies::default(),
            first_sequence: 1,
            next_sequence: 1,
        };
        Ok((
            Engine::in_memory(),
            Start {
                segment: 0,
                loaded,
                figures: SnapshotFigures::default(),
            },
        ))
    }

    /// Replays the journal from a segment on, and begins a new segment.
    fn journal(
        &mut self,
        engine: &Engine,
        loaded: Loaded,
        from: u64,
    ) -> Result<(AHashSet<Box<str>>, Journal), OpenError> {
        let folder = self.options.folder.clone();
        let mut replay = Replay::new(engine, loaded.bodies, self.options.tier.clone());
        let segments = list_segments(&folder).map_err(failed(&folder))?;
        let last_segment = segments.last().map_or(0, |(number, _)| *number);
        let mut expected = loaded.first_sequence;
        for (number, path) in segments.iter().filter(|(number, _)| *number >= from) {
            let past_damage = self.options.past_damage;
            let fault = read_segment(path, past_damage, |sequence, frame| {
                if sequence != expected && !past_damage {
                    return Err(format!("frame {sequence} stands where frame {expected} should be"));
                }
                expected = sequence + 1;
                self.opened.frames += 1;
                replay
                    .frame(sequence, frame)
                    .map_err(|error: ReplayError| error.to_string())
            });
            match fault {
                Ok(None) => {}
                Ok(Some(fault)) if *number == last_segment && !fault.frames_follow => {
                    let aside = set_aside(path, fault.offset).map_err(failed(path))?;
                    self.warn(format!(
                        "cut off {} bytes of {} that a crash left unfinished; they are kept in {}",
                        fault.bytes,
                        path.display(),
                        aside.display()
                    ));
                }
                Ok(Some(fault)) if past_damage => {
                    self.warn(format!(
                        "{} is damaged at offset {}, what could be read of it was taken",
                        path.display(),
                        fault.offset
                    ));
                }
                Ok(Some(fault)) => {
                    let what = "a frame is damaged, and whole ones follow".to_owned();
                    return Err(OpenError::Corrupt {
                        path: path.clone(),
                        offset: fault.offset,
                        what,
                    });
                }
                Err(SegmentError::Io(error)) => {
                    return Err(OpenError::Io {
                        path: path.clone(),
                        error,
                    });
                }
                Err(SegmentError::Version) => {
                    let what = "it was written by another version of this program".to_owned();
                    return Err(OpenError::Corrupt {
                        path: path.clone(),
                        offset: 8,
                        what,
                    });
                }
                Err(SegmentError::Visit(offset, what)) => {
                    return Err(OpenError::Corrupt {
                        path: path.clone(),
                        offset,
                        what,
                    });
                }
            }
        }
        let objects = replay.finish().into_iter().collect();
        let storage = Box::new(DiskStorage::new(&folder));
        let next_segment = last_segment.max(from) + 1;
        let next_sequence = loaded.next_sequence.max(expected);
        self.has_gap = self.options.past_damage || next_sequence != expected;
        let journal =
            Journal::start(storage, self.options.fsync, next_segment, next_sequence).map_err(failed(&folder))?;
        Ok((objects, journal))
    }

    fn warn(&mut self, text: String) {
        self.opened.warnings.push(text);
    }
}

/// Removes snapshots that were not finished.
fn remove_unfinished(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "tmp") {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}
