//! Range aggregations (logql.md 13): samples are gathered in cells of a grid, equal cells of all partitions are merged, then
//! windows slide over the cells.

mod admission;
mod cells;
mod exec;
mod function;
mod grid;
mod sliding;
mod state;

pub(crate) use exec::{Half, RangeExec};
pub(crate) use function::RangeFunction;
pub(crate) use grid::Grid;

#[cfg(test)]
mod tests;
