//! State of the functions over whole entries: how many, and the sum of what each contributes.

use super::{CellState, Merge, RangeFunction, Window, WindowState, wrong_state};
use crate::node::column;
use crate::range::sliding::Sliding;
use arrow_array::{ArrayRef, RecordBatch, UInt64Array};
use arrow_schema::DataType;
use datafusion_common::Result;
use std::sync::Arc;

/// Entries of one cell of one series.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Totals {
    /// Number of entries.
    entries: u64,
    /// Sum of their amounts (bytes of lines). Whole numbers, so the sum is exact.
    amount: u64,
}

impl Merge for Totals {
    fn merge(&mut self, later: &Self) {
        self.entries += later.entries;
        self.amount = self.amount.saturating_add(later.amount);
    }
}

impl CellState for Totals {
    type Slide = Sliding<Self>;

    fn add(&mut self, _: i64, amount: f64) {
        self.merge(&Totals {
            entries: 1,
            amount: amount as u64,
        });
    }

    fn fields() -> Vec<(&'static str, DataType)> {
        vec![("entries", DataType::UInt64), ("amount", DataType::UInt64)]
    }

    fn columns(states: &[Self]) -> Vec<ArrayRef> {
        vec![
            Arc::new(UInt64Array::from_iter_values(states.iter().map(|s| s.entries))),
            Arc::new(UInt64Array::from_iter_values(states.iter().map(|s| s.amount))),
        ]
    }

    fn read(batch: &RecordBatch, first: usize) -> Result<Vec<Self>> {
        let entries = column::<UInt64Array>(batch, first)?.values();
        let amounts = column::<UInt64Array>(batch, first + 1)?.values();
        Ok(entries
            .iter()
            .zip(amounts)
            .map(|(&entries, &amount)| Totals { entries, amount })
            .collect())
    }
}

impl WindowState for Totals {
    fn value(&self, function: RangeFunction, window: Window) -> f64 {
        match function {
            RangeFunction::Entries => self.entries as f64,
            RangeFunction::EntriesPerSecond => self.entries as f64 / window.seconds(),
            RangeFunction::Amount => self.amount as f64,
            RangeFunction::AmountPerSecond => self.amount as f64 / window.seconds(),
            other => wrong_state(other),
        }
    }
}
