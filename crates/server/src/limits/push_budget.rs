//! How many bytes of push requests are in memory at once.

use tokio::sync::{Semaphore, SemaphorePermit};

const KIB: usize = 1024;

/// Packed bodies are counted as this many times their size: logs seldom pack better.
const PACKED_FACTOR: usize = 8;

/// A body whose length is not told beforehand is counted as this.
const UNKNOWN_BYTES: usize = 1 << 20;

/// Bytes that push requests may hold. Who finds it used up waits: the sender's connection is not read meanwhile.
#[derive(Debug)]
pub(crate) struct PushBudget {
    kibibytes: Semaphore,
    total: usize,
    max_body_bytes: usize,
    max_unpacked_bytes: usize,
}

impl PushBudget {
    /// A budget of this many bytes for bodies of at most `max_body_bytes`, which unpack to at most `max_unpacked_bytes`.
    pub(crate) fn new(bytes: usize, max_body_bytes: usize, max_unpacked_bytes: usize) -> Self {
        let total = (bytes / KIB).clamp(1, Semaphore::MAX_PERMITS);
        Self {
            kibibytes: Semaphore::new(total),
            total,
            max_body_bytes,
            max_unpacked_bytes,
        }
    }

    /// Bytes of the budget that are in use now.
    pub(crate) fn used_bytes(&self) -> usize {
        (self.total - self.kibibytes.available_permits()) * KIB
    }

    /// Waits for a share for a body of this length. A body larger than the whole budget gets all of it; one that will be refused for
    /// its length, of which nothing is kept, gets next to nothing.
    pub(crate) async fn share(&self, length: Option<usize>, packed: bool) -> SemaphorePermit<'_> {
        let bytes = match length.unwrap_or(UNKNOWN_BYTES) {
            refused if refused > self.max_body_bytes => 0,
            bytes if packed => bytes
                .saturating_mul(PACKED_FACTOR)
                .min(bytes.saturating_add(self.max_unpacked_bytes)),
            bytes => bytes,
        };
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
        let budget = PushBudget::new(64 * KIB, KIB * KIB, KIB * KIB);
        let small = budget.share(Some(10 * KIB), false).await;
        let mut large = Box::pin(budget.share(Some(KIB * KIB), true));
        assert!(futures::poll!(&mut large).is_pending());
        drop(small);
        drop(large.await);
        drop(budget.share(None, false).await);
    }

    #[tokio::test]
    async fn a_body_holds_no_more_than_it_can_come_to() {
        let budget = PushBudget::new(64 * KIB, 8 * KIB, 16 * KIB);
        let f = async |length: Option<usize>, packed: bool, want: usize| {
            let _share = budget.share(length, packed).await;
            assert_eq!(budget.used_bytes(), want * KIB, "{length:?} {packed}");
        };
        f(Some(0), false, 1).await;
        f(Some(8 * KIB), false, 9).await;
        f(Some(KIB), true, 9).await;
        f(Some(8 * KIB), true, 25).await;
        f(Some(8 * KIB + 1), true, 1).await;
        f(Some(usize::MAX), false, 1).await;
    }
}
