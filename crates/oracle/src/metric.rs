//! Metric queries: every expression is evaluated anew at every time (logql.md 17).

use crate::answer::{Outcome, Series};
use crate::entry::{Labels, Row};
use crate::range::{self, Window};
use crate::{Answer, Ask, Error, binary, text, vector};
use std::collections::{HashMap, HashSet};
use timberline_logql::ast::{LabelReplace, MetricExpr, RangeAggregation, VectorAggregation, VectorOp};

/// Most points of a series (logql.md 18).
const MOST_POINTS: i64 = 11_000;

/// The value of an expression at one time.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Scalar(f64),
    Vector(Vec<Sample>),
}

/// One series at one time.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sample {
    pub(crate) labels: Labels,
    pub(crate) value: f64,
}

/// What is known beside the value of an expression.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    pub(crate) errors: Vec<Error>,
    pub(crate) rounding: bool,
}

impl Notes {
    /// Notes the error and goes on with something.
    fn note<T>(&mut self, result: Result<T, Error>, otherwise: T) -> T {
        match result {
            Ok(value) => value,
            Err(error) => {
                if !self.errors.contains(&error) {
                    self.errors.push(error);
                }
                otherwise
            }
        }
    }

    /// Two numbers are about to be compared.
    pub(crate) fn compare(&mut self, a: f64, b: f64) {
        // Quarters and the like are exact, in whatever order they are added.
        let exact = |n: f64| (n * 64.0).fract() == 0.0 || !n.is_finite();
        let near = (a - b).abs() <= 1e-9 * a.abs().max(b.abs());
        self.rounding |= near && !(exact(a) && exact(b));
    }
}

pub(crate) fn evaluate(rows: &[Row], expr: &MetricExpr, ask: &Ask) -> Outcome {
    let mut evaluator = Evaluator {
        rows,
        notes: Notes::default(),
        windows: HashMap::new(),
    };
    let answer = match *ask {
        Ask::Instant { time_ns } => match evaluator.at(expr, time_ns, None) {
            Value::Scalar(value) => Answer::Scalar(value),
            Value::Vector(samples) => Answer::Vector {
                samples: samples.into_iter().map(|s| (s.labels, s.value)).collect(),
                ordered: sorts(expr),
            },
        },
        Ask::Range {
            start_ns,
            end_ns,
            step_ns,
            ..
        } if end_ns < start_ns || step_ns <= 0 || (end_ns - start_ns) / step_ns > MOST_POINTS => {
            return Outcome::of(Err(Error::BadRequest));
        }
        Ask::Range {
            start_ns,
            end_ns,
            step_ns,
            align,
        } => {
            let (mut time_ns, mut last_ns) = (start_ns, end_ns);
            if align {
                time_ns = start_ns.div_euclid(step_ns) * step_ns;
                last_ns = end_ns.div_euclid(step_ns) * step_ns;
                if last_ns < end_ns {
                    last_ns += step_ns;
                }
            }
            let mut series = Series::new();
            while time_ns <= last_ns {
                let samples = match evaluator.at(expr, time_ns, None) {
                    Value::Scalar(value) => vec![Sample {
                        labels: Labels::new(),
                        value,
                    }],
                    Value::Vector(samples) => samples,
                };
                for sample in samples {
                    series.entry(sample.labels).or_default().push((time_ns, sample.value));
                }
                time_ns += step_ns;
            }
            Answer::Matrix(series)
        }
        Ask::Lines { .. } => return Outcome::of(Err(Error::BadRequest)),
    };
    let Notes { errors, rounding } = evaluator.notes;
    let answer = errors.first().map_or(Ok(answer), |error| Err(*error));
    Outcome {
        answer,
        errors,
        rounding,
    }
}

/// True if the outermost function is a sort: only then its order is sure to be that of the answer.
fn sorts(expr: &MetricExpr) -> bool {
    matches!(expr, MetricExpr::Vector(v) if matches!(v.op, VectorOp::Sort | VectorOp::SortDesc))
}

struct Evaluator<'a> {
    rows: &'a [Row],
    notes: Notes,
    /// Samples of each range aggregation, by its place in the tree.
    windows: HashMap<*const RangeAggregation, Window>,
}

impl Evaluator<'_> {
    /// `around` is the aggregation of which this is the operand: parsers are told what it reads (logql.md 11).
    fn at(&mut self, expr: &MetricExpr, time_ns: i64, around: Option<&VectorAggregation>) -> Value {
        match expr {
            MetricExpr::Literal(value) => Value::Scalar(*value),
            MetricExpr::VectorOf(value) => Value::Vector(vec![Sample {
                labels: Labels::new(),
                value: *value,
            }]),
            MetricExpr::Range(range) => {
                let key = std::ptr::from_ref(range);
                if !self.windows.contains_key(&key) {
                    let window = self
                        .notes
                        .note(Window::new(self.rows, range, around), Window::default());
                    self.windows.insert(key, window);
                }
                let result = range::at(range, &self.windows[&key], time_ns);
                Value::Vector(self.notes.note(result, Vec::new()))
            }
            MetricExpr::Vector(aggregation) => {
                let Value::Vector(samples) = self.at(&aggregation.inner, time_ns, Some(aggregation)) else {
                    return Value::Vector(self.notes.note(Err(Error::Parse), Vec::new()));
                };
                let result = vector::aggregate(aggregation, samples, &mut self.notes);
                Value::Vector(self.notes.note(result, Vec::new()))
            }
            MetricExpr::Binary(operation) => {
                let left = self.at(&operation.left, time_ns, None);
                let right = self.at(&operation.right, time_ns, None);
                let result = binary::apply(operation, left, right, &mut self.notes);
                self.notes.note(result, Value::Vector(Vec::new()))
            }
            MetricExpr::LabelReplace(replace) => {
                let Value::Vector(samples) = self.at(&replace.inner, time_ns, None) else {
                    return Value::Vector(self.notes.note(Err(Error::Parse), Vec::new()));
                };
                let result = label_replace(replace, samples);
                Value::Vector(self.notes.note(result, Vec::new()))
            }
        }
    }
}

/// `label_replace(..)` (logql.md 16).
fn label_replace(replace: &LabelReplace, mut samples: Vec<Sample>) -> Result<Vec<Sample>, Error> {
    let regex = text::regex(&replace.regex, text::Mode::Stream)?;
    let mut seen = HashSet::new();
    for sample in &mut samples {
        let source = sample.labels.get(&replace.source).cloned().unwrap_or_default();
        if let Some(captures) = regex.captures(&source) {
            let mut value = String::new();
            captures.expand(&replace.replacement, &mut value);
            if value.is_empty() {
                sample.labels.remove(&replace.destination);
            } else {
                sample.labels.insert(replace.destination.clone(), value);
            }
        }
        if !seen.insert(sample.labels.clone()) {
            return Err(Error::SameSeries);
        }
    }
    Ok(samples)
}
