//! The one type through which bytes reach storage.

use crate::Error;
use crate::fetch::{collect, read_file};
use crate::local::LocalFolder;
use bytes::Bytes;
use futures::{StreamExt, TryStreamExt};
use object_store::local::LocalFileSystem;
use object_store::memory::InMemory;
use object_store::path::Path as ObjectPath;
use object_store::{ObjectStore, ObjectStoreExt, PutMode, PutOptions, UpdateVersion};
use std::error::Error as StdError;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use timberline_dataobj::{BufferPool, CoalesceOptions, coalesce, scatter};

/// In a folder a request costs some microseconds, so that only what all but touches is read together, and nothing is
/// cut in order to be read in parallel.
const LOCAL_COALESCE: CoalesceOptions = CoalesceOptions {
    max_gap_bytes: 16 << 10,
    max_fetch_bytes: 8 << 20,
    min_fetch_bytes: 1 << 20,
    parallelism: 1,
};

/// Memory that a store retains for reading ranges: some requests of the largest size at once.
const POOL_BYTES: usize = 32 << 20;

/// A place where objects are kept: a folder, memory, or a bucket. Cheap to clone.
///
/// Keys are relative paths with `/` between their parts. Parts are not empty, `.` or `..`; the first part does not begin with a dot; no
/// part holds a control character, `\` or `#`.
#[derive(Clone, Debug)]
pub struct Store(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    backend: Arc<dyn ObjectStore>,
    kind: Kind,
    coalesce: CoalesceOptions,
    pool: BufferPool,
    counters: Counters,
}

#[derive(Debug)]
enum Kind {
    /// A folder that this process writes, and where its files are.
    Folder(Arc<LocalFolder>, LocalFileSystem),
    /// A folder that another process may be writing.
    ReadOnlyFolder(LocalFileSystem),
    /// Anything that writes durably and conditionally by itself.
    Other,
}

#[derive(Debug, Default)]
struct Counters {
    puts: AtomicU64,
    put_bytes: AtomicU64,
    gets: AtomicU64,
    get_bytes: AtomicU64,
    lists: AtomicU64,
    deletes: AtomicU64,
}

/// What a store was asked for since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreCounters {
    /// Objects written.
    pub puts: u64,
    /// Bytes written.
    pub put_bytes: u64,
    /// Read requests; ranges that were fetched together count once.
    pub gets: u64,
    /// Bytes read, gaps between coalesced ranges included.
    pub get_bytes: u64,
    /// Listings.
    pub lists: u64,
    /// Objects deleted.
    pub deletes: u64,
}

/// An object as a listing shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedObject {
    /// Its key.
    pub key: String,
    /// Its size in bytes.
    pub size_bytes: u64,
    /// Milliseconds since 1970 of its last write, by the clock of the store.
    pub modified_ms: i64,
}

/// Content of an object together with what [`Store::replace`] needs to know that it is unchanged.
#[derive(Clone, Debug)]
pub struct Versioned {
    /// The content.
    pub bytes: Bytes,
    version: UpdateVersion,
}

impl Store {
    /// Opens a local folder, makes it if it is absent, and removes the unfinished files of an earlier crash. One process may have a
    /// folder open in this way.
    pub fn open_local(folder: &Path) -> Result<Self, Error> {
        let local = LocalFolder::open(folder)?;
        let files = local_files(folder)?;
        Ok(Self::with(
            Arc::new(files.clone()),
            Kind::Folder(Arc::new(local), files),
        ))
    }

    /// Opens a local folder beside a process that writes to it: nothing is made or removed, and writing fails.
    pub fn open_local_read_only(folder: &Path) -> Result<Self, Error> {
        let files = local_files(folder)?;
        Ok(Self::with(Arc::new(files.clone()), Kind::ReadOnlyFolder(files)))
    }

    /// An empty store in memory.
    pub fn in_memory() -> Self {
        Self::new(Arc::new(InMemory::new()))
    }

    /// A store over any backend whose writes are durable when they return and which has conditional updates.
    pub fn new(backend: Arc<dyn ObjectStore>) -> Self {
        Self::with(backend, Kind::Other)
    }

    fn with(backend: Arc<dyn ObjectStore>, kind: Kind) -> Self {
        let coalesce = match kind {
            Kind::Other => CoalesceOptions::default(),
            Kind::Folder(..) | Kind::ReadOnlyFolder(_) => LOCAL_COALESCE,
        };
        Self(Arc::new(Inner {
            backend,
            kind,
            coalesce,
            pool: BufferPool::new(POOL_BYTES),
            counters: Counters::default(),
        }))
    }

    /// Writes an object, whole or not at all; durable on return. An object with this key is replaced.
    pub async fn put(&self, key: &str, bytes: &Bytes) -> Result<(), Error> {
        let path = parse_key(key)?;
        if let Some(local) = self.writable(key)? {
            let (key, bytes) = (key.to_owned(), bytes.clone());
            blocking(move || local.put(&key, &bytes)).await?;
        } else {
            self.0
                .backend
                .put(&path, bytes.clone().into())
                .await
                .map_err(|e| backend_error("write", key, &e))?;
        }
        self.count_put(bytes.len());
        Ok(())
    }

