//! One series: chunks in time order, the newest samples as they are, late samples waiting beside the chunk they belong to.
//!
//! ```text
//!   slots:   [ chunk | pending ]  [ chunk | pending ]  [ chunk | pending ]     head: newest samples, raw and sorted
//!             10 .. 400             410 .. 900           905 .. 1300                 1310 .. 1322
//!
//!   late sample 500  ->  pending of the second slot (between 410 and 905)
//!   late sample 1315 ->  into the head
//!   new sample 1330  ->  end of the head; a full head is encoded into the last chunk or a new one
//! ```
//!
//! A pending buffer is merged with its chunk when it is an eighth of it, or when somebody reads there. So a late sample costs one binary
//! search, a look at the timestamps of one block, an insertion into a short vector, and its share of one merge, whatever the size of the series.

mod add;
mod body;
mod delete;
mod head;
mod info;
mod late;
mod read;
mod slot;
mod state;
mod waiters;

pub use add::Outcome;
pub use body::{BodyError, OpenBody, RuleBody, SeriesBody};
pub use info::{ChunkInfo, Info, RuleInfo};
pub use read::Reach;
pub use slot::{Place, Slot};
pub use state::State;
pub use waiters::Subscription;

use crate::options::SeriesOptions;
use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A series, shared by the keyspace, the label index, rules and readers.
pub struct Series {
    id: u64,
    /// False when the key is gone; nobody writes to it any more.
    alive: AtomicBool,
    /// Whether it has a source, so that readers know without the lock that the source may owe it buckets.
    is_destination: AtomicBool,
    pub(crate) state: Arc<Mutex<State>>,
}

impl Series {
    pub(crate) fn new(id: u64, db: u8, key: Arc<[u8]>, options: SeriesOptions) -> Arc<Series> {
        let state = State::new(db, key, options);
        Series::from_state(id, state)
    }

    pub(crate) fn from_state(id: u64, state: State) -> Arc<Series> {
        Arc::new(Series {
            id,
            alive: AtomicBool::new(true),
            is_destination: AtomicBool::new(false),
            state: Arc::new(Mutex::new(state)),
        })
    }

    /// The number of the series, never used twice.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Whether the series still has a key.
    pub fn is_alive(&self) -> bool {
        self.alive.load(Ordering::Acquire)
    }

    /// Says that the key is gone, and wakes those who wait for samples. What late samples changed is written to the destinations, whether
    /// somebody looked at them before or not.
    pub(crate) fn retire(&self) {
        let mut state = self.state.lock();
        state.rules.retain(|rule| rule.destination().is_alive());
        // A bucket that can't be computed stays as it is: there is nobody to tell.
        let _ = state.deliver_all();
        self.alive.store(false, Ordering::Release);
        state.waiters.wake();
    }

    pub(crate) fn is_destination(&self) -> bool {
        self.is_destination.load(Ordering::Acquire)
    }

    pub(crate) fn set_destination(&self, is_destination: bool) {
        self.is_destination.store(is_destination, Ordering::Release);
    }
}

impl fmt::Debug for Series {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Series")
            .field("id", &self.id)
            .field("alive", &self.is_alive())
            .finish_non_exhaustive()
    }
}
