//! References to chunks that lie in objects.

use super::tier::Inner;
use crate::codec::Chunk;
use crate::view::{ColdChunk, ReadError};
use std::fmt;
use std::sync::Arc;

/// An object that somebody refers to: slots of series, views of readers, snapshots in the making. It is deleted from the store only
/// when nobody does.
pub(crate) struct ColdObject {
    pub(super) name: Box<str>,
    pub(super) tier: Arc<Inner>,
}

/// Where a chunk lies in an object.
#[derive(Clone)]
pub struct ColdReference {
    pub(super) object: Arc<ColdObject>,
    pub(super) offset: u64,
    pub(super) bytes: u64,
    pub(super) len: usize,
}

impl ColdReference {
    /// The name of the object.
    pub fn object_name(&self) -> &str {
        &self.object.name
    }

    /// Where the bytes of the chunk begin.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// How many bytes they are.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl ColdChunk for ColdReference {
    fn fetch(&self) -> Result<Arc<Chunk>, ReadError> {
        self.object.tier.fetch(self)
    }

    fn reference(&self) -> Option<&ColdReference> {
        Some(self)
    }
}

impl fmt::Debug for ColdReference {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}[{}..+{}]", self.object.name, self.offset, self.bytes)
    }
}
