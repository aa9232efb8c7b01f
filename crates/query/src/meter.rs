//! What one partition of an operator is measured by: rows, time and memory, in metrics of DataFusion's, and its reservation of memory.

use datafusion_common::Result;
use datafusion_execution::memory_pool::MemoryReservation;
use datafusion_physical_plan::metrics::{
    Count, ExecutionPlanMetricsSet, Gauge, MetricBuilder, MetricValue, MetricsSet, Time,
};
use std::time::Instant;

const ROWS_IN: &str = "rows_in";
const MEMORY_PEAK: &str = "memory_peak";

/// Measures one partition of an operator.
pub(crate) struct Meter {
    rows_in: Count,
    rows_out: Count,
    busy: Time,
    memory_peak: Gauge,
    held: MemoryReservation,
}

impl Meter {
    /// A meter of a partition; `held` is for what the partition holds.
    pub(crate) fn new(metrics: &ExecutionPlanMetricsSet, partition: usize, held: MemoryReservation) -> Self {
        Self {
            rows_in: MetricBuilder::new(metrics).counter(ROWS_IN, partition),
            rows_out: MetricBuilder::new(metrics).output_rows(partition),
            busy: MetricBuilder::new(metrics).elapsed_compute(partition),
            memory_peak: MetricBuilder::new(metrics).gauge(MEMORY_PEAK, partition),
            held,
        }
    }

    /// Rows that came in.
    pub(crate) fn rows_in(&self, rows: usize) {
        self.rows_in.add(rows);
    }

    /// Rows that went out.
    pub(crate) fn rows_out(&self, rows: usize) {
        self.rows_out.add(rows);
    }

    /// Counts the time until the returned value is dropped as work.
    pub(crate) fn busy(&self) -> Busy {
        Busy {
            time: self.busy.clone(),
            since: Instant::now(),
        }
    }

    /// From now on the partition holds so many bytes; refused beyond the limit of the query.
    pub(crate) fn hold(&self, bytes: usize) -> Result<()> {
        self.held.try_resize(bytes)?;
        self.memory_peak.set_max(bytes);
        Ok(())
    }
}

/// Work that goes on; see [`Meter::busy`].
pub(crate) struct Busy {
    time: Time,
    since: Instant,
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.time.add_elapsed(self.since);
    }
}

/// What the partitions of an operator measured together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Measured {
    pub(crate) rows_in: u64,
    pub(crate) rows_out: u64,
    pub(crate) busy_seconds: f64,
    pub(crate) memory_peak_bytes: u64,
}

impl Measured {
    /// Adds up the partitions.
    pub(crate) fn of(metrics: &MetricsSet) -> Self {
        let named = |name| metrics.sum_by_name(name).as_ref().map_or(0, MetricValue::as_usize) as u64;
        Self {
            rows_in: named(ROWS_IN),
            rows_out: metrics.output_rows().unwrap_or_default() as u64,
            busy_seconds: metrics.elapsed_compute().unwrap_or_default() as f64 / 1e9,
            memory_peak_bytes: named(MEMORY_PEAK),
        }
    }
}
