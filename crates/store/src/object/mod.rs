//! A data object as a source of rows of one tenant.
//!
//! Opening takes one read of the object's beginning and one batch for the metadata of the tenant's sections together with its streams;
//! everything else is fetched when it is asked for, all pages of a call in one batch. Objects up to 256 KiB are read at once and held.
//!
//! Filters (docs/extension-sections.md) are read when a query asks which runs can't hold what it wants; an object without them, or with
//! damaged ones, excludes nothing. They weigh more than all other metadata, so that a bound of their own applies to those that are kept.
//!
//! A run is a page of the line column. Timberline's own objects cut all columns of a section at the same rows, so that a run is one
//! page of each; in objects that Loki wrote, pages that overlap a run are decoded and sliced.

mod cache;
mod filters;
mod open;
mod pages;
mod prune;
mod reader;

pub use cache::{SourceCache, catalog_sources};

use crate::source::{
    ExcludedRuns, Exclusion, Keys, MetadataColumn, RowSource, RunInfo, ScanStats, Selection, StreamInfo, TimeSpan,
    Wanted,
};
use crate::{Error, ObjectMeta, Store, TenantId};
use arrow_array::{Array, Int64Array};
use async_trait::async_trait;
use bytes::Bytes;
use filters::{FilterCache, FilterKind, Filters};
use open::{LogsSection, Opened, Run, open};
use pages::{ColumnPlan, PagedColumn};
use reader::Reader;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use timberline_dataobj::{PageMeta, Value};
use tokio::sync::OnceCell;

/// A data object as a source of rows of one tenant. Clones share what was read of its metadata, and count what they read together; a
/// handle of its own comes from [`ObjectSource::fresh_handle`].
///
/// Entries that stand in the object twice are not looked for: writers drop them when they sort.
#[derive(Clone, Debug)]
pub struct ObjectSource {
    shared: Arc<Shared>,
    counters: Arc<Counters>,
}

#[derive(Debug)]
struct Shared {
    reader: Reader,
    meta: ObjectMeta,
    tenant: TenantId,
    opened: OnceCell<Opened>,
    runs: OnceCell<Arc<[RunInfo]>>,
    weight_bytes: AtomicUsize,
    filters: FilterCache,
    /// Of this object in `filters`.
    filters_key: u64,
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.filters.remove(self.filters_key);
    }
}

#[derive(Debug, Default)]
struct Counters {
    objects_opened: AtomicU64,
    pages_fetched: AtomicU64,
    bytes_fetched: AtomicU64,
    bytes_decompressed: AtomicU64,
    filters_fetched: AtomicU64,
    filter_bytes_fetched: AtomicU64,
    filters_unusable: AtomicU64,
}

impl ObjectSource {
    /// The rows of a tenant in an object. Nothing is read yet.
    pub fn open(store: Store, meta: ObjectMeta, tenant: TenantId) -> Self {
        Self::with_filters(store, meta, tenant, FilterCache::default())
    }

    fn with_filters(store: Store, meta: ObjectMeta, tenant: TenantId, filters: FilterCache) -> Self {
        let shared = Shared {
            reader: Reader::new(store, meta.key.clone(), meta.size_bytes),
            meta,
            tenant,
            opened: OnceCell::new(),
            runs: OnceCell::new(),
            weight_bytes: AtomicUsize::new(0),
            filters_key: filters.new_key(),
            filters,
        };
        Self {
            shared: Arc::new(shared),
            counters: Arc::default(),
        }
    }

    /// The same source with counters of its own.
    pub fn fresh_handle(&self) -> Self {
        Self {
            shared: self.shared.clone(),
            counters: Arc::default(),
        }
    }

    /// About the memory that the object's metadata take, 0 before they were read. Filters are not part of it.
    pub fn weight_bytes(&self) -> usize {
        self.shared.weight_bytes.load(Ordering::Relaxed)
    }

