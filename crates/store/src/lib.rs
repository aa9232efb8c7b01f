//! Where data objects live: the object store behind one narrow type, the catalog that says which objects exist, and the
//! trait through which the query engine reads rows without knowing whether they come from an object or from memory.
//!
//! An object exists once the catalog lists it: writers put the object, then commit; readers ask a snapshot of the catalog and never list
//! the store.
//!
//! ```
//! use timberline_dataobj::*;
//! use timberline_store::*;
//!
//! # fn one_entry() -> Result<Vec<u8>, timberline_dataobj::Error> {
//! #     let options = WriterOptions::default();
//! #     let mut streams = StreamsWriter::new("fake", &options);
//! #     let labels = [("app", "a")];
//! #     streams.append(&StreamRow {
//! #         id: 1, min_timestamp_ns: 5, max_timestamp_ns: 5, rows: 1, uncompressed_bytes: 2, labels: &labels,
//! #     })?;
//! #     let mut logs = LogsWriter::new("fake", SortOrder::StreamAscending, &options);
//! #     logs.append(&LogRow { stream_id: 1, timestamp_ns: 5, line: b"hi", metadata: &[] })?;
//! #     let mut object = ObjectWriter::new();
//! #     object.push_section(streams.finish()?);
//! #     object.push_section(logs.finish()?);
//! #     object.finish()
//! # }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let bytes = bytes::Bytes::from(one_entry()?);
//! let store = Store::in_memory();
//! let catalog = Catalog::open(store.clone()).await?;
//!
//! // Publish an object.
//! let tenant = TenantId::single();
//! let key = format!("objects/{}", object_key(&bytes));
//! store.put(&key, &bytes).await?;
//! let size_bytes = bytes.len() as u64;
//! let meta = ObjectMeta { key, min_ns: 5, max_ns: 5, rows: 1, size_bytes, uncompressed_bytes: 2 };
//! catalog.commit(Commit { add: vec![(tenant.clone(), meta)], ..Commit::default() }).await?;
//!
//! // Read it.
//! let (snapshot, cache) = (catalog.snapshot(), SourceCache::default());
//! let span = TimeSpan { min_ns: 0, max_ns: 10 };
//! let sources = catalog_sources(&snapshot, &store, &cache, &tenant, span).await?;
//! assert_eq!(sources[0].streams().await?[0].labels.to_string(), r#"{app="a"}"#);
//! assert_eq!(sources[0].lines(0, &Selection::All).await?.value(0), b"hi");
//! # Ok(())
//! # }
//! ```

pub mod catalog;
mod error;
mod fetch;
mod local;
pub mod object;
pub mod source;
mod store;
mod tenant;

pub use catalog::{Catalog, CatalogOptions, CatalogSnapshot, Commit, ObjectMeta};
pub use error::Error;
pub use object::{ObjectSource, SourceCache, catalog_sources};
pub use source::{
    ExcludedRuns, Exclusion, Keys, MAX_TIMESTAMP_NS, MetadataColumn, RowSource, RunInfo, ScanStats, Selection,
    SourceProvider, StreamInfo, TimeSpan, Wanted, WantedValue,
};
pub use store::{ListedObject, Store, StoreCounters, Versioned};
pub use tenant::TenantId;
