//! `label_replace` (logql.md 16).

use super::{Points, VectorFunction};
use crate::QueryError;
use crate::context::QueryContext;
use timberline_logql::labels::LabelSet;

/// `label_replace(v, "destination", "replacement", "source", "regex")`.
#[derive(Debug)]
pub(crate) struct Replace {
    pub(crate) destination: String,
    pub(crate) replacement: String,
    pub(crate) source: String,
    /// Anchored at both ends.
    pub(crate) regex: regex::bytes::Regex,
}

impl VectorFunction for Replace {
    fn describe(&self) -> String {
        let Self {
            destination,
            replacement,
            source,
            ..
        } = self;
        format!(
            "label_replace(.., {destination:?}, {replacement:?}, {source:?}, {:?})",
            self.regex.as_str()
        )
    }

    fn evaluate(&self, inputs: Vec<Points>, context: &QueryContext) -> Result<Points, QueryError> {
        let mut out = Points::default();
        for (series, points) in inputs.into_iter().flat_map(|points| points.series) {
            context.cancelled.check()?;
            let labels = context.series.get(series);
            let number = match self.replaced(&labels) {
                Some(labels) => context.series.intern(labels)?,
                None => series,
            };
            let merged = out.of(number);
            let is_first = merged.is_empty();
            merged.extend(points);
            if is_first {
                continue;
            }
            // Two series that became one. Which of two values to keep would be a guess.
            merged.sort_by_key(|p| p.0);
            if merged.windows(2).any(|pair| pair[0].0 == pair[1].0) {
                return Err(QueryError::BadRequest(format!(
                    "label_replace: two series become {} at the same time",
                    context.series.get(number)
                )));
            }
        }
        Ok(out)
    }
}

impl Replace {
    /// The labels after replacement; `None` if the expression does not match.
    fn replaced(&self, labels: &LabelSet) -> Option<LabelSet> {
        let captures = self.regex.captures(labels.get(&self.source).unwrap_or("").as_bytes())?;
        let mut value = Vec::new();
        captures.expand(self.replacement.as_bytes(), &mut value);
        let value = String::from_utf8_lossy(&value).into_owned();
        let others = labels.iter().filter(|(name, _)| *name != self.destination);
        let changed = (!value.is_empty()).then_some((self.destination.as_str(), value.as_str()));
        Some(LabelSet::from_pairs(others.chain(changed)))
    }
}
