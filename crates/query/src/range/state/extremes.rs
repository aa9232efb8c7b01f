//! State of least and greatest.

use super::{CellState, Merge, RangeFunction, Window, WindowState, wrong_state};
use crate::node::column;
use crate::range::sliding::Sliding;
use arrow_array::{ArrayRef, Float64Array, RecordBatch};
use arrow_schema::DataType;
use datafusion_common::Result;
use std::sync::Arc;

/// Least and greatest number; NaN only where there is nothing else (logql.md 13.2). The negative zero is the smaller one, so that the
/// answer does not depend on how rows are laid out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Extremes {
    least: f64,
    greatest: f64,
}

impl Default for Extremes {
    fn default() -> Self {
        Self {
            least: f64::NAN,
            greatest: f64::NAN,
        }
    }
}

impl Merge for Extremes {
    fn merge(&mut self, later: &Self) {
        if self.least.is_nan() || (later.least.total_cmp(&self.least).is_lt() && !later.least.is_nan()) {
            self.least = later.least;
        }
        if self.greatest.is_nan() || (later.greatest.total_cmp(&self.greatest).is_gt() && !later.greatest.is_nan()) {
            self.greatest = later.greatest;
        }
    }
}

impl CellState for Extremes {
    type Slide = Sliding<Self>;

    fn add(&mut self, _: i64, amount: f64) {
        self.merge(&Extremes {
            least: amount,
            greatest: amount,
        });
    }

    fn fields() -> Vec<(&'static str, DataType)> {
        vec![("least", DataType::Float64), ("greatest", DataType::Float64)]
    }

    fn columns(states: &[Self]) -> Vec<ArrayRef> {
        vec![
            Arc::new(Float64Array::from_iter_values(states.iter().map(|s| s.least))),
            Arc::new(Float64Array::from_iter_values(states.iter().map(|s| s.greatest))),
        ]
    }

    fn read(batch: &RecordBatch, first: usize) -> Result<Vec<Self>> {
        let least = column::<Float64Array>(batch, first)?.values();
        let greatest = column::<Float64Array>(batch, first + 1)?.values();
        Ok(least
            .iter()
            .zip(greatest)
            .map(|(&least, &greatest)| Extremes { least, greatest })
            .collect())
    }
}

impl WindowState for Extremes {
    fn value(&self, function: RangeFunction, _: Window) -> f64 {
        match function {
            RangeFunction::Min => self.least,
            RangeFunction::Max => self.greatest,
            other => wrong_state(other),
        }
    }
}
