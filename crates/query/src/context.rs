//! What all operators of one query share: label sets as numbers, counters, limits.

use crate::answer::QueryStats;
use crate::{EntryLabels, QueryError, QueryLimits};
use parking_lot::{Mutex, RwLock};
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use timberline_logql::labels::LabelSet;
use timberline_store::source::RowSource;

/// Shared by the operators of one query.
#[derive(Debug, Default)]
pub(crate) struct QueryContext {
    pub(crate) limits: QueryLimits,
    /// Label sets of series.
    pub(crate) series: Table<LabelSet>,
    /// Label sets of log lines, by category.
    pub(crate) entry_labels: Table<Arc<EntryLabels>>,
    pub(crate) counters: Counters,
    /// All sources that the query asked, to be asked in turn what was read from them.
    pub(crate) sources: Mutex<Vec<Arc<dyn RowSource>>>,
}

impl QueryContext {
    /// What the query cost so far.
    pub(crate) fn stats(&self) -> QueryStats {
        let mut stats = self.counters.stats();
        for read in self.sources.lock().iter().map(|source| source.scan_stats()) {
            stats.objects_opened += read.objects_opened;
            stats.pages_fetched += read.pages_fetched;
            stats.bytes_fetched += read.bytes_fetched;
            stats.bytes_decompressed += read.bytes_decompressed;
            stats.filters_fetched += read.filters_fetched;
            stats.filter_bytes_fetched += read.filter_bytes_fetched;
            stats.filters_unusable += read.filters_unusable;
        }
        stats
    }

    /// Refuses more series than the limit.
    pub(crate) fn check_series(&self, count: usize) -> Result<(), QueryError> {
        if count <= self.limits.max_series {
            return Ok(());
        }
        Err(QueryError::Limit(format!(
            "maximum number of series ({}) reached for a single query; consider reducing query cardinality by adding \
             more specific stream selectors, reducing the time range, or aggregating results with functions like sum(), \
             count() or topk()",
            self.limits.max_series
        )))
    }

    /// Refuses more points than the limit.
    pub(crate) fn check_points(&self, count: usize) -> Result<(), QueryError> {
        let limit = self.limits.max_result_points;
        if count <= limit {
            return Ok(());
        }
        Err(QueryError::Limit(format!(
            "more than max_result_points={limit} points in a result: ask for fewer series, a shorter time range or a larger step"
        )))
    }
}

/// Gives each distinct value a small number, once per query; numbers travel in batches, values appear again in the answer.
#[derive(Debug)]
pub(crate) struct Table<T>(RwLock<(HashMap<T, u32, ahash::RandomState>, Vec<T>)>);

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self(RwLock::new((HashMap::default(), Vec::new())))
    }
}

impl<T: Clone + Eq + Hash> Table<T> {
    /// The number of `value`.
    pub(crate) fn intern(&self, value: T) -> u32 {
        if let Some(&id) = self.0.read().0.get(&value) {
            return id;
        }
        let mut guard = self.0.write();
        let (ids, values) = &mut *guard;
        *ids.entry(value).or_insert_with_key(|value| {
            values.push(value.clone());
            (values.len() - 1) as u32
        })
    }

    /// The value with this number, which [`Table::intern`] gave.
    pub(crate) fn get(&self, id: u32) -> T {
        self.0.read().1[id as usize].clone()
    }
}

/// Finds the number of a key of bytes without a lock or an allocation when it was seen before; one per worker.
#[derive(Default)]
pub(crate) struct KeyCache(HashMap<Box<[u8]>, u32, ahash::RandomState>);

impl KeyCache {
    /// Bounds the memory of one worker; beyond it the cache starts anew.
    const MOST_KEYS: usize = 1 << 16;

    /// The number remembered for `key`, else the one that `make` gives.
    pub(crate) fn get(&mut self, key: &[u8], make: impl FnOnce() -> u32) -> u32 {
        if let Some(&id) = self.0.get(key) {
            return id;
        }
        if self.0.len() >= Self::MOST_KEYS {
            self.0.clear();
        }
        let id = make();
        self.0.insert(key.into(), id);
        id
    }
}

macro_rules! counters {
    ($($name:ident),* $(,)?) => {
        /// Counters of one query; see [`QueryStats`] for their meaning.
        #[derive(Debug, Default)]
        pub(crate) struct Counters { $(pub(crate) $name: AtomicU64),* }

        impl Counters {
            /// The figures so far.
            fn stats(&self) -> QueryStats {
                QueryStats { $($name: self.$name.load(Relaxed),)* ..QueryStats::default() }
            }
        }
    };
}

counters!(
    sources,
    head_sources,
    streams,
    runs,
    runs_skipped_by_stream,
    runs_skipped_by_time,
    runs_skipped_by_limit,
    runs_skipped_by_text,
    runs_skipped_by_value,
    rows_scanned,
    lines_processed,
    lines_decoded,
    bytes_processed,
    metadata_bytes_processed,
    lines_after_filter,
    duplicates,
);

/// Adds to a counter.
pub(crate) fn count(counter: &AtomicU64, n: usize) {
    counter.fetch_add(n as u64, Relaxed);
}
