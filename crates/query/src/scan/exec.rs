//! The scan as a DataFusion operator.

use super::identity::SeenEntries;
use super::output::ScanOutput;
use super::prune::Pruning;
use super::queue::{RunQueue, TimeBound};
use super::worker::Worker;
use crate::context::{QueryContext, ScanCounters};
use crate::node::{operator, properties};
use crate::select::{SelectedSource, SelectedStream};
use datafusion_common::{DataFusionError, Result};
use datafusion_physical_plan::metrics::ExecutionPlanMetricsSet;
use datafusion_physical_plan::stream::RecordBatchStreamAdapter;
use datafusion_physical_plan::{PlanProperties, SendableRecordBatchStream};
use std::sync::Arc;
use timberline_logql::ast::LogExpr;
use timberline_logql::pipeline::{Pipeline, Wants};
use timberline_store::source::TimeSpan;

/// What one scan reads and how.
pub(crate) struct ScanSpec {
    pub(crate) streams: Vec<SelectedStream>,
    pub(crate) sources: Vec<SelectedSource>,
    pub(crate) queue: RunQueue,
    /// Times that the query covers.
    pub(crate) span: TimeSpan,
    pub(crate) log: LogExpr,
    /// The labels for which the pipeline was compiled.
    pub(crate) wants: Wants,
    pub(crate) pipeline: Arc<Pipeline>,
    /// True if the pipeline neither reads nor changes labels (line filters only).
    pub(crate) keeps_labels: bool,
    pub(crate) output: ScanOutput,
    /// Set where only the first so many lines count.
    pub(crate) bound: Option<Arc<TimeBound>>,
    pub(crate) seen: Option<SeenEntries>,
    /// Set where sources may know runs that hold nothing of what the pipeline lets through.
    pub(crate) pruning: Option<Pruning>,
    pub(crate) counters: Arc<ScanCounters>,
    pub(crate) context: Arc<QueryContext>,
}

/// Reads rows of data objects and head and runs the pipeline over them; partitions draw runs from one queue.
pub(crate) struct LogScanExec {
    pub(crate) spec: Arc<ScanSpec>,
    metrics: ExecutionPlanMetricsSet,
    properties: Arc<PlanProperties>,
}

impl LogScanExec {
    /// A scan by at most `partitions` workers.
    pub(crate) fn new(spec: ScanSpec, partitions: usize) -> Self {
        let partitions = partitions.min(spec.queue.len()).max(1);
        let properties = properties(spec.output.schema(), partitions);
        Self {
            spec: Arc::new(spec),
            metrics: ExecutionPlanMetricsSet::new(),
            properties,
        }
    }

    fn run(&self, partition: usize) -> Result<SendableRecordBatchStream> {
        let meter = self.spec.context.meter(&self.metrics, partition, "rows of the scan");
        let worker = Worker::new(self.spec.clone(), meter);
        let batches = futures::stream::try_unfold(worker, |mut worker| async move {
            let batch = worker.next_batch().await.map_err(DataFusionError::from)?;
            Ok(batch.map(|batch| (batch, worker)))
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(
            self.spec.output.schema(),
            batches,
        )))
    }
}

impl std::fmt::Debug for LogScanExec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let spec = &self.spec;
        let (sources, streams, runs) = (spec.sources.len(), spec.streams.len(), spec.queue.len());
        write!(
            f,
            "LogScanExec: sources={sources} streams={streams} runs={runs} output={:?}",
            spec.output
        )
    }
}

operator!(
    LogScanExec,
    "LogScanExec",
    children: _this => Vec::new(),
    with_children: (this, _children) => Self {
        spec: this.spec.clone(),
        metrics: ExecutionPlanMetricsSet::new(),
        properties: this.properties.clone(),
    },
    execute: (this, partition, _task) => this.run(partition)
);