    async fn opened(&self) -> Result<&Opened, Error> {
        let init = || async {
            let opened = open(&self.shared.reader, &self.shared.tenant).await?;
            self.shared
                .weight_bytes
                .fetch_add(opened.weight_bytes, Ordering::Relaxed);
            self.counters.objects_opened.fetch_add(1, Ordering::Relaxed);
            Ok(opened)
        };
        self.shared.opened.get_or_try_init(init).await
    }

    async fn run(&self, run: usize) -> Result<(&LogsSection, Range<u64>), Error> {
        let opened = self.opened().await?;
        let found = opened
            .runs
            .get(run)
            .and_then(|run| Some((opened.sections.get(run.section)?, run.rows.clone())));
        found.ok_or_else(|| Error::Invalid(format!("object {} has no run {run}", self.shared.meta.key)))
    }

    /// Fetches the pages of all plans in one batch; returns their bytes in the order of plans and pages.
    async fn fetch(&self, plans: &[ColumnPlan<'_>]) -> Result<impl Iterator<Item = Bytes> + use<>, Error> {
        let pages: Vec<&PageMeta> = plans.iter().flat_map(ColumnPlan::pages).collect();
        let ranges: Vec<Range<u64>> = pages.iter().map(|page| page.range.clone()).collect();
        let fetched = self.shared.reader.fetch(&ranges).await?;
        let count = |counter: &AtomicU64, by: u64| counter.fetch_add(by, Ordering::Relaxed);
        count(&self.counters.pages_fetched, pages.len() as u64);
        count(
            &self.counters.bytes_fetched,
            fetched.iter().map(|bytes| bytes.len() as u64).sum(),
        );
        count(
            &self.counters.bytes_decompressed,
            pages.iter().map(|page| page.raw_bytes).sum(),
        );
        Ok(fetched.into_iter())
    }

    /// The filters of these kinds that the object has and that can be read, those that are not kept fetched in one batch.
    async fn filters(&self, kinds: &[FilterKind]) -> Result<Filters, Error> {
        let opened = self.opened().await?;
        let cache = &self.shared.filters;
        let mut filters = cache.get(self.shared.filters_key);
        let missing = |kind: &FilterKind| !filters.has(*kind) && opened.filters.get(*kind).is_some();
        let missing: Vec<FilterKind> = kinds.iter().copied().filter(missing).collect();
        if missing.is_empty() {
            return Ok(filters);
        }
        let fetched = opened.filters.fetch(&missing, &self.shared.reader).await?;
        let count = |counter: &AtomicU64, by: usize| counter.fetch_add(by as u64, Ordering::Relaxed);
        count(&self.counters.filters_fetched, missing.len());
        count(&self.counters.filter_bytes_fetched, fetched.bytes);
        count(&self.counters.filters_unusable, fetched.unusable);
        cache.add(self.shared.filters_key, &fetched.filters, fetched.weight_bytes);
        filters.join(fetched.filters);
        Ok(filters)
    }

    fn failed(&self, error: timberline_dataobj::Error) -> Error {
        Error::in_object(&self.shared.meta.key, error)
    }

    fn decode_keys(
        &self,
        streams: &ColumnPlan<'_>,
        timestamps: &ColumnPlan<'_>,
        bytes: &mut impl Iterator<Item = Bytes>,
    ) -> Result<Keys, Error> {
        let mut decode = |plan: &ColumnPlan<'_>| {
            let values = plan.decode_int64(bytes).map_err(|e| self.failed(e))?;
            if values.null_count() > 0 {
                let offset = plan.pages().next().map_or(0, |page| page.range.start);
                return Err(self
                    .shared
                    .reader
                    .corrupt("logs", offset, "null in a key column".into()));
            }
            Ok(values)
        };
        Ok(Keys {
            streams: decode(streams)?,
            timestamps: decode(timestamps)?,
        })
    }

