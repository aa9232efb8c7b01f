//! Turns what the scan of log lines hands on into rows of the table.

use super::super::labels::LabelsBuilder;
use super::Columns;
use crate::context::QueryContext;
use crate::meter::Meter;
use crate::node::{column, operator, properties};
use crate::scan::{EntryColumns, HELD_ONCE, Identity, LogScanExec};
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, Int64Array, RecordBatch, RecordBatchOptions, StringArray,
    TimestampNanosecondArray, UInt32Array, UInt64Array,
};
use arrow_schema::SchemaRef;
use datafusion::arrow::compute::filter_record_batch;
use datafusion::common::Result;
use datafusion::execution::TaskContext;
use datafusion::execution::memory_pool::MemoryReservation;
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{ExecutionPlan, PlanProperties, SendableRecordBatchStream};
use futures::TryStreamExt;
use parking_lot::Mutex;
use std::collections::HashSet;
use std::sync::Arc;
use timberline_logql::labels::LabelSet;
use timberline_logql::pipeline::EntryLabels;

/// What a scan of lines reads and gives.
pub(super) struct LogsScan {
    pub(super) input: Arc<LogScanExec>,
    pub(super) projection: Vec<usize>,
    /// The columns of the projection.
    pub(super) schema: SchemaRef,
    /// So many rows are enough.
    pub(super) limit: Option<usize>,
    pub(super) context: Arc<QueryContext>,
}

/// Gives lines as rows, each once.
pub(super) struct LogsExec {
    scan: Arc<LogsScan>,
    metrics: ExecutionPlanMetricsSet,
    properties: Arc<PlanProperties>,
    /// Of lines that two sources may hold, those that were given.
    given: Arc<Given>,
}

/// See [`LogsExec::given`].
struct Given {
    entries: Mutex<HashSet<(i64, Identity)>>,
    held: MemoryReservation,
}

impl Given {
    fn new(context: &QueryContext) -> Self {
        Self {
            entries: Mutex::default(),
            held: context.reserve("lines that two sources hold"),
        }
    }
}

/// Bytes that an entry of [`Given`] takes in a table that is half empty after it has grown.
const GIVEN_BYTES: usize = 2 * size_of::<(i64, Identity)>() + 2;

impl LogsExec {
    /// As many partitions as the scan has.
    pub(super) fn new(scan: LogsScan) -> Self {
        let partitions = scan.input.properties().partitioning.partition_count();
        Self {
            properties: properties(scan.schema.clone(), partitions),
            given: Arc::new(Given::new(&scan.context)),
            scan: Arc::new(scan),
            metrics: ExecutionPlanMetricsSet::new(),
        }
    }

    fn run(&self, partition: usize, task: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let input = self.scan.input.execute(partition, task)?;
        let rows = Rows {
            meter: self.scan.context.meter(&self.metrics, partition, "rows of lines"),
            scan: self.scan.clone(),
            given: self.given.clone(),
            left: self.scan.limit.unwrap_or(usize::MAX),
        };
        let batches = futures::stream::try_unfold((input, rows), |(mut input, mut rows)| async move {
            while rows.left > 0
                && let Some(batch) = input.try_next().await?
            {
                let batch = rows.of(batch)?;
                if batch.num_rows() > 0 {
                    return Ok(Some((batch, (input, rows))));
                }
            }
            Ok(None)
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(
            self.scan.schema.clone(),
            batches,
        )))
    }
}

impl std::fmt::Debug for LogsExec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let spec = &self.scan.input.spec;
        let names: Vec<&str> = self
            .scan
            .schema
            .fields()
            .iter()
            .map(|field| field.name().as_str())
            .collect();
        write!(
            f,
            "LogsExec: {:?} span=[{}, {}] query={} columns=[{}]",
            self.scan.input,
            spec.span.min_ns,
            spec.span.max_ns,
            spec.log,
            names.join(", ")
        )
    }
}

