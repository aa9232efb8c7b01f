//! Who writes this log: the writer's name, and the lock that keeps a second process out.

use super::file::{create_directory, sync_directory};
use super::replay::list_segments;
use crate::Error;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::hash::{BuildHasher, RandomState};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

/// Held while a process may write to a data directory; released when its last clone is dropped, also by a crash.
///
/// Whoever opens a store in the same directory takes it first, since opening a store removes what a crash left unfinished,
/// and hands it on in [`EngineOptions::lock`](crate::EngineOptions::lock).
#[derive(Clone, Debug)]
pub struct DirectoryLock {
    _file: Arc<File>,
}

impl DirectoryLock {
    /// Locks `<data_dir>/lock`; makes the directory if it is missing.
    ///
    /// # Errors
    /// [`Error::Locked`] if another process holds it.
    pub fn acquire(data_dir: &Path) -> Result<Self, Error> {
        create_directory(data_dir).map_err(|e| Error::io("create", data_dir, e))?;
        let path = data_dir.join("lock");
        let open = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
        let file = open.map_err(|e| Error::io("open", &path, e))?;
        match file.try_lock() {
            Ok(()) => Ok(Self { _file: Arc::new(file) }),
            Err(TryLockError::WouldBlock) => Err(Error::Locked(data_dir.display().to_string())),
            Err(TryLockError::Error(e)) => Err(Error::io("lock", &path, e)),
        }
    }
}

/// The name in `writer-id`, if the file exists.
pub(crate) fn read_writer_id(wal_dir: &Path) -> Result<Option<String>, Error> {
    let path = wal_dir.join("writer-id");
    match fs::read_to_string(&path) {
        Ok(text) => {
            let id = text.trim();
            if id.is_empty() || !id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                let message = "is not a writer's name".to_owned();
                return Err(Error::Corrupt {
                    segment: path.display().to_string(),
                    offset: 0,
                    message,
                });
            }
            Ok(Some(id.to_owned()))
        }
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(Error::io("read", &path, e)),
    }
}

/// The name in `writer-id`; a new random one is written if there is none yet.
pub(crate) fn writer_id(wal_dir: &Path) -> Result<String, Error> {
    if let Some(id) = read_writer_id(wal_dir)? {
        return Ok(id);
    }
    let path = wal_dir.join("writer-id");
    if let Some(segment) = list_segments(wal_dir)?.first() {
        // Under a new name the catalog could not tell which segments are published: entries would come twice.
        let message = "writer-id is missing beside it".to_owned();
        return Err(Error::Corrupt {
            segment: segment.path.display().to_string(),
            offset: 0,
            message,
        });
    }
    let random = || RandomState::new().hash_one((std::process::id(), std::time::SystemTime::now()));
    let id = format!("{:016x}{:016x}", random(), random());
    let temporary = wal_dir.join("writer-id.tmp");
    let write = || {
        let mut file = File::create(&temporary)?;
        file.write_all(id.as_bytes())?;
        file.sync_all()?;
        fs::rename(&temporary, &path)?;
        sync_directory(wal_dir)
    };
    write().map_err(|e| Error::io("write", &path, e))?;
    Ok(id)
}
