//! The catalog as of one moment.

use super::envelope::unseal;
use super::files::{ObjectMeta, Root, Table, TableId};
use super::window::Window;
use crate::source::TimeSpan;
use crate::{Error, Store, TenantId};
use futures::{StreamExt, TryStreamExt};
use parking_lot::Mutex;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Tables of one call that are read at once.
const PARALLEL_TABLES: usize = 10;
/// Objects in all cached tables together; about 300 bytes each.
const MAX_CACHED_OBJECTS: usize = 200_000;

/// The catalog as of one commit. Tables are read when they are first needed, and kept.
///
/// A snapshot can be read for ten minutes after the commit that superseded it; later its tables may be gone from the store
/// ([`Error::NotFound`]).
#[derive(Debug)]
pub struct CatalogSnapshot {
    pub(super) root: Root,
    store: Store,
    cache: Arc<TableCache>,
}

/// Tables by their keys; tables never change, so all snapshots share it.
#[derive(Debug, Default)]
pub(super) struct TableCache(Mutex<CachedTables>);

#[derive(Debug, Default)]
struct CachedTables {
    tables: HashMap<String, Arc<Table>>,
    objects: usize,
}

impl CatalogSnapshot {
    pub(super) fn new(root: Root, store: Store, cache: Arc<TableCache>) -> Self {
        Self { root, store, cache }
    }

    /// The objects that may hold entries of a tenant in a time span, in the order of their commits, which is the order of arrival.
    pub async fn objects(&self, tenant: &TenantId, span: TimeSpan) -> Result<Vec<ObjectMeta>, Error> {
        let Some(tables) = self.root.tenants.get(tenant.as_str()) else {
            return Ok(Vec::new());
        };
        if span.min_ns > span.max_ns {
            return Ok(Vec::new());
        }
        let windows = Window::of_ns(span.min_ns)..=Window::of_ns(span.max_ns);
        let keys = tables.windows.range(windows).map(|(_, key)| key).chain(&tables.wide);
        let tables: Vec<Arc<Table>> = futures::stream::iter(keys.map(|key| self.table(key)).collect::<Vec<_>>())
            .buffered(PARALLEL_TABLES)
            .try_collect()
            .await?;
        let mut found: BTreeMap<u64, &ObjectMeta> = BTreeMap::new();
        for entry in tables.iter().flat_map(|table| &table.objects) {
            if entry.meta.span().overlaps(&span) {
                found.insert(entry.sequence, &entry.meta);
            }
        }
        Ok(found.into_values().cloned().collect())
    }

    /// The tenants that have objects, in order.
    pub fn tenants(&self) -> impl Iterator<Item = &str> {
        self.root.tenants.keys().map(String::as_str)
    }

    /// The last segment of a writer's log whose entries are all published; `None` for a writer that never published.
    pub fn watermark(&self, writer: &str) -> Option<u64> {
        self.root.watermarks.get(writer).copied()
    }

    /// Number of commits so far.
    pub fn generation(&self) -> u64 {
        self.root.generation
    }

    /// The table of a tenant; empty if it does not exist.
    pub(super) async fn table_of(&self, tenant: &str, id: TableId) -> Result<Arc<Table>, Error> {
        match self.root.tenants.get(tenant).and_then(|tables| tables.get(id)) {
            Some(key) => self.table(key).await,
            None => Ok(Arc::default()),
        }
    }

    pub(super) async fn table(&self, key: &str) -> Result<Arc<Table>, Error> {
        if let Some(table) = self.cache.0.lock().tables.get(key) {
            return Ok(table.clone());
        }
        let table: Arc<Table> = Arc::new(unseal(key, &self.store.get(key).await?)?);
        self.cache.insert(key, &table);
        Ok(table)
    }
}

impl TableCache {
    pub(super) fn insert(&self, key: &str, table: &Arc<Table>) {
        let mut cached = self.0.lock();
        if cached.objects > MAX_CACHED_OBJECTS {
            *cached = CachedTables::default();
        }
        if cached.tables.insert(key.to_owned(), table.clone()).is_none() {
            cached.objects += table.objects.len();
        }
    }

    pub(super) fn remove(&self, key: &str) {
        let mut cached = self.0.lock();
        if let Some(table) = cached.tables.remove(key) {
            cached.objects -= table.objects.len();
        }
    }
}
