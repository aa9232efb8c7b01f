// hot path: no locks, no logging, nothing allocated per line in steady state.

//! The stage `logfmt` (logql.md 7.3 and 7.4).

use std::io::Write as _;

use memchr::memchr2;

use super::block::{Block, find_byte};
use super::entry::{ErrorKind, Labels};
use super::json_scan::unescape;
use super::names::{KeyId, LOGFMT_KEYS, Names};
use super::needs::Needed;
use super::sanitize::sanitize;
use super::taken::TakenLine;
use crate::ast::Extraction;

/// The stage `logfmt`.
#[derive(Clone, Debug)]
pub(super) struct LogfmtStage {
    strict: bool,
    keep_empty: bool,
    targets: Vec<Target>,
    needed: Needed,
    enough: Option<usize>,
}

#[derive(Clone, Debug)]
struct Target {
    label: String,
    key: String,
}

/// Buffers of the stage, reused from line to line.
#[derive(Default)]
pub(super) struct LogfmtScratch {
    /// Per target the value found last, as a part of `found_text`.
    found: Vec<Option<(usize, usize)>>,
    found_text: Vec<u8>,
}

impl LogfmtStage {
    /// Compiles the stage; without extractions every pair is taken.
    pub(super) fn compile(
        strict: bool,
        keep_empty: bool,
        extractions: &[Extraction],
        needed: Needed,
    ) -> Result<Self, String> {
        let mut targets = Vec::new();
        for extraction in extractions {
            let key = &extraction.expression;
            let is_start = |c: char| c.is_alphabetic() || c == '_';
            if !key.starts_with(is_start) || !key.chars().all(|c| c.is_alphanumeric() || c == '_') {
                return Err(format!("cannot parse expression [{key}]: not an identifier"));
            }
            targets.push(Target {
                label: extraction.label.clone(),
                key: key.to_owned(),
            });
        }
        let enough = if strict { None } else { needed.enough() };
        Ok(Self {
            strict,
            keep_empty,
            targets,
            needed,
            enough,
        })
    }

    /// Adds the pairs of the line.
    pub(super) fn run(&self, line: &[u8], labels: &mut Labels, scratch: &mut LogfmtScratch) {
        let failure = if self.targets.is_empty() {
            self.all_pairs(line, labels)
        } else {
            self.wanted_pairs(line, labels, scratch)
        };
        if let Err(Failure { position, reason }) = failure {
            labels.fail(ErrorKind::LogfmtParser, |details| {
                write!(details, "logfmt syntax error at pos {position} : {reason}")
                    .expect("bug: writing to memory failed");
            });
        }
    }

    fn all_pairs(&self, line: &[u8], labels: &mut Labels) -> Result<(), Failure> {
        let mut found = 0;
        let mut taken = TakenLine::new(line, &self.needed);
        let mut pairs = Pairs::new(line);
        while let Some(pair) = self.next(&mut pairs, &mut labels.names)? {
            if pair.value.is_empty() && !self.keep_empty {
                continue;
            }
            if !labels.names.is_named(pair.key) || !labels.has_room_for(labels.names.name_bytes(pair.key)) {
                continue;
            }
            let open = labels.open_key(pair.key, &self.needed);
            if pair.has_escapes {
                let start = labels.value().len();
                if !unescape(pair.value, labels.value()) {
                    labels.value().truncate(start);
                    self.refuse(pair.end, "invalid quoted value")?;
                    continue;
                }
                match open {
                    Some(open) => labels.close(&open),
                    None => {
                        labels.value().truncate(start);
                        continue;
                    }
                }
            } else {
                let Some(open) = open else {
                    continue;
                };
                labels.close_with_part(&open, &mut taken, pair.value);
            }
            found += 1;
            if self.enough == Some(found) {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Sets each listed label, the absent ones to nothing; where a key repeats, its last value counts.
    fn wanted_pairs(&self, line: &[u8], labels: &mut Labels, scratch: &mut LogfmtScratch) -> Result<(), Failure> {
        scratch.found.clear();
        scratch.found.resize(self.targets.len(), None);
        scratch.found_text.clear();
        let outcome = self.find_targets(line, &mut labels.names, scratch);
        for (target, found) in self.targets.iter().zip(&scratch.found) {
            let name = target.label.as_bytes();
            if let Some((start, end)) = *found {
                labels.add(name, &scratch.found_text[start..end], &self.needed);
            } else if !labels.is_base(name) {
                labels.add(name, b"", &self.needed);
            }
        }
        outcome
    }

    fn find_targets(&self, line: &[u8], names: &mut Names, scratch: &mut LogfmtScratch) -> Result<(), Failure> {
        let mut pairs = Pairs::new(line);
        while let Some(pair) = self.next(&mut pairs, names)? {
            let is_target = |name: &[u8]| self.targets.iter().any(|target| target.key.as_bytes() == name);
            if !names.answer(pair.key, self.needed.stage(), is_target) {
                continue;
            }
            let start = scratch.found_text.len();
            if !pair.has_escapes {
                scratch.found_text.extend_from_slice(pair.value);
            } else if !unescape(pair.value, &mut scratch.found_text) {
                scratch.found_text.truncate(start);
                self.refuse(pair.end, "invalid quoted value")?;
                continue;
            }
            for (target, found) in self.targets.iter().zip(&mut scratch.found) {
                if target.key.as_bytes() == names.part(pair.key) {
                    *found = Some((start, scratch.found_text.len()));
                }
            }
        }
        Ok(())
    }

    /// The next valid pair. Invalid ones are passed over, or are the end in strict mode.
    #[inline]
    fn next<'a>(&self, pairs: &mut Pairs<'a>, names: &mut Names) -> Result<Option<Pair<'a>>, Failure> {
        loop {
            match pairs.next(names) {
                Ok(pair) => return Ok(pair),
                Err(failure) if self.strict => return Err(failure),
                Err(_) => pairs.pass_word(),
            }
        }
    }

    fn refuse(&self, position: usize, reason: &'static str) -> Result<(), Failure> {
        if self.strict {
            Err(Failure { position, reason })
        } else {
            Ok(())
        }
    }
}

/// Why a pair is invalid, and at which byte, counted from 1.
#[derive(Debug, PartialEq, Eq)]
struct Failure {
    position: usize,
    reason: &'static str,
}

struct Pair<'a> {
    key: KeyId,
    /// Without quotes.
    value: &'a [u8],
    has_escapes: bool,
    /// Place behind the pair.
    end: usize,
}

