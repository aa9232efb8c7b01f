// hot path: no locks, no logging, nothing allocated per entry.

//! Label filters (logql.md 6) and the text matchers of `drop` and `keep`.

use regex::bytes::Regex;
use regex_syntax::hir::Hir;

use super::convert::{ConversionError, parse_duration_ns, parse_number, parse_size_bytes};
use super::entry::{ERROR, ERROR_DETAILS, ErrorKind, Labels};
use super::ip::is_found_in;
use super::literals::{hir_of, literals_within};
use crate::ast::{CompareOp, Comparison, LabelFilter, MatchOp, Matcher};
use crate::ip::IpRange;
use crate::regexp::compile_regex;

/// A compiled label filter.
#[derive(Clone, Debug)]
pub(super) enum LabelTest {
    Text(TextMatcher),
    Number(Comparison<f64>),
    Duration(Comparison<i64>),
    Bytes(Comparison<u64>),
    Ip {
        name: String,
        negated: bool,
        range: IpRange,
    },
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
                range: IpRange::parse(range)?,
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
            Self::Ip { name, negated, range } => {
                value_of(name, labels).is_some_and(|value| !value.is_empty() && is_found_in(range, value) != *negated)
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
                let regex = compile_regex(&matcher.value, true, false).map_err(|error| error.to_string())?;
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

    /// The values of which a label must have one, all of them not empty. `None` if it may have any other or be absent.
    pub(super) fn required_values(&self) -> Option<Vec<&[u8]>> {
        let values: Vec<&[u8]> = match &self.test {
            TextTest::Equal(text) => vec![text.as_bytes()],
            TextTest::AnyOf(texts) => texts.iter().map(Vec::as_slice).collect(),
            TextTest::Never | TextTest::Always | TextTest::Regex(_) => return None,
        };
        let may_be_absent = self.negated || values.iter().any(|value| value.is_empty());
        (!may_be_absent).then_some(values)
    }

    /// Texts of which the label's value must hold one. `None` where there are none, where the label may be absent, or where they
    /// are too short or too many for a search of them to be of use.
    pub(super) fn literals_within(&self) -> Option<Vec<Vec<u8>>> {
        let expression = match &self.test {
            TextTest::Regex(regex) if !self.negated => hir_of(regex)?,
            _ => Hir::alternation(self.required_values()?.into_iter().map(Hir::literal).collect()),
        };
        if self.name == ERROR || self.name == ERROR_DETAILS {
            return None;
        }
        literals_within(&expression)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ast::{AndSyntax, Stage};
    use crate::pipeline::testing::{
        TestEntry, comparison, entry, json, label_filter, labels_after, logfmt, number_filter,
    };

    fn keeps(filter: Stage, stream: &[(&str, &str)]) -> bool {
        labels_after(&[filter], &TestEntry { stream, ..entry("") }) != "dropped"
    }

    #[test]
    fn text_filters_are_anchored_and_absent_is_empty() {
        let f = |op: &str, value: &str, msg: &str, want: bool| {
            let stream = [("msg", msg)];
            let stream = if msg.is_empty() { &[][..] } else { &stream };
            assert_eq!(
                keeps(label_filter("msg", op, value), stream),
                want,
                "{msg:?} {op} {value:?}"
            );
        };
        f("=", "a", "a", true);
        f("=", "a", "ab", false);
        f("!=", "a", "b", true);
        f("=", "", "", true);
        f("!=", "a", "", true);
        f("!=", "", "", false);
        f("=~", "err", "err", true);
        f("=~", "err", "xerr", false);
        f("=~", "err.*", "error", true);
        f("=~", "err.*", "an error", false);
        f("=~", "foo|bar", "bar", true);
        f("=~", "foo|foobar", "foobar", true);
        f("=~", "foo|foobar", "foox", false);
        f("=~", "err.+", "err", false);
        f("=~", ".*err", "an err", true);
        f("=~", "(?i)err.*", "ERROR", true);
        f("=~", "(err|warn).*", "warning", true);
        f("=~", "5..", "503", true);
        f("=~", "5..", "1503", false);
        f("!~", "err.*", "error", false);
        f("!~", "err.*", "an error", true);
        f("=~", "", "x", false);
        f("=~", "", "", true);
        f("=~", ".*", "", true);
        f("=~", "a|", "", true);
    }

    #[test]
    fn comparisons_drop_what_is_missing_and_keep_what_does_not_convert() {
        let failed = |details: &str| format!(r#"__error__="LabelFilterErr", __error_details__="{details}", n="#);
        let f = |filter: LabelFilter, value: &str, want: &str| {
            let entry = TestEntry {
                stream: &[("n", value)],
                ..entry("")
            };
            let out = labels_after(&[Stage::LabelFilter(filter.clone())], &entry);
            let out = out
                .rsplit_once('"')
                .and_then(|(out, _)| out.strip_suffix(value)?.strip_suffix('"'))
                .unwrap_or(&out);
            assert_eq!(out, want, "{filter:?} {value}");
        };
        let number = |op: &str, value: f64| LabelFilter::Number(comparison("n", op, value));
        let duration = |op: &str, value: i64| LabelFilter::Duration(comparison("n", op, value));
        let bytes = |op: &str, value: u64| LabelFilter::Bytes(comparison("n", op, value));
        let kept = "n=";
        f(number("==", 5.0), "5", kept);
        f(number("==", 5.0), "5.0", kept);
        f(number("!=", 5.0), "5", "dropped");
        f(number(">", 5.0), "5", "dropped");
        f(number(">=", 5.0), "5", kept);
        f(number("<", 5.0), "4.9", kept);
        f(number("<=", 5.0), "1_000", "dropped");
        f(number(">", 5.0), "+Inf", kept);
        f(number(">", 5.0), "NaN", "dropped");
        f(number("!=", 5.0), "NaN", kept);
        f(
            number(">", 5.0),
            "b",
            &failed(r#"strconv.ParseFloat: parsing \"b\": invalid syntax"#),
        );
        f(duration(">", 1_000_000_000), "1.5s", kept);
        f(duration(">", 1_000_000_000), "250us", "dropped");
        f(
            duration(">", 1),
            "1d",
            &failed(r#"time: unknown unit \"d\" in duration \"1d\""#),
        );
        f(duration(">", 1), "x", &failed(r#"time: invalid duration \"x\""#));
        f(bytes(">=", 1024), "1KiB", kept);
        f(bytes("<", 1024), "1.5 kb", "dropped");
        for filter in [number("!=", 5.0), duration("!=", 5), bytes("!=", 5)] {
            assert!(!keeps(Stage::LabelFilter(filter), &[]), "missing");
        }
    }

    #[test]
    fn an_earlier_error_stays() {
        let f =
            |stages: &[Stage], line: &str, want: &str| assert_eq!(labels_after(stages, &entry(line)), want, "{line}");
        let damaged = r#"{"n":"7","m":"x","o"#;
        let failed = r#"__error__="JSONParserErr", __error_details__="Value looks like object, but can't find closing '}' symbol", m="x", n="7""#;
        f(&[json(), number_filter("n", ">", 5.0)], damaged, failed);
        f(&[json(), number_filter("n", ">", 50.0)], damaged, "dropped");
        f(&[json(), number_filter("m", ">", 50.0)], damaged, failed);
        f(&[json(), number_filter("q", ">", 50.0)], damaged, "dropped");
    }

    #[test]
    fn errors_are_filtered_by_text_only() {
        let f = |filter: Stage, want: bool| {
            let kept = labels_after(&[json(), filter.clone()], &entry("plain")) != "dropped";
            assert_eq!(kept, want, "{filter:?}");
        };
        f(label_filter("__error__", "=", ""), false);
        f(label_filter("__error__", "!=", ""), true);
        f(label_filter("__error__", "=~", "JSON.*"), true);
        f(label_filter("__error__", "=", "LogfmtParserErr"), false);
        f(number_filter("__error__", "!=", 1.0), false);
        f(label_filter("__error_details__", "!=", ""), false);
        f(label_filter("__error_details__", "=~", ".*"), true);
        let before = [label_filter("__error__", "=", ""), json()];
        assert!(labels_after(&before, &entry("plain")).contains("JSONParserErr"));
    }

    #[test]
    fn address_filters() {
        let f = |negated: bool, value: &str, want: bool| {
            let filter = LabelFilter::Ip {
                name: "a".to_owned(),
                negated,
                range: "10.0.0.0/8".to_owned(),
            };
            assert_eq!(
                keeps(Stage::LabelFilter(filter), &[("a", value)]),
                want,
                "{negated} {value}"
            );
        };
        f(false, "dial tcp 10.1.2.3:443", true);
        f(false, "11.0.0.1", false);
        f(true, "11.0.0.1", true);
        f(true, "10.0.0.1", false);
        f(false, "none", false);
        f(true, "", false);
    }

    #[test]
    fn combinations() {
        let is = |name: &str| Box::new(LabelFilter::Match(crate::pipeline::testing::matcher(name, "=", "1")));
        let and = LabelFilter::And {
            left: is("a"),
            right: is("b"),
            written: AndSyntax::Word,
        };
        let or = LabelFilter::Or(is("a"), is("b"));
        let f = |filter: &LabelFilter, line: &str, want: bool| {
            let stages = [logfmt(&[], &[]), Stage::LabelFilter(filter.clone())];
            assert_eq!(
                labels_after(&stages, &entry(line)) != "dropped",
                want,
                "{filter:?} {line}"
            );
        };
        f(&and, "a=1 b=1", true);
        f(&and, "a=1 b=2", false);
        f(&or, "a=2 b=1", true);
        f(&or, "a=2 b=2", false);
    }
}
