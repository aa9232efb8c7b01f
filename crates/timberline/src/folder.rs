//! The data folder: `wal/` is the write path's, `store/` the objects and their catalog.

use std::path::{Path, PathBuf};

/// Where the object store of a data folder lies.
pub(crate) fn objects(data: &Path) -> PathBuf {
    data.join("store")
}