struct Pairs<'a> {
    line: &'a [u8],
    at: usize,
    /// The last key.
    before: KeyId,
}

impl<'a> Pairs<'a> {
    fn new(line: &'a [u8]) -> Self {
        Self {
            line,
            at: 0,
            before: LOGFMT_KEYS,
        }
    }

    #[inline]
    fn next(&mut self, names: &mut Names) -> Result<Option<Pair<'a>>, Failure> {
        let line = self.line;
        while line.get(self.at).is_some_and(|b| *b <= b' ') {
            self.at += 1;
        }
        if !self.pass_guess(names) && !self.scan_key(names)? {
            return Ok(None);
        }
        let key = self.before;
        if line.get(self.at) != Some(&b'=') {
            return Ok(Some(self.pair(key, &line[self.at..self.at], false)));
        }
        self.at += 1;
        if line.get(self.at) == Some(&b'"') {
            return self.quoted(key).map(Some);
        }
        let start = self.at;
        self.at = end_of_word(line, start);
        match line.get(self.at) {
            Some(b'=') => Err(self.unexpected("unexpected '='")),
            Some(b'"') => Err(self.unexpected("unexpected '\"'")),
            _ => Ok(Some(self.pair(key, &line[start..self.at], false))),
        }
    }

    /// Passes the key that is guessed, if it and an equals sign stand there.
    #[inline]
    fn pass_guess(&mut self, names: &Names) -> bool {
        let rest = &self.line[self.at..];
        let Some((key, length)) = names.guess(self.before, LOGFMT_KEYS, rest) else {
            return false;
        };
        let is_it = rest.get(length) == Some(&b'=');
        if is_it {
            self.before = key;
            self.at += length;
        }
        is_it
    }

    /// Reads a key up to what ends it. False at the end of the line.
    fn scan_key(&mut self, names: &mut Names) -> Result<bool, Failure> {
        let line = self.line;
        let start = self.at;
        self.at = end_of_word(line, start);
        let key = &line[start..self.at];
        match line.get(self.at) {
            None if key.is_empty() => return Ok(false),
            Some(b'=') if key.is_empty() => return Err(self.unexpected("unexpected '='")),
            Some(b'"') => return Err(self.unexpected("unexpected '\"'")),
            _ => {}
        }
        if !key.is_ascii() && std::str::from_utf8(key).map_or(true, |key| key.contains('\u{fffd}')) {
            return Err(self.unexpected("invalid key"));
        }
        self.before = names.key(self.before, LOGFMT_KEYS, key, |raw, part| sanitize(raw, true, part));
        Ok(true)
    }

    fn pair(&self, key: KeyId, value: &'a [u8], has_escapes: bool) -> Pair<'a> {
        Pair {
            key,
            value,
            has_escapes,
            end: self.at,
        }
    }

    fn quoted(&mut self, key: KeyId) -> Result<Pair<'a>, Failure> {
        let start = self.at + 1;
        let mut at = start;
        let mut has_escapes = false;
        loop {
            let hit = self.line.get(at..).and_then(|rest| memchr2(b'"', b'\\', rest));
            let Some(hit) = hit else {
                self.at = self.line.len();
                return Err(self.unexpected("unterminated quoted value"));
            };
            at += hit;
            if self.line[at] == b'"' {
                break;
            }
            has_escapes = true;
            at += 2;
        }
        self.at = at + 1;
        Ok(self.pair(key, &self.line[start..at], has_escapes))
    }

    fn unexpected(&self, reason: &'static str) -> Failure {
        Failure {
            position: self.at + 1,
            reason,
        }
    }

    fn pass_word(&mut self) {
        while self.line.get(self.at).is_some_and(|b| *b > b' ') {
            self.at += 1;
        }
    }
}

