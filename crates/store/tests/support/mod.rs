//! A backend with faults.

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
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The machine dies just before this write (from 0); from then on everything fails.
    CrashBefore(i64),
    /// It dies just after this write; the writer does not learn that it succeeded.
    CrashAfter(i64),
    /// The answer to each write is lost and the client repeats the request.
    WritesRepeated,
}

/// Passes everything on, but for the fault.
#[derive(Debug)]
pub(crate) struct FaultyBackend {
    inner: Arc<InMemory>,
    fault: Fault,
    writes: AtomicI64,
    crashed: AtomicBool,
}

impl FaultyBackend {
    pub(crate) fn new(inner: Arc<InMemory>, fault: Fault) -> Self {
        Self {
            inner,
            fault,
            writes: AtomicI64::new(0),
            crashed: AtomicBool::new(false),
        }
    }

    pub(crate) fn crashed(&self) -> bool {
        self.crashed.load(Ordering::SeqCst)
    }

    fn check(&self) -> Result<()> {
        if self.crashed() { Err(dead()) } else { Ok(()) }
    }

    fn crash(&self) -> Error {
        self.crashed.store(true, Ordering::SeqCst);
        dead()
    }
}

fn dead() -> Error {
    Error::Generic {
        store: "faulty",
        source: "the machine is dead".into(),
    }
}

impl fmt::Display for FaultyBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("faulty backend")
    }
}

#[async_trait]
impl ObjectStore for FaultyBackend {
    async fn put_opts(&self, location: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        self.check()?;
        let write = self.writes.fetch_add(1, Ordering::SeqCst);
        if self.fault == Fault::CrashBefore(write) {
            return Err(self.crash());
        }
        if self.fault == Fault::WritesRepeated {
            self.inner.put_opts(location, payload.clone(), options.clone()).await?;
        }
        let written = self.inner.put_opts(location, payload, options).await?;
        if self.fault == Fault::CrashAfter(write) {
            Err(self.crash())
        } else {
            Ok(written)
        }
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
