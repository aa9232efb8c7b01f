//! Index objects: where the streams, label values and metadata values of many log objects are (specification chapter 10).

use super::layout;
use super::summary::{Labels, LogsSummary, TenantSummary, summarise};
use crate::error::Error;
use crate::write::{ObjectWriter, PageCut, WriterOptions};
use std::collections::HashMap;
use std::sync::Arc;

/// How an index object is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexOptions {
    /// How its sections are written.
    pub writer: WriterOptions,
    /// Raw bytes after which a pointers, stats or postings section is closed and another one begun.
    pub section_bytes: usize,
}

impl Default for IndexOptions {
    fn default() -> IndexOptions {
        IndexOptions {
            writer: WriterOptions {
                page_bytes: 128 << 10,
                page_rows: 10_000,
                zstd_level: 3,
                cut: PageCut::Independent,
            },
            section_bytes: 16 << 20,
        }
    }
}

/// Builds an index object over log objects: per tenant its streams, and per logs section what is in it.
#[derive(Debug)]
pub struct IndexBuilder {
    options: IndexOptions,
    /// Keys of the log objects.
    paths: Vec<String>,
    /// In the order first met.
    tenants: Vec<TenantIndex>,
}

/// An index object that is ready to be stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexObject {
    /// Its bytes, by which [`crate::index_object_path`] names it.
    pub bytes: Vec<u8>,
    /// What tables of contents have to know about it, see [`super::toc_updates`].
    pub spans: Vec<TenantSpan>,
}

/// The records of a tenant behind an index object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TenantSpan {
    /// Whose records.
    pub tenant: String,
    /// Earliest of them, nanoseconds.
    pub min_timestamp_ns: i64,
    /// Latest of them, nanoseconds.
    pub max_timestamp_ns: i64,
    /// Sum of the sizes of their streams.
    pub uncompressed_logs_bytes: i64,
}

#[derive(Debug)]
pub(super) struct TenantIndex {
    pub(super) tenant: String,
    /// By number, from 1.
    pub(super) streams: Vec<IndexedStream>,
    numbers: HashMap<Labels, usize>,
    pub(super) sections: Vec<IndexedSection>,
}

#[derive(Debug)]
pub(super) struct IndexedStream {
    pub(super) labels: Labels,
    pub(super) log_objects: i64,
    pub(super) min_timestamp_ns: i64,
    pub(super) max_timestamp_ns: i64,
    pub(super) uncompressed_bytes: i64,
}

/// A logs section.
#[derive(Debug)]
pub(super) struct IndexedSection {
    /// Position in `paths`.
    object: usize,
    pub(super) summary: LogsSummary,
    /// The position in `streams` for each stream number of the log object, less 1.
    numbers: Arc<[usize]>,
}

impl IndexBuilder {
    /// An index over nothing.
    pub fn new(options: IndexOptions) -> IndexBuilder {
        IndexBuilder {
            options,
            paths: Vec::new(),
            tenants: Vec::new(),
        }
    }

    /// Adds a log object by its key (see [`crate::log_object_path`]) and bytes; each object once. After an error nothing of it is in
    /// the index.
    pub fn add_log_object(&mut self, path: &str, object: &[u8]) -> Result<(), Error> {
        debug_assert!(!self.paths.iter().any(|known| known == path), "each object once");
        let tenants = summarise(object).map_err(|error| error.in_object(path))?;
        self.paths.push(path.to_owned());
        for summary in tenants {
            let known = self.tenants.iter().position(|known| known.tenant == summary.tenant);
            let position = known.unwrap_or_else(|| {
                self.tenants.push(TenantIndex::new(&summary.tenant));
                self.tenants.len() - 1
            });
            self.tenants[position].add(self.paths.len() - 1, summary);
        }
        Ok(())
    }

    /// The index object; `None` if no log object with a tenant was added.
    pub fn finish(self) -> Result<Option<IndexObject>, Error> {
        let mut object = ObjectWriter::new();
        for write in layout::KINDS {
            for tenant in &self.tenants {
                for section in write(&self, tenant)? {
                    object.push_section(section);
                }
            }
        }
        if object.is_empty() {
            return Ok(None);
        }
        Ok(Some(IndexObject {
            bytes: object.finish()?,
            spans: self.tenants.iter().filter_map(TenantIndex::span).collect(),
        }))
    }
}

impl IndexBuilder {
    pub(super) fn options(&self) -> &IndexOptions {
        &self.options
    }

    /// Key of the section's log object.
    pub(super) fn path(&self, section: &IndexedSection) -> &str {
        &self.paths[section.object]
    }
}

impl TenantIndex {
    /// Number in the index, and labels, of a stream of the section's log object.
    pub(super) fn stream(&self, section: &IndexedSection, id_ref: i64) -> (i64, &Labels) {
        let position = section.numbers[(id_ref - 1) as usize];
        (position as i64 + 1, &self.streams[position].labels)
    }

    fn new(tenant: &str) -> TenantIndex {
        TenantIndex {
            tenant: tenant.to_owned(),
            streams: Vec::new(),
            numbers: HashMap::new(),
            sections: Vec::new(),
        }
    }

    fn add(&mut self, object: usize, summary: TenantSummary) {
        let mut numbers = Vec::with_capacity(summary.streams.len());
        for stream in summary.streams {
            let position = match self.numbers.get(&stream.labels) {
                Some(position) => *position,
                None => {
                    self.numbers.insert(stream.labels.clone(), self.streams.len());
                    self.streams.push(IndexedStream {
                        labels: stream.labels,
                        log_objects: 0,
                        min_timestamp_ns: i64::MAX,
                        max_timestamp_ns: i64::MIN,
                        uncompressed_bytes: 0,
                    });
                    self.streams.len() - 1
                }
            };
            let known = &mut self.streams[position];
            known.log_objects += 1;
            known.min_timestamp_ns = known.min_timestamp_ns.min(stream.min_timestamp_ns);
            known.max_timestamp_ns = known.max_timestamp_ns.max(stream.max_timestamp_ns);
            known.uncompressed_bytes = known.uncompressed_bytes.saturating_add(stream.uncompressed_bytes);
            numbers.push(position);
        }
        let numbers: Arc<[usize]> = Arc::from(numbers);
        self.sections
            .extend(summary.sections.into_iter().map(|summary| IndexedSection {
                object,
                summary,
                numbers: Arc::clone(&numbers),
            }));
    }

    /// `None` without streams.
    fn span(&self) -> Option<TenantSpan> {
        let sizes = self.streams.iter().map(|stream| stream.uncompressed_bytes);
        Some(TenantSpan {
            tenant: self.tenant.clone(),
            min_timestamp_ns: self.streams.iter().map(|stream| stream.min_timestamp_ns).min()?,
            max_timestamp_ns: self.streams.iter().map(|stream| stream.max_timestamp_ns).max()?,
            uncompressed_logs_bytes: sizes.fold(0, i64::saturating_add),
        })
    }
}
