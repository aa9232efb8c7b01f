//! A backend that crashes at a chosen write.

use async_trait::async_trait;
use futures::stream::BoxStream;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// When the machine dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Crash {
    /// Just before the write.
    Before,
    /// Just after it; the writer does not learn that it succeeded.
    After,
}

/// Passes everything on until the write number `crash_at` (from 0); from then on everything fails.
#[derive(Debug)]
pub(crate) struct CrashingBackend {
    inner: Arc<InMemory>,
    writes_left: AtomicI64,
    crash: Crash,
}

impl CrashingBackend {
    pub(crate) fn new(inner: Arc<InMemory>, crash_at: i64, crash: Crash) -> Self {
        Self {
            inner,
            writes_left: AtomicI64::new(crash_at),
            crash,
        }
    }

    pub(crate) fn crashed(&self) -> bool {
        self.writes_left.load(Ordering::SeqCst) < 0
    }

    fn check(&self) -> Result<()> {
        if self.crashed() { Err(dead()) } else { Ok(()) }
    }
}

fn dead() -> Error {
    Error::Generic {
        store: "crashing",
        source: "the machine is dead".into(),
    }
}

impl fmt::Display for CrashingBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("crashing backend")
    }
}

#[async_trait]
impl ObjectStore for CrashingBackend {
    async fn put_opts(&self, location: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        self.check()?;
        let crashes = self.writes_left.fetch_sub(1, Ordering::SeqCst) == 0;
        if crashes && self.crash == Crash::Before {
            return Err(dead());
        }
        let written = self.inner.put_opts(location, payload, options).await?;
        if crashes { Err(dead()) } else { Ok(written) }
    }

    async fn put_multipart_opts(&self, _: &Path, _: PutMultipartOptions) -> Result<Box<dyn MultipartUpload>> {
        Err(dead())
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        self.check()?;
        self.inner.get_opts(location, options).await
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        match self.check() {
            Ok(()) => self.inner.delete_stream(locations),
            Err(e) => Box::pin(futures::stream::once(async { Err(e) })),
        }
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.inner.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.check()?;
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, _: &Path, _: &Path, _: CopyOptions) -> Result<()> {
        Err(dead())
    }
}