    /// Statistics of all runs: from pages where they have them, else from the keys.
    async fn run_infos(&self) -> Result<Arc<[RunInfo]>, Error> {
        let opened = self.opened().await?;
        let mut infos: Vec<Option<RunInfo>> = Vec::with_capacity(opened.runs.len());
        let mut plans = Vec::new();
        for run in &opened.runs {
            let section = &opened.sections[run.section];
            let info = info_from_pages(section, run);
            if info.is_none() {
                plans.push(section.stream_id.plan(&run.rows, &Selection::All));
                plans.push(section.timestamp.plan(&run.rows, &Selection::All));
            }
            infos.push(info);
        }
        let mut bytes = self.fetch(&plans).await?;
        let mut plans = plans.chunks_exact(2);
        let mut finished = Vec::with_capacity(infos.len());
        for info in infos {
            finished.push(match info {
                Some(info) => info,
                None => {
                    let pair = plans.next().expect("bug: two plans for each run without statistics");
                    info_from_keys(&self.decode_keys(&pair[0], &pair[1], &mut bytes)?)
                }
            });
        }
        let weight = finished.len() * std::mem::size_of::<RunInfo>();
        self.shared.weight_bytes.fetch_add(weight, Ordering::Relaxed);
        Ok(finished.into())
    }

    fn check_selection(&self, rows: &Range<u64>, selection: &Selection) -> Result<(), Error> {
        let Selection::Rows(selected) = selection else {
            return Ok(());
        };
        debug_assert!(
            selected.is_sorted_by(|a, b| a < b),
            "selected rows ascend without repeats"
        );
        match selected.last() {
            Some(last) if u64::from(*last) >= rows.end - rows.start => Err(Error::Invalid(format!(
                "object {} has no row {last} in rows {rows:?}",
                self.shared.meta.key
            ))),
            _ => Ok(()),
        }
    }

    fn too_large(&self, column: &str) -> Error {
        let message = format!("values of one run of column {column} take more than 2 GiB");
        Error::Unsupported {
            object: self.shared.meta.key.clone(),
            message,
        }
    }
}

#[async_trait]
impl RowSource for ObjectSource {
    fn name(&self) -> &str {
        &self.shared.meta.key
    }

    fn span(&self) -> TimeSpan {
        self.shared.meta.span()
    }

    fn newest_first(&self) -> bool {
        true
    }

    async fn streams(&self) -> Result<Arc<[StreamInfo]>, Error> {
        Ok(self.opened().await?.streams.clone())
    }

    async fn runs(&self) -> Result<Arc<[RunInfo]>, Error> {
        self.shared.runs.get_or_try_init(|| self.run_infos()).await.cloned()
    }

    async fn keys(&self, run: usize) -> Result<Keys, Error> {
        let (section, rows) = self.run(run).await?;
        let plans = [&section.stream_id, &section.timestamp].map(|column| column.plan(&rows, &Selection::All));
        let mut bytes = self.fetch(&plans).await?;
        self.decode_keys(&plans[0], &plans[1], &mut bytes)
    }

    async fn lines(&self, run: usize, rows: &Selection) -> Result<arrow_array::BinaryArray, Error> {
        let (section, run) = self.run(run).await?;
        self.check_selection(&run, rows)?;
        let Some(message) = &section.message else {
            let rows = match rows {
                Selection::All => (run.end - run.start) as usize,
                Selection::Rows(rows) => rows.len(),
            };
            return Ok(arrow_array::BinaryArray::new_null(rows));
        };
        let plan = [message.plan(&run, rows)];
        let mut bytes = self.fetch(&plan).await?;
        let lines = plan[0].decode_binary(&mut bytes).map_err(|e| self.failed(e))?;
        lines.ok_or_else(|| self.too_large(&message.meta.logical))
    }

