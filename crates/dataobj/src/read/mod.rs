//! Reading objects, without doing any I/O: the caller fetches ranges, this module says which and decodes them.
//!
//! Header ([`ObjectLayout`]) → a section's metadata region ([`SectionMeta`]) → pages ([`decode_int64`] and siblings).

mod coalesce;
mod decode;
mod layout;
mod page;
mod section;

pub use coalesce::{CoalesceOptions, Fetch, coalesce, scatter};
pub use decode::{decode_binary, decode_binary_rows, decode_binary_view, decode_int64, decode_int64_rows};
pub use layout::{ObjectLayout, Parsed, Section};
pub use page::Scratch;
pub use section::{ColumnMeta, Direction, Encoding, OrderBy, PageMeta, SectionMeta, SortInfo};

pub(crate) use layout::{FORMAT_VERSION, MAGIC};
