//! Where objects are kept.

use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Keeps objects under names. Calls block. Names are of letters, digits, `-` and `.`.
pub trait ColdStore: Send + Sync + Debug {
    /// Stores an object durably; one of that name is replaced.
    fn put(&self, name: &str, bytes: &[u8]) -> io::Result<()>;
    /// Some bytes of an object.
    fn get(&self, name: &str, range: Range<u64>) -> io::Result<Vec<u8>>;
    /// Removes an object. One that is not there is no error.
    fn delete(&self, name: &str) -> io::Result<()>;
    /// The names of all objects.
    fn list(&self) -> io::Result<Vec<String>>;
}

/// Objects in memory, for tests.
#[derive(Debug, Default)]
pub struct MemoryStore(Mutex<BTreeMap<String, Vec<u8>>>);

impl ColdStore for MemoryStore {
    fn put(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.0.lock().insert(name.to_owned(), bytes.to_vec());
        Ok(())
    }

    fn get(&self, name: &str, range: Range<u64>) -> io::Result<Vec<u8>> {
        let objects = self.0.lock();
        let bytes = objects.get(name).ok_or(io::ErrorKind::NotFound)?;
        let part = bytes.get(range.start as usize..range.end as usize);
        Ok(part.ok_or(io::ErrorKind::UnexpectedEof)?.to_vec())
    }

    fn delete(&self, name: &str) -> io::Result<()> {
        self.0.lock().remove(name);
        Ok(())
    }

    fn list(&self) -> io::Result<Vec<String>> {
        Ok(self.0.lock().keys().cloned().collect())
    }
}

/// Objects as files of a folder.
#[derive(Debug)]
pub struct FolderStore {
    folder: PathBuf,
}

impl FolderStore {
    /// Objects in a folder, which is made if it is missing.
    pub fn open(folder: &Path) -> io::Result<FolderStore> {
        fs::create_dir_all(folder)?;
        Ok(FolderStore {
            folder: folder.to_owned(),
        })
    }
}

impl ColdStore for FolderStore {
    fn put(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let temporary = self.folder.join(format!("{name}.tmp"));
        let mut file = File::create(&temporary)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&temporary, self.folder.join(name))?;
        File::open(&self.folder)?.sync_all()
    }

    fn get(&self, name: &str, range: Range<u64>) -> io::Result<Vec<u8>> {
        let mut file = File::open(self.folder.join(name))?;
        file.seek(SeekFrom::Start(range.start))?;
        let mut bytes = Vec::new();
        let wanted = range.end.saturating_sub(range.start);
        file.take(wanted).read_to_end(&mut bytes)?;
        if bytes.len() as u64 == wanted {
            Ok(bytes)
        } else {
            Err(io::ErrorKind::UnexpectedEof.into())
        }
    }

    fn delete(&self, name: &str) -> io::Result<()> {
        match fs::remove_file(self.folder.join(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            if let Ok(name) = entry?.file_name().into_string()
                && !name.ends_with(".tmp")
            {
                names.push(name);
            }
        }
        Ok(names)
    }
}
