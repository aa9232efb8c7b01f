//! Which objects exist, for which tenant and time.
//!
//! # Layout on the store
//!
//! ```text
//! catalog/root.json                                                    the only file that changes
//! catalog/tables/<tenant>/2025-03-14T12Z/00000017-9f3c5a7e01b2c4d6.json  objects of a tenant that touch a 12-hour UTC window
//! catalog/tables/<tenant>/wide/00000009-....json                        objects of a tenant that touch more than 8 windows
//! ```
//!
//! Each file is one JSON document `{"format":1,"checksum":"crc32c:...","body":{...}}`; the checksum (CRC-32C) covers the bytes of the
//! body as they stand. A file of another format is refused by name.
//!
//! The body of the root names the current version of each table:
//!
//! ```json
//! {"generation":17, "next_sequence":42,
//!  "watermarks":{"local":8},
//!  "tenants":{"fake":{"wide":null, "windows":{"2025-03-14T12Z":"catalog/tables/fake/2025-03-14T12Z/00000017-9f3c....json"}}},
//!  "superseded":[{"key":"catalog/tables/fake/2025-03-14T12Z/00000016-....json", "at_ms":1741953600000}]}
//! ```
//!
//! The body of a table lists objects by ascending sequence number, the order in which they were committed. An object that touches
//! up to 8 windows is in the table of each; one that touches more is in the tenant's wide table alone, which is read for every query.
//!
//! # Commits
//!
//! A commit writes new versions of the tables it touches under new names, then replaces the root in one conditional step. Until then
//! nobody sees the new tables; from then on everybody does, together with the writer's watermark. If another writer replaced the root
//! first, the commit starts again from the new root. Superseded tables stay for ten minutes for readers with an older snapshot and
//! are deleted by a later commit; tables that no root ever named, left by a crash, are swept when the catalog is opened.

mod envelope;
mod files;
mod snapshot;
mod window;

pub use files::ObjectMeta;
pub use snapshot::CatalogSnapshot;

use crate::source::TimeSpan;
use crate::{Error, Store, TenantId, Versioned};
use envelope::{seal, unseal};
use files::{ROOT_KEY, Root, Superseded, TABLES_FOLDER, Table, TableEntry, TableId, new_table_key, tables_of};
use futures::StreamExt;
use parking_lot::RwLock;
use snapshot::TableCache;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tracing::{info, warn};

/// Attempts of one commit. Each lost attempt means that another writer's commit went through.
const MAX_ATTEMPTS: usize = 30;
/// Tables of one commit that are written at once.
const PARALLEL_WRITES: usize = 8;
/// How much older than a superseded table a table without a name in the root must be to be swept: its commit may be under way.
const SWEEP_FACTOR: u32 = 6;

/// Which objects exist. Cheap to clone; clones share snapshots and take turns to commit.
#[derive(Clone, Debug)]
pub struct Catalog(Arc<Inner>);

/// How a catalog is kept.
#[derive(Clone, Copy, Debug)]
pub struct CatalogOptions {
    /// How long a superseded table stays readable. Longer than any query that holds a snapshot.
    pub keep_superseded: Duration,
}

impl Default for CatalogOptions {
    fn default() -> Self {
        Self {
            keep_superseded: Duration::from_secs(600),
        }
    }
}

/// A change of the catalog; all of it happens, or nothing.
#[derive(Clone, Debug, Default)]
pub struct Commit {
    /// Objects that appear. One that is listed already is replaced and keeps its place in the order, so that publishing again after a
    /// crash doubles nothing.
    pub add: Vec<(TenantId, ObjectMeta)>,
    /// Keys of objects that disappear, before those of `add` appear; unknown ones are passed over.
    pub remove: Vec<(TenantId, String)>,
    /// The writer and the last segment of its log whose entries are now all published. A watermark never goes back.
    pub watermark: Option<(String, u64)>,
}

#[derive(Debug)]
struct Inner {
    store: Store,
    options: CatalogOptions,
    cache: Arc<TableCache>,
    current: RwLock<Current>,
    committing: tokio::sync::Mutex<()>,
}

