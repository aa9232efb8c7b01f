//! The bounds on work in flight, read when somebody looks at `/metrics`.

use crate::limits::{PushBudget, QueryGate};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use std::fmt;
use std::sync::Arc;

/// Reads how full the bounds are and how often they were hit.
#[derive(Debug)]
pub(super) struct LimitsCollector {
    /// Of queries.
    pub(super) gate: Arc<QueryGate>,
    /// Of pushed bytes.
    pub(super) budget: Arc<PushBudget>,
}

impl Collector for LimitsCollector {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), fmt::Error> {
        let gate = self.gate.stats();
        let gauges = [
            ("timberline_queries_running", "Queries that run now", gate.running),
            (
                "timberline_queries_waiting",
                "Queries that wait for their turn; if it stays up, queries are slow",
                gate.waiting,
            ),
            (
                "timberline_push_inflight_bytes",
                "Bytes held for push requests now, as sent and unpacked",
                self.budget.used_bytes(),
            ),
        ];
        for (name, help, value) in gauges {
            let metric = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            ConstGauge::new(i64::try_from(value).unwrap_or(i64::MAX)).encode(metric)?;
        }
        let counters = [
            (
                "timberline_queries_refused",
                "Queries refused with 429 because max_queued_queries waited",
                gate.refused,
            ),
            (
                "timberline_queries_timed_out",
                "Queries ended with 504 after query_timeout",
                gate.timed_out,
            ),
        ];
        for (name, help, value) in counters {
            let metric = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
            ConstCounter::new(value).encode(metric)?;
        }
        Ok(())
    }
}
