//! Which series are taken in where more come than are allowed and the rest is left out instead of refused.

use crate::context::QueryContext;
use parking_lot::Mutex;
use std::collections::HashSet;
use std::sync::Arc;

/// The first series of a range aggregation, the same for all of its partitions: a series is there with all of its samples
/// or not at all.
#[derive(Debug)]
pub(super) struct Admission {
    context: Arc<QueryContext>,
    admitted: Mutex<HashSet<u32>>,
}

impl Admission {
    /// `None` if nothing is left out.
    pub(super) fn of(context: &Arc<QueryContext>) -> Option<Arc<Self>> {
        let admission = || Self {
            context: context.clone(),
            admitted: Mutex::default(),
        };
        context.limits.cut_series.then(|| Arc::new(admission()))
    }

    /// Is the series one of the first?
    pub(super) fn admits(&self, series: u32) -> bool {
        let mut admitted = self.admitted.lock();
        if admitted.contains(&series) {
            return true;
        }
        if admitted.len() < self.context.limits.max_series {
            return admitted.insert(series);
        }
        self.context.cut_series();
        false
    }
}