    async fn metadata(
        &self,
        run: usize,
        rows: &Selection,
        names: Option<&[String]>,
    ) -> Result<Vec<MetadataColumn>, Error> {
        let (section, run) = self.run(run).await?;
        self.check_selection(&run, rows)?;
        let is_wanted = |name: &str| names.is_none_or(|names| names.iter().any(|wanted| wanted == name));
        let wanted = section.metadata.iter().filter(|(name, _)| is_wanted(name));
        let (mut found, mut plans): (Vec<&(Arc<str>, PagedColumn)>, Vec<ColumnPlan<'_>>) = (Vec::new(), Vec::new());
        for column in wanted {
            let plan = column.1.plan(&run, rows);
            if plan.pages().next().is_some() {
                found.push(column);
                plans.push(plan);
            }
        }
        let mut bytes = self.fetch(&plans).await?;
        let mut columns = Vec::with_capacity(plans.len());
        for ((name, column), plan) in found.into_iter().zip(&plans) {
            let values = plan.decode_binary(&mut bytes).map_err(|e| self.failed(e))?;
            let values = values.ok_or_else(|| self.too_large(&column.meta.tag))?;
            if values.null_count() < values.len() {
                columns.push(MetadataColumn {
                    name: name.clone(),
                    values,
                });
            }
        }
        Ok(columns)
    }

    async fn excluded_runs(&self, wanted: &Wanted) -> Result<ExcludedRuns, Error> {
        if wanted.tells_nothing() {
            return Ok(ExcludedRuns::default());
        }
        let opened = self.opened().await?;
        let exclude = |filters: &Filters| -> Vec<Option<Exclusion>> {
            let exclusion = |run: &Run| prune::exclusion(opened.sections.get(run.section)?, &run.rows, wanted, filters);
            opened.runs.iter().map(exclusion).collect()
        };
        // That no column holds the name is known without filters.
        let mut excluded = exclude(&Filters::default());
        if excluded.iter().any(Option::is_none) {
            let mut kinds = Vec::new();
            kinds.extend((!wanted.texts.is_empty()).then_some(FilterKind::Text));
            kinds.extend((!wanted.values.is_empty()).then_some(FilterKind::Values));
            excluded = exclude(&self.filters(&kinds).await?);
        }
        Ok(excluded.into_iter().collect())
    }

    fn scan_stats(&self) -> ScanStats {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        ScanStats {
            objects_opened: load(&self.counters.objects_opened),
            pages_fetched: load(&self.counters.pages_fetched),
            bytes_fetched: load(&self.counters.bytes_fetched),
            bytes_decompressed: load(&self.counters.bytes_decompressed),
            filters_fetched: load(&self.counters.filters_fetched),
            filter_bytes_fetched: load(&self.counters.filter_bytes_fetched),
            filters_unusable: load(&self.counters.filters_unusable),
        }
    }
}

fn info_from_pages(section: &LogsSection, run: &Run) -> Option<RunInfo> {
    let streams = range_from_pages(&section.stream_id, &run.rows)?;
    let (min_ns, max_ns) = range_from_pages(&section.timestamp, &run.rows)?;
    Some(RunInfo {
        rows: (run.rows.end - run.rows.start) as usize,
        streams,
        span: TimeSpan { min_ns, max_ns },
    })
}

/// Smallest and largest value of the pages that overlap a run. `None` where a page does not tell.
fn range_from_pages(column: &PagedColumn, rows: &Range<u64>) -> Option<(i64, i64)> {
    let mut range: Option<(i64, i64)> = None;
    for (_, page) in column.pages_in(rows.clone()) {
        let stats = page.stats.as_ref()?;
        let (Some(Value::Int64(min)), Some(Value::Int64(max))) = (&stats.min, &stats.max) else {
            return None;
        };
        range = Some(range.map_or((*min, *max), |(low, high)| (low.min(*min), high.max(*max))));
    }
    range.filter(|(min, max)| min <= max)
}

fn info_from_keys(keys: &Keys) -> RunInfo {
    let range = |values: &Int64Array| {
        let all = || values.values().iter().copied();
        (all().min().unwrap_or(0), all().max().unwrap_or(0))
    };
    let (min_ns, max_ns) = range(&keys.timestamps);
    RunInfo {
        rows: keys.streams.len(),
        streams: range(&keys.streams),
        span: TimeSpan { min_ns, max_ns },
    }
}