#[derive(Clone, Debug)]
struct Current {
    snapshot: Arc<CatalogSnapshot>,
    /// The root as it was read or written; `None` while there is none.
    root: Option<Versioned>,
}

/// A commit whose tables are written.
struct Prepared {
    /// The root that makes them current.
    root: Root,
    /// Keys of the new tables.
    tables: Vec<String>,
    /// Tables to delete once the root is written.
    expired: Vec<String>,
}

impl Catalog {
    /// Opens the catalog of a store, empty where there is none, and sweeps tables that a crashed commit left behind.
    pub async fn open(store: Store) -> Result<Self, Error> {
        Self::open_with(store, CatalogOptions::default()).await
    }

    /// As [`Catalog::open`], with options.
    pub async fn open_with(store: Store, options: CatalogOptions) -> Result<Self, Error> {
        let catalog = Self::open_read_only_with(store, options).await?;
        catalog.sweep().await?;
        Ok(catalog)
    }

    /// Opens the catalog of a store that another process may be writing; writes and deletes nothing.
    pub async fn open_read_only(store: Store) -> Result<Self, Error> {
        Self::open_read_only_with(store, CatalogOptions::default()).await
    }

    async fn open_read_only_with(store: Store, options: CatalogOptions) -> Result<Self, Error> {
        let cache = Arc::new(TableCache::default());
        let current = load_current(&store, &cache).await?;
        let committing = tokio::sync::Mutex::new(());
        Ok(Self(Arc::new(Inner {
            store,
            options,
            cache,
            current: RwLock::new(current),
            committing,
        })))
    }

    /// The catalog as this process last read or wrote it.
    pub fn snapshot(&self) -> Arc<CatalogSnapshot> {
        self.0.current.read().snapshot.clone()
    }

    /// Reads the root again and returns the catalog as other processes see it.
    pub async fn refresh(&self) -> Result<Arc<CatalogSnapshot>, Error> {
        let _turn = self.0.committing.lock().await;
        self.reload().await
    }

    /// Makes a change durable and visible in one atomic step. On an error the change may or may not have happened; committing it
    /// again is harmless.
    pub async fn commit(&self, commit: Commit) -> Result<Arc<CatalogSnapshot>, Error> {
        let _turn = self.0.committing.lock().await;
        for _ in 0..MAX_ATTEMPTS {
            let current = self.0.current.read().clone();
            let Some(Prepared { root, tables, expired }) = self.prepare(&current.snapshot, &commit).await? else {
                return Ok(current.snapshot);
            };
            let replaced = self.0.store.replace(ROOT_KEY, current.root.as_ref(), seal(&root)).await;
            if let Err(error @ Error::OutOfSpace(_)) = replaced {
                self.delete_unnamed(&tables).await;
                return Err(error);
            }
            let Some(written) = replaced? else {
                // Where the store did what it was asked but its answer was lost, the next attempt finds nothing left to change.
                self.reload().await?;
                continue;
            };
            let snapshot = self.install(root, Some(written));
            self.delete_tables(expired.iter().map(String::as_str)).await;
            return Ok(snapshot);
        }
        Err(Error::Conflict {
            key: ROOT_KEY.into(),
            attempts: MAX_ATTEMPTS,
        })
    }

