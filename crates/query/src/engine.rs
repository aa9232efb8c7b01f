//! The query engine: text in, answer out.

use crate::answer::{Answer, Entry, QueryResult, Sample, Series, StreamResult};
use crate::context::QueryContext;
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
use std::collections::{BTreeSet, HashMap};
use std::future::Future;
use std::sync::Arc;
use std::time::Instant;
use timberline_logql::ast::{Expr, LogExpr, Matcher, MetricExpr, VectorOp};
use timberline_logql::labels::LabelSet;
use timberline_store::TenantId;
use timberline_store::source::{SourceProvider, TimeSpan};

/// Answers queries over the rows of a [`SourceProvider`]. Cheap to clone.
#[derive(Clone, Debug)]
pub struct QueryEngine(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    provider: Arc<dyn SourceProvider>,
    limits: QueryLimits,
    pool: Pool,
}

impl QueryEngine {
    /// An engine with threads of its own.
    pub fn new(provider: Arc<dyn SourceProvider>, limits: QueryLimits) -> Result<Self, QueryError> {
        let pool = Pool::new(limits.threads)?;
        Ok(Self(Arc::new(Inner { provider, limits, pool })))
    }

    /// The limits that queries are held to.
    pub fn limits(&self) -> &QueryLimits {
        &self.0.limits
    }

    /// Answers a query over a time range. Dropping the future cancels the query.
    pub async fn range(&self, tenant: &TenantId, request: RangeRequest) -> Result<Answer, QueryError> {
        let (inner, tenant) = (self.0.clone(), tenant.clone());
        let work = async move {
            let answer = inner.range(&tenant, &request).await;
            answer.map_err(|error| error.shown_in(&request.query))
        };
        self.0.pool.run(work).await
    }

    /// Answers a query at one time. Dropping the future cancels the query.
    pub async fn instant(&self, tenant: &TenantId, request: InstantRequest) -> Result<Answer, QueryError> {
        let (inner, tenant) = (self.0.clone(), tenant.clone());
        let work = async move {
            let answer = inner.instant(&tenant, &request).await;
            answer.map_err(|error| error.shown_in(&request.query))
        };
        self.0.pool.run(work).await
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

    /// Runs work on the threads for queries. Dropping the future cancels it.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, QueryError>> + Send + 'static,
    ) -> Result<T, QueryError> {
        self.0.pool.run(work).await
    }

    /// Label sets of the streams with entries in a time span. No matchers: all streams.
    pub(crate) async fn streams(
        &self,
        tenant: &TenantId,
        matchers: &[Matcher],
        span: TimeSpan,
    ) -> Result<Vec<LabelSet>, QueryError> {
        let (inner, tenant, matchers) = (self.0.clone(), tenant.clone(), matchers.to_vec());
        let work = async move {
            let context = QueryContext::default();
            let selected = select::select(inner.provider.as_ref(), &tenant, &matchers, span, &context).await?;
            Ok(selected.streams.into_iter().map(|s| s.labels).collect())
        };
        self.0.pool.run(work).await
    }
}

impl Inner {
    fn planner<'a>(&'a self, tenant: &'a TenantId) -> Planner<'a> {
        let context = Arc::new(QueryContext {
            limits: self.limits.clone(),
            ..QueryContext::default()
        });
        Planner {
            provider: self.provider.as_ref(),
            tenant,
            context,
            partitions: self.pool.threads,
        }
    }

    async fn range(&self, tenant: &TenantId, request: &RangeRequest) -> Result<Answer, QueryError> {
        let started = Instant::now();
        check_range(request.start_ns, request.end_ns)?;
        let planner = self.planner(tenant);
        let result = match timberline_logql::parse(&request.query)? {
            Expr::Log(log) => self.log_query(&planner, &log, request).await?,
            Expr::Metric(expr) => {
                let steps = Steps::of(request, &self.limits)?;
                let series = match plan_metric(&planner, &expr, steps).await? {
                    Metric::Scalar(value) => {
                        let points = (0..steps.count).map(|i| (steps.time_ns(i), value)).collect();
                        vec![Series {
                            labels: LabelSet::default(),
                            points,
                        }]
                    }
                    Metric::Vector(plan) => {
                        let mut series = points(plan, &planner.context).await?;
                        series.sort_by_cached_key(|s| s.labels.to_string());
                        series
                    }
                };
                QueryResult::Matrix(series)
            }
        };
        Ok(answer(result, &planner, started))
    }

