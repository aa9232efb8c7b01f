//! Deleting samples (TS.DEL).

use super::Access;
use crate::error::DeleteError;
use crate::record::Record;
use crate::series::Series;
use std::sync::Arc;

impl Access<'_> {
    /// Deletes the samples between two inclusive bounds, and tells how many there were. Buckets of rules are computed anew (7.5).
    pub fn delete(&self, series: &Arc<Series>, from: i64, to: i64) -> Result<u64, DeleteError> {
        series.collect_from_source(false)?;
        let mut state = series.state.lock();
        state.rules.retain(|rule| rule.destination().is_alive());
        // What late samples changed is computed while the samples are there.
        state.deliver_all()?;
        let deleted = state.delete(from, to)?;
        if deleted.is_empty() {
            return Ok(0);
        }
        state.applied = self.log(&Record::Delete {
            id: series.id(),
            from,
            to,
        });
        state.note_deleted(&deleted)?;
        state.waiters.wake();
        let (db, key) = (state.db, Arc::clone(&state.key));
        drop(state);
        self.tell_changed(db, &key);
        Ok(deleted.len() as u64)
    }
}
