// hot path: no locks, no logging, nothing allocated per entry.

//! Label filters (logql.md 6) and the text matchers of `drop` and `keep`.

use regex::bytes::Regex;

use super::convert::{ConversionError, parse_duration_ns, parse_number, parse_size_bytes};
use super::entry::{ERROR, ERROR_DETAILS, ErrorKind, Labels};
use super::ip::IpSet;
use super::regex::compile_regex;
use crate::ast::{CompareOp, Comparison, LabelFilter, MatchOp, Matcher};

/// A compiled label filter.
#[derive(Clone, Debug)]
pub(super) enum LabelTest {
    Text(TextMatcher),
    Number(Comparison<f64>),
    Duration(Comparison<i64>),
    Bytes(Comparison<u64>),
    Ip { name: String, negated: bool, set: IpSet },
    And(Box<LabelTest>, Box<LabelTest>),
    Or(Box<LabelTest>, Box<LabelTest>),
}

impl LabelTest {
    /// Compiles a filter.
    pub(super) fn compile(filter: &LabelFilter) -> Result<Self, String> {
        Ok(match filter {
            LabelFilter::Match(matcher) => Self::Text(TextMatcher::compile(matcher)?),
            LabelFilter::Number(comparison) => Self::Number(comparison.clone()),
            LabelFilter::Duration(comparison) => Self::Duration(comparison.clone()),
            LabelFilter::Bytes(comparison) => Self::Bytes(comparison.clone()),
            LabelFilter::Ip { name, negated, range } => Self::Ip {
                name: name.clone(),
                negated: *negated,
                set: IpSet::parse(range)?,
            },
            LabelFilter::And { left, right, .. } => {
                Self::And(Box::new(Self::compile(left)?), Box::new(Self::compile(right)?))
            }
            LabelFilter::Or(left, right) => Self::Or(Box::new(Self::compile(left)?), Box::new(Self::compile(right)?)),
        })
    }

    /// True if the filter keeps the entry; marks it if a value does not convert.
    ///
    /// Recorded answers show that an error of an earlier stage changes nothing: a missing label drops the entry, a value
    /// that converts is compared, one that does not keeps the entry and the earlier error. An empty value does not convert.
    pub(super) fn keeps(&self, labels: &mut Labels) -> bool {
        match self {
            Self::Text(matcher) => matcher.matches(labels.get(matcher.name.as_bytes())),
            Self::Number(comparison) => compare(comparison, labels, parse_number),
            Self::Duration(comparison) => compare(comparison, labels, parse_duration_ns),
            Self::Bytes(comparison) => compare(comparison, labels, parse_size_bytes),
            Self::Ip { name, negated, set } => {
                value_of(name, labels).is_some_and(|value| !value.is_empty() && set.is_found_in(value) != *negated)
            }
            Self::And(left, right) => left.keeps(labels) && right.keeps(labels),
            Self::Or(left, right) => left.keeps(labels) || right.keeps(labels),
        }
    }
}

fn compare<T: PartialOrd + Copy>(
    comparison: &Comparison<T>,
    labels: &mut Labels,
    convert: impl for<'v> Fn(&'v [u8]) -> Result<T, ConversionError<'v>>,
) -> bool {
    let Some(value) = value_of(&comparison.name, labels) else {
        return false;
    };
    if let Ok(value) = convert(value) {
        let wanted = comparison.value;
        return match comparison.op {
            CompareOp::Equal => value == wanted,
            CompareOp::NotEqual => value != wanted,
            CompareOp::Greater => value > wanted,
            CompareOp::GreaterOrEqual => value >= wanted,
            CompareOp::Less => value < wanted,
            CompareOp::LessOrEqual => value <= wanted,
        };
    }
    labels.fail_conversion(ErrorKind::LabelFilter, comparison.name.as_bytes(), |value, details| {
        if let Err(error) = convert(value) {
            error.write(details);
        }
    });
    true
}

/// The value for filters other than text: error marks have none.
fn value_of<'a>(name: &str, labels: &'a Labels) -> Option<&'a [u8]> {
    if name == ERROR || name == ERROR_DETAILS {
        None
    } else {
        labels.get(name.as_bytes())
    }
}

/// A compiled `=`, `!=`, `=~` or `!~`; expressions are anchored at both ends, as documented (the peer loses the anchors of
/// some).
#[derive(Clone, Debug)]
pub(super) struct TextMatcher {
    pub(super) name: String,
    negated: bool,
    test: TextTest,
}

#[derive(Clone, Debug)]
enum TextTest {
    /// `__error_details__` reads as empty, whatever it holds.
    Never,
    Always,
    Equal(String),
    AnyOf(Vec<Vec<u8>>),
    Regex(Regex),
}

impl TextMatcher {
    /// Compiles a matcher.
    pub(super) fn compile(matcher: &Matcher) -> Result<Self, String> {
        let negated = matches!(matcher.op, MatchOp::NotEqual | MatchOp::NotRegex);
        let test = match matcher.op {
            MatchOp::Equal | MatchOp::NotEqual => TextTest::Equal(matcher.value.clone()),
            MatchOp::Regex | MatchOp::NotRegex => {
                let regex = compile_regex(&matcher.value, true, false)?;
                literals_of(&matcher.value).map_or(TextTest::Regex(regex), TextTest::AnyOf)
            }
        };
        let mut compiled = Self {
            name: matcher.name.clone(),
            negated,
            test,
        };
        if matcher.name == ERROR_DETAILS {
            let matches_empty = compiled.matches(Some(b""));
            compiled.negated = false;
            compiled.test = if matches_empty {
                TextTest::Always
            } else {
                TextTest::Never
            };
        }
        Ok(compiled)
    }

    /// True if the matcher holds; an absent label reads as empty.
    pub(super) fn matches(&self, value: Option<&[u8]>) -> bool {
        let value = value.unwrap_or_default();
        let holds = match &self.test {
            TextTest::Never => false,
            TextTest::Always => true,
            TextTest::Equal(text) => text.as_bytes() == value,
            TextTest::AnyOf(texts) => texts.iter().any(|text| text == value),
            TextTest::Regex(regex) => regex.is_match(value),
        };
        holds != self.negated
    }
}

/// The texts of an expression that is a literal or a choice of literals.
fn literals_of(text: &str) -> Option<Vec<Vec<u8>>> {
    use regex_syntax::hir::{Hir, HirKind};
    fn literal(hir: &Hir) -> Option<Vec<u8>> {
        match hir.kind() {
            HirKind::Literal(text) => Some(text.0.to_vec()),
            HirKind::Empty => Some(Vec::new()),
            _ => None,
        }
    }
    // The parser factors common prefixes out of a choice, so the choice is looked for in the text.
    let parts = if text.contains(['(', '[', '\\', '{']) {
        vec![text]
    } else {
        text.split('|').collect()
    };
    parts
        .into_iter()
        .map(|part| literal(&regex_syntax::parse(part).ok()?))
        .collect()
}
