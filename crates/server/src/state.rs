//! What all requests share.

use crate::limits::{PushBudget, QueryGate, QueryPolicy};
use crate::metrics::{Metrics, MoreMetrics};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use timberline_ingest::Engine;
use timberline_query::QueryEngine;

/// How the server behaves.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// Requests without the header `X-Scope-OrgID` are refused; otherwise they belong to the tenant `fake`.
    pub auth_required: bool,
    /// Largest push body as sent, in bytes.
    pub max_push_bytes: usize,
    /// Largest push body when unpacked, in bytes.
    pub max_push_unpacked_bytes: usize,
    /// Bytes of push requests in memory at once; more wait.
    pub max_push_inflight_bytes: usize,
    /// Longest time that reading a push body may take.
    pub push_read_timeout: Duration,
    /// Queries that run at once.
    pub max_concurrent_queries: usize,
    /// Queries that wait for their turn; more are refused with 429.
    pub max_queued_queries: usize,
    /// Longest time a query may take, waiting included.
    pub query_timeout: Duration,
    /// What queries may ask for.
    pub query_policy: QueryPolicy,
    /// Longest time that open requests get to finish after the server was told to stop.
    pub shutdown_deadline: Duration,
    /// The effective configuration as YAML, shown by `/config`; without secrets.
    pub config_yaml: String,
    /// The level of the log, shown by `/log_level`.
    pub log_level: String,
    /// Figures of other parts of the program, shown by `/metrics`.
    pub more_metrics: Vec<MoreMetrics>,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            auth_required: false,
            max_push_bytes: 64 << 20,
            max_push_unpacked_bytes: 128 << 20,
            max_push_inflight_bytes: 512 << 20,
            push_read_timeout: Duration::from_secs(60),
            max_concurrent_queries: 16,
            max_queued_queries: 256,
            query_timeout: Duration::from_secs(60),
            query_policy: QueryPolicy::default(),
            shutdown_deadline: Duration::from_secs(10),
            config_yaml: String::new(),
            log_level: "info".into(),
            more_metrics: Vec::new(),
        }
    }
}

/// What all requests share. Cheap to clone.
#[derive(Clone, Debug)]
pub struct AppState(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    engine: Engine,
    query: QueryEngine,
    options: ServerOptions,
    metrics: Metrics,
    gate: Arc<QueryGate>,
    budget: Arc<PushBudget>,
    stopping: AtomicBool,
}

impl AppState {
    /// A server over a write path and a query engine that reads from it.
    pub fn new(engine: Engine, query: QueryEngine, options: ServerOptions) -> Self {
        let gate = QueryGate::new(
            options.max_concurrent_queries,
            options.max_queued_queries,
            options.query_timeout,
        );
        let gate = Arc::new(gate);
        let budget = Arc::new(PushBudget::new(options.max_push_inflight_bytes));
        let metrics = Metrics::new(&engine, &gate, &budget, &options.more_metrics);
        Self(Arc::new(Shared {
            engine,
            query,
            options,
            metrics,
            gate,
            budget,
            stopping: AtomicBool::new(false),
        }))
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.0.engine
    }

    pub(crate) fn query(&self) -> &QueryEngine {
        &self.0.query
    }

    pub(crate) fn options(&self) -> &ServerOptions {
        &self.0.options
    }

    pub(crate) fn metrics(&self) -> &Metrics {
        &self.0.metrics
    }

    pub(crate) fn gate(&self) -> &QueryGate {
        &self.0.gate
    }

    pub(crate) fn policy(&self) -> &QueryPolicy {
        &self.0.options.query_policy
    }

    pub(crate) fn budget(&self) -> &PushBudget {
        &self.0.budget
    }

    /// From now on `/ready` says no, so that balancers send nothing new.
    pub(crate) fn begin_stopping(&self) {
        self.0.stopping.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.0.stopping.load(Ordering::Relaxed)
    }
}
