//! Ending the work of a query that nobody waits for. Dropping its future ends what waits; what computes looks at a flag.

use crate::QueryError;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

/// Rows, cells or points that are worked on between two looks at the flag where each takes nanoseconds.
pub(crate) const ITEMS_PER_LOOK: usize = 1 << 14;

/// Bytes of lines that are searched between two looks at the flag.
pub(crate) const BYTES_PER_LOOK: usize = 256 << 10;

/// Set once nobody waits for the query any more.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cancelled(Arc<AtomicBool>);

impl Cancelled {
    /// An error once the query is cancelled. Costs a load of memory that hardly ever changes.
    #[inline]
    pub(crate) fn check(&self) -> Result<(), QueryError> {
        if self.0.load(Relaxed) {
            return Err(QueryError::Cancelled);
        }
        Ok(())
    }

    /// Like [`Cancelled::check`], for loops: looks at every [`ITEMS_PER_LOOK`]th item only.
    #[inline]
    pub(crate) fn check_at(&self, item: usize) -> Result<(), QueryError> {
        if item.is_multiple_of(ITEMS_PER_LOOK) {
            return self.check();
        }
        Ok(())
    }

    /// Cancels the query when it is dropped.
    pub(crate) fn on_drop(&self) -> CancelOnDrop {
        CancelOnDrop(self.clone())
    }
}

/// See [`Cancelled::on_drop`].
pub(crate) struct CancelOnDrop(Cancelled);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.0.store(true, Relaxed);
    }
}

/// Work since other queries last had their turn.
#[derive(Default)]
pub(crate) struct Turns(usize);

impl Turns {
    /// Items after which other queries get their turn.
    const ITEMS: usize = 1 << 18;

    /// Counts items done; gives others their turn, and ends a cancelled query, when they are many.
    pub(crate) async fn add(&mut self, items: usize, cancelled: &Cancelled) -> Result<(), QueryError> {
        self.0 += items;
        if self.0 >= Self::ITEMS {
            self.0 = 0;
            cancelled.check()?;
            tokio::task::yield_now().await;
        }
        Ok(())
    }
}

/// Counts queries of which anything still works.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gauge(Arc<AtomicUsize>);

impl Gauge {
    /// How many there are now.
    pub(crate) fn count(&self) -> usize {
        self.0.load(Relaxed)
    }

    /// One more, until the returned value is dropped.
    pub(crate) fn enter(&self) -> Working {
        self.0.fetch_add(1, Relaxed);
        Working(self.clone())
    }
}

/// See [`Gauge::enter`].
#[derive(Debug)]
pub(crate) struct Working(Gauge);

impl Drop for Working {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Relaxed);
    }
}
