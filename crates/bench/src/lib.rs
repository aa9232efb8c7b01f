//! Benchmarks: workloads rebuilt after published figures, measured, and set beside the figures of the peer.
//!
//! The absolute times of a machine wobble, so each row is the best of many short rounds, with the median beside it, and what bounds a
//! row (the compressor, memory) is measured in the same run. Peer figures were measured on a machine of 2 vCPU AMD EPYC (Zen 4).
//!
//! `cargo bench -p timberline-bench` and `timberline bench decode` run the same code and print the same table.

pub mod decode;
mod measure;
mod report;

pub use measure::{Effort, Rounds, Speed, measure};
pub use report::{Report, Row};
