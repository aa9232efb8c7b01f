//! The files of the log, behind a trait so that tests can let them fail.

use super::segment_name;
use std::fmt::Debug;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Makes the files of log segments.
pub(crate) trait LogStorage: Send + Debug {
    /// An empty segment file whose name is durable. A file of that name that a failed attempt left is emptied.
    fn create(&mut self, sequence: u64) -> io::Result<Box<dyn LogFile>>;
}

/// One segment file, written at its end.
pub(crate) trait LogFile: Send + Debug {
    /// Appends bytes; on an error any part of them may have been written.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Makes all that was appended durable.
    fn sync(&mut self) -> io::Result<()>;
    /// Shortens the file.
    fn truncate(&mut self, length: u64) -> io::Result<()>;
}

/// Segments in a directory.
#[derive(Debug)]
pub(crate) struct DiskStorage {
    directory: PathBuf,
}

impl DiskStorage {
    pub(crate) fn new(directory: &Path) -> Self {
        Self {
            directory: directory.to_owned(),
        }
    }
}

impl LogStorage for DiskStorage {
    fn create(&mut self, sequence: u64) -> io::Result<Box<dyn LogFile>> {
        let path = self.directory.join(segment_name(sequence));
        // Append mode, so that writing goes on at the new end after a truncation.
        let file = OpenOptions::new().append(true).create(true).open(path)?;
        file.set_len(0)?;
        sync_directory(&self.directory)?;
        Ok(Box::new(DiskFile(file)))
    }
}

#[derive(Debug)]
struct DiskFile(File);

impl LogFile for DiskFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.0.set_len(length)
    }
}

/// Makes a directory and its parents where they are missing, their names durable: what is synced below them has to be found.
pub(crate) fn create_directory(directory: &Path) -> io::Result<()> {
    if directory.is_dir() {
        return Ok(());
    }
    let parent = directory.parent().filter(|parent| !parent.as_os_str().is_empty());
    let parent = parent.unwrap_or(Path::new("."));
    create_directory(parent)?;
    match std::fs::create_dir(directory) {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
        made => made?,
    }
    sync_directory(parent)
}

/// Makes names in a directory durable.
pub(super) fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}