    /// Writes the tables of a commit; `None` if the commit changes nothing.
    async fn prepare(&self, base: &CatalogSnapshot, commit: &Commit) -> Result<Option<Prepared>, Error> {
        let mut root = base.root.clone();
        let changed = change_tables(base, commit, &mut root.next_sequence).await?;
        let mut watermark_rises = false;
        if let Some((writer, segment)) = &commit.watermark {
            let known = root.watermarks.get(writer);
            watermark_rises = known.is_none_or(|known| known < segment);
            if watermark_rises {
                root.watermarks.insert(writer.clone(), *segment);
            }
        }
        if changed.is_empty() && !watermark_rises {
            return Ok(None);
        }
        root.generation += 1;
        let now_ms = now_ms();
        let keep_ms = i64::try_from(self.0.options.keep_superseded.as_millis()).unwrap_or(i64::MAX);
        let (expired, kept): (Vec<_>, Vec<_>) = root
            .superseded
            .drain(..)
            .partition(|old| now_ms.saturating_sub(old.at_ms) >= keep_ms);
        root.superseded = kept;

        let mut writes = Vec::new();
        for ((tenant, id), table) in changed {
            let key = (!table.objects.is_empty()).then(|| new_table_key(&tenant, id, root.generation));
            let tables = root.tenants.entry(tenant.clone()).or_default();
            if let Some(old) = tables.set(id, key.clone()) {
                root.superseded.push(Superseded {
                    key: old,
                    at_ms: now_ms,
                });
            }
            if tables.wide.is_none() && tables.windows.is_empty() {
                root.tenants.remove(&tenant);
            }
            if let Some(key) = key {
                writes.push((key, Arc::new(table)));
            }
        }
        let write = |(key, table): &(String, Arc<Table>)| {
            let (key, table) = (key.clone(), table.clone());
            async move {
                self.0.store.put(&key, &seal(&*table)).await?;
                self.0.cache.insert(&key, &table);
                Ok::<(), Error>(())
            }
        };
        let written: Vec<Result<(), Error>> = futures::stream::iter(writes.iter().map(write))
            .buffer_unordered(PARALLEL_WRITES)
            .collect()
            .await;
        if let Some(error) = written.into_iter().find_map(Result::err) {
            // No root names them; on a full disk the next attempt needs the space.
            self.delete_tables(writes.iter().map(|(key, _)| key.as_str())).await;
            return Err(error);
        }
        Ok(Some(Prepared {
            root,
            tables: writes.into_iter().map(|(key, _)| key).collect(),
            expired: expired.into_iter().map(|old| old.key).collect(),
        }))
    }

    /// Gives back the space of tables whose root found none: with each further attempt on a full disk they would become more. An error
    /// does not tell that nothing happened, so the root is asked; what can't be told stays until the next sweep.
    async fn delete_unnamed(&self, tables: &[String]) {
        let Ok(snapshot) = self.reload().await else { return };
        let named: HashSet<&str> = snapshot.root.tables().collect();
        let unnamed = tables.iter().map(String::as_str).filter(|key| !named.contains(key));
        self.delete_tables(unnamed).await;
    }

    async fn reload(&self) -> Result<Arc<CatalogSnapshot>, Error> {
        let current = load_current(&self.0.store, &self.0.cache).await?;
        let snapshot = current.snapshot.clone();
        *self.0.current.write() = current;
        Ok(snapshot)
    }

    fn install(&self, root: Root, written: Option<Versioned>) -> Arc<CatalogSnapshot> {
        let snapshot = Arc::new(CatalogSnapshot::new(root, self.0.store.clone(), self.0.cache.clone()));
        *self.0.current.write() = Current {
            snapshot: snapshot.clone(),
            root: written,
        };
        snapshot
    }

    /// Deletes tables that the root does not name and that no commit under way can be about to name.
    async fn sweep(&self) -> Result<(), Error> {
        let snapshot = self.snapshot();
        let root = &snapshot.root;
        let named: HashSet<&str> = root
            .tables()
            .chain(root.superseded.iter().map(|old| old.key.as_str()))
            .collect();
        let keep_ms = i64::try_from((self.0.options.keep_superseded * SWEEP_FACTOR).as_millis()).unwrap_or(i64::MAX);
        let now_ms = now_ms();
        let listed = self.0.store.list(TABLES_FOLDER).await?;
        let orphan = |o: &&crate::ListedObject| {
            !named.contains(o.key.as_str()) && now_ms.saturating_sub(o.modified_ms) >= keep_ms
        };
        let orphans: Vec<&str> = listed.iter().filter(orphan).map(|o| o.key.as_str()).collect();
        if !orphans.is_empty() {
            info!(tables = orphans.len(), "sweeping tables that no commit made current");
            self.delete_tables(orphans.into_iter()).await;
        }
        Ok(())
    }

