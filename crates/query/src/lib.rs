//! The query engine: LogQL on DataFusion, over data objects and the in-memory head alike.
//!
//! A query goes from text to a syntax tree, from there to a DataFusion plan, and the plan is run:
//!
//! ```text
//!   log query                       metric query
//!   FirstLinesExec                  VectorExec (aggregations, operators, label_replace)
//!     CoalescePartitionsExec          RangeExec (final: merges cells, slides windows)
//!       LogScanExec (n partitions)      CoalescePartitionsExec
//!                                         RangeExec (partial: samples to cells)
//!                                           LogScanExec (n partitions)
//! ```
//!
//! Label sets travel as numbers of the query's tables; their strings appear again only in the answer. The sources of rows are
//! handed out by a [`timberline_store::source::SourceProvider`], as of one moment; nothing here knows a head from an object.
//! The engine does no I/O of its own and keeps no state between queries.

mod answer;
mod cancel;
mod context;
mod detect;
mod engine;
mod error;
mod explain;
mod first_lines;
mod memory;
mod meter;
mod node;
mod plan;
mod pool;
mod range;
mod request;
mod scan;
mod select;
mod sql;
mod vector;

pub use answer::{Answer, Entry, EntryLabels, QueryResult, QueryStats, Sample, Series, StreamResult};
pub use detect::DetectRequest;
pub use engine::QueryEngine;
pub use error::QueryError;
pub use explain::{Explanation, Fact, Step};
pub use request::{Direction, InstantRequest, QueryLimits, RangeRequest};
pub use sql::{LogsAdmission, SqlAnswer, SqlForm, SqlRequest};
