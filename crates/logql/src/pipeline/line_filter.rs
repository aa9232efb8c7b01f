// hot path: no locks, no logging, nothing allocated per line.

//! Line filters (logql.md 5).

use regex::bytes::Regex;
use regex_syntax::hir::Hir;

use super::buffer_search::Hits;
use super::ip::is_found_in;
use super::literals::{Searcher, hir_of, literals_within};
use super::pattern::PatternTest;
use crate::ast::{LineFilter, LineFilterOp, LineOperand};
use crate::ip::IpRange;
use crate::regexp::compile_regex;

/// One row in this many, or fewer, are searched row by row instead of buffer-wise.
const SPARSE: usize = 8;

/// A compiled line filter.
#[derive(Clone, Debug)]
pub struct LineMatcher {
    /// True where the filter keeps the lines that no test matches.
    negated: bool,
    tests: Vec<Test>,
    /// What matches somewhere in every line that the filter keeps, where that can be told.
    required: Option<Hir>,
    /// One of these texts is in every line that some test matches.
    hits: Option<Hits>,
}

#[derive(Clone, Debug)]
enum Test {
    /// Every line matches.
    Always,
    Contains(Vec<u8>, Searcher),
    /// Several texts, searched at once.
    ContainsAny(Searcher),
    Regex(Regex),
    Pattern(PatternTest),
    Ip(IpRange),
}

impl LineMatcher {
    /// Compiles a filter. The error is the text after the name of the stage.
    pub(super) fn compile(filter: &LineFilter) -> Result<Self, String> {
        use LineFilterOp as Op;
        let operands = filter.alternatives.iter();
        let tests: Result<Vec<Test>, String> = operands.map(|operand| compile_test(filter.op, operand)).collect();
        let tests = tests?;
        let negated = matches!(filter.op, Op::NotContains | Op::NotRegex | Op::NotPattern);
        let required = || tests.iter().map(Test::required).collect::<Option<Vec<Hir>>>();
        let required = if negated { None } else { required() };
        Ok(Self {
            negated,
            required: required.map(Hir::alternation),
            hits: hits_of(&tests),
            tests: search_at_once(tests),
        })
    }

    /// An expression that matches somewhere in every line that the filter keeps. `None` where none is known.
    pub(super) fn required(&self) -> Option<&Hir> {
        self.required.as_ref()
    }

    /// True if the filter keeps the line.
    #[inline]
    pub fn matches(&self, line: &[u8]) -> bool {
        self.tests.iter().any(|test| test.matches(line)) != self.negated
    }

    /// Removes from `keep` the rows that the filter drops. Row `i` is `data[offsets[i]..offsets[i + 1]]`; `keep` ascends.
    ///
    /// # Panics
    /// If `keep` names a row beyond `offsets`, or `offsets` a byte beyond `data`.
    pub fn filter(&self, offsets: &[i32], data: &[u8], keep: &mut Vec<u32>) {
        let bounds = |row: u32| (offsets[row as usize] as usize, offsets[row as usize + 1] as usize);
        match self.tests.as_slice() {
            [Test::Always] if self.negated => keep.clear(),
            [Test::Always] => {}
            _ => match &self.hits {
                // Where few rows are left, searching them one by one touches fewer bytes.
                Some(hits) if keep.len() * SPARSE > offsets.len() => {
                    hits.filter(bounds, data, !self.negated, |line| self.matches(line), keep);
                }
                _ => keep.retain(|&row| {
                    let (start, end) = bounds(row);
                    self.matches(&data[start..end])
                }),
            },
        }
    }

    /// True if the filter keeps every line.
    pub(super) fn keeps_all(&self) -> bool {
        !self.negated && self.tests.iter().any(|test| matches!(test, Test::Always))
    }
}

impl Test {
    fn matches(&self, line: &[u8]) -> bool {
        match self {
            Self::Always => true,
            Self::Contains(_, searcher) | Self::ContainsAny(searcher) => searcher.is_in(line),
            Self::Regex(regex) => regex.is_match(line),
            Self::Pattern(pattern) => pattern.matches(line),
            Self::Ip(range) => is_found_in(range, line),
        }
    }

    /// The text for which the test looks, if that is all it does.
    fn text(&self) -> Option<&[u8]> {
        match self {
            Self::Contains(text, _) => Some(text),
            _ => None,
        }
    }

    /// Texts of which every line holds one for which the test holds, where that is worth knowing.
    fn literals(&self) -> Option<Vec<Vec<u8>>> {
        literals_within(&self.required()?)
    }

