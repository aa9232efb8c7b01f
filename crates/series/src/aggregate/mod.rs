//! Aggregators (specification, chapter 8).

/// What a bucket of samples becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Aggregator {
    /// Mean of the values.
    Avg,
    /// Sum of the values.
    Sum,
    /// Smallest value.
    Min,
    /// Largest value.
    Max,
    /// Largest less smallest value.
    Range,
    /// Number of samples that are not NaN.
    Count,
    /// Value of the oldest sample.
    First,
    /// Value of the newest sample.
    Last,
    /// Standard deviation of the population.
    StdP,
    /// Standard deviation of a sample.
    StdS,
    /// Variance of the population.
    VarP,
    /// Variance of a sample.
    VarS,
    /// Average weighted by time.
    Twa,
    /// Number of NaN samples.
    CountNan,
    /// Number of all samples.
    CountAll,
}

impl Aggregator {
    /// The aggregator of a name in any case.
    pub fn parse(_name: &[u8]) -> Option<Aggregator> {
        None
    }

    /// The name in small letters.
    pub fn name(self) -> &'static str {
        ""
    }

    /// The name in capitals, as TS.INFO shows it.
    pub fn capital_name(self) -> &'static str {
        ""
    }
}
