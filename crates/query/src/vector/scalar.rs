//! Numbers: `vector(5)`, and operators between a vector and a number (logql.md 15.2, 16).

use super::{Points, VectorFunction};
use crate::QueryError;
use crate::context::QueryContext;
use crate::request::Steps;
use timberline_logql::ast::{BinaryOp, Side};
use timberline_logql::labels::LabelSet;

/// `vector(value)`: one series without labels with a point at each evaluation time.
#[derive(Debug)]
pub(crate) struct Constant {
    pub(crate) value: f64,
    pub(crate) steps: Steps,
}

impl VectorFunction for Constant {
    fn describe(&self) -> String {
        format!("vector({})", self.value)
    }

    fn evaluate(&self, _: Vec<Points>, context: &QueryContext) -> Result<Points, QueryError> {
        let mut out = Points::default();
        let points = (0..self.steps.count).map(|i| (self.steps.time_ns(i), self.value));
        out.of(context.series.intern(LabelSet::default())?).extend(points);
        Ok(out)
    }
}

/// `vector op number` or `number op vector`.
#[derive(Debug)]
pub(crate) struct ScalarBinary {
    pub(crate) op: BinaryOp,
    pub(crate) return_bool: bool,
    pub(crate) number: f64,
    /// Where the number stands.
    pub(crate) number_side: Side,
}

impl VectorFunction for ScalarBinary {
    fn describe(&self) -> String {
        let (op, number) = (self.op.name(), self.number);
        let word = if self.return_bool { " bool" } else { "" };
        match self.number_side {
            Side::Left => format!("{number} {op}{word} .."),
            Side::Right => format!(".. {op}{word} {number}"),
        }
    }

    fn evaluate(&self, inputs: Vec<Points>, context: &QueryContext) -> Result<Points, QueryError> {
        let mut out = Points::default();
        for (series, points) in inputs.into_iter().flat_map(|points| points.series) {
            context.cancelled.check()?;
            let kept: Vec<(i64, f64)> = points
                .into_iter()
                .filter_map(|(time_ns, value)| {
                    let (left, right) = match self.number_side {
                        Side::Left => (self.number, value),
                        Side::Right => (value, self.number),
                    };
                    let result = apply(self.op, left, right);
                    if !is_comparison(self.op) || self.return_bool {
                        return Some((time_ns, result));
                    }
                    // A comparison that filters keeps the value of the vector, on whichever side it stands.
                    (result == 1.0).then_some((time_ns, value))
                })
                .collect();
            if !kept.is_empty() {
                *out.of(series) = kept;
            }
        }
        Ok(out)
    }
}

/// True for `==` and its kin.
pub(super) fn is_comparison(op: BinaryOp) -> bool {
    use BinaryOp::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
    matches!(op, Equal | NotEqual | Greater | GreaterOrEqual | Less | LessOrEqual)
}

/// The value of an arithmetic operator; 1 or 0 for a comparison. Division and modulo by zero give NaN (logql.md 15.1).
/// Set operators have no value for numbers; the parser refuses them.
pub(crate) fn apply(op: BinaryOp, left: f64, right: f64) -> f64 {
    match op {
        BinaryOp::Add => left + right,
        BinaryOp::Subtract => left - right,
        BinaryOp::Multiply => left * right,
        BinaryOp::Divide if right == 0.0 => f64::NAN,
        BinaryOp::Divide => left / right,
        BinaryOp::Modulo if right == 0.0 => f64::NAN,
        BinaryOp::Modulo => left % right,
        BinaryOp::Power => left.powf(right),
        BinaryOp::Equal => f64::from(left == right),
        BinaryOp::NotEqual => f64::from(left != right),
        BinaryOp::Greater => f64::from(left > right),
        BinaryOp::GreaterOrEqual => f64::from(left >= right),
        BinaryOp::Less => f64::from(left < right),
        BinaryOp::LessOrEqual => f64::from(left <= right),
        BinaryOp::And | BinaryOp::Or | BinaryOp::Unless => f64::NAN,
    }
}
