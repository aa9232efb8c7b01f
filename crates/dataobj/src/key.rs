//! Content-derived object names, and where objects lie in a bucket (specification chapter 11.1).

use sha2::{Digest, Sha224};
use std::fmt::Write;

/// What all keys in a bucket begin with, by default. Keys of log objects inside of other objects are relative to it.
pub const BUCKET_ROOT: &str = "dataobj/";

/// What keys of index objects and tables of contents begin with, behind [`BUCKET_ROOT`]. Keys of index objects inside of
/// other objects are relative to it.
pub const INDEX_ROOT: &str = "index/v0/";

/// Digits of the name that stand before the slash.
const SPLIT: usize = 2;

/// The lower-case hex SHA-224 of a complete object, 56 digits: its name in a bucket.
pub fn object_key(object: &[u8]) -> String {
    Sha224::digest(object)
        .iter()
        .fold(String::with_capacity(56), |mut key, byte| {
            let _ = write!(key, "{byte:02x}");
            key
        })
}

/// Key of a log object below [`BUCKET_ROOT`], by its bytes: `objects/ab/cdef..`.
pub fn log_object_path(object: &[u8]) -> String {
    path("objects/", object)
}

/// Key of an index object below [`INDEX_ROOT`], by its bytes: `indexes/ab/cdef..`.
pub fn index_object_path(object: &[u8]) -> String {
    path("indexes/", object)
}

/// Key of a compacted log object below [`BUCKET_ROOT`]: `objects/tenants/<tenant>/ab/cdef..`.
pub fn compacted_log_object_path(tenant: &str, object: &[u8]) -> String {
    path(&format!("objects/tenants/{tenant}/"), object)
}

/// Key of a compacted index object below [`INDEX_ROOT`]: `indexes/tenants/<tenant>/ab/cdef..`.
pub fn compacted_index_object_path(tenant: &str, object: &[u8]) -> String {
    path(&format!("indexes/tenants/{tenant}/"), object)
}

fn path(folder: &str, object: &[u8]) -> String {
    let key = object_key(object);
    let (first, rest) = key.split_at(SPLIT);
    format!("{folder}{first}/{rest}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_digest() {
        assert_eq!(
            object_key(b""),
            "d14a028c2a3a2bc9476102bb288234c415a2b01f828ea62ac5b3e42f"
        );
    }

    #[test]
    fn paths() {
        let rest = "4a028c2a3a2bc9476102bb288234c415a2b01f828ea62ac5b3e42f";
        assert_eq!(log_object_path(b""), format!("objects/d1/{rest}"));
        assert_eq!(index_object_path(b""), format!("indexes/d1/{rest}"));
        assert_eq!(
            compacted_log_object_path("t", b""),
            format!("objects/tenants/t/d1/{rest}")
        );
        assert_eq!(
            compacted_index_object_path("t", b""),
            format!("indexes/tenants/t/d1/{rest}")
        );
    }
}
