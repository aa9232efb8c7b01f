//! Metrics of the server, and those of the write path under the same roof.
//!
//! Names start with `timberline_` and end in their unit; two keep the peer's names because dashboards and alerts ask for them.

mod classic;
mod engine;
mod limits;
mod more;

pub(crate) use classic::from_openmetrics;
pub use more::{Figure, FigureValue, MoreMetrics};

use crate::AppState;
use crate::error::{Fault, LimitHit};
use crate::limits::{PushBudget, QueryGate};
use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use engine::EngineCollector;
use limits::LimitsCollector;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};
use std::sync::Arc;
use std::time::Instant;
use timberline_ingest::Engine;

/// Label of requests that no endpoint answers, so that strange paths don't make series.
const NO_ROUTE: &str = "none";

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    method: &'static str,
    route: String,
    status: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ReasonLabels {
    reason: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct LimitLabels {
    limit: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct FaultLabels {
    kind: &'static str,
}

/// All counters that the server itself keeps.
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    requests: Family<RequestLabels, Histogram, fn() -> Histogram>,
    requests_in_flight: Gauge,
    pushed_entries: Counter,
    pushed_bytes: Counter,
    refused_bodies: Family<ReasonLabels, Counter>,
    limits: Family<LimitLabels, Counter>,
    faults: Family<FaultLabels, Counter>,
}

impl Metrics {
    /// Counters at zero; those of the others are read whenever somebody looks.
    pub(crate) fn new(engine: &Engine, gate: &Arc<QueryGate>, budget: &Arc<PushBudget>, more: &[MoreMetrics]) -> Self {
        let mut registry = Registry::default();
        let requests: Family<RequestLabels, Histogram, fn() -> Histogram> =
            Family::new_with_constructor(request_buckets);
        let requests_in_flight = Gauge::default();
        let pushed_entries = Counter::default();
        let pushed_bytes = Counter::default();
        let refused_bodies = Family::<ReasonLabels, Counter>::default();
        let limits = Family::<LimitLabels, Counter>::default();
        let faults = Family::<FaultLabels, Counter>::default();

        let server = registry.sub_registry_with_prefix("timberline");
        server.register_with_unit(
            "http_request_duration",
            "Time from the request's head to the answer's head; look at storage if queries or pushes get slow",
            Unit::Seconds,
            requests.clone(),
        );
        server.register(
            "http_requests_in_flight",
            "Requests being answered now",
            requests_in_flight.clone(),
        );
        server.register(
            "push_entries",
            "Entries in decoded push requests, refused ones included",
            pushed_entries.clone(),
        );
        server.register_with_unit(
            "push",
            "Bytes of lines and metadata in decoded push requests, refused ones included",
            Unit::Bytes,
            pushed_bytes.clone(),
        );
        server.register(
            "push_bodies_refused",
            "Push bodies that could not be read at all, by reason; if it grows, a sender speaks another format",
            refused_bodies.clone(),
        );
        server.register(
            "queries_over_limit",
            "Queries refused with 400 because they pass a limit, by limit (evaluation: one met while running)",
            limits.clone(),
        );
        server.register(
            "faults",
            "Requests that met a panic or damaged storage; never normal, the log tells which",
            faults.clone(),
        );
        registry.register_collector(Box::new(LimitsCollector {
            gate: gate.clone(),
            budget: budget.clone(),
        }));
        registry.register_collector(Box::new(EngineCollector::new(engine.clone())));
        for part in more {
            registry.register_collector(Box::new(part.clone()));
        }
        Self {
            registry,
            requests,
            requests_in_flight,
            pushed_entries,
            pushed_bytes,
            refused_bodies,
            limits,
            faults,
        }
    }

    /// All metrics as text.
    pub(crate) fn text(&self) -> Result<String, std::fmt::Error> {
        let mut text = String::new();
        encode(&mut text, &self.registry)?;
        Ok(text)
    }

    /// Counts a decoded push request.
    pub(crate) fn pushed(&self, entries: usize, bytes: usize) {
        self.pushed_entries.inc_by(entries as u64);
        self.pushed_bytes.inc_by(bytes as u64);
    }

    /// Counts a push body that can't be read.
    pub(crate) fn refused(&self, reason: &'static str) {
        self.refused_bodies.get_or_create(&ReasonLabels { reason }).inc();
    }
}

/// From a millisecond to a minute.
fn request_buckets() -> Histogram {
    Histogram::new(exponential_buckets(0.001, 2.5, 13))
}

/// Middleware: measures each request. Counts it in flight also if the client leaves before the answer.
pub(crate) async fn observe_request(State(state): State<AppState>, request: Request, next: Next) -> Response {
    struct InFlight<'a>(&'a Gauge);
    impl Drop for InFlight<'_> {
        fn drop(&mut self) {
            self.0.dec();
        }
    }
    let metrics = state.metrics();
    metrics.requests_in_flight.inc();
    let _in_flight = InFlight(&metrics.requests_in_flight);
    let method = method_name(request.method());
    let route = request
        .extensions()
        .get::<MatchedPath>()
        .map_or(NO_ROUTE, MatchedPath::as_str)
        .to_owned();
    let started = Instant::now();
    let response = next.run(request).await;
    if let Some(fault) = response.extensions().get::<Fault>() {
        metrics.faults.get_or_create(&FaultLabels { kind: fault.name() }).inc();
    }
    if let Some(LimitHit(limit)) = response.extensions().get() {
        metrics.limits.get_or_create(&LimitLabels { limit }).inc();
    }
    let labels = RequestLabels {
        method,
        route,
        status: response.status().as_u16(),
    };
    metrics
        .requests
        .get_or_create(&labels)
        .observe(started.elapsed().as_secs_f64());
    response
}

/// The method's name, from a bounded list.
fn method_name(method: &axum::http::Method) -> &'static str {
    match method.as_str() {
        "GET" => "GET",
        "POST" => "POST",
        "PUT" => "PUT",
        "DELETE" => "DELETE",
        "HEAD" => "HEAD",
        "OPTIONS" => "OPTIONS",
        _ => "other",
    }
}
