//! How many queries run at once, how many wait, and how long one may take.

use crate::error::HttpError;
use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;
use tokio::time::timeout;

/// The gate that each query passes. A client that leaves drops the future, and with it the query and its place.
#[derive(Debug)]
pub(crate) struct QueryGate {
    running: Semaphore,
    /// Places for all queries that run or wait.
    admitted: Semaphore,
    max_running: usize,
    max_admitted: usize,
    timeout: Duration,
    refused: AtomicU64,
    timed_out: AtomicU64,
}

/// What the gate shows to whoever watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct QueryGateStats {
    /// Queries that run now.
    pub(crate) running: usize,
    /// Queries that wait for their turn now.
    pub(crate) waiting: usize,
    /// Queries refused because too many waited.
    pub(crate) refused: u64,
    /// Queries ended because they took too long.
    pub(crate) timed_out: u64,
}

impl QueryGate {
    /// At least one query may run.
    pub(crate) fn new(max_running: usize, max_waiting: usize, timeout: Duration) -> Self {
        let running = max_running.clamp(1, Semaphore::MAX_PERMITS / 2);
        let admitted = running + max_waiting.min(Semaphore::MAX_PERMITS / 2);
        Self {
            running: Semaphore::new(running),
            admitted: Semaphore::new(admitted),
            max_running: running,
            max_admitted: admitted,
            timeout,
            refused: AtomicU64::new(0),
            timed_out: AtomicU64::new(0),
        }
    }

    /// The gate as it is now.
    pub(crate) fn stats(&self) -> QueryGateStats {
        let running = self.max_running - self.running.available_permits();
        let admitted = self.max_admitted - self.admitted.available_permits();
        QueryGateStats {
            running,
            waiting: admitted.saturating_sub(running),
            refused: self.refused.load(Ordering::Relaxed),
            timed_out: self.timed_out.load(Ordering::Relaxed),
        }
    }

    /// Runs a query when its turn comes; also tells how many seconds it waited. Waiting counts towards the time-out.
    pub(crate) async fn run<T, E>(&self, query: impl Future<Output = Result<T, E>>) -> Result<(T, f64), HttpError>
    where
        HttpError: From<E>,
    {
        let Ok(_place) = self.admitted.try_acquire() else {
            self.refused.fetch_add(1, Ordering::Relaxed);
            return Err(HttpError::queue_full());
        };
        let work = async {
            let arrived = Instant::now();
            let _turn = self.running.acquire().await.expect("bug: the query gate was closed");
            let waited = arrived.elapsed().as_secs_f64();
            Ok((query.await?, waited))
        };
        timeout(self.timeout, work).await.unwrap_or_else(|_| {
            self.timed_out.fetch_add(1, Ordering::Relaxed);
            Err(HttpError::timed_out())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::{pending, ready};

    const LONG: Duration = Duration::from_secs(3600);

    #[tokio::test]
    async fn one_runs_one_waits_the_third_is_refused() {
        let gate = QueryGate::new(1, 1, LONG);
        let mut first = Box::pin(gate.run(pending::<Result<(), HttpError>>()));
        let mut second = Box::pin(gate.run(ready(Ok::<_, HttpError>(2))));
        assert!(futures::poll!(&mut first).is_pending());
        assert!(futures::poll!(&mut second).is_pending());
        assert_eq!(
            gate.run(ready(Ok::<_, HttpError>(3))).await.map(|r| r.0),
            Err(HttpError::queue_full())
        );
        assert_eq!(
            gate.stats(),
            QueryGateStats {
                running: 1,
                waiting: 1,
                refused: 1,
                timed_out: 0
            }
        );
        // The client of the first leaves: its place is free at once.
        drop(first);
        assert_eq!(second.await.map(|r| r.0), Ok(2));
        assert_eq!(gate.run(ready(Ok::<_, HttpError>(3))).await.map(|r| r.0), Ok(3));
    }

    #[tokio::test]
    async fn a_query_that_takes_too_long_is_ended() {
        let gate = QueryGate::new(1, 0, Duration::ZERO);
        assert_eq!(
            gate.run(pending::<Result<(), HttpError>>()).await.map(|r| r.0),
            Err(HttpError::timed_out())
        );
    }
}
