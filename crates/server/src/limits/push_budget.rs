//! How many bytes of push requests are in memory at once.

use tokio::sync::{Semaphore, SemaphorePermit};

const KIB: usize = 1024;

/// Bytes that push requests may hold. Who finds it used up waits: the sender's connection is not read meanwhile.
///
/// A request pays for what has arrived, not for what its sender announces: a sender that announces much and sends nothing
/// keeps nobody waiting. Requests that grow while they wait for each other would wait for ever, so one at a time may go on
/// without paying; memory is bounded by the budget and one request.
#[derive(Debug)]
pub(crate) struct PushBudget {
    kibibytes: Semaphore,
    overdraft: Semaphore,
    total: usize,
}

impl PushBudget {
    /// A budget of this many bytes.
    pub(crate) fn new(bytes: usize) -> Self {
        let total = (bytes / KIB).clamp(1, Semaphore::MAX_PERMITS);
        Self {
            kibibytes: Semaphore::new(total),
            overdraft: Semaphore::new(1),
            total,
        }
    }

    /// Bytes of the budget that are in use now.
    pub(crate) fn used_bytes(&self) -> usize {
        (self.total - self.kibibytes.available_permits()) * KIB
    }

    /// An empty share. Dropping it gives everything back.
    pub(crate) fn share(&self) -> PushShare<'_> {
        PushShare {
            budget: self,
            paid: None,
            overdraft: None,
        }
    }
}

/// What one request holds of the budget.
#[derive(Debug)]
pub(crate) struct PushShare<'a> {
    budget: &'a PushBudget,
    paid: Option<SemaphorePermit<'a>>,
    overdraft: Option<SemaphorePermit<'a>>,
}

impl PushShare<'_> {
    /// Waits until the share covers this many bytes.
    pub(crate) async fn grow_to(&mut self, bytes: usize) {
        const OPEN: &str = "bug: the push budget was closed";
        let held = self.paid.as_ref().map_or(0, SemaphorePermit::num_permits);
        let missing = bytes.div_ceil(KIB).saturating_sub(held);
        if missing == 0 || self.overdraft.is_some() {
            return;
        }
        let missing = u32::try_from(missing).unwrap_or(u32::MAX);
        tokio::select! {
            biased;
            more = self.budget.kibibytes.acquire_many(missing) => {
                let more = more.expect(OPEN);
                match &mut self.paid {
                    Some(paid) => paid.merge(more),
                    none => *none = Some(more),
                }
            }
            overdraft = self.budget.overdraft.acquire() => self.overdraft = Some(overdraft.expect(OPEN)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_share_pays_for_what_it_holds() {
        let budget = PushBudget::new(64 * KIB);
        let mut share = budget.share();
        for (bytes, used) in [(0, 0), (1, 1), (KIB, 1), (KIB + 1, 2), (5, 2), (64 * KIB, 64)] {
            share.grow_to(bytes).await;
            assert_eq!(budget.used_bytes(), used * KIB, "{bytes}");
        }
        drop(share);
        assert_eq!(budget.used_bytes(), 0);
    }

    #[tokio::test]
    async fn of_requests_that_wait_for_each_other_one_goes_on() {
        let budget = PushBudget::new(64 * KIB);
        let mut shares: Vec<_> = (0..4).map(|_| budget.share()).collect();
        for share in &mut shares {
            share.grow_to(16 * KIB).await;
        }
        let [first, second, third, _] = &mut shares[..] else {
            panic!("four shares")
        };
        first.grow_to(KIB * KIB).await;
        let mut waiting = Box::pin(second.grow_to(20 * KIB));
        let mut waiting_too = Box::pin(third.grow_to(20 * KIB));
        assert!(futures::poll!(&mut waiting).is_pending());
        assert!(futures::poll!(&mut waiting_too).is_pending());
        drop((waiting, waiting_too));
        shares.remove(0);
        for share in &mut shares {
            share.grow_to(20 * KIB).await;
        }
    }
}
