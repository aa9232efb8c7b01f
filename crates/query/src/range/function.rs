//! The table of range functions: what each needs of an entry, and which state serves it.

/// A function over the samples of a window (logql.md 13).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum RangeFunction {
    /// Number of entries.
    Entries,
    /// Number of entries per second.
    EntriesPerSecond,
    /// Sum of whole amounts.
    Amount,
    /// Sum of whole amounts per second.
    AmountPerSecond,
    /// Sum of numbers.
    Sum,
    /// Sum of numbers per second.
    SumPerSecond,
    /// Mean.
    Average,
    /// Population variance.
    Variance,
    /// Population standard deviation.
    Deviation,
    /// Least.
    Min,
    /// Greatest.
    Max,
    /// Earliest.
    First,
    /// Latest.
    Last,
    /// This quantile.
    Quantile(f64),
    /// Increase per second of a counter.
    CounterRate,
}

/// Which [`super::state`] a function keeps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum StateKind {
    Totals,
    Moments,
    Extremes,
    Ends,
    Samples,
}

impl RangeFunction {
    /// The state that serves the function.
    pub(crate) fn state(self) -> StateKind {
        use RangeFunction as F;
        match self {
            F::Entries | F::EntriesPerSecond | F::Amount | F::AmountPerSecond => StateKind::Totals,
            F::Sum | F::SumPerSecond | F::Average | F::Variance | F::Deviation => StateKind::Moments,
            F::Min | F::Max => StateKind::Extremes,
            F::First | F::Last => StateKind::Ends,
            F::Quantile(_) | F::CounterRate => StateKind::Samples,
        }
    }
}
