//! How many bytes of push requests are in memory at once.

use tokio::sync::{Semaphore, SemaphorePermit};

const KIB: usize = 1024;

/// A body whose length is not told beforehand is counted as this while it is read.
const UNKNOWN_BYTES: usize = 1 << 20;

/// Bytes that push requests may hold: one half for bodies as they are sent, one for what they unpack to. Who finds a half used
/// up waits: the sender's connection is not read meanwhile.
///
/// Requests take from the first half before they take from the second, so those that have both never wait for others.
#[derive(Debug)]
pub(crate) struct PushBudget {
    read: Pool,
    decoded: Pool,
    max_body_bytes: usize,
}

#[derive(Debug)]
struct Pool {
    kibibytes: Semaphore,
    total: usize,
}

impl PushBudget {
    /// A budget of this many bytes, for bodies of at most `max_body_bytes`.
    pub(crate) fn new(bytes: usize, max_body_bytes: usize) -> Self {
        Self {
            read: Pool::new(bytes / 2),
            decoded: Pool::new(bytes / 2),
            max_body_bytes,
        }
    }

    /// Bytes of the budget that are in use now.
    pub(crate) fn used_bytes(&self) -> usize {
        self.read.used_bytes() + self.decoded.used_bytes()
    }

    /// Waits for a share to read a body of this length. One that will be refused for its length, of which nothing is kept, takes
    /// next to nothing.
    pub(crate) async fn share_to_read(&self, length: Option<usize>) -> SemaphorePermit<'_> {
        let bytes = length.unwrap_or(UNKNOWN_BYTES);
        self.read
            .share(if bytes > self.max_body_bytes { 0 } else { bytes })
            .await
    }

    /// Waits for a share for this many unpacked bytes.
    pub(crate) async fn share_to_decode(&self, bytes: usize) -> SemaphorePermit<'_> {
        self.decoded.share(bytes).await
    }
}

impl Pool {
    fn new(bytes: usize) -> Self {
        let total = (bytes / KIB).clamp(1, Semaphore::MAX_PERMITS);
        Self {
            kibibytes: Semaphore::new(total),
            total,
        }
    }

    fn used_bytes(&self) -> usize {
        (self.total - self.kibibytes.available_permits()) * KIB
    }

    /// What is larger than the whole pool gets all of it.
    async fn share(&self, bytes: usize) -> SemaphorePermit<'_> {
        let wanted = (bytes / KIB + 1).min(self.total);
        let wanted = u32::try_from(wanted).unwrap_or(u32::MAX);
        self.kibibytes
            .acquire_many(wanted)
            .await
            .expect("bug: the push budget was closed")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_large_body_waits_for_the_others_and_gets_through() {
        let budget = PushBudget::new(128 * KIB, KIB * KIB);
        let small = budget.share_to_read(Some(10 * KIB)).await;
        let mut large = Box::pin(budget.share_to_read(Some(KIB * KIB)));
        assert!(futures::poll!(&mut large).is_pending());
        drop(small);
        let reading = large.await;
        // What is read goes on whatever waits to be read.
        drop(budget.share_to_decode(KIB * KIB).await);
        drop(reading);
        drop(budget.share_to_read(None).await);
        assert_eq!(budget.used_bytes(), 0);
    }

    #[tokio::test]
    async fn a_body_holds_no_more_than_is_kept_of_it() {
        let budget = PushBudget::new(128 * KIB, 8 * KIB);
        for (length, want) in [(0, 1), (8 * KIB, 9), (8 * KIB + 1, 1), (usize::MAX, 1)] {
            let _share = budget.share_to_read(Some(length)).await;
            assert_eq!(budget.used_bytes(), want * KIB, "{length}");
        }
    }
}
