//! Chunks in the object store: what is old goes there, and comes back when somebody reads it.

mod object;
mod slots;
mod store;
mod tier;

pub use object::ColdReference;
pub use store::{ColdStore, FolderStore, MemoryStore};
pub use tier::ColdTier;
