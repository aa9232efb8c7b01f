//! Reads the samples of chosen series, batch by batch.

use super::super::session::BATCH_ROWS;
use super::super::time_range::TimeRange;
use super::choose::Chosen;
use super::rows::{SeriesRow, series_columns};
use super::{Columns, unreadable};
use crate::QueryError;
use crate::context::QueryContext;
use crate::meter::Meter;
use crate::node::{operator, properties};
use arrow_array::{ArrayRef, Float64Array, RecordBatch, RecordBatchOptions, TimestampMillisecondArray};
use arrow_schema::SchemaRef;
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::memory_pool::MemoryReservation;
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{PlanProperties, SendableRecordBatchStream};
use std::sync::Arc;
use timberline_series::range::{RangeQuery, run};
use timberline_series::series::Reach;
use timberline_series::view::{Part, View};

/// What a scan reads.
pub(super) struct SeriesScan {
    pub(super) chosen: Vec<Chosen>,
    /// Milliseconds.
    pub(super) times: TimeRange,
    pub(super) projection: Vec<usize>,
    /// The columns of the projection.
    pub(super) schema: SchemaRef,
    /// So many rows are enough.
    pub(super) limit: Option<usize>,
    pub(super) context: Arc<QueryContext>,
    /// Memory of the chosen series.
    pub(super) _held: MemoryReservation,
}

/// Reads series; each partition every so-manieth.
pub(super) struct SeriesExec {
    scan: Arc<SeriesScan>,
    partitions: usize,
    metrics: ExecutionPlanMetricsSet,
    properties: Arc<PlanProperties>,
}

impl SeriesExec {
    /// A scan by at most `partitions` workers.
    pub(super) fn new(scan: SeriesScan, partitions: usize) -> Self {
        let partitions = partitions.min(scan.chosen.len()).max(1);
        Self {
            properties: properties(scan.schema.clone(), partitions),
            scan: Arc::new(scan),
            partitions,
            metrics: ExecutionPlanMetricsSet::new(),
        }
    }

    fn run(&self, partition: usize) -> SendableRecordBatchStream {
        let worker = Worker {
            meter: self.scan.context.meter(&self.metrics, partition, "samples of the scan"),
            scan: self.scan.clone(),
            next: partition,
            partitions: self.partitions,
            reading: None,
            left: self.scan.limit.unwrap_or(usize::MAX),
            shared: None,
        };
        let batches = futures::stream::try_unfold(worker, |mut worker| async move {
            let batch = worker.next_batch().map_err(DataFusionError::from)?;
            Ok(batch.map(|batch| (batch, worker)))
        });
        Box::pin(RecordBatchStreamAdapter::new(self.scan.schema.clone(), batches))
    }
}

impl std::fmt::Debug for SeriesExec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let TimeRange { first, last } = self.scan.times;
        write!(f, "SeriesExec: series={}", self.scan.chosen.len())?;
        if first > 0 {
            write!(f, " from_ms={first}")?;
        }
        if last < i64::MAX {
            write!(f, " to_ms={last}")?;
        }
        if let Some(limit) = self.scan.limit {
            write!(f, " limit={limit}")?;
        }
        let names: Vec<&str> = self
            .scan
            .schema
            .fields()
            .iter()
            .map(|field| field.name().as_str())
            .collect();
        write!(f, " columns=[{}]", names.join(", "))
    }
}

operator!(
    SeriesExec,
    "SeriesExec",
    children: _this => Vec::new(),
    with_children: (this, _children) => Self {
        scan: this.scan.clone(),
        partitions: this.partitions,
        metrics: ExecutionPlanMetricsSet::new(),
        properties: this.properties.clone(),
    },
    execute: (this, partition, _task) => Ok(this.run(partition))
);

/// Reads the series of one partition.
struct Worker {
    scan: Arc<SeriesScan>,
    meter: Meter,
    /// The next series to read.
    next: usize,
    partitions: usize,
    reading: Option<Reading>,
    /// Rows still wanted.
    left: usize,
    /// The columns of the series that a whole batch was made of, for its next batches.
    shared: Option<(usize, Vec<ArrayRef>)>,
}

/// A series that is being read.
struct Reading {
    series: usize,
    view: View,
    from: i64,
}

