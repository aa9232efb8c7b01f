//! Partial states of range functions: what one cell of one series keeps of its samples. All have the same shape, one file each: samples are
//! added, states are merged, travel as columns, slide with the windows, and become the value of a window.
//!
//! How far a value depends on the parts in which samples came, and on the order in which their states were merged:
//!
//! | state | value |
//! |---|---|
//! | [`Totals`], [`Extremes`], [`Ends`], [`Values`], [`Counter`] | not at all |
//! | [`Moments`] | sums and means: by the last digit of a number of about 32 digits, of which 16 are shown; variances: by some 1e-16 of the mean square |

mod counter;
mod ends;
mod extremes;
mod moments;
mod totals;
mod values;

pub(crate) use counter::Counter;
pub(crate) use ends::Ends;
pub(crate) use extremes::Extremes;
pub(crate) use moments::Moments;
pub(crate) use totals::Totals;
pub(crate) use values::Values;

use super::RangeFunction;
use super::sliding::{Merge, Sliding};
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
    /// Bytes that the state takes for each sample, beside its own size.
    const SAMPLE_BYTES: usize = 0;

    /// How the states of a series' cells become values of windows.
    type Slide: Slide<Self>;

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
}

/// The cells of a series that are in the window, which moves on.
pub(crate) trait Slide<S>: Sized + Send {
    /// An empty window over cells that will come, in ascending order.
    fn new(cells: &[(i64, S)]) -> Self;

    /// The next cell comes in.
    fn push(&mut self, cell: i64, state: S);

    /// All cells before `cell` go out.
    fn drop_before(&mut self, cell: i64);

    /// The value of a function over the window; `None` if no cell is in it.
    fn value(&self, function: RangeFunction, window: Window) -> Option<f64>;
}

/// A state of bounded size that is the whole window's when all its cells are merged.
pub(crate) trait WindowState: Merge {
    /// The value of a function over a window of which this is the whole state.
    fn value(&self, function: RangeFunction, window: Window) -> f64;
}

impl<S: WindowState + Send> Slide<S> for Sliding<S> {
    fn new(_: &[(i64, S)]) -> Self {
        Sliding::new()
    }

    fn push(&mut self, cell: i64, state: S) {
        Sliding::push(self, cell, state);
    }

    fn drop_before(&mut self, cell: i64) {
        Sliding::drop_before(self, cell);
    }

    fn value(&self, function: RangeFunction, window: Window) -> Option<f64> {
        self.total().map(|state| state.value(function, window))
    }
}

/// For functions that another state serves.
fn wrong_state(function: RangeFunction) -> ! {
    unreachable!("bug: {function:?} keeps another state")
}
