//! Expressions over series: each is a function from the points of its operands to points, evaluated time by time
//! (logql.md 14 to 16). All have the same shape: one file each, one [`VectorFunction`], run by one operator.

mod absent;
mod aggregate;
mod binary;
mod exec;
mod label_replace;
mod points;
mod scalar;

pub(crate) use absent::Absent;
pub(crate) use aggregate::Aggregate;
pub(crate) use binary::VectorBinary;
pub(crate) use exec::{VectorExec, VectorFunction};
pub(crate) use label_replace::Replace;
pub(crate) use points::{ByTime, Points, points_schema};
pub(crate) use scalar::{Constant, ScalarBinary, apply};
