//! Writing objects: rows go to a section writer, finished sections to the object writer.

mod column;
mod compressor;
mod index_pointers;
mod logs;
mod object;
mod pointers;
mod postings;
mod section;
mod stats;
mod streams;

pub use column::ColumnSpec;
pub use compressor::PageCompressor;
pub use index_pointers::{IndexPointerRow, IndexPointersWriter};
pub use logs::{LogRow, LogsWriter, SortOrder};
pub use object::ObjectWriter;
pub use pointers::{ColumnPointer, PointerRow, PointerTarget, PointersWriter, StreamPointer};
pub use postings::{PostingEntry, PostingRow, PostingsWriter, SHARD_BUCKETS};
pub use section::{ColumnId, FinishedSection, SectionWriter};
pub use stats::{StatsRow, StatsWriter};
pub use streams::{StreamRow, StreamsWriter, shard_bucket};

pub(crate) use pointers::{KIND_COLUMN, KIND_STREAM};
pub(crate) use postings::{KIND_BLOOM, KIND_LABEL};
pub(crate) use section::COLUMNAR_VERSION;

/// How sections are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriterOptions {
    /// Raw bytes after which a page is closed; 0 for no limit.
    pub page_bytes: usize,
    /// Rows after which a page is closed; 0 for no limit.
    pub page_rows: usize,
    /// Zstandard level of line, metadata and label columns.
    pub zstd_level: i32,
    /// Whether the columns of a logs section are cut together.
    pub cut: PageCut,
}

impl Default for WriterOptions {
    fn default() -> WriterOptions {
        WriterOptions {
            page_bytes: 2 << 20,
            page_rows: 10_000,
            zstd_level: 3,
            cut: PageCut::Aligned,
        }
    }
}

/// Where the pages of a logs section end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageCut {
    /// Each column on its own, by the exact rules of specification chapter 7, as Loki does.
    Independent,
    /// All columns at the same row: as soon as any column's page is full. Page n of one column then holds the rows of page n
    /// of every other.
    Aligned,
}
