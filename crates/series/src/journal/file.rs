//! The files of the journal, behind a trait so that tests can let them fail.

use super::segment::segment_name;
use std::fmt::Debug;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Makes the files of segments.
pub(crate) trait Storage: Send + Debug {
    /// An empty segment file whose name is durable. One of that name that a failed attempt left is
    /// emptied.
    fn create(&mut self, number: u64) -> io::Result<Arc<dyn SegmentFile>>;
}

/// One segment file, written at its end by one thread and synced by another.
pub(crate) trait SegmentFile: Send + Sync + Debug {
    /// Appends bytes; on an error any part of them may have been written.
    fn append(&self, bytes: &[u8]) -> io::Result<()>;
    /// Makes all that was appended durable.
    fn sync(&self) -> io::Result<()>;
    /// Shortens the file.
    fn truncate(&self, length: u64) -> io::Result<()>;
}

/// Segments in a folder.
#[derive(Debug)]
pub(crate) struct DiskStorage {
    folder: PathBuf,
}

impl DiskStorage {
    pub(crate) fn new(folder: &Path) -> DiskStorage {
        DiskStorage {
            folder: folder.to_owned(),
        }
    }
}

impl Storage for DiskStorage {
    fn create(&mut self, number: u64) -> io::Result<Arc<dyn SegmentFile>> {
        let path = self.folder.join(segment_name(number));
        // Append mode, so that writing goes on at the new end after a truncation.
        let file = OpenOptions::new().append(true).create(true).open(path)?;
        file.set_len(0)?;
        sync_folder(&self.folder)?;
        Ok(Arc::new(DiskFile(file)))
    }
}

#[derive(Debug)]
struct DiskFile(File);

impl SegmentFile for DiskFile {
    fn append(&self, bytes: &[u8]) -> io::Result<()> {
        (&self.0).write_all(bytes)
    }

    fn sync(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn truncate(&self, length: u64) -> io::Result<()> {
        self.0.set_len(length)
    }
}

/// Keeps a second process out of a folder; released when it is dropped, also by a crash.
#[derive(Debug)]
pub(crate) struct FolderLock(#[expect(dead_code, reason = "held")] File);

impl FolderLock {
    /// Locks `<folder>/lock`; nothing if another process holds it.
    pub(crate) fn acquire(folder: &Path) -> io::Result<Option<FolderLock>> {
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(folder.join("lock"))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(FolderLock(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

/// Makes a folder and its parents where they are missing, their names durable: what is synced below them has to be found.
pub(crate) fn create_folder(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    let parent = folder.parent().filter(|parent| !parent.as_os_str().is_empty());
    let parent = parent.unwrap_or(Path::new("."));
    create_folder(parent)?;
    match fs::create_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        made => made?,
    }
    sync_folder(parent)
}

/// Makes names in a folder durable.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}
