//! The time-series engine: series of samples that may arrive in any order, kept compressed in memory, with rules, range queries, an
//! append log and snapshots. No sockets, no runtime; a log and snapshots are its only I/O.
//!
//! The rules come from the specification of the time-series commands, `docs/timeseries.md`; comments name its chapters.

pub mod aggregate;
pub mod codec;
pub mod cold;
pub mod engine;
pub mod error;
pub mod journal;
pub mod keyspace;
pub mod labels;
pub mod options;
pub mod policy;
pub mod range;
pub mod record;
mod rules;
pub mod sample;
pub mod series;
pub mod settings;
pub mod snapshot;
pub mod view;
mod wire;
