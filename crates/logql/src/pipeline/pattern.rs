// hot path: no locks, no logging, nothing allocated per line.

//! Patterns: the line filters `|>` and `!>` (logql.md 5.2) and the parser `pattern` (7.6).

use memchr::memmem::Finder;
use regex_syntax::hir::{Dot, Hir, Repetition};

use super::entry::Labels;
use super::needs::Needed;
use crate::pattern::{PatternPart, UNNAMED, parse_line_pattern, parse_pattern};

#[derive(Clone, Debug)]
enum Part {
    Literal(Box<Finder<'static>>),
    /// `None`: `<_>`
    Capture(Option<String>),
}

fn compile_parts(parts: Vec<PatternPart>) -> Vec<Part> {
    let compile = |part| match part {
        PatternPart::Literal(text) => Part::Literal(Box::new(Finder::new(&text).into_owned())),
        PatternPart::Capture(name) => Part::Capture((name != UNNAMED).then_some(name)),
    };
    parts.into_iter().map(compile).collect()
}

/// The test of a pattern line filter.
#[derive(Clone, Debug)]
pub(super) struct PatternTest {
    parts: Vec<Part>,
}

impl PatternTest {
    /// Compiles the text of `|>`.
    pub(super) fn compile(text: &str) -> Result<Self, String> {
        Ok(Self {
            parts: compile_parts(parse_line_pattern(text)?),
        })
    }

    /// True if the line matches: literals are found from left to right, first occurrence, and a wildcard takes at least
    /// one byte; the first literal may lie anywhere, the end of the pattern is the end of the line.
    pub(super) fn matches(&self, line: &[u8]) -> bool {
        let mut rest = line;
        let mut after_wildcard = false;
        for part in &self.parts {
            match part {
                Part::Capture(_) => after_wildcard = true,
                Part::Literal(finder) => {
                    let Some(at) = finder.find(rest) else {
                        return false;
                    };
                    if after_wildcard && at == 0 {
                        return false;
                    }
                    rest = &rest[at + finder.needle().len()..];
                    after_wildcard = false;
                }
            }
        }
        rest.is_empty() != after_wildcard
    }

    /// An expression that matches in every line that the pattern matches.
    pub(super) fn required(&self) -> Hir {
        let wildcard = || {
            Hir::repetition(Repetition {
                min: 1,
                max: None,
                greedy: true,
                sub: Box::new(Hir::dot(Dot::AnyByte)),
            })
        };
        let part = |part: &Part| match part {
            Part::Literal(finder) => Hir::literal(finder.needle()),
            Part::Capture(_) => wildcard(),
        };
        Hir::concat(self.parts.iter().map(part).collect())
    }
}

/// The stage `pattern`.
#[derive(Clone, Debug)]
pub(super) struct PatternStage {
    parts: Vec<Part>,
    needed: Needed,
}

impl PatternStage {
    /// Compiles the text of the stage.
    pub(super) fn compile(text: &str, needed: Needed) -> Result<Self, String> {
        Ok(Self {
            parts: compile_parts(parse_pattern(text)?),
            needed,
        })
    }

    /// Adds the captures. A literal that is not found gives the rest of the line to the capture before it and ends the
    /// extraction.
    pub(super) fn run(&self, line: &[u8], labels: &mut Labels) {
        let mut rest = line;
        let mut parts = self.parts.as_slice();
        if let [Part::Literal(first), others @ ..] = parts {
            let Some(after) = rest.strip_prefix(first.needle()) else {
                return;
            };
            (rest, parts) = (after, others);
        }
        while let [Part::Capture(name), others @ ..] = parts {
            let (found, needle_length) = match others.first() {
                Some(Part::Literal(finder)) => (finder.find(rest), finder.needle().len()),
                _ => (None, 0),
            };
            if let Some(name) = name {
                labels.add(name.as_bytes(), &rest[..found.unwrap_or(rest.len())], &self.needed);
            }
            let Some(at) = found else {
                return;
            };
            rest = &rest[at + needle_length..];
            parts = &others[1..];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ast::Stage;
    use crate::pipeline::testing::{compile_error, entry, labels_after};

    #[test]
    fn line_patterns_match_by_the_rules() {
        let f = |pattern: &str, line: &str, want: bool| {
            let test = PatternTest::compile(pattern).unwrap();
            assert_eq!(test.matches(line.as_bytes()), want, "{pattern} on {line:?}");
        };
        f("a<_>c", "abc", true);
        f("a<_>c", "ac", false);
        f("foo<_>", "a foo b", true);
        f("foo<_>", "a foo", false);
        f("<_>foo", "foo bar", false);
        f("<_>foo", "a foo b", false);
        f("<_>foo", "a foo", true);
        f("<_>", "x", true);
        f("<_>", "", false);
        f("", "", true);
        f("", "x", false);
        f("foo", "a foo", true);
        f("foo", "foo a", false);
        f("a <b", "x a <b", true);
        f("Failed <_> port <_> ssh2", "Failed password port 22 ssh2", true);
    }

    #[test]
    fn captures_become_labels() {
        let f = |pattern: &str, line: &str, want: &str| {
            assert_eq!(
                labels_after(&[Stage::Pattern(pattern.to_owned())], &entry(line)),
                want,
                "{pattern} on {line}"
            );
        };
        f(
            "<ip> - <user> [<_>]",
            "1.2.3.4 - bob [now]",
            r#"ip="1.2.3.4", user="bob""#,
        );
        f("level=<l> <rest>", "level=info a b", r#"l="info", rest="a b""#);
        f("level=<l> <rest>", " level=info a b", "");
        f("<a> x <b>", "1 2 3", r#"a="1 2 3""#);
        f("<a>,<b>,<c>", ",,", r#"a="", b="", c="""#);
        f("from <<from>>", "from <me>", r#"from="me""#);
        f("<ip> - <user> nomatch", "1 - 2 3", r#"ip="1", user="2 3""#);
        f("<_> <rest>", "a b c", r#"rest="b c""#);
    }

    #[test]
    fn refuses_patterns_without_use() {
        let f = |pattern: &str, want: &str| {
            assert_eq!(
                compile_error(Stage::Pattern(pattern.to_owned())),
                format!("invalid pattern parser: {want}")
            );
        };
        f("no captures", "at least one capture is required");
        f("<_>", "at least one capture is required");
        f("<_", "at least one capture is required");
        f("<a><b>", "found consecutive capture '<a><b>': invalid expression");
        f("<a> <a>", "duplicate capture name (a): invalid expression");
    }
}
