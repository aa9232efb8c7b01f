//! Benchmarks: workloads rebuilt after published figures, measured, and set beside the figures of the peer.
//!
//! The absolute times of a machine wobble, so each row is the best of many short rounds, with the median beside it, and what bounds a
//! row (the compressor, memory) is measured in the same run. Peer figures were measured on a machine of 2 vCPU AMD EPYC (Zen 4).
//!
//! `cargo bench -p timberline-bench --bench decode` and `timberline bench decode` run the same code and print the same table; likewise
//! `pipeline`, where only the former counts allocations.

mod allocations;
pub mod decode;
pub mod late;
mod measure;
pub mod pipeline;
mod report;

pub use allocations::{AllocationCounter, CountingAllocator};
pub use measure::{Effort, Rounds, Speed, measure};
pub use report::{Better, Report, Row};

/// The generator of all data: the same in every run.
fn rng(seed: u64) -> rand::rngs::SmallRng {
    rand::SeedableRng::seed_from_u64(seed)
}