/// Where from `start` on a space, an equals sign or a quote stands, or the line ends.
#[inline]
fn end_of_word(line: &[u8], start: usize) -> usize {
    let is_end = |block: Block| block.up_to(b' ') | block.equal(b'=') | block.equal(b'"');
    find_byte(line, start, is_end).unwrap_or(line.len())
}

#[cfg(test)]
mod tests {
    use crate::pipeline::testing::{TestEntry, entry, labels_after, logfmt};

    #[test]
    fn pairs_become_labels() {
        let f = |line: &str, want: &str| assert_eq!(labels_after(&[logfmt(&[], &[])], &entry(line)), want, "{line}");
        f("a=1 b=2", r#"a="1", b="2""#);
        f("a= b=1 c", r#"b="1""#);
        f(r#"a="x y" b="q\"\\\n\u00e9" c="""#, "a=\"x y\", b=\"q\\\"\\\\\\né\"");
        f("a.b=1 9x=2 a-b=3", r#"_9x="2", a_b="1""#);
        f("a=1 a=2", r#"a="1""#);
        f("=x b=1", r#"b="1""#);
        f(r#"a"b=1 c=2"#, r#"c="2""#);
        f("key=value= b=1", r#"b="1""#);
        f(r#"a=1 b="no end c=2"#, r#"a="1""#);
        f(r#"a="\q" b=1"#, r#"b="1""#);
        f("\ta=1\n\u{1}b=2 ", r#"a="1", b="2""#);
        f("", "");
        f("plain words only 7", "");
    }

    #[test]
    fn flags_change_what_counts() {
        let f = |flags: &[&str], line: &str, want: &str| {
            assert_eq!(
                labels_after(&[logfmt(flags, &[])], &entry(line)),
                want,
                "{flags:?} {line}"
            );
        };
        f(&["keep_empty"], "a= b=1 c", r#"a="", b="1", c="""#);
        f(&["strict", "keep_empty"], "words 7", r#"_7="", words="""#);
        let failed = |details: &str, rest: &str| {
            format!(r#"__error__="LogfmtParserErr", __error_details__="logfmt syntax error at pos {details}"{rest}"#)
        };
        f(&["strict"], "a=1 =x b=2", &failed("5 : unexpected '='", r#", a="1""#));
        f(&["strict"], r#"a"b=1"#, &failed(r#"2 : unexpected '\"'"#, ""));
        f(
            &["strict"],
            r#"a=1 b="no end"#,
            &failed("14 : unterminated quoted value", r#", a="1""#),
        );
        f(&["strict"], "a=b=", &failed("4 : unexpected '='", ""));
        f(&["strict"], "a\u{fffd}=b", &failed("5 : invalid key", ""));
        f(&["strict"], "a= b=1 c", r#"b="1""#);
    }

    #[test]
    fn expressions_are_always_set() {
        let f = |flags: &[&str], pairs: &[(&str, &str)], line: &str, want: &str| {
            let entry = TestEntry {
                stream: &[("app", "s")],
                ..entry(line)
            };
            assert_eq!(labels_after(&[logfmt(flags, pairs)], &entry), want, "{pairs:?} {line}");
        };
        f(&[], &[("x", "a"), ("b", "b")], "a=1 c=2", r#"app="s", b="", x="1""#);
        f(&[], &[("x", "a")], "a=1 a=2", r#"app="s", x="2""#);
        f(&[], &[("x", "a_b")], "a.b=1", r#"app="s", x="1""#);
        f(&[], &[("app", "a")], "a=1", r#"app="s", app_extracted="1""#);
        f(&[], &[("app", "a")], "b=1", r#"app="s""#);
        f(
            &["strict"],
            &[("x", "a")],
            "a=1 =",
            r#"__error__="LogfmtParserErr", __error_details__="logfmt syntax error at pos 5 : unexpected '='", app="s", x="1""#,
        );
    }
}
