//! How many queries run at once, how many wait, and how long one may take.

use crate::error::HttpError;
use std::future::Future;
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;
use tokio::time::timeout;

/// The gate that each query passes. A client that leaves drops the future, and with it the query and its place.
#[derive(Debug)]
pub(crate) struct QueryGate {
    running: Semaphore,
    /// Places for all queries that run or wait.
    admitted: Semaphore,
    timeout: Duration,
}

impl QueryGate {
    /// At least one query may run.
    pub(crate) fn new(max_running: usize, max_waiting: usize, timeout: Duration) -> Self {
        let running = max_running.clamp(1, Semaphore::MAX_PERMITS / 2);
        let admitted = running + max_waiting.min(Semaphore::MAX_PERMITS / 2);
        Self {
            running: Semaphore::new(running),
            admitted: Semaphore::new(admitted),
            timeout,
        }
    }

    /// Runs a query when its turn comes; also tells how many seconds it waited. Waiting counts towards the time-out.
    pub(crate) async fn run<T, E>(&self, query: impl Future<Output = Result<T, E>>) -> Result<(T, f64), HttpError>
    where
        HttpError: From<E>,
    {
        let Ok(_place) = self.admitted.try_acquire() else {
            return Err(HttpError::queue_full());
        };
        let work = async {
            let arrived = Instant::now();
            let _turn = self.running.acquire().await.expect("bug: the query gate was closed");
            let waited = arrived.elapsed().as_secs_f64();
            Ok((query.await?, waited))
        };
        timeout(self.timeout, work)
            .await
            .unwrap_or_else(|_| Err(HttpError::timed_out()))
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
