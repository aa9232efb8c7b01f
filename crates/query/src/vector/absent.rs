//! `absent_over_time` (logql.md 13.6).

use super::{Points, VectorFunction};
use crate::QueryError;
use crate::context::QueryContext;
use crate::request::Steps;
use std::collections::HashSet;
use timberline_logql::ast::{MatchOp, Matcher};
use timberline_logql::labels::LabelSet;

/// 1 at each evaluation time at which the operand has no point.
#[derive(Debug)]
pub(crate) struct Absent {
    labels: LabelSet,
    steps: Steps,
}

impl Absent {
    /// The labels are those of the `=` matchers, without labels that another matcher names too.
    pub(crate) fn new(matchers: &[Matcher], steps: Steps) -> Self {
        let alone = |m: &&Matcher| matchers.iter().filter(|other| other.name == m.name).count() == 1;
        let equal = matchers
            .iter()
            .filter(|m| m.op == MatchOp::Equal && !m.value.is_empty())
            .filter(alone);
        Self {
            labels: LabelSet::from_pairs(equal.map(|m| (m.name.as_str(), m.value.as_str()))),
            steps,
        }
    }
}

impl VectorFunction for Absent {
    fn describe(&self) -> String {
        format!("1 with {} where the operand has nothing", self.labels)
    }

    fn evaluate(&self, inputs: Vec<Points>, context: &QueryContext) -> Result<Points, QueryError> {
        let series = inputs.iter().flat_map(|points| &points.series);
        let present: HashSet<i64> = series.flat_map(|(_, points)| points.iter().map(|p| p.0)).collect();
        let missing = (0..self.steps.count)
            .map(|i| self.steps.time_ns(i))
            .filter(|time_ns| !present.contains(time_ns));
        let missing: Vec<(i64, f64)> = missing.map(|time_ns| (time_ns, 1.0)).collect();
        let mut out = Points::default();
        if !missing.is_empty() {
            *out.of(context.series.intern(self.labels.clone())?) = missing;
        }
        Ok(out)
    }
}
