//! State of first and last.

use super::{CellState, Merge, RangeFunction, Window, WindowState, wrong_state};
use crate::node::column;
use crate::range::sliding::Sliding;
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch};
use arrow_schema::DataType;
use datafusion_common::Result;
use std::sync::Arc;

/// Earliest and latest sample. Of samples at the same time the smaller number counts as earlier, so that the answer does not depend on
/// how rows are laid out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ends {
    first: (i64, f64),
    last: (i64, f64),
}

impl Default for Ends {
    fn default() -> Self {
        // In the order of [`before`] nothing comes after the one, and nothing before the other.
        Self {
            first: (i64::MAX, f64::NAN.copysign(1.0)),
            last: (i64::MIN, f64::NAN.copysign(-1.0)),
        }
    }
}

/// True if `a` comes before `b`.
fn before(a: (i64, f64), b: (i64, f64)) -> bool {
    a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)).is_lt()
}

impl Merge for Ends {
    fn merge(&mut self, later: &Self) {
        if before(later.first, self.first) {
            self.first = later.first;
        }
        if before(self.last, later.last) {
            self.last = later.last;
        }
    }
}

impl CellState for Ends {
    type Slide = Sliding<Self>;

    fn add(&mut self, timestamp_ns: i64, amount: f64) {
        self.merge(&Ends {
            first: (timestamp_ns, amount),
            last: (timestamp_ns, amount),
        });
    }

    fn fields() -> Vec<(&'static str, DataType)> {
        vec![
            ("first_time", DataType::Int64),
            ("first", DataType::Float64),
            ("last_time", DataType::Int64),
            ("last", DataType::Float64),
        ]
    }

    fn columns(states: &[Self]) -> Vec<ArrayRef> {
        vec![
            Arc::new(Int64Array::from_iter_values(states.iter().map(|s| s.first.0))),
            Arc::new(Float64Array::from_iter_values(states.iter().map(|s| s.first.1))),
            Arc::new(Int64Array::from_iter_values(states.iter().map(|s| s.last.0))),
            Arc::new(Float64Array::from_iter_values(states.iter().map(|s| s.last.1))),
        ]
    }

    fn read(batch: &RecordBatch, first: usize) -> Result<Vec<Self>> {
        let times = |i| column::<Int64Array>(batch, first + i).map(Int64Array::values);
        let values = |i| column::<Float64Array>(batch, first + i).map(Float64Array::values);
        let (first_times, firsts, last_times, lasts) = (times(0)?, values(1)?, times(2)?, values(3)?);
        let state = |i: usize| Ends {
            first: (first_times[i], firsts[i]),
            last: (last_times[i], lasts[i]),
        };
        Ok((0..batch.num_rows()).map(state).collect())
    }
}

impl WindowState for Ends {
    fn value(&self, function: RangeFunction, _: Window) -> f64 {
        match function {
            RangeFunction::First => self.first.1,
            RangeFunction::Last => self.last.1,
            other => wrong_state(other),
        }
    }
}