impl Worker {
    /// The next batch; `None` at the end.
    fn next_batch(&mut self) -> Result<Option<RecordBatch>, QueryError> {
        let _busy = self.meter.busy();
        let most = BATCH_ROWS.min(self.left);
        let (mut timestamps, mut values) = (Vec::with_capacity(most), Vec::with_capacity(most));
        // Rows of each series in the batch.
        let mut runs: Vec<(usize, usize)> = Vec::new();
        while timestamps.len() < most {
            self.scan.context.cancelled.check()?;
            let Some(mut reading) = self.reading.take().map_or_else(|| self.open_next(), |r| Ok(Some(r)))? else {
                break;
            };
            let missing = most - timestamps.len();
            let rows = read(&reading, self.scan.times.last, missing)?;
            if !rows.is_empty() {
                runs.push((reading.series, rows.len()));
            }
            let last = rows.timestamps.last().copied();
            timestamps.extend_from_slice(&rows.timestamps);
            values.extend_from_slice(&rows.values);
            if rows.len() == missing
                && let Some(from) = last.and_then(|last| last.checked_add(1))
            {
                reading.from = from;
                self.reading = Some(reading);
            }
        }
        if timestamps.is_empty() {
            return Ok(None);
        }
        self.left -= timestamps.len();
        let batch = self.batch(timestamps, values, &runs)?;
        self.meter.hold(batch.get_array_memory_size())?;
        self.meter.rows_out(batch.num_rows());
        Ok(Some(batch))
    }

    /// Takes a picture of the next series.
    fn open_next(&mut self) -> Result<Option<Reading>, QueryError> {
        let series = self.next;
        let Some(chosen) = self.scan.chosen.get(series) else {
            return Ok(None);
        };
        self.next += self.partitions;
        let TimeRange { first, last } = self.scan.times;
        let from = first.max(0);
        let view = match from <= last {
            true => chosen
                .series
                .view(from, last, Reach::Inside, false)
                .map_err(unreadable)?,
            false => View::default(),
        };
        Ok(Some(Reading { series, view, from }))
    }

    fn batch(
        &mut self,
        timestamps: Vec<i64>,
        values: Vec<f64>,
        runs: &[(usize, usize)],
    ) -> Result<RecordBatch, QueryError> {
        let rows = timestamps.len();
        let mut of_series = self.series_columns(runs, rows)?.into_iter();
        let mut timestamps = Some(timestamps);
        let mut values = Some(values);
        let column = |index: &usize| -> Option<ArrayRef> {
            match *index {
                Columns::TIMESTAMP => Some(Arc::new(TimestampMillisecondArray::from(timestamps.take()?))),
                Columns::VALUE => Some(Arc::new(Float64Array::from(values.take()?))),
                _ => of_series.next(),
            }
        };
        let columns = self.scan.projection.iter().filter_map(column).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(self.scan.schema.clone(), columns, &options)
            .map_err(|error| QueryError::Internal(format!("bug: samples make no batch: {error}")))
    }

    /// The columns that samples of a series share. Batches of one long series share them too.
    fn series_columns(&mut self, runs: &[(usize, usize)], rows: usize) -> Result<Vec<ArrayRef>, QueryError> {
        if let (&[(series, _)], Some((known, columns))) = (runs, &self.shared)
            && *known == series
            && columns.iter().all(|column| column.len() >= rows)
        {
            return Ok(columns.iter().map(|column| column.slice(0, rows)).collect());
        }
        let chosen = &self.scan.chosen;
        let repeated: Vec<SeriesRow> = runs
            .iter()
            .map(|&(series, rows)| SeriesRow::of(&chosen[series], rows))
            .collect();
        let columns = series_columns(&repeated, &self.scan.projection)?;
        self.shared = match runs {
            &[(series, _)] => Some((series, columns.clone())),
            _ => None,
        };
        Ok(columns)
    }
}

/// The next samples of a series, as many as asked for if there are so many. Chunks in the object store are waited for.
fn read(reading: &Reading, to: i64, count: usize) -> Result<timberline_series::range::Rows, QueryError> {
    let query = RangeQuery {
        from: reading.from,
        to,
        timestamps: None,
        values: None,
        aggregation: None,
        count: Some(count as u64),
        reverse: false,
    };
    let cold = reading.view.parts.iter().any(|part| matches!(part, Part::Cold(_)));
    let read = || run(&reading.view, &query).map_err(unreadable);
    if cold {
        tokio::task::block_in_place(read)
    } else {
        read()
    }
}
