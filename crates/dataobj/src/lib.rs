//! Columnar files for logs on object storage: the data-object format of Grafana Loki, read and written.
//!
//! Logs are written once, kept for months, and mostly never read; a question touches one column in ten and one line in a million.
//! So they belong into cheap object storage, compressed by column, in files of which a reader can fetch just the parts
//! it needs. A data object is such a file: immutable, cut into sections of a tenant's streams and log records, these into columns, and
//! columns into pages with checksums and statistics.
//!
//! This crate turns rows into objects, and ranges of objects into Arrow arrays; Loki reads what it writes, and the other way round.
//! [`Scan`] reads the rows of a section for which a predicate holds; objects that are in memory whole can be read as rows, too. What finds log
//! objects is made here as well: index objects ([`IndexBuilder`]) and tables of contents ([`TableOfContents`]). The crate does no I/O
//! and knows nothing of where objects are kept. It never panics on bytes from outside, and what it allocates for them is bounded;
//! [`verify()`] tells whether an object keeps all that the format promises. `docs/format.md` has the layout with drawings,
//! `docs/dataobj-format.md` is the full contract, whose chapters the documentation names.
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
//! // Read the times of the lines that hold "hi". What a scan reads from need not be in memory: here it is.
//! let whole = WholeObject::parse(&object)?;
//! let meta = whole.meta(&whole.sections()[1])?;
//! let predicate = Predicate::contains(column::MESSAGE, "hi");
//! let mut scan = Scan::new(&meta, &predicate, &[column::TIMESTAMP.into()], ScanOptions::default())?;
//! let batch = scan.next_batch(&mut object.as_slice())?.expect("one line does");
//! assert_eq!(batch.columns[0].int64(0), Some(timestamp_ns));
//!
//! // Or decode a page by oneself.
//! let message = meta.column(column::MESSAGE, "").expect("logs have lines");
//! let page = &message.pages[0];
//! let bytes = &object[page.range.start as usize..page.range.end as usize];
//! let lines = decode_binary(message, page, bytes, &mut Scratch::new())?;
//! assert_eq!(lines.value(0), b"hi");
//!
//! // Nothing is wrong with it.
//! assert!(verify(&object).findings.is_empty());
//! # Ok::<(), Error>(())
//! ```

mod cardinality;
mod compression;
pub mod encoding;
mod error;
pub mod extension;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
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
mod verify;
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
pub use verify::{Check, Checked, Finding, Report, Severity, verify};
pub use write::{
    ColumnId, ColumnPointer, ColumnSpec, FinishedSection, IndexPointerRow, IndexPointersWriter, LogRow, LogsWriter,
    ObjectWriter, PageCompressor, PageCut, PointerRow, PointerTarget, PointersWriter, PostingEntry, PostingRow,
    PostingsWriter, SHARD_BUCKETS, SectionWriter, SortOrder, StatsRow, StatsWriter, StreamPointer, StreamRow,
    StreamsWriter, WriterOptions, shard_bucket,
};
