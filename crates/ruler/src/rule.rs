//! Rules that have been checked.

use timberline_store::TenantId;

/// Rules that are evaluated one after the other, at the same times.
#[derive(Clone, Debug)]
pub struct Group {
    /// Whose logs are asked.
    pub tenant: TenantId,
    /// The file that it is from.
    pub file: String,
    /// Its name, unique in the file.
    pub name: String,
    /// The distance of evaluations, milliseconds, above zero.
    pub interval_ms: i64,
    /// Most series that one rule may give; 0: any number.
    pub limit: usize,
    /// In the order of the file.
    pub rules: Vec<Rule>,
}

/// A recording rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The name of the series.
    pub record: String,
    /// LogQL of a metric query.
    pub expr: String,
    /// Labels that all series get; an empty value takes a label away.
    pub labels: Vec<(String, String)>,
}
