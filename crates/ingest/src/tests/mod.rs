//! Tests of the engine as a whole: one harness, one file per subject.

mod concurrency;
mod crash;
mod cuts;
mod failures;
mod harness;
mod ingestion;
mod model;
mod refusals;
