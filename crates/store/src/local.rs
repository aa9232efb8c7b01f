//! Durable writes into a local folder.
//!
//! `object_store`'s `LocalFileSystem` writes atomically (staged file, rename) but never calls fsync, so a file that it reported
//! written can be gone or empty after a power loss. Timberline truncates its log once an object is published, so here each write is
//! on disk when it returns: the file, then its name. Reads, lists and deletes stay with `LocalFileSystem`.

use crate::Error;
use parking_lot::Mutex;
use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Folder of unfinished files below the root. Files in it are never visible: keys can't begin with a dot.
const STAGING: &str = ".tmp";
/// File whose advisory lock guards replacements against other processes.
const LOCK: &str = ".lock";

/// A folder that is written durably.
#[derive(Debug)]
pub(crate) struct LocalFolder {
    root: PathBuf,
    next_staged: AtomicU64,
    replacing: Mutex<()>,
    /// Folders whose names this process has brought to disk. One that merely exists may be another thread's, or a killed process's, that
    /// did not get that far.
    durable_folders: Mutex<HashSet<PathBuf>>,
}

impl LocalFolder {
    /// Makes the folder if it is absent and removes what a crash left unfinished.
    pub(crate) fn open(root: &Path) -> Result<Self, Error> {
        let failed = |e: std::io::Error| Error::io("open folder", &root.display().to_string(), &e);
        create_dir_durable(root).map_err(failed)?;
        let root = fs::canonicalize(root).map_err(failed)?;
        let staging = root.join(STAGING);
        create_dir_durable(&staging).map_err(failed)?;
        for left_over in fs::read_dir(&staging).map_err(failed)? {
            fs::remove_file(left_over.map_err(failed)?.path()).map_err(failed)?;
        }
        let (next_staged, replacing) = (AtomicU64::new(0), Mutex::new(()));
        let durable_folders = Mutex::new(HashSet::from([root.clone()]));
        Ok(Self {
            root,
            next_staged,
            replacing,
            durable_folders,
        })
    }

    /// Writes the whole file; on disk when this returns. Readers see the old file or the new one.
    pub(crate) fn put(&self, key: &str, bytes: &[u8]) -> Result<(), Error> {
        let number = self.next_staged.fetch_add(1, Ordering::Relaxed);
        let staged = self.root.join(STAGING).join(format!("{}-{number}", std::process::id()));
        let written = self.put_staged(&staged, key, bytes);
        if written.is_err() {
            // Gives the space back on a full disk; a file that stays is swept at the next opening.
            let _ = fs::remove_file(&staged);
        }
        written.map_err(|e| Error::io("write", key, &e))
    }

    fn put_staged(&self, staged: &Path, key: &str, bytes: &[u8]) -> std::io::Result<()> {
        let mut file = File::create(staged)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        drop(file);
        let path = self.root.join(key);
        let folder = path.parent().unwrap_or(&self.root);
        self.make_folder(folder)?;
        fs::rename(staged, &path)?;
        sync_dir(folder)
    }

    /// Makes a folder below the root and its parents, each name on disk when this returns.
    fn make_folder(&self, folder: &Path) -> std::io::Result<()> {
        let mut durable = self.durable_folders.lock();
        let mut missing: Vec<&Path> = folder.ancestors().take_while(|f| !durable.contains(*f)).collect();
        while let Some(folder) = missing.pop() {
            create_dir_durable(folder)?;
            // Also where it existed: see `durable_folders`.
            sync_dir(folder.parent().unwrap_or(&self.root))?;
            durable.insert(folder.to_owned());
        }
        Ok(())
    }

    /// Writes the file if its content is still `expected` (`None`: absent). False if it is not.
    ///
    /// Contents are compared, not modification times: two quick writes can have the same time.
    pub(crate) fn replace(&self, key: &str, expected: Option<&[u8]>, bytes: &[u8]) -> Result<bool, Error> {
        let _in_process = self.replacing.lock();
        let lock = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(self.root.join(LOCK));
        let lock = lock.map_err(|e| Error::io("lock", key, &e))?;
        lock.lock().map_err(|e| Error::io("lock", key, &e))?;
        let path = self.root.join(key);
        let current = match fs::read(&path) {
            Ok(current) => Some(current),
            Err(e) if e.kind() == ErrorKind::NotFound => None,
            Err(e) => return Err(Error::io("read", key, &e)),
        };
        if current.as_deref() != expected {
            // It may be from a replacement that failed, or was killed, between its rename and the sync. The caller goes on from
            // what it finds, so that has to be on disk first.
            if current.is_some() {
                sync_dir(path.parent().unwrap_or(&self.root)).map_err(|e| Error::io("sync", key, &e))?;
            }
            return Ok(false);
        }
        self.put(key, bytes).map(|()| true)
    }
}

/// Makes a folder and its parents if they are absent, each new name on disk when this returns.
fn create_dir_durable(path: &Path) -> std::io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    let parent = path
        .parent()
        .filter(|p| !p.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    create_dir_durable(parent)?;
    match fs::create_dir(path) {
        Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
        made => made?,
    }
    sync_dir(parent)
}

fn sync_dir(path: &Path) -> std::io::Result<()> {
    File::open(path)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn put_replaces_whole_files_and_leaves_nothing_behind() {
        let dir = tempfile::tempdir().unwrap();
        let folder = LocalFolder::open(&dir.path().join("a/b")).unwrap();
        folder.put("objects/ab/x", b"first").unwrap();
        folder.put("objects/ab/x", b"2").unwrap();
        assert_eq!(fs::read(dir.path().join("a/b/objects/ab/x")).unwrap(), b"2");
        assert_eq!(fs::read_dir(dir.path().join("a/b/.tmp")).unwrap().count(), 0);
    }

    #[test]
    fn a_failed_put_removes_its_staged_file() {
        let dir = tempfile::tempdir().unwrap();
        let folder = LocalFolder::open(dir.path()).unwrap();
        folder.put("x", b"a file").unwrap();
        folder.put("x/below", b"needs x to be a folder").unwrap_err();
        assert_eq!(fs::read_dir(dir.path().join(".tmp")).unwrap().count(), 0);
        assert_eq!(fs::read(dir.path().join("x")).unwrap(), b"a file");
    }

    #[test]
    fn leftovers_of_a_crash_are_swept() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join(".tmp")).unwrap();
        fs::write(dir.path().join(".tmp/99-0"), b"half").unwrap();
        LocalFolder::open(dir.path()).unwrap();
        assert_eq!(fs::read_dir(dir.path().join(".tmp")).unwrap().count(), 0);
    }

    #[test]
    fn replace_only_what_is_expected() {
        let dir = tempfile::tempdir().unwrap();
        let folder = LocalFolder::open(dir.path()).unwrap();
        assert!(!folder.replace("r", Some(b"1"), b"2").unwrap());
        assert!(folder.replace("r", None, b"1").unwrap());
        assert!(!folder.replace("r", None, b"2").unwrap());
        assert!(folder.replace("r", Some(b"1"), b"2").unwrap());
        assert_eq!(fs::read(dir.path().join("r")).unwrap(), b"2");
    }
}
