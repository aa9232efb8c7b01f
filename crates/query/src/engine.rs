//! The query engine: text in, answer out.

use crate::answer::{Answer, Entry, QueryResult, Sample, Series, StreamResult};
use crate::context::QueryContext;
use crate::explain::Explanation;
use crate::node::column;
use crate::plan::{Metric, Planner, plan_log, plan_metric};
use crate::pool::Pool;
use crate::request::{InstantRequest, QueryLimits, RangeRequest, Steps, check_range, check_time};
use crate::scan::EntryColumns;
use crate::vector::Points;
use crate::{QueryError, select};
use arrow_array::{BinaryArray, Int64Array, RecordBatch, UInt32Array};
use bytes::Bytes;
use datafusion_execution::TaskContext;
use datafusion_physical_plan::{ExecutionPlan, displayable};
use futures::TryStreamExt;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use std::collections::{BTreeSet, HashMap};
use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};
use timberline_logql::ast::{Expr, Matcher, MetricExpr, VectorOp};
use timberline_logql::labels::LabelSet;
use timberline_logql::pipeline::Environment;
use timberline_store::TenantId;
use timberline_store::source::{SourceProvider, TimeSpan};

/// Answers queries over the rows of a [`SourceProvider`]. Cheap to clone.
#[derive(Clone, Debug)]
pub struct QueryEngine(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    provider: Arc<dyn SourceProvider>,
    /// The time-series store, where there is one.
    series: Option<SeriesStore>,
    limits: QueryLimits,
    pool: Arc<Pool>,
}

/// The time-series store.
#[derive(Clone)]
struct SeriesStore(Arc<timberline_series::engine::Engine>);

impl std::fmt::Debug for SeriesStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SeriesStore").finish_non_exhaustive()
    }
}

impl QueryEngine {
    /// An engine with threads of its own.
    pub fn new(provider: Arc<dyn SourceProvider>, limits: QueryLimits) -> Result<Self, QueryError> {
        let pool = Arc::new(Pool::new(limits.threads)?);
        Ok(Self(Arc::new(Inner {
            provider,
            series: None,
            limits,
            pool,
        })))
    }

    /// The same engine on the same threads, with the samples of a time-series store for SQL.
    pub fn with_series(&self, series: Arc<timberline_series::engine::Engine>) -> Self {
        Self(Arc::new(Inner {
            provider: self.0.provider.clone(),
            series: Some(SeriesStore(series)),
            limits: self.0.limits.clone(),
            pool: self.0.pool.clone(),
        }))
    }

    /// The same engine on the same threads, but a metric query with too many series is answered with the first of them and a
    /// warning.
    pub fn cutting_series(&self) -> Self {
        Self(Arc::new(Inner {
            provider: self.0.provider.clone(),
            series: self.0.series.clone(),
            limits: QueryLimits {
                cut_series: true,
                ..self.0.limits.clone()
            },
            pool: self.0.pool.clone(),
        }))
    }

    /// The limits that queries are held to.
    pub fn limits(&self) -> &QueryLimits {
        &self.0.limits
    }

    /// Queries of which anything still works; one that was cancelled counts until its last thread has noticed.
    pub fn working(&self) -> usize {
        self.0.pool.working()
    }

    /// Answers a query over a time range. Dropping the future cancels the query.
    pub async fn range(&self, tenant: &TenantId, request: RangeRequest) -> Result<Answer, QueryError> {
        let work = |run: Run| async move {
            let done = run
                .range(&request)
                .await
                .map_err(|error| error.shown_in(&request.query))?;
            Ok(done.answer)
        };
        self.run(tenant, work).await
    }

    /// Answers a query at one time. Dropping the future cancels the query.
    pub async fn instant(&self, tenant: &TenantId, request: InstantRequest) -> Result<Answer, QueryError> {
        let work = |run: Run| async move {
            let done = run
                .instant(&request)
                .await
                .map_err(|error| error.shown_in(&request.query))?;
            Ok(done.answer)
        };
        self.run(tenant, work).await
    }

    /// Runs a query over a time range and tells how. Dropping the future cancels the query.
    pub async fn explain_range(&self, tenant: &TenantId, request: RangeRequest) -> Result<Explanation, QueryError> {
        let work = |run: Run| async move {
            let done = run
                .range(&request)
                .await
                .map_err(|error| error.shown_in(&request.query))?;
            Ok(Explanation::of(&done))
        };
        self.run(tenant, work).await
    }