    /// An expression that matches somewhere in every line for which the test holds.
    fn required(&self) -> Option<Hir> {
        match self {
            Self::Always => Some(Hir::empty()),
            Self::Contains(text, _) => Some(Hir::literal(text.as_slice())),
            Self::Regex(regex) => hir_of(regex),
            Self::Pattern(pattern) => Some(pattern.required()),
            Self::ContainsAny(_) | Self::Ip(_) => None,
        }
    }
}

fn compile_test(op: LineFilterOp, operand: &LineOperand) -> Result<Test, String> {
    use LineFilterOp as Op;
    let text = match operand {
        LineOperand::Text(text) => text,
        LineOperand::Ip(set) if matches!(op, Op::Contains | Op::NotContains) => {
            return Ok(Test::Ip(IpRange::parse(set)?));
        }
        LineOperand::Ip(_) => return Err("ip: invalid operation".to_owned()),
    };
    match op {
        Op::Contains | Op::NotContains => Ok(contains(text.as_bytes())),
        Op::Regex | Op::NotRegex => {
            let regex = compile_regex(text, false, false).map_err(|error| error.to_string())?;
            Ok(literal_of(text).map_or(Test::Regex(regex), |literal| contains(&literal)))
        }
        Op::Pattern | Op::NotPattern => Ok(Test::Pattern(PatternTest::compile(text)?)),
    }
}

/// Joins tests for several texts into one.
fn search_at_once(tests: Vec<Test>) -> Vec<Test> {
    let texts: Option<Vec<&[u8]>> = tests.iter().map(Test::text).collect();
    match texts
        .filter(|texts| texts.len() > 1)
        .and_then(|texts| Searcher::new(&texts))
    {
        Some(searcher) => vec![Test::ContainsAny(searcher)],
        None => tests,
    }
}

/// How to find rows that some test may match, where that is faster than the tests.
fn hits_of(tests: &[Test]) -> Option<Hits> {
    let texts: Option<Vec<&[u8]>> = tests.iter().map(Test::text).collect();
    if let Some(texts) = texts {
        return Some(Hits::of_texts(Searcher::new(&texts)?));
    }
    let literals: Option<Vec<Vec<Vec<u8>>>> = tests.iter().map(Test::literals).collect();
    Some(Hits::of_literals(Searcher::new(&literals?.concat())?))
}

fn contains(text: &[u8]) -> Test {
    match Searcher::new(&[text]) {
        Some(searcher) if !text.is_empty() => Test::Contains(text.to_vec(), searcher),
        _ => Test::Always,
    }
}

