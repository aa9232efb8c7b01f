//! The data folder: `wal/` is the write path's, `store/` the objects and their catalog.

use anyhow::{Context, anyhow};
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

/// Where the object store of a data folder lies.
pub(crate) fn objects(data: &Path) -> PathBuf {
    data.join("store")
}

/// Makes the folder if it is absent and claims it for this process, until the file is dropped or the process ends.
///
/// Opening the store removes unfinished files, so a second server must be turned away before it opens anything.
pub(crate) fn claim(data: &Path) -> anyhow::Result<File> {
    let name = || format!("data folder {}", data.display());
    std::fs::create_dir_all(data).with_context(name)?;
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(data.join("serve.lock"))
        .with_context(name)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(anyhow!("{} is in use by another server", name())),
        Err(TryLockError::Error(error)) => Err(error).with_context(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_claimed_once() {
        let place = tempfile::tempdir().unwrap();
        let data = place.path().join("a/b");
        let first = claim(&data).unwrap();
        assert!(
            claim(&data)
                .unwrap_err()
                .to_string()
                .contains("in use by another server")
        );
        drop(first);
        claim(&data).unwrap();
    }
}