    /// Deletes tables. One that can't be deleted now is swept when the catalog is next opened.
    async fn delete_tables(&self, keys: impl Iterator<Item = &str>) {
        for key in keys {
            self.0.cache.remove(key);
            if let Err(error) = self.0.store.delete(key).await {
                warn!(table = key, %error, "superseded table stays until the next sweep");
            }
        }
    }
}

/// The tables that a commit changes, in their new state.
async fn change_tables(
    base: &CatalogSnapshot,
    commit: &Commit,
    next_sequence: &mut u64,
) -> Result<BTreeMap<(String, TableId), Table>, Error> {
    let mut changed: BTreeMap<(String, TableId), Table> = BTreeMap::new();
    let removed: BTreeSet<(&TenantId, &str)> = commit
        .remove
        .iter()
        .map(|(tenant, key)| (tenant, key.as_str()))
        .collect();
    for (tenant, key) in removed {
        let Some(span) = find(base, tenant.as_str(), key).await? else {
            continue;
        };
        for id in tables_of(span) {
            let table = edit(base, &mut changed, tenant.as_str(), id).await?;
            table.objects.retain(|entry| entry.meta.key != key);
        }
    }
    for (tenant, meta) in &commit.add {
        if meta.min_ns > meta.max_ns {
            return Err(Error::Invalid(format!("object {} ends before it begins", meta.key)));
        }
        // All tables of an object agree on its sequence number: it is in all of them, or in none.
        let mut sequence = None;
        for id in tables_of(meta.span()) {
            let table = edit(base, &mut changed, tenant.as_str(), id).await?;
            match table.objects.iter_mut().find(|entry| entry.meta.key == meta.key) {
                Some(entry) => entry.meta = meta.clone(),
                None => {
                    let sequence = *sequence.get_or_insert_with(|| {
                        *next_sequence += 1;
                        *next_sequence - 1
                    });
                    table.objects.push(TableEntry {
                        sequence,
                        meta: meta.clone(),
                    });
                }
            }
        }
    }
    let mut really_changed = BTreeMap::new();
    for ((tenant, id), table) in changed {
        if *base.table_of(&tenant, id).await? != table {
            really_changed.insert((tenant, id), table);
        }
    }
    Ok(really_changed)
}

/// The table in its state within this commit.
async fn edit<'a>(
    base: &CatalogSnapshot,
    changed: &'a mut BTreeMap<(String, TableId), Table>,
    tenant: &str,
    id: TableId,
) -> Result<&'a mut Table, Error> {
    let place = (tenant.to_owned(), id);
    if !changed.contains_key(&place) {
        let table = base.table_of(tenant, id).await?;
        changed.insert(place.clone(), (*table).clone());
    }
    Ok(changed.get_mut(&place).expect("bug: inserted above"))
}

/// The span of a listed object.
async fn find(base: &CatalogSnapshot, tenant: &str, key: &str) -> Result<Option<TimeSpan>, Error> {
    let Some(tables) = base.root.tenants.get(tenant) else {
        return Ok(None);
    };
    for (_, table_key) in tables.newest_first() {
        let table = base.table(table_key).await?;
        if let Some(entry) = table.objects.iter().find(|entry| entry.meta.key == key) {
            return Ok(Some(entry.meta.span()));
        }
    }
    Ok(None)
}

async fn load_current(store: &Store, cache: &Arc<TableCache>) -> Result<Current, Error> {
    let (root, version) = match store.get_versioned(ROOT_KEY).await {
        Ok(found) => (unseal(ROOT_KEY, &found.bytes)?, Some(found)),
        Err(Error::NotFound(_)) => (Root::default(), None),
        Err(e) => return Err(e),
    };
    let snapshot = Arc::new(CatalogSnapshot::new(root, store.clone(), cache.clone()));
    Ok(Current {
        snapshot,
        root: version,
    })
}

fn now_ms() -> i64 {
    let since_1970 = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    i64::try_from(since_1970.as_millis()).unwrap_or(i64::MAX)
}
