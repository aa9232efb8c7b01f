//! Partial state of the functions over whole entries: how many, and the sum of what each contributes.

use super::sliding::Merge;

/// Entries of one cell of one series.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Totals {
    /// Number of entries; a window without any gives no point.
    pub(crate) entries: u64,
    /// Sum of their amounts (bytes of lines). Exact: whole numbers.
    pub(crate) amount: u64,
}

impl Merge for Totals {
    fn merge(&mut self, later: &Self) {
        self.entries += later.entries;
        self.amount = self.amount.saturating_add(later.amount);
    }
}
