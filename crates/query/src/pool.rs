//! Threads for query work, apart from those that serve sockets (design: waiting and working are apart).

use crate::QueryError;
use crate::cancel::{Cancelled, Gauge, Working};
use std::future::Future;
use tokio::runtime::{Builder, Runtime};

/// Stack of a thread. Planning and running go down the tree of a query, whose height the parser bounds
/// (`timberline_logql::MAX_OPERATORS`); memory is taken only as far as the stack is used.
const STACK_BYTES: usize = 32 << 20;

/// A runtime of its own for queries.
#[derive(Debug)]
pub(crate) struct Pool {
    /// `None` only while it is dropped.
    runtime: Option<Runtime>,
    pub(crate) threads: usize,
    working: Gauge,
}

impl Pool {
    /// A pool of so many threads; 0: one per core.
    pub(crate) fn new(threads: usize) -> Result<Self, QueryError> {
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        let threads = if threads == 0 { cores() } else { threads };
        let runtime = Builder::new_multi_thread()
            .worker_threads(threads)
            .thread_name("query")
            .thread_stack_size(STACK_BYTES)
            .enable_time()
            .build()
            .map_err(|e| QueryError::Internal(format!("query threads can't be started: {e}")))?;
        Ok(Self {
            runtime: Some(runtime),
            threads,
            working: Gauge::default(),
        })
    }

    /// Queries of which anything still works, cancelled ones included.
    pub(crate) fn working(&self) -> usize {
        self.working.count()
    }

    /// Runs work on the pool. When the returned future is dropped, the work is cancelled: it is dropped where it waits, and learns by
    /// [`Cancelled`] where it computes.
    pub(crate) async fn run<T: Send + 'static, F: Future<Output = Result<T, QueryError>> + Send + 'static>(
        &self,
        work: impl FnOnce(Cancelled, Working) -> F,
    ) -> Result<T, QueryError> {
        let Some(runtime) = &self.runtime else {
            return Err(QueryError::Internal("query threads have ended".into()));
        };
        struct AbortOnDrop(tokio::task::AbortHandle);
        impl Drop for AbortOnDrop {
            fn drop(&mut self) {
                self.0.abort();
            }
        }
        let cancelled = Cancelled::default();
        let _cancel = cancelled.on_drop();
        let task = runtime.spawn(work(cancelled, self.working.enter()));
        let _abort = AbortOnDrop(task.abort_handle());
        match task.await {
            Ok(result) => result,
            Err(e) => Err(QueryError::Internal(format!("bug: query task ended early: {e}"))),
        }
    }
}

impl Drop for Pool {
    /// A runtime may not be dropped within another one; ending in the background may.
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
