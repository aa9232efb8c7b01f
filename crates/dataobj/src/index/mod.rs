//! Index objects and tables of contents: how log objects are found (specification chapters 10 and 11).

mod bloom;
mod builder;
mod layout;
mod murmur3;
mod summary;
mod table_of_contents;
mod window;

pub use bloom::BloomFilter;
pub use builder::{IndexBuilder, IndexObject, IndexOptions, TenantSpan};
pub use table_of_contents::{TableOfContents, TocEntry, toc_updates};
pub use window::{TOC_WINDOW_NS, TocWindow};
