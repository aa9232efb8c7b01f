//! Which streams and names a tenant has in the head, to bound their number before anything is logged.

use crate::limits::Limits;
use hashbrown::HashSet;
use parking_lot::Mutex;
use timberline_logql::labels::LabelSet;
use twox_hash::XxHash3_64;

/// The streams of one tenant seen since the head was last cut, and the names of their labels and metadata: each name becomes
/// a column of the data object. Both are told apart by a 64-bit hash: a collision, one in 10^9 at the default limits, admits
/// one more than the limit.
#[derive(Debug, Default)]
pub(crate) struct ActiveStreams(Mutex<Seen>);

#[derive(Debug, Default)]
struct Seen {
    streams: HashSet<u64>,
    names: HashSet<u64>,
}

/// What there is no more room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Full {
    /// `max_global_streams_per_user` is reached.
    Streams,
    /// `max_names` is reached.
    Names,
}

impl ActiveStreams {
    /// Counts a stream and the names of its labels as active, unless that would make more than the limits allow.
    pub(crate) fn admit(&self, labels: &LabelSet, encoded_labels: &[u8], limits: &Limits) -> Result<(), Full> {
        let hash = hash_of(encoded_labels);
        let mut seen = self.0.lock();
        if seen.streams.contains(&hash) {
            return Ok(());
        }
        if seen.streams.len() >= limits.max_streams {
            return Err(Full::Streams);
        }
        if !labels.iter().all(|(name, _)| seen.admit_name(name, limits)) {
            return Err(Full::Names);
        }
        seen.streams.insert(hash);
        Ok(())
    }

    /// Counts the name of metadata as active; false if that would make more than the limit allows.
    pub(crate) fn admit_name(&self, name: &str, limits: &Limits) -> bool {
        self.0.lock().admit_name(name, limits)
    }
}

impl Seen {
    fn admit_name(&mut self, name: &str, limits: &Limits) -> bool {
        let hash = hash_of(name.as_bytes());
        if self.names.contains(&hash) {
            return true;
        }
        let admitted = self.names.len() < limits.max_names;
        if admitted {
            self.names.insert(hash);
        }
        admitted
    }
}

fn hash_of(bytes: &[u8]) -> u64 {
    XxHash3_64::oneshot(bytes)
}