/// The literal that an unanchored search for the expression comes down to, if it does: `.*foo.*` is found exactly where
/// `foo` is, because `.*` may match nothing.
fn literal_of(text: &str) -> Option<Vec<u8>> {
    use regex_syntax::hir::{Hir, HirKind};
    let matches_nothing = |hir: &Hir| match hir.kind() {
        HirKind::Repetition(repetition) => repetition.min == 0 && matches!(repetition.sub.kind(), HirKind::Class(_)),
        HirKind::Empty => true,
        _ => false,
    };
    let hir = regex_syntax::parse(text).ok()?;
    let parts = match hir.kind() {
        HirKind::Concat(parts) => parts.as_slice(),
        _ => std::slice::from_ref(&hir),
    };
    let mut literal = Vec::new();
    let inner = parts.iter().skip_while(|part| matches_nothing(part));
    let mut ended = false;
    for part in inner {
        match part.kind() {
            HirKind::Literal(text) if !ended => literal.extend_from_slice(&text.0),
            _ if matches_nothing(part) => ended = true,
            _ => return None,
        }
    }
    Some(literal)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ast::Stage;
    use crate::pipeline::testing::{compile_error, entry, line_after, line_filter};

    fn matcher(op: &str, alternatives: &[&str]) -> LineMatcher {
        let Stage::LineFilter(filter) = line_filter(op, alternatives) else {
            panic!("not a line filter");
        };
        LineMatcher::compile(&filter).unwrap()
    }

    #[test]
    fn every_operator_keeps_and_drops() {
        let f = |op: &str, alternatives: &[&str], line: &str, want: bool| {
            let filter = [line_filter(op, alternatives)];
            let want = if want { line } else { "dropped" };
            assert_eq!(
                line_after(&filter, &entry(line)),
                want,
                "{op} {alternatives:?} {line:?}"
            );
        };
        f("|=", &["err"], "an error", true);
        f("|=", &["Err"], "an error", false);
        f("!=", &["err"], "an error", false);
        f("!=", &["err"], "fine", true);
        f("|~", &["e.r"], "an error", true);
        f("|~", &["^e.r"], "an error", false);
        f("!~", &["e.r"], "an error", false);
        f("|=", &["a", "b"], "xbx", true);
        f("!=", &["a", "b"], "xbx", false);
        f("!=", &["a", "b"], "xcx", true);
        f("|~", &["^a", "b$"], "xb", true);
        f("!~", &["^a", "b$"], "xb", false);
        f("|=", &[""], "x", true);
        f("|~", &[""], "", true);
        f("|~", &[".*"], "a\nb", true);
        f("!=", &[""], "x", false);
        f("!~", &[""], "x", false);
        f("|~", &["(?i)error"], "ERROR", true);
        f("|~", &["(?i)straße"], "STRAßE", true);
        f("|~", &["a.c"], "a\nc", false);
        f("|~", &["(?s)a.c"], "a\nc", true);
        f("|~", &["^b"], "a\nb", false);
        f("|~", &["(?m)^b"], "a\nb", true);
        f("|~", &[".*foo.*"], "a foo b", true);
        f("|~", &["x*foo.*"], "a fo b", false);
        f("|~", &[".{,2}foo"], "a foo", false);
        f("|~", &[".{,2}foo"], "a{,2}foo", true);
        f("|=", &["ip(10.0.0.0/8)"], "from 10.1.2.3", true);
        f("!=", &["ip(10.0.0.0/8)"], "from 10.1.2.3", false);
        f("!=", &["ip(10.0.0.0/8)"], "no address", true);
        f("|=", &["x", "ip(10.0.0.0/8)"], "from 10.1.2.3", true);
    }

    #[test]
    fn invalid_utf8_breaks_nothing() {
        assert!(matcher("|=", &["b"]).matches(b"\xffab\xfe"));
        assert!(matcher("|~", &["a.c"]).matches(b"\xffa\xc3\xa9c\xfe"));
    }

    #[test]
    fn refuses_what_does_not_compile() {
        let f = |op: &str, operand: &str, want: &str| {
            let message = compile_error(line_filter(op, &[operand]));
            assert!(message.contains(want), "{message}");
        };
        f("|~", "[", "error parsing regexp");
        f("|=", "ip(not-an-ip)", "ip: invalid pattern: \"not-an-ip\"");
        f("|~", "ip(10.0.0.0/8)", "ip: invalid operation");
        f("|>", "Failed <user>", "named captures are not allowed: found '<user>'");
        f("|>", "<_><_>", "found consecutive capture '<_><_>'");
    }

    const EXPRESSIONS: [&str; 9] = [
        "aba|bb",
        "a+bab",
        "(?i)ABA",
        "^aab|bba$",
        "[ab]{2}aaa",
        "(aab|abb)+",
        "bbb|aba|aa",
        "aaaa|bbb|ab.ba",
        "b*",
    ];

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn the_buffer_search_agrees_with_the_line_search(
            lines in prop::collection::vec("[ab]{0,9}", 0..20),
            share in 0..3u32,
            kept in prop::collection::vec(0..3u32, 20),
            needles in prop::collection::vec("[ab]{0,4}", 1..4),
            expressions in prop::collection::vec(prop::sample::select(EXPRESSIONS.to_vec()), 1..3),
            op in prop::sample::select(vec!["|=", "!=", "|~", "!~", "|> ", "!> "]),
        ) {
            let needles: Vec<&str> = match op.trim_end() {
                "|~" | "!~" if kept[0] > 0 => expressions,
                "|>" | "!>" => vec!["<_>aba<_>", "bab"],
                _ => needles.iter().map(String::as_str).collect(),
            };
            let filter = matcher(op.trim_end(), &needles);
            let data: String = lines.concat();
            let mut offsets = vec![0i32];
            for line in &lines {
                offsets.push(offsets[offsets.len() - 1] + line.len() as i32);
            }
            let before: Vec<u32> = (0..lines.len() as u32).filter(|&row| kept[row as usize] <= share).collect();
            let mut rows = before.clone();
            filter.filter(&offsets, data.as_bytes(), &mut rows);
            let want: Vec<u32> =
                before.into_iter().filter(|&row| filter.matches(lines[row as usize].as_bytes())).collect();
            prop_assert_eq!(rows, want);
        }
    }
}
