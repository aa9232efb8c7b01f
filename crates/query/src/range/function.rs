//! The table of range functions: which serves a function of the language, and which state serves it.

use timberline_logql::ast::RangeOp;

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
    Values,
    Counter,
}

impl RangeFunction {
    /// What serves a function of the language (logql.md 13). `unwrapped`: it is over numbers in a label. `parameter` is that of a quantile.
    pub(crate) fn of(op: RangeOp, unwrapped: bool, parameter: f64) -> Self {
        match op {
            // Absent is what has no entries.
            RangeOp::CountOverTime | RangeOp::AbsentOverTime => Self::Entries,
            RangeOp::Rate if unwrapped => Self::SumPerSecond,
            RangeOp::Rate => Self::EntriesPerSecond,
            RangeOp::BytesOverTime => Self::Amount,
            RangeOp::BytesRate => Self::AmountPerSecond,
            RangeOp::SumOverTime => Self::Sum,
            RangeOp::AvgOverTime => Self::Average,
            RangeOp::MinOverTime => Self::Min,
            RangeOp::MaxOverTime => Self::Max,
            RangeOp::FirstOverTime => Self::First,
            RangeOp::LastOverTime => Self::Last,
            RangeOp::StdvarOverTime => Self::Variance,
            RangeOp::StddevOverTime => Self::Deviation,
            RangeOp::QuantileOverTime => Self::Quantile(parameter),
            RangeOp::RateCounter => Self::CounterRate,
        }
    }

    /// The function in words.
    pub(crate) fn describe(self) -> String {
        use RangeFunction as F;
        let words = match self {
            F::Entries => "number of entries",
            F::EntriesPerSecond => "entries per second",
            F::Amount => "bytes",
            F::AmountPerSecond => "bytes per second",
            F::Sum => "sum",
            F::SumPerSecond => "sum per second",
            F::Average => "mean",
            F::Variance => "variance",
            F::Deviation => "standard deviation",
            F::Min => "least",
            F::Max => "greatest",
            F::First => "earliest",
            F::Last => "latest",
            F::Quantile(q) => return format!("quantile {q}"),
            F::CounterRate => "increase of a counter per second",
        };
        words.to_owned()
    }

    /// The state that serves the function.
    pub(crate) fn state(self) -> StateKind {
        use RangeFunction as F;
        match self {
            F::Entries | F::EntriesPerSecond | F::Amount | F::AmountPerSecond => StateKind::Totals,
            F::Sum | F::SumPerSecond | F::Average | F::Variance | F::Deviation => StateKind::Moments,
            F::Min | F::Max => StateKind::Extremes,
            F::First | F::Last => StateKind::Ends,
            F::Quantile(_) => StateKind::Values,
            F::CounterRate => StateKind::Counter,
        }
    }
}

/// Runs an expression with the state of a kind as a type: `with_state!(kind, S => run::<S>())`.
macro_rules! with_state {
    ($kind:expr, $state:ident => $run:expr) => {
        match $kind {
            $crate::range::function::StateKind::Totals => {
                type $state = $crate::range::state::Totals;
                $run
            }
            $crate::range::function::StateKind::Moments => {
                type $state = $crate::range::state::Moments;
                $run
            }
            $crate::range::function::StateKind::Extremes => {
                type $state = $crate::range::state::Extremes;
                $run
            }
            $crate::range::function::StateKind::Ends => {
                type $state = $crate::range::state::Ends;
                $run
            }
            $crate::range::function::StateKind::Values => {
                type $state = $crate::range::state::Values;
                $run
            }
            $crate::range::function::StateKind::Counter => {
                type $state = $crate::range::state::Counter;
                $run
            }
        }
    };
}
pub(crate) use with_state;
