//! Chunks in the object store: what is old goes there, and comes back when somebody reads it.
//!
//! Chunks of many series go into one object. A series keeps of each its bounds, its length and where it is. Who reads fetches through a
//! bounded cache; who writes a late sample there gets the chunk back into memory. Objects are deleted when nobody refers to them.

mod container;
mod cooling;
mod object;
mod slots;
mod store;
mod tier;

pub use cooling::{Cooled, Cooling};
pub use object::ColdReference;
pub use store::{ColdStore, FolderStore, MemoryStore};
pub use tier::ColdTier;
