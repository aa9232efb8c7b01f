//! Opened objects, kept so that a dashboard does not read the same metadata every few seconds.

use super::ObjectSource;
use super::filters::FilterCache;
use crate::source::{RowSource, TimeSpan};
use crate::{CatalogSnapshot, Error, ObjectMeta, Store, TenantId};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;

/// Opened objects, least recently used ones given up first. Cheap to clone; clones share the cache.
#[derive(Clone, Debug)]
pub struct SourceCache(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    max_bytes: usize,
    max_sources: usize,
    kept: Mutex<Kept>,
    filters: FilterCache,
}

#[derive(Debug, Default)]
struct Kept {
    sources: HashMap<(TenantId, String), (ObjectSource, u64)>,
    /// Counts lookups; the time of the cache.
    clock: u64,
}

/// Sources kept at most, however little they weigh.
const MAX_SOURCES: usize = 20_000;

impl Default for SourceCache {
    /// A cache of 64 MiB of metadata and as much of filters.
    fn default() -> Self {
        Self::new(64 << 20)
    }
}

impl SourceCache {
    /// A cache of the objects' metadata in `max_bytes` of memory, and of their filters in as much again.
    pub fn new(max_bytes: usize) -> Self {
        Self(Arc::new(Inner {
            max_bytes,
            max_sources: MAX_SOURCES,
            kept: Mutex::default(),
            filters: FilterCache::new(max_bytes),
        }))
    }

    /// The object as a source, with what was read of it before and counters of its own.
    pub fn source(&self, store: &Store, meta: &ObjectMeta, tenant: &TenantId) -> ObjectSource {
        let mut kept = self.0.kept.lock();
        kept.clock += 1;
        let now = kept.clock;
        let filters = || self.0.filters.clone();
        let open = || ObjectSource::with_filters(store.clone(), meta.clone(), tenant.clone(), filters());
        let (source, used) = kept
            .sources
            .entry((tenant.clone(), meta.key.clone()))
            .or_insert_with(|| (open(), now));
        if source.shared.meta != *meta {
            // A crash between writing and publishing: the same rows were written again, perhaps compressed otherwise.
            *source = open();
        }
        *used = now;
        source.fresh_handle()
    }

    /// Memory of the metadata that is kept, in bytes.
    pub fn weight_bytes(&self) -> usize {
        self.0
            .kept
            .lock()
            .sources
            .values()
            .map(|(source, _)| source.weight_bytes())
            .sum()
    }

    /// Memory of the filters that are kept, in bytes.
    pub fn filter_weight_bytes(&self) -> usize {
        self.0.filters.weight_bytes()
    }

    /// Gives up the least recently used sources until the cache is within its bounds. Sources weigh more after their first use than
    /// when they come in, so this is called from time to time rather than for each; [`catalog_sources`] does.
    pub fn trim(&self) {
        let mut kept = self.0.kept.lock();
        let mut weight: usize = kept.sources.values().map(|(source, _)| source.weight_bytes()).sum();
        let mut count = kept.sources.len();
        if weight <= self.0.max_bytes && count <= self.0.max_sources {
            return;
        }
        let mut oldest_first: Vec<(u64, usize)> = kept
            .sources
            .values()
            .map(|(source, used)| (*used, source.weight_bytes()))
            .collect();
        oldest_first.sort_unstable();
        let mut keep_from = 0;
        for (used, weight_bytes) in oldest_first {
            if weight <= self.0.max_bytes && count <= self.0.max_sources {
                break;
            }
            weight -= weight_bytes;
            count -= 1;
            keep_from = used + 1;
        }
        kept.sources.retain(|_, (_, used)| *used >= keep_from);
    }
}

/// The objects of a catalog that may hold entries of a tenant in a time span, as sources, in order of arrival.
pub async fn catalog_sources(
    snapshot: &CatalogSnapshot,
    store: &Store,
    cache: &SourceCache,
    tenant: &TenantId,
    span: TimeSpan,
) -> Result<Vec<Arc<dyn RowSource>>, Error> {
    let objects = snapshot.objects(tenant, span).await?;
    cache.trim();
    let source = |meta: &ObjectMeta| Arc::new(cache.source(store, meta, tenant)) as Arc<dyn RowSource>;
    Ok(objects.iter().map(source).collect())
}
