//! Sections of this project's own, namespace `timberline`: what lets a query pass over pages of a logs section without
//! reading them, or answer without reading lines at all (docs/extension-sections.md).
//!
//! * [`TextFilters`]: does any line of a page contain a text?
//! * [`ValueFilters`]: does any row of a page have that value in its structured metadata?
//! * [`Volume`]: rows and bytes per stream, level and minute.
//!
//! All of them are additions: a reader that doesn't know them, or can't read them, gets the same answers more slowly. A
//! [`crate::LogsWriter`] collects them after [`crate::LogsWriter::with_extensions`], and [`crate::ObjectWriter::finish`]
//! puts them behind the other sections, one of each kind per tenant.
//!
//! ```
//! use timberline_dataobj::{extension::*, *};
//!
//! // An object of one record, with its extension sections.
//! let options = WriterOptions::default();
//! let mut logs = LogsWriter::new("t", SortOrder::StreamAscending, &options).with_extensions();
//! for (timestamp_ns, line) in [(9, "GET /cart trace=4bf92f3577b34da6a3ce929d0e0e4736"), (8, "upstream timeout")] {
//!     logs.append(&LogRow { stream_id: 1, timestamp_ns, line: line.as_bytes(), metadata: &[] })?;
//! }
//! let mut object = ObjectWriter::new();
//! object.push_section(logs.finish()?);
//! let object = object.finish()?;
//!
//! // Which of its pages may hold a text?
//! let whole = WholeObject::parse(&object)?;
//! let meta = whole.meta(&whole.sections()[0])?;
//! let page = LogsPage { section: 0, page: 0, meta: &meta.column(column::MESSAGE, "").expect("lines").pages[0] };
//! if let Some(section) = find_section(whole.layout(), "t", TEXT_FILTER) {
//!     let metadata = &object[section.metadata.start as usize..section.metadata.end as usize];
//!     let filters = TextFilters::parse(section, metadata, whole.data(section)?)?;
//!     assert!(filters.may_contain(page, &TextNeedle::new(b"TIMEOUT")));
//! }
//! # Ok::<(), Error>(())
//! ```

mod collect;
mod filters;
mod fuse;
mod grams;
mod literals;
mod page_filter;
mod table;
#[cfg(test)]
mod tests;
mod volume;

pub use filters::{LogsPage, TextFilters, ValueFilters};
// For measuring other filters (`examples/filters`) and for fuzzing; not part of the interface.
#[doc(hidden)]
pub use fuse::{FuseBuilder, FuseFilter, sort_keys};
#[doc(hidden)]
pub use grams::PageGrams;
pub use grams::TextNeedle;
pub use literals::{TextCondition, required_literals};
pub use volume::{Volume, VolumeCell};

pub(crate) use collect::{ColumnObserver, PageRecord};
pub(crate) use volume::VolumeBuilder;

use crate::error::Error;
use crate::read::{ObjectLayout, Section};
use crate::schema::{SectionKind, column};
use crate::write::{ColumnSpec, FinishedSection};
use filters::ColumnRecords;

/// The namespace of this project's section kinds.
pub const NAMESPACE: &str = "timberline";

/// The kind of sections of [`TextFilters`].
pub const TEXT_FILTER: &str = "text_filter";
/// The kind of sections of [`ValueFilters`].
pub const VALUE_FILTER: &str = "value_filter";
/// The kind of sections of [`Volume`].
pub const VOLUME: &str = "volume";

/// Version of `text_filter` and `value_filter` sections.
const FILTERS_VERSION: u32 = 1;
/// Version of `volume` sections.
const VOLUME_VERSION: u32 = 1;

/// The section of a tenant of one of this project's kinds. `None` if the object has none, or one of a version that this
/// build doesn't read: the object is then read without it.
pub fn find_section<'l>(layout: &'l ObjectLayout, tenant: &str, kind: &str) -> Option<&'l Section> {
    let version = if kind == VOLUME {
        VOLUME_VERSION
    } else {
        FILTERS_VERSION
    };
    let kind = SectionKind::from_names(NAMESPACE, kind);
    let mut sections = layout.sections().iter();
    sections.find(|section| section.tenant == tenant && section.kind == kind && section.version == version)
}

/// What a logs section contributes to its tenant's extension sections.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LogsExtension {
    pub(crate) filters: Vec<ColumnFilters>,
    /// `None` if it is not known.
    pub(crate) volume: Option<Volume>,
}

/// The filters of a column's pages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ColumnFilters {
    /// The metadata's key; `None` for lines.
    key: Option<String>,
    pages: Vec<PageRecord>,
}

impl ColumnFilters {
    pub(crate) fn new(column: &ColumnSpec, pages: Vec<PageRecord>) -> ColumnFilters {
        let key = (column.logical == column::METADATA).then(|| column.tag.clone());
        ColumnFilters { key, pages }
    }
}

/// The extension sections of a tenant, whose logs sections stand at these positions of the object.
pub(crate) fn write_sections(tenant: &str, logs: &[(usize, &LogsExtension)]) -> Result<Vec<FinishedSection>, Error> {
    let (mut lines, mut values) = (Vec::new(), Vec::new());
    for (section, extension) in logs {
        for column in &extension.filters {
            let kind = if column.key.is_none() { &mut lines } else { &mut values };
            kind.push(ColumnRecords {
                section: *section,
                key: column.key.as_deref().unwrap_or_default(),
                pages: &column.pages,
            });
        }
    }
    let volumes: Option<Vec<&Volume>> = logs.iter().map(|(_, extension)| extension.volume.as_ref()).collect();
    let volume = volumes
        .map(|volumes| Volume::join(&volumes).write(tenant))
        .transpose()?;
    let sections = [
        filters::write_text(tenant, &lines)?,
        filters::write_values(tenant, &values)?,
        volume.flatten(),
    ];
    Ok(sections.into_iter().flatten().collect())
}
