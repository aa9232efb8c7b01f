//! The conditions that the scan of log lines applies: times, labels of streams, texts of lines.

use super::super::labels::{OneOf, label_of};
use super::super::time_range::TimeRange;
use arrow_schema::TimeUnit;
use datafusion::logical_expr::Expr;
use datafusion::logical_expr::expr::{Like, ScalarFunction};
use timberline_logql::ast::{LineFilter, LineFilterOp, LineOperand, LogExpr, MatchOp, Matcher, Stage};

/// A condition that the scan applies.
pub(super) enum Condition {
    /// The times for which it holds.
    Times(TimeRange),
    /// It holds for these streams, exactly.
    Stream(Matcher),
    /// The line contains this text wherever the condition holds.
    Line(String),
}

impl Condition {
    /// What a condition says; `None` if nothing that the scan can apply.
    pub(super) fn of(condition: &Expr) -> Option<Self> {
        if let Some(times) = TimeRange::of(condition, TimeUnit::Nanosecond) {
            return Some(Self::Times(times));
        }
        if let Some(one_of) = OneOf::of(condition) {
            return label_of(one_of.tested, "labels")
                .and_then(|name| matcher(name, &one_of.texts))
                .map(Self::Stream);
        }
        contained(condition).map(Self::Line)
    }
}

/// The matcher of streams whose label has one of these values. In matchers an empty value also stands for no label, in SQL not.
fn matcher(name: &str, values: &[&str]) -> Option<Matcher> {
    if values.iter().any(|value| value.is_empty()) {
        return None;
    }
    let (op, value) = match values {
        [value] => (MatchOp::Equal, (*value).to_owned()),
        values => {
            let escaped: Vec<String> = values.iter().map(|value| regex::escape(value)).collect();
            (MatchOp::Regex, escaped.join("|"))
        }
    };
    Some(Matcher {
        name: name.to_owned(),
        op,
        value,
    })
}

/// The text that a line contains for `line LIKE '%text%'` and `contains(line, 'text')`.
fn contained(condition: &Expr) -> Option<String> {
    let (tested, text) = match condition {
        Expr::Like(Like {
            negated: false,
            expr,
            pattern,
            escape_char: None,
            case_insensitive: false,
        }) => {
            let pattern = literal(pattern)?.strip_prefix('%')?.strip_suffix('%')?;
            (expr.as_ref(), (!pattern.contains(['%', '_', '\\'])).then_some(pattern)?)
        }
        Expr::ScalarFunction(ScalarFunction { func, args }) if func.name() == "contains" => match args.as_slice() {
            [tested, text] => (tested, literal(text)?),
            _ => return None,
        },
        _ => return None,
    };
    let is_line = matches!(tested, Expr::Column(column) if column.name == "line");
    // A replacement character may stand for bytes that are not UTF-8.
    let usable = is_line && !text.is_empty() && !text.contains(char::REPLACEMENT_CHARACTER);
    usable.then(|| text.to_owned())
}

fn literal(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Literal(value, _) => value.try_as_str().flatten(),
        _ => None,
    }
}

/// All conditions of a scan, which have to hold together.
pub(super) struct Conditions {
    /// Nanoseconds.
    pub(super) times: TimeRange,
    pub(super) matchers: Vec<Matcher>,
    texts: Vec<String>,
}

impl Conditions {
    /// Takes conditions apart that [`Condition::of`] knows.
    pub(super) fn of(conditions: &[Expr]) -> Self {
        let mut all = Self {
            times: TimeRange::ALL,
            matchers: Vec::new(),
            texts: Vec::new(),
        };
        for condition in conditions {
            match Condition::of(condition) {
                Some(Condition::Times(times)) => all.times = all.times.and(times),
                Some(Condition::Stream(matcher)) => all.matchers.push(matcher),
                Some(Condition::Line(text)) => all.texts.push(text),
                None => {}
            }
        }
        all
    }

    /// The log query that reads these lines.
    pub(super) fn into_log(self) -> LogExpr {
        let filter = |text| {
            Stage::LineFilter(LineFilter {
                op: LineFilterOp::Contains,
                alternatives: vec![LineOperand::Text(text)],
            })
        };
        LogExpr {
            matchers: self.matchers,
            stages: self.texts.into_iter().map(filter).collect(),
        }
    }
}