    /// Runs a query at one time and tells how. Dropping the future cancels the query.
    pub async fn explain_instant(&self, tenant: &TenantId, request: InstantRequest) -> Result<Explanation, QueryError> {
        let work = |run: Run| async move {
            let done = run
                .instant(&request)
                .await
                .map_err(|error| error.shown_in(&request.query))?;
            Ok(Explanation::of(&done))
        };
        self.run(tenant, work).await
    }

    /// Runs work on the threads for queries. Dropping the future cancels it.
    pub(crate) async fn run<T: Send + 'static, F: Future<Output = Result<T, QueryError>> + Send + 'static>(
        &self,
        tenant: &TenantId,
        work: impl FnOnce(Run) -> F,
    ) -> Result<T, QueryError> {
        let (inner, tenant) = (self.0.clone(), tenant.clone());
        self.0
            .pool
            .run(|cancelled, working| {
                let context = Arc::new(QueryContext::new(inner.limits.clone(), cancelled, working));
                work(Run { inner, tenant, context })
            })
            .await
    }

    /// Names of the labels of streams with entries in a time span, sorted. No matchers: all streams.
    pub async fn labels(
        &self,
        tenant: &TenantId,
        matchers: &[Matcher],
        span: TimeSpan,
    ) -> Result<Vec<String>, QueryError> {
        let streams = self.streams(tenant, matchers, span).await?;
        let names: BTreeSet<&str> = streams.iter().flat_map(|labels| labels.iter().map(|l| l.0)).collect();
        Ok(names.into_iter().map(String::from).collect())
    }

    /// Values of a label of streams with entries in a time span, sorted. No matchers: all streams.
    pub async fn label_values(
        &self,
        tenant: &TenantId,
        name: &str,
        matchers: &[Matcher],
        span: TimeSpan,
    ) -> Result<Vec<String>, QueryError> {
        let streams = self.streams(tenant, matchers, span).await?;
        let values: BTreeSet<&str> = streams.iter().filter_map(|labels| labels.get(name)).collect();
        Ok(values.into_iter().map(String::from).collect())
    }

    /// Streams with entries in a time span that one of the selectors chooses, sorted. No selectors: all streams.
    pub async fn series(
        &self,
        tenant: &TenantId,
        selectors: &[Vec<Matcher>],
        span: TimeSpan,
    ) -> Result<Vec<LabelSet>, QueryError> {
        let mut found = BTreeSet::new();
        if selectors.is_empty() {
            found.extend(self.streams(tenant, &[], span).await?);
        }
        for matchers in selectors {
            found.extend(self.streams(tenant, matchers, span).await?);
        }
        Ok(found.into_iter().collect())
    }

    /// Label sets of the streams with entries in a time span. No matchers: all streams.
    pub(crate) async fn streams(
        &self,
        tenant: &TenantId,
        matchers: &[Matcher],
        span: TimeSpan,
    ) -> Result<Vec<LabelSet>, QueryError> {
        let matchers = matchers.to_vec();
        let work = |run: Run| async move {
            let (provider, context) = (run.inner.provider.as_ref(), &run.context);
            let (counters, cancelled) = (context.scan_counters(), &context.cancelled);
            let selected = select::select(provider, &run.tenant, &matchers, span, &counters, cancelled).await?;
            Ok(selected.streams.into_iter().map(|s| s.labels).collect())
        };
        self.run(tenant, work).await
    }
}

/// One query.
#[derive(Clone)]
pub(crate) struct Run {
    inner: Arc<Inner>,
    tenant: TenantId,
    pub(crate) context: Arc<QueryContext>,
}

/// Which lines or values were asked for.
pub(crate) enum Asked {
    Lines(RangeRequest),
    Values(Steps),
}

/// A query that has run.
pub(crate) struct Ran {
    pub(crate) answer: Answer,
    pub(crate) expr: Expr,
    pub(crate) asked: Asked,
    /// `None` if there was nothing to run.
    pub(crate) plan: Option<Arc<dyn ExecutionPlan>>,
    pub(crate) limits: QueryLimits,
    pub(crate) planning_seconds: f64,
}

impl Run {
    /// The time-series store, where there is one.
    pub(crate) fn series(&self) -> Option<&Arc<timberline_series::engine::Engine>> {
        self.inner.series.as_ref().map(|store| &store.0)
    }

