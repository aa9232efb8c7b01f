//! The table of aggregators.

use super::{Batch, Counts, STATE_WORDS, State, Surroundings};
use super::{avg, count, countall, countnan, first, last, max, min, range, std_p, std_s, sum, twa, var_p, var_s};

/// Makes the enum of names and the enum of states out of one list.
macro_rules! aggregators {
    ($($variant:ident, $code:literal, $name:literal, $capital_name:literal, $empty:expr, $looks_for:ident, $module:ident, $doc:literal;)*) => {
        /// What a bucket of samples becomes.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Aggregator {
            $(#[doc = $doc] $variant,)*
        }

        impl Aggregator {
            /// All of them, in the order in which the specification names them.
            pub const ALL: &'static [Aggregator] = &[$(Aggregator::$variant,)*];

            /// The name in small letters.
            pub fn name(self) -> &'static str {
                match self { $(Aggregator::$variant => $name,)* }
            }

            /// The name in capitals, as TS.INFO shows it.
            pub fn capital_name(self) -> &'static str {
                match self { $(Aggregator::$variant => $capital_name,)* }
            }

            /// The number that stands for it in logs and snapshots; never changes.
            pub fn code(self) -> u8 {
                match self { $(Aggregator::$variant => $code,)* }
            }

            /// The aggregator of a number.
            pub fn from_code(code: u8) -> Option<Aggregator> {
                match code { $($code => Some(Aggregator::$variant),)* _ => None }
            }

            /// What is shown for a bucket in which there is nothing that the aggregator looks for. In queries `last` repeats the value
            /// before instead, and `twa` takes the line between its neighbours.
            pub fn empty_value(self) -> f64 {
                match self { $(Aggregator::$variant => $empty,)* }
            }

            /// Which samples make a bucket count as not empty.
            fn looks_for(self) -> LooksFor {
                match self { $(Aggregator::$variant => LooksFor::$looks_for,)* }
            }
        }

        /// The state of any aggregator.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub(super) enum AnyState {
            $($variant($module::State),)*
        }

        impl AnyState {
            pub(super) fn new(aggregator: Aggregator) -> AnyState {
                match aggregator { $(Aggregator::$variant => AnyState::$variant(Default::default()),)* }
            }

            pub(super) fn from_words(aggregator: Aggregator, words: [u64; STATE_WORDS]) -> AnyState {
                match aggregator { $(Aggregator::$variant => AnyState::$variant(State::from_words(words)),)* }
            }

            pub(super) fn aggregator(&self) -> Aggregator {
                match self { $(AnyState::$variant(_) => Aggregator::$variant,)* }
            }

            pub(super) fn add(&mut self, batch: &Batch<'_>) {
                match self { $(AnyState::$variant(state) => state.add(batch),)* }
            }

            pub(super) fn value(&self, counts: Counts, surroundings: &Surroundings) -> f64 {
                match self { $(AnyState::$variant(state) => state.value(counts, surroundings),)* }
            }

            pub(super) fn to_words(self) -> [u64; STATE_WORDS] {
                match self { $(AnyState::$variant(state) => state.to_words(),)* }
            }
        }
    };
}

aggregators! {
    // variant, code, name, name in capitals, value of an empty bucket, looks for, file
    Avg, 0, "avg", "AVG", f64::NAN, Numbers, avg, "Mean of the values.";
    Sum, 1, "sum", "SUM", 0.0, Numbers, sum, "Sum of the values.";
    Min, 2, "min", "MIN", f64::NAN, Numbers, min, "Smallest value.";
    Max, 3, "max", "MAX", f64::NAN, Numbers, max, "Largest value.";
    Range, 4, "range", "RANGE", f64::NAN, Numbers, range, "Largest less smallest value.";
    Count, 5, "count", "COUNT", 0.0, Numbers, count, "Number of samples that are not NaN.";
    First, 6, "first", "FIRST", f64::NAN, Numbers, first, "Value of the oldest sample.";
    Last, 7, "last", "LAST", f64::NAN, Numbers, last, "Value of the newest sample.";
    StdP, 8, "std.p", "STD.P", f64::NAN, Numbers, std_p, "Standard deviation of the population.";
    StdS, 9, "std.s", "STD.S", f64::NAN, Numbers, std_s, "Standard deviation of a sample.";
    VarP, 10, "var.p", "VAR.P", f64::NAN, Numbers, var_p, "Variance of the population.";
    VarS, 11, "var.s", "VAR.S", f64::NAN, Numbers, var_s, "Variance of a sample.";
    Twa, 12, "twa", "TWA", f64::NAN, Numbers, twa, "Average weighted by time.";
    CountNan, 13, "countnan", "COUNTNAN", 0.0, Nans, countnan, "Number of NaN samples.";
    CountAll, 14, "countall", "COUNTALL", 0.0, Any, countall, "Number of all samples.";
}

/// Which samples an aggregator looks for. Where a bucket has none of them, it is left out of a reply.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LooksFor {
    Numbers,
    Nans,
    Any,
}

impl Aggregator {
    /// The aggregator of a name in any case.
    pub fn parse(name: &[u8]) -> Option<Aggregator> {
        Aggregator::ALL
            .iter()
            .copied()
            .find(|aggregator| aggregator.name().as_bytes().eq_ignore_ascii_case(name))
    }

    /// Whether it may stand behind REDUCE: those that need no time (specification, chapter 10).
    pub fn is_reducer(self) -> bool {
        !matches!(self, Aggregator::First | Aggregator::Last | Aggregator::Twa)
    }

    /// Whether it counts samples, so that none of them is 0 and not NaN.
    pub fn is_count(self) -> bool {
        matches!(self, Aggregator::Count | Aggregator::CountNan | Aggregator::CountAll)
    }

    /// Whether it needs the timestamps of the samples beside their values.
    pub fn needs_timestamps(self) -> bool {
        self == Aggregator::Twa
    }

    /// Whether a bucket with these samples has a value.
    pub(super) fn is_found(self, counts: Counts) -> bool {
        match self.looks_for() {
            LooksFor::Numbers => counts.numbers > 0,
            LooksFor::Nans => counts.nans > 0,
            LooksFor::Any => counts.numbers.saturating_add(counts.nans) > 0,
        }
    }
}
