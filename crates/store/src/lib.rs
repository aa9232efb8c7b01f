//! Where data objects live: the object store behind one narrow type, the catalog that says which objects exist, and the
//! trait through which the query engine reads rows without knowing whether they come from an object or from memory.

pub mod catalog;
mod error;
mod local;
pub mod object;
pub mod source;
mod store;
mod tenant;

pub use catalog::{Catalog, CatalogOptions, CatalogSnapshot, Commit, ObjectMeta};
pub use error::Error;
pub use object::{ObjectSource, SourceCache, catalog_sources};
pub use source::{
    Keys, MetadataColumn, RowSource, RunInfo, ScanStats, Selection, SourceProvider, StreamInfo, TimeSpan,
};
pub use store::{ListedObject, Store, StoreCounters, Versioned};
pub use tenant::TenantId;
