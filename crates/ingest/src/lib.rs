//! The write path: what a client pushes is validated, logged, readable at once, and later kept in data objects.
//!
//! ```text
//! PushBatch -> validate -> queue -> log (one sync for all that wait) -> head -> cut -> data object -> catalog -> log shortened
//! ```
//!
//! An acknowledged entry is in exactly one place that a restart or a query looks at: in the log and the head until the
//! catalog's commit, in a data object from then on.
//!
//! ```
//! # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
//! use timberline_ingest::{Engine, EngineOptions, PushBatch};
//! use timberline_logql::labels::LabelSet;
//! use timberline_store::{Catalog, Store, TenantId};
//!
//! let data = tempfile::tempdir().unwrap();
//! let store = Store::in_memory();
//! let catalog = Catalog::open(store.clone()).await.unwrap();
//! let engine = Engine::open(EngineOptions::new(data.path()), store, catalog).await.unwrap();
//!
//! let mut batch = PushBatch::new();
//! batch.begin_stream(LabelSet::from_pairs([("app", "shop")]));
//! batch.push_entry(1_700_000_000_000_000_001, b"level=warn stock is low", []);
//! let outcome = engine.push(&TenantId::single(), batch).await.unwrap();
//! assert_eq!(outcome.accepted, 1);
//! assert_eq!(engine.flush().await.unwrap().rows, 1);
//! engine.shutdown().await;
//! # });
//! ```

mod active_streams;
mod batch;
mod engine;
mod error;
mod head;
mod level;
mod level_fields;
mod limits;
mod names;
mod object;
mod options;
mod publisher;
mod queue;
mod record;
mod replay;
mod shared;
mod shown;
mod stats;
#[cfg(test)]
mod tests;
mod validate;
mod wal;
mod writer;

pub use batch::{PushBatch, StreamLabels};
pub use engine::{Engine, FlushReport, PushOutcome};
pub use error::{Error, PushError};
pub use limits::Limits;
pub use options::EngineOptions;
pub use stats::{Discarded, EngineStats};
pub use validate::Rejection;
pub use wal::DirectoryLock;
