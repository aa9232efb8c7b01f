//! The layout of `format_query`: what does not fit on a line is broken at its outermost level first (logql.md 20).

use std::fmt::Display;

use super::log::{Quoted, Selector};
use super::metric::{BinaryHead, VectorHead, Window, left_needs_parentheses, right_needs_parentheses};
use crate::ast::{Binary, Expr, LabelReplace, LogExpr, MetricExpr, RangeAggregation, Unwrap, VectorAggregation};

/// Longest one-line form that is not broken, in characters.
const MAX_LINE: usize = 100;

/// Writes a query for people: on one line if that has at most 100 characters, else broken and indented. Formatting
/// twice gives the same text, and the text reads back as the same tree.
pub fn format(expr: &Expr) -> String {
    let mut page = Page { text: String::new() };
    match expr {
        Expr::Log(log) => page.log(0, log, None, ""),
        Expr::Metric(metric) => page.metric(0, metric, ""),
    }
    page.text
}

struct Page {
    text: String,
}

impl Page {
    /// Writes a line; `level` is how deep it is indented.
    fn line(&mut self, level: usize, content: impl Display) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        let indent = "  ".repeat(level);
        self.text.push_str(&format!("{indent}{content}"));
    }

    /// Writes the expression, then `tail` behind its last character.
    fn metric(&mut self, level: usize, metric: &MetricExpr, tail: &str) {
        let one_line = metric.to_string();
        if one_line.chars().count() <= MAX_LINE {
            return self.line(level, format_args!("{one_line}{tail}"));
        }
        match metric {
            MetricExpr::Range(range) => self.range(level, range, tail),
            MetricExpr::Vector(vector) => self.vector(level, vector, tail),
            MetricExpr::Binary(binary) => self.binary(level, binary, tail),
            MetricExpr::LabelReplace(replace) => self.label_replace(level, replace, tail),
            MetricExpr::VectorOf(_) | MetricExpr::Literal(_) => self.line(level, format_args!("{one_line}{tail}")),
        }
    }

    /// Writes a log query, with the `unwrap` that ends it in a range aggregation.
    fn log(&mut self, level: usize, log: &LogExpr, unwrap: Option<&Unwrap>, tail: &str) {
        let mut stages: Vec<String> = log.stages.iter().map(ToString::to_string).collect();
        stages.extend(unwrap.map(ToString::to_string));
        let selector = Selector(&log.matchers).to_string();
        let length = selector.chars().count() + stages.iter().map(|stage| stage.chars().count() + 1).sum::<usize>();
        if length <= MAX_LINE || stages.is_empty() {
            stages.insert(0, selector);
            return self.line(level, format_args!("{}{tail}", stages.join(" ")));
        }
        self.line(level, selector);
        let last = stages.len() - 1;
        for (at, stage) in stages.iter().enumerate() {
            self.line(level + 1, format_args!("{stage}{}", if at == last { tail } else { "" }));
        }
    }

    fn range(&mut self, level: usize, range: &RangeAggregation, tail: &str) {
        self.line(level, format_args!("{}(", range.op.name()));
        if let Some(number) = range.parameter {
            self.line(level + 1, format_args!("{number},"));
        }
        self.log(level + 1, &range.log, range.unwrap.as_ref(), &Window(range).to_string());
        match &range.grouping {
            Some(grouping) => self.line(level, format_args!(") {grouping}{tail}")),
            None => self.line(level, format_args!("){tail}")),
        }
    }

    fn vector(&mut self, level: usize, vector: &VectorAggregation, tail: &str) {
        self.line(level, format_args!("{}(", VectorHead(vector)));
        if let Some(number) = vector.parameter {
            self.line(level + 1, format_args!("{number},"));
        }
        self.metric(level + 1, &vector.inner, "");
        self.line(level, format_args!("){tail}"));
    }

    /// Operators that follow each other on one level of precedence stand at one level of the page.
    fn binary(&mut self, level: usize, binary: &Binary, tail: &str) {
        let mut chain = vec![binary];
        let mut first = &*binary.left;
        while let MetricExpr::Binary(left) = first
            && left.op.precedence() == binary.op.precedence()
            && !binary.op.is_right_associative()
        {
            chain.push(left);
            first = &left.left;
        }
        let innermost = chain.last().copied().unwrap_or(binary);
        self.operand(level + 1, first, left_needs_parentheses(innermost), "");
        for (at, link) in chain.iter().enumerate().rev() {
            self.line(level, BinaryHead(link));
            let tail = if at == 0 { tail } else { "" };
            self.operand(level + 1, &link.right, right_needs_parentheses(link), tail);
        }
    }

    fn operand(&mut self, level: usize, operand: &MetricExpr, parentheses: bool, tail: &str) {
        if !parentheses {
            return self.metric(level, operand, tail);
        }
        self.line(level, "(");
        self.metric(level + 1, operand, "");
        self.line(level, format_args!("){tail}"));
    }

    fn label_replace(&mut self, level: usize, replace: &LabelReplace, tail: &str) {
        self.line(level, "label_replace(");
        self.metric(level + 1, &replace.inner, ",");
        self.line(level + 1, format_args!("{},", Quoted(&replace.destination)));
        self.line(level + 1, format_args!("{},", Quoted(&replace.replacement)));
        self.line(level + 1, format_args!("{},", Quoted(&replace.source)));
        self.line(level + 1, Quoted(&replace.regex));
        self.line(level, format_args!("){tail}"));
    }
}
