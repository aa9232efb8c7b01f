//! What reading ranges costs: requests, bytes, how many at once, and memory from the pool.

#![expect(clippy::single_range_in_vec_init, reason = "lists of ranges are meant")]

use async_trait::async_trait;
use bytes::Bytes;
use futures::StreamExt;
use futures::stream::BoxStream;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetRange, GetResult, GetResultPayload, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, ObjectStoreExt, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use timberline_store::Store;

/// Passes everything on, counts the ranges read, and answers in pieces as a network does.
#[derive(Debug, Default)]
struct CountingBackend {
    inner: InMemory,
    requests: AtomicU64,
    bytes: AtomicU64,
    running: AtomicU64,
    most_running: AtomicU64,
}

/// Bytes of a piece of an answer.
const PIECE_BYTES: usize = 100_000;

impl fmt::Display for CountingBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("counting backend")
    }
}

#[async_trait]
impl ObjectStore for CountingBackend {
    async fn put_opts(&self, location: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        self.inner.put_opts(location, payload, options).await
    }

    async fn put_multipart_opts(&self, _: &Path, _: PutMultipartOptions) -> Result<Box<dyn MultipartUpload>> {
        Err(object_store::Error::NotImplemented {
            operation: "put_multipart_opts".into(),
            implementer: "counting backend".into(),
        })
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let Some(GetRange::Bounded(range)) = &options.range else {
            return self.inner.get_opts(location, options).await;
        };
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(range.end - range.start, Ordering::Relaxed);
        let running = self.running.fetch_add(1, Ordering::Relaxed) + 1;
        self.most_running.fetch_max(running, Ordering::Relaxed);
        // Whoever else may start now does.
        tokio::task::yield_now().await;
        let answer = self.inner.get_opts(location, options).await;
        self.running.fetch_sub(1, Ordering::Relaxed);
        let answer = answer?;
        let (meta, range, attributes) = (answer.meta.clone(), answer.range.clone(), answer.attributes.clone());
        let body = answer.bytes().await?;
        let pieces: Vec<Result<Bytes>> = (0..body.len())
            .step_by(PIECE_BYTES)
            .map(|at| Ok(body.slice(at..body.len().min(at + PIECE_BYTES))))
            .collect();
        let payload = GetResultPayload::Stream(futures::stream::iter(pieces).boxed());
        Ok(GetResult {
            payload,
            meta,
            range,
            attributes,
        })
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        self.inner.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.inner.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.inner.copy_opts(from, to, options).await
    }
}

const MIB: u64 = 1 << 20;

fn object() -> Bytes {
    (0..40 * MIB).map(|i| (i / 7 % 251) as u8).collect::<Vec<_>>().into()
}

fn slices(object: &Bytes, ranges: &[Range<u64>]) -> Vec<Bytes> {
    ranges
        .iter()
        .map(|range| object.slice(range.start as usize..range.end as usize))
        .collect()
}

#[tokio::test]
async fn requests_are_joined_and_cut_and_at_most_ten_run_at_once() {
    let object = object();
    let check = async |ranges: &[Range<u64>], requests: u64, bytes: u64, at_once: u64| {
        let backend = Arc::new(CountingBackend::default());
        backend
            .inner
            .put(&Path::from("x"), object.clone().into())
            .await
            .unwrap();
        let store = Store::new(backend.clone());
        assert_eq!(store.get_ranges("x", ranges).await.unwrap(), slices(&object, ranges));
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let counted = (
            load(&backend.requests),
            load(&backend.bytes),
            load(&backend.most_running),
        );
        assert_eq!(counted, (requests, bytes, at_once), "{ranges:?}");
        assert_eq!((store.counters().gets, store.counters().get_bytes), (requests, bytes));
    };
    check(&[], 0, 0, 0).await;
    check(&[5..5, 9..9], 0, 0, 0).await;
    // Pages of a column that touch, and pages with small gaps: one request, gaps included.
    check(&[0..1000, 1000..2000, 2000..3000], 1, 3000, 1).await;
    check(&[0..1000, 5000..6000], 1, 6000, 1).await;
    // Beyond a gap of 1 MiB, apart.
    check(&[0..1000, 1000 + MIB..2000 + MIB], 1, MIB + 2000, 1).await;
    check(&[0..1000, 1001 + MIB..2000 + MIB], 2, 1999, 2).await;
    // A large range is halved as long as halves have 1 MiB and lanes are free.
    check(&[0..MIB * 8], 2, 8 * MIB, 2).await;
    // Far more requests than lanes: ten at once.
    let far: Vec<Range<u64>> = (0..19).map(|i| i * 2 * MIB..i * 2 * MIB + 10).collect();
    check(&far, 19, 190, 10).await;
}

/// Bytes read again and again, and dropped, take no new memory: neither from files nor from answers in pieces.
#[tokio::test]
async fn what_is_read_again_goes_into_the_same_memory() {
    let object = object();
    let folder = tempfile::tempdir().unwrap();
    let backend = Arc::new(CountingBackend::default());
    backend
        .inner
        .put(&Path::from("x"), object.clone().into())
        .await
        .unwrap();
    let local = Store::open_local(folder.path()).unwrap();
    local.put("x", &object).await.unwrap();
    let read_only = Store::open_local_read_only(folder.path()).unwrap();
    for store in [local, read_only, Store::new(backend)] {
        let ranges = [0..2 * MIB, 10 * MIB..12 * MIB];
        let mut seen = Vec::new();
        for _ in 0..5 {
            let read = store.get_ranges("x", &ranges).await.unwrap();
            assert_eq!(read, slices(&object, &ranges));
            let held = store.get_ranges("x", &[3 * MIB..5 * MIB]).await.unwrap();
            assert_eq!(read, slices(&object, &ranges), "what is held stays as it is");
            drop((read, held));
            seen.push(store.pool().stats().allocated);
        }
        assert!(
            seen[0] > 0 && seen.iter().all(|allocated| *allocated == seen[0]),
            "{store:?}: {seen:?}"
        );
    }
}
