//! Range aggregations (logql.md 13): samples are gathered in cells of a grid, equal cells of all partitions are merged, then
//! windows slide over the cells.

mod exec;
mod grid;
mod sliding;
mod totals;

pub(crate) use exec::{RangeExec, RangeFunction};
pub(crate) use grid::Grid;
