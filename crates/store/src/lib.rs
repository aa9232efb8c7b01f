//! Where data objects live: the object store behind one narrow type, the catalog that says which objects exist, and the
//! trait through which the query engine reads rows without knowing whether they come from an object or from memory.

mod error;
pub mod source;
mod tenant;

pub use error::Error;
pub use source::{Keys, MetadataColumn, RowSource, RunInfo, Selection, SourceProvider, StreamInfo, TimeSpan};
pub use tenant::TenantId;
