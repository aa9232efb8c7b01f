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
}

impl PushBudget {
    /// A budget of this many bytes.
    pub(crate) fn new(bytes: usize) -> Self {
        let total = (bytes / KIB).clamp(1, Semaphore::MAX_PERMITS);
        Self {
            kibibytes: Semaphore::new(total),
            total,
        }
    }

    /// Bytes of the budget that are in use now.
    pub(crate) fn used_bytes(&self) -> usize {
        (self.total - self.kibibytes.available_permits()) * KIB
    }

    /// Waits for a share for a body of this length. A body larger than the whole budget gets all of it.
    pub(crate) async fn share(&self, length: Option<usize>, packed: bool) -> SemaphorePermit<'_> {
        let bytes = length
            .unwrap_or(UNKNOWN_BYTES)
            .saturating_mul(if packed { PACKED_FACTOR } else { 1 });
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
        let budget = PushBudget::new(64 * KIB);
        let small = budget.share(Some(10 * KIB), false).await;
        let mut large = Box::pin(budget.share(Some(KIB * KIB), true));
        assert!(futures::poll!(&mut large).is_pending());
        drop(small);
        drop(large.await);
        drop(budget.share(None, false).await);
    }
}
