//! Metric queries.

use std::fmt::{self, Display, Formatter};

use super::join;
use super::log::Quoted;
use crate::ast::{
    Binary, BinaryOp, Grouping, LabelReplace, Matching, MetricExpr, RangeAggregation, Side, VectorAggregation,
};
use crate::duration::{GoDuration, PrometheusDuration};

impl Display for MetricExpr {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Range(range) => range.fmt(f),
            Self::Vector(vector) => vector.fmt(f),
            Self::Binary(binary) => binary.fmt(f),
            Self::LabelReplace(replace) => replace.fmt(f),
            Self::VectorOf(number) => write!(f, "vector({number})"),
            Self::Literal(number) => number.fmt(f),
        }
    }
}

impl Display for RangeAggregation {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}(", self.op.name())?;
        if let Some(number) = self.parameter {
            write!(f, "{number},")?;
        }
        self.log.fmt(f)?;
        if let Some(unwrap) = &self.unwrap {
            write!(f, " {unwrap}")?;
        }
        write!(f, "{})", Window(self))?;
        match &self.grouping {
            Some(grouping) => write!(f, " {grouping}"),
            None => Ok(()),
        }
    }
}

/// Prints `[5m] offset 1m0s`.
pub(super) struct Window<'a>(pub(super) &'a RangeAggregation);

impl Display for Window<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "[{}]", PrometheusDuration(self.0.range_ns))?;
        match self.0.offset_ns {
            0 => Ok(()),
            offset_ns => write!(f, " offset {}", GoDuration(offset_ns)),
        }
    }
}

impl Display for VectorAggregation {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}(", VectorHead(self))?;
        if let Some(number) = self.parameter {
            write!(f, "{number},")?;
        }
        write!(f, "{})", self.inner)
    }
}

/// Prints `sum by (a)`, what stands before the parenthesis.
pub(super) struct VectorHead<'a>(pub(super) &'a VectorAggregation);

impl Display for VectorHead<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.op.name())?;
        match &self.0.grouping {
            Some(grouping) => write!(f, " {grouping}"),
            None => Ok(()),
        }
    }
}

impl Display for Grouping {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(if self.without { "without (" } else { "by (" })?;
        join(f, &self.labels, ",")?;
        f.write_str(")")
    }
}

impl Display for Binary {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write_operand(f, &self.left, left_needs_parentheses(self))?;
        write!(f, " {} ", BinaryHead(self))?;
        write_operand(f, &self.right, right_needs_parentheses(self))
    }
}

fn write_operand(f: &mut Formatter<'_>, operand: &MetricExpr, parentheses: bool) -> fmt::Result {
    if parentheses {
        write!(f, "({operand})")
    } else {
        operand.fmt(f)
    }
}

/// Prints `/ bool on (a) group_left (b)`, what stands between the operands.
pub(super) struct BinaryHead<'a>(pub(super) &'a Binary);

impl Display for BinaryHead<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.op.name())?;
        if self.0.return_bool {
            f.write_str(" bool")?;
        }
        match &self.0.matching {
            Some(matching) => write!(f, " {matching}"),
            None => Ok(()),
        }
    }
}

impl Display for Matching {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(if self.on { "on (" } else { "ignoring (" })?;
        join(f, &self.labels, ",")?;
        f.write_str(")")?;
        let Some(group) = &self.group else { return Ok(()) };
        // The list is written even if it is empty: an operand in parentheses would be taken for it.
        f.write_str(match group.many {
            Side::Left => " group_left (",
            Side::Right => " group_right (",
        })?;
        join(f, &group.include, ",")?;
        f.write_str(")")
    }
}

pub(super) fn left_needs_parentheses(binary: &Binary) -> bool {
    let Some(inner) = operator_of(&binary.left) else {
        return false;
    };
    let same_level = inner.precedence() == binary.op.precedence();
    inner.precedence() < binary.op.precedence() || (same_level && binary.op.is_right_associative())
}

pub(super) fn right_needs_parentheses(binary: &Binary) -> bool {
    let Some(inner) = operator_of(&binary.right) else {
        return false;
    };
    let same_level = inner.precedence() == binary.op.precedence();
    inner.precedence() < binary.op.precedence() || (same_level && !binary.op.is_right_associative())
}

fn operator_of(metric: &MetricExpr) -> Option<BinaryOp> {
    match metric {
        MetricExpr::Binary(binary) => Some(binary.op),
        _ => None,
    }
}

impl Display for LabelReplace {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "label_replace({}", self.inner)?;
        for text in [&self.destination, &self.replacement, &self.source, &self.regex] {
            write!(f, ",{}", Quoted(text))?;
        }
        f.write_str(")")
    }
}
