//! The time-series engine: series of samples that may arrive in any order, kept compressed in memory, with rules, range queries, an
//! append log and snapshots. No sockets, no runtime; a log and snapshots are its only I/O.
//!
//! The rules come from the specification of the time-series commands, `docs/timeseries.md`; comments name its chapters.

pub mod aggregate;
pub mod codec;
pub mod range;
pub mod sample;
pub mod view;