    /// Reads a whole object.
    pub async fn get(&self, key: &str) -> Result<Bytes, Error> {
        Ok(self.get_versioned(key).await?.bytes)
    }

    /// Reads a whole object in order to [`Store::replace`] it.
    pub async fn get_versioned(&self, key: &str) -> Result<Versioned, Error> {
        let path = parse_key(key)?;
        let failed = |e| backend_error("read", key, &e);
        let found = self.0.backend.get(&path).await.map_err(failed)?;
        let version = UpdateVersion {
            e_tag: found.meta.e_tag.clone(),
            version: found.meta.version.clone(),
        };
        let bytes = found.bytes().await.map_err(failed)?;
        self.count_get(bytes.len());
        Ok(Versioned { bytes, version })
    }

    /// Replaces an object in one atomic step if it still is as `expected` (`None`: absent); durable on return. `None` if another
    /// writer was faster.
    pub async fn replace(
        &self,
        key: &str,
        expected: Option<&Versioned>,
        bytes: Bytes,
    ) -> Result<Option<Versioned>, Error> {
        let path = parse_key(key)?;
        let version = if let Some(local) = self.writable(key)? {
            let (key, bytes) = (key.to_owned(), bytes.clone());
            let expected = expected.map(|e| e.bytes.clone());
            let replaced = blocking(move || local.replace(&key, expected.as_deref(), &bytes)).await?;
            replaced.then_some(UpdateVersion {
                e_tag: None,
                version: None,
            })
        } else {
            let mode = expected.map_or(PutMode::Create, |e| PutMode::Update(e.version.clone()));
            match self
                .0
                .backend
                .put_opts(&path, bytes.clone().into(), PutOptions::from(mode))
                .await
            {
                Ok(written) => Some(written.into()),
                Err(object_store::Error::Precondition { .. } | object_store::Error::AlreadyExists { .. }) => None,
                Err(e) => return Err(backend_error("replace", key, &e)),
            }
        };
        if version.is_some() {
            self.count_put(bytes.len());
        }
        Ok(version.map(|version| Versioned { bytes, version }))
    }

    /// Reads a range of an object. A range that ends behind the object gives what there is.
    pub async fn get_range(&self, key: &str, range: Range<u64>) -> Result<Bytes, Error> {
        let path = parse_key(key)?;
        if range.is_empty() {
            return Ok(Bytes::new());
        }
        let options = object_store::GetOptions::new().with_range(Some(range.clone()));
        let read = async { self.0.backend.get_opts(&path, options).await?.bytes().await };
        match read.await {
            Ok(bytes) => {
                self.count_get(bytes.len());
                Ok(bytes)
            }
            Err(e) => Err(self.explain_failed_ranges(key, &path, &[range], &e).await),
        }
    }

    /// Reads several ranges of an object, near ones in one request. All must lie within the object.
    ///
    /// Callers check ranges that come from an object's own metadata against its size first: a backend may reserve the memory before it
    /// looks.
    pub async fn get_ranges(&self, key: &str, ranges: &[Range<u64>]) -> Result<Vec<Bytes>, Error> {
        let path = parse_key(key)?;
        let fetches = coalesce(ranges, &self.0.coalesce);
        let wanted: Vec<Range<u64>> = fetches.iter().map(|f| f.range.clone()).collect();
        let fetched: Vec<Bytes> = match &self.0.kind {
            Kind::Folder(_, files) | Kind::ReadOnlyFolder(files) => {
                let file = files
                    .path_to_filesystem(&path)
                    .map_err(|e| backend_error("read", key, &e))?;
                let (key, pool) = (key.to_owned(), self.0.pool.clone());
                // One hop to a blocking thread for the whole batch.
                blocking(move || read_file(&file, &key, &wanted, &pool)).await?
            }
            Kind::Other => {
                let read = |range: Range<u64>| self.read_range(&path, range);
                let fetched = futures::stream::iter(wanted.into_iter().map(read))
                    .buffered(self.0.coalesce.parallelism)
                    .try_collect()
                    .await;
                match fetched {
                    Ok(fetched) => Some(fetched),
                    Err(e) => return Err(self.explain_failed_ranges(key, &path, ranges, &e).await),
                }
            }
        }
        .ok_or_else(|| truncated(key, ranges))?;
        for bytes in &fetched {
            self.count_get(bytes.len());
        }
        scatter(ranges, &fetches, &fetched).ok_or_else(|| truncated(key, ranges))
    }

    async fn read_range(&self, path: &ObjectPath, range: Range<u64>) -> object_store::Result<Bytes> {
        let length = range.end - range.start;
        let options = object_store::GetOptions::new().with_range(Some(range));
        collect(self.0.backend.get_opts(path, options).await?, length, &self.0.pool).await
    }

    /// Tells an object that is too short from a store that failed.
    async fn explain_failed_ranges(
        &self,
        key: &str,
        path: &ObjectPath,
        ranges: &[Range<u64>],
        error: &object_store::Error,
    ) -> Error {
        let end = ranges.iter().map(|r| r.end).max().unwrap_or(0);
        match self.0.backend.head(path).await {
            Ok(meta) if meta.size < end => truncated(key, ranges),
            _ => backend_error("read", key, error),
        }
    }

