//! What all operators of one query share: label sets as numbers, counters, limits, memory, and whether anybody still waits.

use crate::answer::QueryStats;
use crate::cancel::{Cancelled, Working};
use crate::memory::{Heap, QueryMemory, table_bytes};
use crate::meter::Meter;
use crate::{EntryLabels, QueryError, QueryLimits};
use datafusion_execution::memory_pool::{MemoryConsumer, MemoryPool, MemoryReservation};
use datafusion_physical_plan::metrics::ExecutionPlanMetricsSet;
use parking_lot::{Mutex, RwLock};
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use timberline_logql::labels::LabelSet;
use timberline_store::source::RowSource;

/// Shared by the operators of one query.
#[derive(Debug)]
pub(crate) struct QueryContext {
    pub(crate) limits: QueryLimits,
    /// Label sets of series.
    pub(crate) series: Table<LabelSet>,
    /// Label sets of log lines, by category.
    pub(crate) entry_labels: Table<Arc<EntryLabels>>,
    pub(crate) cancelled: Cancelled,
    memory: Arc<QueryMemory>,
    /// What each scan counts.
    scans: Mutex<Vec<Arc<ScanCounters>>>,
    /// Series were left out.
    series_cut: AtomicBool,
    /// Counted until the last operator has dropped the context.
    _working: Working,
}

impl QueryContext {
    /// The context of a query that ends when `cancelled` says so.
    pub(crate) fn new(limits: QueryLimits, cancelled: Cancelled, working: Working) -> Self {
        let memory = Arc::new(QueryMemory::new(limits.max_query_memory_bytes));
        let pool: Arc<dyn MemoryPool> = memory.clone();
        let table = |name| MemoryConsumer::new(name).register(&pool);
        Self {
            limits,
            series: Table::new(table("labels of series")),
            entry_labels: Table::new(table("labels of lines")),
            cancelled,
            memory,
            scans: Mutex::default(),
            series_cut: AtomicBool::new(false),
            _working: working,
        }
    }

    /// The memory of the query, for operators of DataFusion's.
    pub(crate) fn memory_pool(&self) -> Arc<dyn MemoryPool> {
        self.memory.clone()
    }

    /// A reservation of memory for what is named.
    pub(crate) fn reserve(&self, name: &str) -> MemoryReservation {
        MemoryConsumer::new(name).register(&self.memory_pool())
    }

    /// A meter of one partition of an operator that holds what is named.
    pub(crate) fn meter(&self, metrics: &ExecutionPlanMetricsSet, partition: usize, held: &str) -> Meter {
        Meter::new(metrics, partition, self.reserve(held))
    }

    /// Counters of a scan, which count for the query too.
    pub(crate) fn scan_counters(&self) -> Arc<ScanCounters> {
        let counters = Arc::new(ScanCounters::default());
        self.scans.lock().push(counters.clone());
        counters
    }

    /// What the query cost so far.
    pub(crate) fn stats(&self) -> QueryStats {
        let mut stats = QueryStats::default();
        for scan in self.scans.lock().iter() {
            scan.add_to(&mut stats);
        }
        stats.memory_peak_bytes = self.memory.peak() as u64;
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

    /// Notes down that series are left out.
    pub(crate) fn cut_series(&self) {
        self.series_cut.store(true, Relaxed);
    }

    /// What the person who asked should know about the answer.
    pub(crate) fn warnings(&self) -> Vec<String> {
        if !self.series_cut.load(Relaxed) {
            return Vec::new();
        }
        let most = self.limits.max_series;
        vec![format!(
            "maximum number of series ({most}) reached for a single query; returning partial results"
        )]
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
pub(crate) struct Table<T> {
    numbered: RwLock<(HashMap<T, u32, ahash::RandomState>, Vec<T>)>,
    held: MemoryReservation,
}

impl<T: Clone + Eq + Hash + Heap> Table<T> {
    fn new(held: MemoryReservation) -> Self {
        Self {
            numbered: RwLock::default(),
            held,
        }
    }

    /// The number of `value`; refused if there is no memory for it.
    pub(crate) fn intern(&self, value: T) -> Result<u32, QueryError> {
        if let Some(&id) = self.numbered.read().0.get(&value) {
            return Ok(id);
        }
        let mut guard = self.numbered.write();
        let (ids, values) = &mut *guard;
        if let Some(&id) = ids.get(&value) {
            return Ok(id);
        }
        // Both hold it, and share what it points to. A table doubles in size: on average a place and a half is empty for each taken.
        self.held
            .try_grow(value.heap_bytes() + 3 * (table_bytes::<(T, u32)>(1) / 8 + size_of::<T>()))?;
        let id = values.len() as u32;
        values.push(value.clone());
        ids.insert(value, id);
        Ok(id)
    }

    /// The value with this number, which [`Table::intern`] gave.
    pub(crate) fn get(&self, id: u32) -> T {
        self.numbered.read().1[id as usize].clone()
    }
}

/// Finds the number of a key of bytes without a lock or an allocation when it was seen before; one per worker.
#[derive(Default)]
pub(crate) struct KeyCache {
    numbers: HashMap<Box<[u8]>, u32, ahash::RandomState>,
    key_bytes: usize,
}

impl KeyCache {
    /// Bounds the memory of one worker; beyond one of them the cache starts anew.
    const MOST_KEYS: usize = 1 << 16;
    const MOST_KEY_BYTES: usize = 16 << 20;

    /// The number remembered for `key`, else the one that `make` gives.
    pub(crate) fn get(
        &mut self,
        key: &[u8],
        make: impl FnOnce() -> Result<u32, QueryError>,
    ) -> Result<u32, QueryError> {
        if let Some(&id) = self.numbers.get(key) {
            return Ok(id);
        }
        if self.numbers.len() >= Self::MOST_KEYS || self.key_bytes >= Self::MOST_KEY_BYTES {
            self.numbers.clear();
            self.key_bytes = 0;
        }
        let id = make()?;
        self.key_bytes += key.len();
        self.numbers.insert(key.into(), id);
        Ok(id)
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        self.key_bytes + table_bytes::<(Box<[u8]>, u32)>(self.numbers.capacity())
    }
}

macro_rules! counters {
    ($($name:ident),* $(,)?) => {
        /// Counters of one scan; see [`QueryStats`] for their meaning.
        #[derive(Debug, Default)]
        pub(crate) struct ScanCounters {
            $(pub(crate) $name: AtomicU64,)*
            /// The sources that the scan reads, to be asked in turn what was read from them.
            pub(crate) sources: Mutex<Vec<Arc<dyn RowSource>>>,
        }

        impl ScanCounters {
            /// Adds the figures so far.
            pub(crate) fn add_to(&self, stats: &mut QueryStats) {
                $(stats.$name += self.$name.load(Relaxed);)*
                for source in self.sources.lock().iter() {
                    stats.sources += 1;
                    stats.head_sources += u64::from(!source.newest_first());
                    let read = source.scan_stats();
                    stats.objects_opened += read.objects_opened;
                    stats.pages_fetched += read.pages_fetched;
                    stats.bytes_fetched += read.bytes_fetched;
                    stats.bytes_decompressed += read.bytes_decompressed;
                    stats.filters_fetched += read.filters_fetched;
                    stats.filter_bytes_fetched += read.filter_bytes_fetched;
                    stats.filters_unusable += read.filters_unusable;
                }
            }
        }
    };
}

counters!(
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
