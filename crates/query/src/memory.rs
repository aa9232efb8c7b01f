//! How much a query holds: a memory pool of DataFusion's, in which every operator reserves what grows with the data, batch by batch.

use crate::{EntryLabels, QueryError};
use datafusion_common::Result;
use datafusion_execution::memory_pool::{MemoryLimit, MemoryPool, MemoryReservation};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use timberline_logql::labels::LabelSet;

/// The memory of one query, and its bound.
#[derive(Debug)]
pub(crate) struct QueryMemory {
    limit: usize,
    held: AtomicUsize,
    peak: AtomicUsize,
}

impl QueryMemory {
    /// Memory of which at most `limit` bytes may be held.
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            held: AtomicUsize::new(0),
            peak: AtomicUsize::new(0),
        }
    }

    /// The most bytes held at one time so far.
    pub(crate) fn peak(&self) -> usize {
        self.peak.load(Relaxed)
    }
}

impl fmt::Display for QueryMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({})", self.name(), self.limit)
    }
}

impl MemoryPool for QueryMemory {
    fn name(&self) -> &str {
        "query"
    }

    fn grow(&self, _: &MemoryReservation, additional: usize) {
        let before = self.held.fetch_add(additional, Relaxed);
        self.peak.fetch_max(before.saturating_add(additional), Relaxed);
    }

    fn shrink(&self, _: &MemoryReservation, shrink: usize) {
        self.held.fetch_sub(shrink, Relaxed);
    }

    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> Result<()> {
        let grown = |held: usize| held.checked_add(additional).filter(|&wanted| wanted <= self.limit);
        match self.held.fetch_update(Relaxed, Relaxed, grown) {
            Ok(before) => {
                self.peak.fetch_max(before + additional, Relaxed);
                Ok(())
            }
            Err(held) => Err(QueryError::Limit(format!(
                "query would hold {} bytes, {additional} of them more for {}, but max_query_memory_bytes={}: ask for a shorter \
                 time range, fewer streams, fewer labels or fewer lines",
                held.saturating_add(additional),
                reservation.consumer().name(),
                self.limit
            ))
            .into()),
        }
    }

    fn reserved(&self) -> usize {
        self.held.load(Relaxed)
    }

    fn memory_limit(&self) -> MemoryLimit {
        MemoryLimit::Finite(self.limit)
    }
}

/// Bytes of a hash map or set whose entries have the type `T`; its table is a power of two, at most seven eighths full.
pub(crate) fn table_bytes<T>(capacity: usize) -> usize {
    capacity.div_ceil(7).saturating_mul(8 * (size_of::<T>() + 1))
}

/// What a value takes beside its own size.
pub(crate) trait Heap {
    /// Bytes on the heap.
    fn heap_bytes(&self) -> usize;
}

impl Heap for LabelSet {
    fn heap_bytes(&self) -> usize {
        self.as_slice()
            .iter()
            .map(|label| size_of_val(label) + label.name.len() + label.value.len())
            .sum()
    }
}

impl Heap for Arc<EntryLabels> {
    fn heap_bytes(&self) -> usize {
        // The labels of the stream are the stream's, shared by all its entries, but each worker decodes them anew.
        let sets = [&self.stream, &self.metadata, &self.parsed];
        size_of::<EntryLabels>() + sets.iter().map(|set| set.heap_bytes()).sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion_execution::memory_pool::MemoryConsumer;

    #[test]
    fn the_limit_is_held_and_named() {
        let memory = Arc::new(QueryMemory::new(100));
        let pool: Arc<dyn MemoryPool> = memory.clone();
        let states = MemoryConsumer::new("states of cells").register(&pool);
        states.try_resize(60).unwrap();
        {
            let lines = MemoryConsumer::new("lines").register(&pool);
            lines.try_grow(40).unwrap();
            let refused = QueryError::from(lines.try_grow(1).unwrap_err());
            assert_eq!(
                refused.to_string(),
                "query would hold 101 bytes, 1 of them more for lines, but max_query_memory_bytes=100: ask for a shorter time range, \
                 fewer streams, fewer labels or fewer lines"
            );
            assert!(lines.try_grow(usize::MAX).is_err());
        }
        assert_eq!((pool.reserved(), memory.peak()), (60, 100));
        states.try_resize(10).unwrap();
        assert_eq!((pool.reserved(), memory.peak()), (10, 100));
    }

    #[test]
    fn tables_are_counted_as_they_are_allocated() {
        // 28 entries fill 32 places.
        assert_eq!(table_bytes::<(u64, u64)>(28), 32 * 17);
        assert_eq!(table_bytes::<(u64, u64)>(0), 0);
        let labels = LabelSet::from_pairs([("a", "bcd")]);
        assert_eq!(labels.heap_bytes(), 32 + 4);
    }
}
