//! State of sums, means and deviations of numbers.

use super::{CellState, Merge, RangeFunction, Window, WindowState, wrong_state};
use crate::node::column;
use crate::range::sliding::Sliding;
use arrow_array::{ArrayRef, Float64Array, RecordBatch};
use arrow_schema::DataType;
use datafusion_common::Result;
use std::sync::Arc;

/// Count, sum, mean, and sum of squared differences from the mean; the latter two merged by the formula of Chan, Golub and LeVeque, which
/// does not subtract large numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Moments {
    count: f64,
    sum: f64,
    /// What rounding has taken from the sum (Neumaier), so that the order of adding up does not show. Means nothing once the sum is not
    /// finite.
    lost: f64,
    mean: f64,
    squares: f64,
}

impl Merge for Moments {
    fn merge(&mut self, later: &Self) {
        if self.count == 0.0 {
            *self = *later;
            return;
        }
        let count = self.count + later.count;
        let difference = later.mean - self.mean;
        self.squares += later.squares + difference * difference * self.count * later.count / count;
        self.mean += difference * later.count / count;
        let sum = self.sum + later.sum;
        let (large, small) = if self.sum.abs() >= later.sum.abs() {
            (self.sum, later.sum)
        } else {
            (later.sum, self.sum)
        };
        self.lost += later.lost + ((large - sum) + small);
        self.sum = sum;
        self.count = count;
    }
}

impl Moments {
    fn sum(&self) -> f64 {
        if self.sum.is_finite() {
            self.sum + self.lost
        } else {
            self.sum
        }
    }

    /// Numbers that are not finite have no variance.
    fn variance(&self) -> f64 {
        if self.mean.is_finite() {
            self.squares / self.count
        } else {
            f64::NAN
        }
    }
}

impl CellState for Moments {
    type Slide = Sliding<Self>;

    fn add(&mut self, _: i64, amount: f64) {
        self.merge(&Moments {
            count: 1.0,
            sum: amount,
            lost: 0.0,
            mean: amount,
            // The difference of NaN or infinity from itself is NaN.
            squares: if amount.is_finite() { 0.0 } else { f64::NAN },
        });
    }

    fn fields() -> Vec<(&'static str, DataType)> {
        ["count", "sum", "lost", "mean", "squares"]
            .into_iter()
            .map(|name| (name, DataType::Float64))
            .collect()
    }

    fn columns(states: &[Self]) -> Vec<ArrayRef> {
        let column = |of: fn(&Self) -> f64| Arc::new(Float64Array::from_iter_values(states.iter().map(of))) as ArrayRef;
        vec![
            column(|s| s.count),
            column(|s| s.sum),
            column(|s| s.lost),
            column(|s| s.mean),
            column(|s| s.squares),
        ]
    }

    fn read(batch: &RecordBatch, first: usize) -> Result<Vec<Self>> {
        let values = |i| column::<Float64Array>(batch, first + i).map(Float64Array::values);
        let (count, sum, lost) = (values(0)?, values(1)?, values(2)?);
        let (mean, squares) = (values(3)?, values(4)?);
        let state = |i: usize| Moments {
            count: count[i],
            sum: sum[i],
            lost: lost[i],
            mean: mean[i],
            squares: squares[i],
        };
        Ok((0..batch.num_rows()).map(state).collect())
    }
}

impl WindowState for Moments {
    fn value(&self, function: RangeFunction, window: Window) -> f64 {
        match function {
            RangeFunction::Sum => self.sum(),
            RangeFunction::SumPerSecond => self.sum() / window.seconds(),
            RangeFunction::Average => self.sum() / self.count,
            RangeFunction::Variance => self.variance(),
            RangeFunction::Deviation => self.variance().sqrt(),
            other => wrong_state(other),
        }
    }
}