    /// Threads that execute queries.
    pub(crate) fn threads(&self) -> usize {
        self.inner.pool.threads
    }

    pub(crate) fn planner(&self, instant: bool) -> Planner<'_> {
        Planner {
            provider: self.inner.provider.as_ref(),
            tenant: &self.tenant,
            context: self.context.clone(),
            partitions: self.inner.pool.threads,
            environment: Environment {
                now_ns: i64::try_from(Timestamp::now().as_nanosecond()).unwrap_or(i64::MAX),
                zone: TimeZone::system(),
            },
            instant,
        }
    }

    async fn range(&self, request: &RangeRequest) -> Result<Ran, QueryError> {
        let ran = self.evaluate_range(request).await;
        ran.map_err(|error| error.shown_in(&request.query))
    }

    async fn instant(&self, request: &InstantRequest) -> Result<Ran, QueryError> {
        let ran = self.evaluate_instant(request).await;
        ran.map_err(|error| error.shown_in(&request.query))
    }

    async fn evaluate_range(&self, request: &RangeRequest) -> Result<Ran, QueryError> {
        let started = Instant::now();
        check_range(request.start_ns, request.end_ns)?;
        let planner = self.planner(false);
        let expr = timberline_logql::parse(&request.query)?;
        let (result, asked, plan, planned) = match &expr {
            Expr::Log(log) => {
                self.check_entries(request)?;
                let plan = plan_log(&planner, log, request).await?;
                let planned = started.elapsed();
                let lines = QueryResult::Streams(self.lines(plan.as_ref()).await?);
                (lines, Asked::Lines(request.clone()), plan, planned)
            }
            Expr::Metric(expr) => {
                let steps = Steps::of(request, &self.inner.limits)?;
                let metric = plan_metric(&planner, expr, steps).await?;
                let planned = started.elapsed();
                let (series, plan) = match metric {
                    Metric::Scalar(value) => {
                        let points = (0..steps.count).map(|i| (steps.time_ns(i), value)).collect();
                        let series = Series {
                            labels: LabelSet::default(),
                            points,
                        };
                        (vec![series], None)
                    }
                    Metric::Vector(plan) => {
                        let mut series = self.points(&plan).await?;
                        series.sort_by_cached_key(|s| s.labels.to_string());
                        (series, Some(plan))
                    }
                };
                (QueryResult::Matrix(series), Asked::Values(steps), plan, planned)
            }
        };
        Ok(self.ran((result, expr, asked), plan, started, planned))
    }

    async fn evaluate_instant(&self, request: &InstantRequest) -> Result<Ran, QueryError> {
        let started = Instant::now();
        let time_ns = request.time_ns;
        check_time("time", time_ns)?;
        let parsed = timberline_logql::parse(&request.query)?;
        let Expr::Metric(expr) = &parsed else {
            let text = "log queries are not supported as an instant query type, please change your query to a range query type";
            return Err(QueryError::BadRequest(text.into()));
        };
        let planner = self.planner(true);
        let steps = Steps::instant(time_ns);
        let metric = plan_metric(&planner, expr, steps).await?;
        let planned = started.elapsed();
        let (result, plan) = match metric {
            Metric::Scalar(value) => (QueryResult::Scalar { time_ns, value }, None),
            Metric::Vector(plan) => {
                let mut series = self.points(&plan).await?;
                if !sorts(expr) {
                    series.sort_by_cached_key(|s| s.labels.to_string());
                }
                let sample = |s: Series| {
                    s.points.first().map(|&(time_ns, value)| Sample {
                        labels: s.labels,
                        time_ns,
                        value,
                    })
                };
                let samples = series.into_iter().filter_map(sample).collect();
                (QueryResult::Vector(samples), Some(plan))
            }
        };
        Ok(self.ran((result, parsed, Asked::Values(steps)), plan, started, planned))
    }

    fn check_entries(&self, request: &RangeRequest) -> Result<(), QueryError> {
        let limit = self.inner.limits.max_entries;
        if request.limit <= limit {
            return Ok(());
        }
        Err(QueryError::Limit(format!(
            "max entries limit per query exceeded, limit > max_entries_limit_per_query ({} > {limit})",
            request.limit
        )))
    }

    /// Runs the plan of a log query.
    async fn lines(&self, plan: Option<&Arc<dyn ExecutionPlan>>) -> Result<Vec<StreamResult>, QueryError> {
        let context = &self.context;
        let held = context.reserve("lines of the answer");
        let mut streams: Vec<StreamResult> = Vec::new();
        // Label sets that differ in categories only are one stream of the answer.
        let mut by_number: HashMap<u32, usize> = HashMap::new();
        let mut by_labels: HashMap<LabelSet, usize> = HashMap::new();
        let mut position = 0;
        if let Some(plan) = plan {
            let add = |batch: &RecordBatch| {
                let entries = batch.num_rows() * 2 * size_of::<Entry>();
                held.try_grow(batch.get_array_memory_size() + entries)?;
                let timestamps = column::<Int64Array>(batch, EntryColumns::TIMESTAMP)?.values();
                let numbers = column::<UInt32Array>(batch, EntryColumns::LABELS)?.values();
                let lines = column::<BinaryArray>(batch, EntryColumns::LINE)?;
                for row in 0..batch.num_rows() {
                    context.cancelled.check_at(row)?;
                    let labels = context.entry_labels.get(numbers[row]);
                    let stream = *by_number.entry(numbers[row]).or_insert_with(|| {
                        *by_labels.entry(labels.merged()).or_insert_with_key(|merged| {
                            streams.push(StreamResult {
                                labels: merged.clone(),
                                entries: Vec::new(),
                            });
                            streams.len() - 1
                        })
                    });
                    streams[stream].entries.push(Entry {
                        timestamp_ns: timestamps[row],
                        position,
                        line: Bytes::copy_from_slice(lines.value(row)),
                        labels,
                    });
                    position += 1;
                }
                Ok(())
            };
            self.execute(plan, add).await?;
        }
        streams.sort_by_cached_key(|s| s.labels.to_string());
        Ok(streams)
    }

    /// Runs a plan that gives points, and puts labels in place of numbers.
    async fn points(&self, plan: &Arc<dyn ExecutionPlan>) -> Result<Vec<Series>, QueryError> {
        let held = self.context.reserve("points of the answer");
        let mut points = Points::default();
        let mut rows = 0;
        let add = |batch: &RecordBatch| {
            points.add(batch)?;
            rows += batch.num_rows();
            held.try_resize(points.most_bytes(rows))
        };
        self.execute(plan, add).await?;
        let series = |(number, points)| Series {
            labels: self.context.series.get(number),
            points,
        };
        Ok(points.series.into_iter().map(series).collect())
    }

    /// Runs a plan of one partition.
    async fn execute(
        &self,
        plan: &Arc<dyn ExecutionPlan>,
        mut each: impl FnMut(&RecordBatch) -> datafusion_common::Result<()>,
    ) -> Result<(), QueryError> {
        tracing::debug!(plan = %displayable(plan.as_ref()).indent(false), "query plan");
        let mut batches = plan.execute(0, Arc::new(TaskContext::default()))?;
        while let Some(batch) = batches.try_next().await? {
            self.context.cancelled.check()?;
            each(&batch)?;
        }
        Ok(())
    }

    fn ran(
        &self,
        (result, expr, asked): (QueryResult, Expr, Asked),
        plan: Option<Arc<dyn ExecutionPlan>>,
        started: Instant,
        planned: Duration,
    ) -> Ran {
        let mut stats = self.context.stats();
        stats.exec_seconds = started.elapsed().as_secs_f64();
        if let QueryResult::Streams(streams) = &result {
            stats.entries_returned = streams.iter().map(|s| s.entries.len() as u64).sum();
        }
        Ran {
            answer: Answer {
                result,
                stats,
                warnings: self.context.warnings(),
            },
            expr,
            asked,
            plan,
            limits: self.inner.limits.clone(),
            planning_seconds: planned.as_secs_f64(),
        }
    }
}

/// True if `sort` or `sort_desc` stands anywhere: then its order is that of the answer (logql.md 18).
fn sorts(expr: &MetricExpr) -> bool {
    match expr {
        MetricExpr::Vector(v) => matches!(v.op, VectorOp::Sort | VectorOp::SortDesc) || sorts(&v.inner),
        MetricExpr::Binary(b) => sorts(&b.left) || sorts(&b.right),
        MetricExpr::LabelReplace(r) => sorts(&r.inner),
        MetricExpr::Range(_) | MetricExpr::VectorOf(_) | MetricExpr::Literal(_) => false,
    }
}
