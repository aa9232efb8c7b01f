//! The data-object format: encodings, pages, columns, sections, reader and writer.
//!
//! A data object is an immutable file of columnar sections, each owned by a tenant: its streams, and its log records. This
//! crate turns rows into such a file and ranges of such a file into Arrow arrays; objects that are in memory whole it reads as
//! rows too. It also makes what finds log objects: index objects ([`IndexBuilder`]) and tables of contents
//! ([`TableOfContents`]). It does no I/O and knows nothing of where
//! objects are kept; it never panics on bytes from outside, and what it allocates for them is bounded.
//!
//! ```
//! use timberline_dataobj::*;
//!
//! // Write an object of one stream and one record.
//! let options = WriterOptions::default();
//! let labels = [("app", "a")];
//! let (id, timestamp_ns) = (1, 1_700_000_000_000_000_000);
//! let mut streams = StreamsWriter::new("t", &options);
//! streams.append(&StreamRow {
//!     id, min_timestamp_ns: timestamp_ns, max_timestamp_ns: timestamp_ns, rows: 1, uncompressed_bytes: 2, labels: &labels,
//! })?;
//! let mut logs = LogsWriter::new("t", SortOrder::StreamAscending, &options);
//! logs.append(&LogRow { stream_id: id, timestamp_ns, line: b"hi", metadata: &[] })?;
//! let mut object = ObjectWriter::new();
//! object.push_section(streams.finish()?);
//! object.push_section(logs.finish()?);
//! let object = object.finish()?;
//!
//! // Read its lines: header, metadata of the section, page.
//! let range = |range: &std::ops::Range<u64>| &object[range.start as usize..range.end as usize];
//! let Parsed::Complete(layout) = ObjectLayout::parse(&object)? else { panic!("the whole object is there") };
//! let section = &layout.sections()[1];
//! let meta = SectionMeta::parse(section, range(&section.metadata))?;
//! let message = meta.column(column::MESSAGE, "").expect("logs have lines");
//! let page = &message.pages[0];
//! let lines = decode_binary(message, page, range(&page.range), &mut Scratch::new())?;
//! assert_eq!(lines.value(0), b"hi");
//! # Ok::<(), Error>(())
//! ```

mod cardinality;
mod compression;
pub mod encoding;
mod error;
mod index;
mod key;
mod limits;
mod pool;
mod proto;
mod read;
mod scan;
mod schema;
mod sections;
mod stats;
mod varint;
mod write;

pub use compression::Compression;
pub use error::{Corruption, Error};
pub use index::{
    BloomFilter, IndexBuilder, IndexObject, IndexOptions, TOC_WINDOW_NS, TableOfContents, TenantSpan, TocEntry,
    TocWindow, toc_updates,
};
pub use key::{
    BUCKET_ROOT, INDEX_ROOT, compacted_index_object_path, compacted_log_object_path, index_object_path,
    log_object_path, object_key,
};
pub use limits::{MAX_HEADER_BYTES, MAX_PAGE_BYTES, MAX_PAGE_ROWS};
pub use pool::{BufferPool, PoolStats, PooledBuffer};
pub use read::{
    CoalesceOptions, ColumnMeta, Direction, Encoding, Fetch, ObjectLayout, OrderBy, PageMeta, Parsed, Scratch, Section,
    SectionMeta, SortInfo, coalesce, decode_binary, decode_binary_rows, decode_binary_view, decode_int64,
    decode_int64_rows, scatter,
};
pub use scan::{
    Batch, ColumnName, ColumnValues, PageCount, Predicate, ReadRanges, RowRanges, Scan, ScanCounters, ScanOptions,
    Step, Test,
};
pub use schema::{LOKI_NAMESPACE, SectionKind, column};
pub use sections::{
    IndexPointersReader, LogRecord, LogsReader, MAX_SECTION_BYTES, PointersReader, PostingsReader, StatsReader,
    StatsRecord, StreamRecord, StreamsReader, WholeObject,
};
pub use stats::{Physical, Stats, Value};
pub use write::{
    ColumnId, ColumnPointer, ColumnSpec, FinishedSection, IndexPointerRow, IndexPointersWriter, LogRow, LogsWriter,
    ObjectWriter, PageCompressor, PageCut, PointerRow, PointerTarget, PointersWriter, PostingEntry, PostingRow,
    PostingsWriter, SHARD_BUCKETS, SectionWriter, SortOrder, StatsRow, StatsWriter, StreamPointer, StreamRow,
    StreamsWriter, WriterOptions, shard_bucket,
};
