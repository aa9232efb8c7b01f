//! Answers, and when two of them are the same.

use crate::entry::labels_text;
use crate::{Error, Labels, Lines};
use std::collections::BTreeMap;

/// What a query answers.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// Log lines.
    Lines(Lines),
    /// A number without labels.
    Scalar(f64),
    /// Series at one time.
    Vector {
        /// Labels and values.
        samples: Vec<(Labels, f64)>,
        /// The order is part of the answer.
        ordered: bool,
    },
    /// Series over time.
    Matrix(Series),
}

/// Points of series: time and value, ascending.
pub type Series = BTreeMap<Labels, Vec<(i64, f64)>>;

/// An answer, and what is to be known before another one is held against it.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The answer.
    pub answer: Result<Answer, Error>,
    /// Every kind of error that some part of the query meets: which of them is found first is not promised.
    pub errors: Vec<Error>,
    /// A choice was made between two fractions that differ by no more than rounding: the order of a sum decides it.
    pub rounding: bool,
}

impl Outcome {
    pub(crate) fn of(answer: Result<Answer, Error>) -> Self {
        Self {
            errors: answer.as_ref().err().copied().into_iter().collect(),
            answer,
            rounding: false,
        }
    }
}

/// Equal but for the order in which floats were added.
pub fn close(a: f64, b: f64) -> bool {
    (a.is_nan() && b.is_nan()) || a == b || (a - b).abs() <= 1e-9 * a.abs().max(b.abs()) || (a - b).abs() < 1e-12
}

/// What differs between two sets of series, if anything does.
pub fn series_differ(wanted: &Series, found: &Series) -> Option<String> {
    for (labels, points) in wanted {
        let text = labels_text(labels);
        let Some(others) = found.get(labels) else {
            return Some(format!("{text} is missing, {points:?} wanted"));
        };
        let same =
            points.len() == others.len() && points.iter().zip(others).all(|(a, b)| a.0 == b.0 && close(a.1, b.1));
        if !same {
            return Some(format!("{text}: {points:?} wanted, {others:?} found"));
        }
    }
    let unwanted = found.keys().find(|labels| !wanted.contains_key(*labels))?;
    Some(format!("{} is not wanted", labels_text(unwanted)))
}