operator!(
    LogsExec,
    "LogsExec",
    children: _this => Vec::new(),
    with_children: (this, _children) => Self {
        scan: this.scan.clone(),
        metrics: ExecutionPlanMetricsSet::new(),
        properties: this.properties.clone(),
        given: Arc::new(Given::new(&this.scan.context)),
    },
    execute: (this, partition, task) => this.run(partition, task)
);

/// Makes the rows of one partition.
struct Rows {
    scan: Arc<LogsScan>,
    meter: Meter,
    given: Arc<Given>,
    /// Rows still wanted.
    left: usize,
}

impl Rows {
    fn of(&mut self, entries: RecordBatch) -> Result<RecordBatch> {
        let _busy = self.meter.busy();
        self.meter.rows_in(entries.num_rows());
        let mut entries = self.without_repeats(entries)?;
        if entries.num_rows() > self.left {
            entries = entries.slice(0, self.left);
        }
        self.left -= entries.num_rows();
        let columns = self.scan.projection.iter().map(|column| self.column(*column, &entries));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(entries.num_rows()));
        let batch = RecordBatch::try_new_with_options(self.scan.schema.clone(), columns, &options)?;
        self.meter
            .hold(entries.get_array_memory_size() + batch.get_array_memory_size())?;
        self.meter.rows_out(batch.num_rows());
        Ok(batch)
    }

    /// Leaves out lines that were given before. Copies are equal, so it doesn't matter which comes first.
    fn without_repeats(&self, entries: RecordBatch) -> Result<RecordBatch> {
        let identities = [
            column::<UInt64Array>(&entries, EntryColumns::IDENTITY)?.values(),
            column::<UInt64Array>(&entries, EntryColumns::IDENTITY + 1)?.values(),
        ];
        let identity = |row: usize| (identities[0][row], identities[1][row]);
        if (0..entries.num_rows()).all(|row| identity(row) == HELD_ONCE) {
            return Ok(entries);
        }
        let timestamps = column::<Int64Array>(&entries, EntryColumns::TIMESTAMP)?.values();
        let mut given = self.given.entries.lock();
        let before = given.len();
        let is_new = |row: usize| identity(row) == HELD_ONCE || given.insert((timestamps[row], identity(row)));
        let kept: BooleanArray = (0..entries.num_rows()).map(is_new).map(Some).collect();
        self.given.held.try_grow((given.len() - before) * GIVEN_BYTES)?;
        drop(given);
        Ok(filter_record_batch(&entries, &kept)?)
    }

    fn column(&self, index: usize, entries: &RecordBatch) -> Result<ArrayRef> {
        match index {
            Columns::TIMESTAMP => {
                let timestamps = column::<Int64Array>(entries, EntryColumns::TIMESTAMP)?;
                Ok(
                    Arc::new(timestamps.reinterpret_cast::<arrow_array::types::TimestampNanosecondType>())
                        as Arc<TimestampNanosecondArray>,
                )
            }
            Columns::LINE => Ok(Arc::new(texts(column::<BinaryArray>(entries, EntryColumns::LINE)?))),
            Columns::LABELS => self.labels(entries, |labels| &labels.stream),
            _ => self.labels(entries, |labels| &labels.metadata),
        }
    }

    fn labels(&self, entries: &RecordBatch, set: impl Fn(&EntryLabels) -> &LabelSet) -> Result<ArrayRef> {
        let numbers = column::<UInt32Array>(entries, EntryColumns::LABELS)?.values();
        let mut builder = LabelsBuilder::new();
        for run in numbers.chunk_by(|a, b| a == b) {
            self.scan.context.cancelled.check()?;
            let labels = self.scan.context.entry_labels.get(run[0]);
            builder.append(run.len(), &set(&labels).iter());
            self.meter.hold(entries.get_array_memory_size() + builder.bytes())?;
        }
        Ok(builder.finish()?)
    }
}

/// Lines as text; bytes that are none are replaced.
fn texts(lines: &BinaryArray) -> StringArray {
    StringArray::try_from_binary(lines.clone())
        .unwrap_or_else(|_| lines.iter().map(|line| line.map(String::from_utf8_lossy)).collect())
}
