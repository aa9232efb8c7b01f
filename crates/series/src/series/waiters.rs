//! Those who wait for samples of a series (TS.READ with BLOCK; specification, chapter 13).

use super::Series;
use std::fmt;
use std::sync::Arc;

type Waker = Arc<dyn Fn() + Send + Sync>;

/// Wakers by number; empty for nearly every series.
#[derive(Default)]
pub(crate) struct Waiters {
    #[expect(clippy::box_collection, reason = "a pointer in place of a vector in every series")]
    list: Option<Box<Vec<(u64, Waker)>>>,
    next: u64,
}

impl Waiters {
    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_none()
    }

    /// Wakes all; they look for themselves and stay subscribed.
    pub(crate) fn wake(&self) {
        for (_, waker) in self.list.iter().flat_map(|list| list.iter()) {
            waker();
        }
    }
}

impl fmt::Debug for Waiters {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} waiting", self.list.as_ref().map_or(0, |list| list.len()))
    }
}

/// Ends the waiting when it is dropped.
#[derive(Debug)]
pub struct Subscription {
    series: Arc<Series>,
    number: u64,
}

impl Series {
    /// Calls `waker` after each run of writes to the series and when its key is removed ([`Series::is_alive`]), until the
    /// subscription is dropped. It is called under locks and must only take notes.
    pub fn subscribe(self: &Arc<Self>, waker: Waker) -> Subscription {
        let mut state = self.state.lock();
        let number = state.waiters.next;
        state.waiters.next += 1;
        state.waiters.list.get_or_insert_default().push((number, waker));
        Subscription {
            series: Arc::clone(self),
            number,
        }
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let mut state = self.series.state.lock();
        if let Some(list) = &mut state.waiters.list {
            list.retain(|(number, _)| *number != self.number);
            if list.is_empty() {
                state.waiters.list = None;
            }
        }
    }
}
