//! Which streams a tenant has in the head, to bound their number before anything is logged.

use hashbrown::HashSet;
use parking_lot::Mutex;
use twox_hash::XxHash3_64;

/// The streams of one tenant seen since the head was last cut. Streams are told apart by a 64-bit hash: a collision, one in
/// 10^9 at the default limit, admits one stream more than the limit.
#[derive(Debug, Default)]
pub(crate) struct ActiveStreams(Mutex<HashSet<u64>>);

impl ActiveStreams {
    /// Counts a stream, given by its encoded labels, as active; false if that would make more than `limit`.
    pub(crate) fn admit(&self, encoded_labels: &[u8], limit: usize) -> bool {
        let hash = XxHash3_64::oneshot(encoded_labels);
        let mut streams = self.0.lock();
        if streams.contains(&hash) {
            return true;
        }
        let admitted = streams.len() < limit;
        if admitted {
            streams.insert(hash);
        }
        admitted
    }

    /// Forgets all streams.
    pub(crate) fn clear(&self) {
        self.0.lock().clear();
    }
}
