//! The counters of the write path, read when somebody looks at `/metrics`.

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, MetricEncoder};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use std::fmt;
use timberline_ingest::{Discarded, Engine, EngineStats};

/// Name, help, and where the number stands.
type Row = (&'static str, &'static str, fn(&EngineStats) -> u64);

/// The same for a number that is kept by tenant and reason.
type DiscardedRow = (&'static str, &'static str, fn(&Discarded) -> u64);

/// What only grows. `_total` is added to the names.
const COUNTERS: [Row; 15] = [
    ("timberline_ingest_entries", "Entries acknowledged", |s| s.entries),
    (
        "timberline_ingest_bytes",
        "Bytes of lines and metadata values acknowledged",
        |s| s.bytes,
    ),
    (
        "timberline_wal_requests",
        "Push requests that the write-ahead log took; divided by fsyncs: how many share one",
        |s| s.requests,
    ),
    (
        "timberline_wal_fsyncs",
        "Syncs of the write-ahead log; pushes wait for them, so a slow disk shows here",
        |s| s.fsyncs,
    ),
    ("timberline_wal_bytes", "Bytes written to the write-ahead log", |s| {
        s.log_bytes
    }),
    (
        "timberline_wal_failures",
        "Writes to the log that failed; their requests got 503: look at the disk",
        |s| s.log_failures,
    ),
    (
        "timberline_push_unavailable",
        "Push requests refused with 503: full disk, full buffers, shutdown",
        |s| s.unavailable,
    ),
    ("timberline_flushes", "Data objects published", |s| s.flushes),
    (
        "timberline_flush_failures",
        "Attempts to publish that failed; if it grows, the store is down or full",
        |s| s.flush_failures,
    ),
    ("timberline_flushed_rows", "Rows written to data objects", |s| {
        s.flushed_rows
    }),
    (
        "timberline_duplicate_rows",
        "Rows left out of data objects because an equal one was there",
        |s| s.duplicate_rows,
    ),
    ("timberline_object_bytes", "Bytes of data objects written", |s| {
        s.object_bytes
    }),
    (
        "timberline_wal_replayed_entries",
        "Entries read back from the log at start",
        |s| s.replayed_entries,
    ),
    (
        "timberline_wal_torn_bytes",
        "Bytes of unfinished writes cut off the log at start, after a crash",
        |s| s.torn_bytes,
    ),
    (
        "timberline_wal_damaged_bytes",
        "Bytes of damaged segments passed over at start: look for files set aside",
        |s| s.damaged_bytes,
    ),
];

/// What rises and falls.
const GAUGES: [Row; 5] = [
    (
        "timberline_wal_queued_requests",
        "Push requests that wait for the log now",
        |s| s.queued_requests,
    ),
    (
        "timberline_head_bytes",
        "Memory of rows that are in no data object yet; pushes are refused when it is full",
        |s| s.head_bytes,
    ),
    ("timberline_head_rows", "Rows that are in no data object yet", |s| {
        s.head_rows
    }),
    (
        "timberline_head_streams",
        "Streams in the part of the head that grows",
        |s| s.head_streams,
    ),
    (
        "timberline_head_frozen_segments",
        "Parts of the head that wait to be published; more than one: the store is slow",
        |s| s.frozen_segments,
    ),
];

/// What the peer counts under these names too: by tenant and reason.
const DISCARDED: [DiscardedRow; 2] = [
    (
        "loki_discarded_samples",
        "Entries refused, by tenant and reason; the reason names the limit to look at",
        |d| d.entries,
    ),
    (
        "loki_discarded_bytes",
        "Bytes of the lines of refused entries, by tenant and reason",
        |d| d.bytes,
    ),
];

/// Reads the engine's counters.
#[derive(Debug)]
pub(super) struct EngineCollector(Engine);

impl EngineCollector {
    /// Reads the counters of this engine.
    pub(super) fn new(engine: Engine) -> Self {
        Self(engine)
    }
}

impl Collector for EngineCollector {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), fmt::Error> {
        let stats = self.0.stats();
        for (name, help, read) in COUNTERS {
            let metric = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
            ConstCounter::new(read(&stats)).encode(metric)?;
        }
        for (name, help, read) in GAUGES {
            let metric = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            ConstGauge::new(i64::try_from(read(&stats)).unwrap_or(i64::MAX)).encode(metric)?;
        }
        for (name, help, read) in DISCARDED {
            let mut metric = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
            for discarded in &stats.discarded {
                encode_discarded(&mut metric, discarded, read(discarded))?;
            }
        }
        Ok(())
    }
}

fn encode_discarded(metric: &mut MetricEncoder<'_>, discarded: &Discarded, count: u64) -> Result<(), fmt::Error> {
    let labels = [("tenant", discarded.tenant.as_str()), ("reason", discarded.reason)];
    ConstCounter::new(count).encode(metric.encode_family(&labels)?)
}
