//! Content-derived object names (specification chapter 11.1).

use sha2::{Digest, Sha224};
use std::fmt::Write;

/// The lower-case hex SHA-224 of a complete object, 56 digits: its name in a bucket.
pub fn object_key(object: &[u8]) -> String {
    Sha224::digest(object)
        .iter()
        .fold(String::with_capacity(56), |mut key, byte| {
            let _ = write!(key, "{byte:02x}");
            key
        })
}

#[cfg(test)]
mod tests {
    #[test]
    fn known_digest() {
        assert_eq!(
            super::object_key(b""),
            "d14a028c2a3a2bc9476102bb288234c415a2b01f828ea62ac5b3e42f"
        );
    }
}
