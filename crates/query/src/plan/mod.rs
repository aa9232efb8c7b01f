//! From a syntax tree to a DataFusion plan.

mod log;
mod metric;

pub(crate) use log::plan_log;
pub(crate) use metric::{Metric, plan_metric};

use crate::QueryError;
use crate::context::QueryContext;
use crate::request::Direction;
use crate::scan::{LogScanExec, Pruning, RunQueue, ScanOutput, ScanSpec, SeenEntries, TimeBound};
use crate::select::select;
use std::sync::Arc;
use timberline_logql::ast::{LogExpr, Stage};
use timberline_logql::pipeline::{Environment, Pipeline, Wants};
use timberline_store::TenantId;
use timberline_store::source::{SourceProvider, TimeSpan};

/// What a plan is made for.
pub(crate) struct Planner<'a> {
    pub(crate) provider: &'a dyn SourceProvider,
    pub(crate) tenant: &'a TenantId,
    pub(crate) context: Arc<QueryContext>,
    /// Most workers of a scan.
    pub(crate) partitions: usize,
    /// What templates know of the world.
    pub(crate) environment: Environment,
    /// True for a query at one time.
    pub(crate) instant: bool,
}

impl Planner<'_> {
    /// A scan with the pipeline of `log`.
    pub(crate) async fn scan(
        &self,
        log: &LogExpr,
        wants: &Wants,
        span: TimeSpan,
        direction: Direction,
        output: ScanOutput,
        bound: Option<Arc<TimeBound>>,
    ) -> Result<Arc<LogScanExec>, QueryError> {
        let pipeline = Arc::new(Pipeline::compile_in(&log.stages, wants, &self.environment)?);
        let (counters, cancelled) = (self.context.scan_counters(), &self.context.cancelled);
        let selected = select(self.provider, self.tenant, &log.matchers, span, &counters, cancelled).await?;
        let queue = RunQueue::plan(&selected.sources, span, direction, &counters).await?;
        let spec = ScanSpec {
            seen: SeenEntries::for_streams(&selected.streams),
            pruning: Pruning::of(&pipeline, selected.sources.len()),
            streams: selected.streams,
            sources: selected.sources,
            queue,
            span,
            log: log.clone(),
            wants: wants.clone(),
            pipeline,
            keeps_labels: log.stages.iter().all(|stage| matches!(stage, Stage::LineFilter(_))),
            output,
            bound,
            counters,
            context: self.context.clone(),
        };
        Ok(Arc::new(LogScanExec::new(spec, self.partitions)))
    }
}
