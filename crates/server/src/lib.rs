//! HTTP: the Loki API over the write path and the query engine.
//!
//! Clients of Loki (collectors, Grafana, logcli) should not notice that another engine answers. So this crate is about
//! wire formats: it turns requests into a `PushBatch` or a query, and answers into the bytes that those clients expect. What
//! is stored and how it is found is decided elsewhere.
//!
//! * `push`: bodies in JSON and protobuf, unpacked under a limit, decoded without a tree;
//! * `request`: parameters, times, durations, tenants;
//! * `encode`: answers as JSON text;
//! * `endpoints`: one file per endpoint, all of the same shape, listed in one table;
//! * `limits`: what queries may ask for, how many run, and how many pushed bytes are in flight.
//!
//! [`serve`] runs the server on a socket until it is told to stop; [`router`] is the same service without a socket.
//!
//! ```
//! # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
//! use std::sync::Arc;
//! use timberline_ingest::{Engine, EngineOptions};
//! use timberline_query::{QueryEngine, QueryLimits};
//! use timberline_server::{AppState, ServerOptions, serve};
//! use timberline_store::{Catalog, Store};
//! use tokio::net::TcpListener;
//!
//! let data = tempfile::tempdir().unwrap();
//! let store = Store::in_memory();
//! let catalog = Catalog::open(store.clone()).await.unwrap();
//! let engine = Engine::open(EngineOptions::new(data.path()), store, catalog).await.unwrap();
//! let query = QueryEngine::new(Arc::new(engine.clone()), QueryLimits::default()).unwrap();
//! let state = AppState::new(engine, query, ServerOptions::default());
//!
//! let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
//! let told_to_stop = async {};
//! serve(listener, state, told_to_stop).await.unwrap();
//! # });
//! ```

mod encode;
mod endpoints;
mod error;
mod estimate;
mod limits;
mod metrics;
mod push;
mod request;
mod serve;
mod state;

pub use endpoints::router;
pub use error::Error;
pub use limits::QueryPolicy;
pub use metrics::{Figure, FigureValue, MoreMetrics};
pub use serve::serve;
pub use state::{AppState, ServerOptions};