    async fn instant(&self, tenant: &TenantId, request: &InstantRequest) -> Result<Answer, QueryError> {
        let started = Instant::now();
        let time_ns = request.time_ns;
        check_time("time", time_ns)?;
        let Expr::Metric(expr) = timberline_logql::parse(&request.query)? else {
            let text = "log queries are not supported as an instant query type, please change your query to a range query type";
            return Err(QueryError::BadRequest(text.into()));
        };
        let planner = self.planner(tenant);
        let result = match plan_metric(&planner, &expr, Steps::instant(time_ns)).await? {
            Metric::Scalar(value) => QueryResult::Scalar { time_ns, value },
            Metric::Vector(plan) => {
                let mut series = points(plan, &planner.context).await?;
                if !sorts(&expr) {
                    series.sort_by_cached_key(|s| s.labels.to_string());
                }
                let sample = |s: Series| {
                    s.points.first().map(|&(time_ns, value)| Sample {
                        labels: s.labels,
                        time_ns,
                        value,
                    })
                };
                QueryResult::Vector(series.into_iter().filter_map(sample).collect())
            }
        };
        Ok(answer(result, &planner, started))
    }

    async fn log_query(
        &self,
        planner: &Planner<'_>,
        log: &LogExpr,
        request: &RangeRequest,
    ) -> Result<QueryResult, QueryError> {
        let limit = self.limits.max_entries;
        if request.limit > limit {
            return Err(QueryError::Limit(format!(
                "max entries limit per query exceeded, limit > max_entries_limit_per_query ({} > {limit})",
                request.limit
            )));
        }
        let mut streams: Vec<StreamResult> = Vec::new();
        // Label sets that differ in categories only are one stream of the answer.
        let mut by_number: HashMap<u32, usize> = HashMap::new();
        let mut by_labels: HashMap<LabelSet, usize> = HashMap::new();
        let mut position = 0;
        if let Some(plan) = plan_log(planner, log, request).await? {
            let add = |batch: &RecordBatch| {
                let timestamps = column::<Int64Array>(batch, EntryColumns::TIMESTAMP)?.values();
                let numbers = column::<UInt32Array>(batch, EntryColumns::LABELS)?.values();
                let lines = column::<BinaryArray>(batch, EntryColumns::LINE)?;
                for row in 0..batch.num_rows() {
                    let labels = planner.context.entry_labels.get(numbers[row]);
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
            execute(plan, add).await?;
        }
        streams.sort_by_cached_key(|s| s.labels.to_string());
        Ok(QueryResult::Streams(streams))
    }
}

/// Runs a plan of one partition.
async fn execute(
    plan: Arc<dyn ExecutionPlan>,
    mut each: impl FnMut(&RecordBatch) -> datafusion_common::Result<()>,
) -> Result<(), QueryError> {
    tracing::debug!(plan = %displayable(plan.as_ref()).indent(false), "query plan");
    let mut batches = plan.execute(0, Arc::new(TaskContext::default()))?;
    while let Some(batch) = batches.try_next().await? {
        each(&batch)?;
    }
    Ok(())
}

/// Runs a plan that gives points, and puts labels in place of numbers.
async fn points(plan: Arc<dyn ExecutionPlan>, context: &QueryContext) -> Result<Vec<Series>, QueryError> {
    let mut points = Points::default();
    execute(plan, |batch| points.add(batch)).await?;
    let series = |(number, points)| Series {
        labels: context.series.get(number),
        points,
    };
    Ok(points.series.into_iter().map(series).collect())
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

fn answer(result: QueryResult, planner: &Planner<'_>, started: Instant) -> Answer {
    let mut stats = planner.context.stats();
    stats.exec_seconds = started.elapsed().as_secs_f64();
    if let QueryResult::Streams(streams) = &result {
        stats.entries_returned = streams.iter().map(|s| s.entries.len() as u64).sum();
    }
    Answer {
        result,
        stats,
        warnings: Vec::new(),
    }
}
