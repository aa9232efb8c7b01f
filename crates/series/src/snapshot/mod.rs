//! Snapshots: all keys and series in one file, written beside traffic, so that the journal before it can go.
//!
//! ```text
//! file  := "TMBRTSS\n" version:u32=1 reserved:u32=0 block*
//! block := length:u32 checksum:u32 item{length}          checksum: CRC-32C of the items
//! item  := kind:u8 ..                                     see `items.rs`
//! ```
//!
//! Numbers are little endian, those of items are variable-length integers. `snapshot-<n>`, the number in 20 digits, holds everything that
//! segments of the journal below n tell. The directory of keys is that of the moment at which segment n began. Series are written later, one by one
//! under their locks, a source together with its destinations; each carries the sequence number of its last record, so that replaying
//! the journal from segment n on skips what the series holds already. A series may come more than once, when its rules changed meanwhile; the
//! last one counts.

mod blocks;
mod body;
mod groups;
mod items;
mod load;
mod open;
mod save;
mod state;

pub use body::{append_body, read_body};
pub use open::{OpenError, OpenOptions, Opened};
pub use save::SnapshotError;
pub use state::{Durability, SnapshotFigures};
