//! Reading sections as rows: the section whole, by what its kind says its columns mean (specification chapter 8).
//!
//! One file per kind, all of the same shape: `XReader::open` decodes the columns of the kind that are there, passes over
//! others, and checks what the kind promises; after that `rows` lends one row after another and can't fail.
//!
//! Meant for tools, index objects and tables of contents, which are small. To search logs, decode page by page instead:
//! [`crate::decode_int64`] and its siblings.

mod columns;
mod index_pointers;
mod logs;
mod pointers;
mod postings;
mod stats;
mod streams;
mod whole;

pub use columns::MAX_SECTION_BYTES;
pub use index_pointers::IndexPointersReader;
pub use logs::{LogRecord, LogsReader};
pub use pointers::PointersReader;
pub use postings::PostingsReader;
pub use stats::{StatsReader, StatsRecord};
pub use streams::{StreamRecord, StreamsReader};
pub use whole::WholeObject;

pub(crate) use logs::known_columns;
