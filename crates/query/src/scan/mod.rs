//! The scan: reads the chosen rows of data objects and head, and runs the pipeline over them.
//!
//! Reading and pipeline are one operator because the selection of rows goes back and forth between them: stream numbers and
//! timestamps are decoded first, lines only for rows that are left, metadata only for rows whose line passed the filters.

mod exec;
mod identity;
mod output;
mod prune;
mod queue;
mod worker;

pub(crate) use exec::{LogScanExec, ScanSpec};
pub(crate) use identity::{HELD_ONCE, Identity, SeenEntries};
pub(crate) use output::{EntryColumns, SampleValue, ScanOutput, SeriesLabels};
pub(crate) use prune::Pruning;
pub(crate) use queue::{RunQueue, TimeBound};