    /// Removes an object. No error if it is absent.
    pub async fn delete(&self, key: &str) -> Result<(), Error> {
        let path = parse_key(key)?;
        self.writable(key)?;
        match self.0.backend.delete(&path).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => {}
            Err(e) => return Err(backend_error("delete", key, &e)),
        }
        self.0.counters.deletes.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// The objects below a folder, or all for an empty prefix, in order of their keys. For tools and sweeps; queries never list.
    pub async fn list(&self, prefix: &str) -> Result<Vec<ListedObject>, Error> {
        let path = if prefix.is_empty() {
            None
        } else {
            Some(parse_key(prefix.trim_end_matches('/'))?)
        };
        let found: Vec<object_store::ObjectMeta> = self
            .0
            .backend
            .list(path.as_ref())
            .try_collect()
            .await
            .map_err(|e| backend_error("list", prefix, &e))?;
        self.0.counters.lists.fetch_add(1, Ordering::Relaxed);
        let listed = |meta: object_store::ObjectMeta| ListedObject {
            key: meta.location.to_string(),
            size_bytes: meta.size,
            modified_ms: meta.last_modified.timestamp_millis(),
        };
        let mut listed: Vec<ListedObject> = found
            .into_iter()
            .map(listed)
            .filter(|o| !o.key.starts_with('.'))
            .collect();
        listed.sort_by(|a, b| a.key.cmp(&b.key));
        Ok(listed)
    }

    /// Where ranges are read into.
    pub fn pool(&self) -> &BufferPool {
        &self.0.pool
    }

    /// What was asked for so far.
    pub fn counters(&self) -> StoreCounters {
        let c = &self.0.counters;
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        StoreCounters {
            puts: load(&c.puts),
            put_bytes: load(&c.put_bytes),
            gets: load(&c.gets),
            get_bytes: load(&c.get_bytes),
            lists: load(&c.lists),
            deletes: load(&c.deletes),
        }
    }

    /// The folder to write to, or `None` to write through the backend.
    fn writable(&self, key: &str) -> Result<Option<Arc<LocalFolder>>, Error> {
        match &self.0.kind {
            Kind::Folder(local, _) => Ok(Some(local.clone())),
            Kind::ReadOnlyFolder(_) => Err(Error::Invalid(format!(
                "store is open for reading only, can't change {key}"
            ))),
            Kind::Other => Ok(None),
        }
    }

    fn count_put(&self, bytes: usize) {
        self.0.counters.puts.fetch_add(1, Ordering::Relaxed);
        self.0.counters.put_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    fn count_get(&self, bytes: usize) {
        self.0.counters.gets.fetch_add(1, Ordering::Relaxed);
        self.0.counters.get_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}

/// Runs `work` where waiting for the disk stalls nobody.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T, Error> + Send + 'static) -> Result<T, Error> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(e) if e.is_panic() => std::panic::resume_unwind(e.into_panic()),
        Err(e) => Err(Error::Io {
            action: "run",
            key: "blocking task".into(),
            message: e.to_string(),
        }),
    }
}

fn local_files(folder: &Path) -> Result<LocalFileSystem, Error> {
    let failed = |e| backend_error("open folder", &folder.display().to_string(), &e);
    LocalFileSystem::new_with_prefix(folder).map_err(failed)
}

fn parse_key(key: &str) -> Result<ObjectPath, Error> {
    let invalid = |what: &str| Error::Invalid(format!("object key {key:?} {what}"));
    if key.starts_with('.') {
        return Err(invalid("begins with a dot"));
    }
    for part in key.split('/') {
        if part.is_empty() || part == "." || part == ".." {
            return Err(invalid("has a part that is empty, `.` or `..`"));
        }
        if part.contains(|c: char| c.is_control() || c == '\\' || c == '#') {
            return Err(invalid("holds a control character, `\\` or `#`"));
        }
    }
    ObjectPath::parse(key).map_err(|e| invalid(&e.to_string()))
}

fn truncated(key: &str, ranges: &[Range<u64>]) -> Error {
    let end = ranges.iter().map(|r| r.end).max().unwrap_or(0);
    Error::Corrupt {
        object: key.to_owned(),
        section: "file".into(),
        offset: end,
        message: "the object ends before this byte".into(),
    }
}

fn backend_error(action: &'static str, key: &str, error: &object_store::Error) -> Error {
    if matches!(error, object_store::Error::NotFound { .. }) {
        return Error::NotFound(key.to_owned());
    }
    let mut cause: Option<&(dyn StdError + 'static)> = Some(error);
    while let Some(e) = cause {
        if let Some(io) = e.downcast_ref::<std::io::Error>()
            && matches!(Error::io(action, key, io), Error::OutOfSpace(_))
        {
            return Error::OutOfSpace(key.to_owned());
        }
        cause = e.source();
    }
    Error::Io {
        action,
        key: key.to_owned(),
        message: error.to_string(),
    }
}
