//! Partial states of range functions: what one cell of one series keeps of its samples. All have the same shape, one file each: samples are
//! added, states are merged, travel as columns, and become the value of a window.

mod ends;
mod extremes;
mod moments;
mod samples;
mod totals;

pub(crate) use ends::Ends;
pub(crate) use extremes::Extremes;
pub(crate) use moments::Moments;
pub(crate) use samples::Samples;
pub(crate) use totals::Totals;

use super::RangeFunction;
use super::sliding::Merge;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::DataType;
use datafusion_common::Result;
use std::fmt::Debug;

/// The window that a state covers when its value is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    /// Left end, not included, nanoseconds.
    pub(crate) after_ns: i128,
    /// Right end, included, nanoseconds.
    pub(crate) until_ns: i128,
}

impl Window {
    /// Width.
    pub(crate) fn seconds(&self) -> f64 {
        (self.until_ns - self.after_ns) as f64 / 1e9
    }
}

/// What a cell keeps of its samples.
pub(crate) trait CellState: Merge + Default + Debug + Send + Sync + 'static {
    /// True if the size of a merged state grows with that of its parts: then windows merge their cells anew instead of keeping sums of
    /// suffixes.
    const GROWS: bool = false;

    /// Samples that the state keeps one by one.
    fn samples_held(&self) -> usize {
        0
    }

    /// Takes in a sample; samples come in any order.
    fn add(&mut self, timestamp_ns: i64, amount: f64);

    /// Columns in which states travel.
    fn fields() -> Vec<(&'static str, DataType)>;

    /// States as columns.
    fn columns(states: &[Self]) -> Vec<ArrayRef>;

    /// States from the columns of a batch, starting at column `first`.
    fn read(batch: &RecordBatch, first: usize) -> Result<Vec<Self>>;

    /// The value of a function over a window of which this is the whole state.
    fn value(&self, function: RangeFunction, window: Window) -> f64;
}

/// For functions that another state serves.
fn wrong_state(function: RangeFunction) -> ! {
    unreachable!("bug: {function:?} keeps another state")
}
