//! Rewrites RE2 syntax as syntax of the `regex` crate, piece by piece.

use std::collections::BTreeSet;

use super::RegexError;
use super::class::class;
use super::escape::{Escape, escape};

/// The same expression in the syntax of the `regex` crate.
pub(super) fn translate(text: &str) -> Result<String, RegexError> {
    let mut translator = Translator {
        text,
        rest: text,
        output: String::new(),
        names: BTreeSet::new(),
    };
    translator.expression()?;
    Ok(translator.output)
}

/// An error about a part of the expression.
pub(super) fn fault<T>(problem: &'static str, fragment: &str) -> Result<T, RegexError> {
    Err(RegexError::Syntax {
        problem,
        fragment: fragment.to_owned(),
    })
}

/// Writes a character such that it stands for itself.
pub(super) fn write_literal(output: &mut String, c: char) {
    if regex_syntax::is_meta_character(c) {
        output.push('\\');
    }
    output.push(c);
}

/// Largest count of `{n,m}`.
const MAX_REPEAT: u32 = 1000;

struct Translator<'a> {
    text: &'a str,
    rest: &'a str,
    output: String,
    names: BTreeSet<&'a str>,
}

/// What stood before, which decides whether a repetition may follow.
enum Before<'a> {
    /// Nothing that could be repeated.
    Nothing,
    Item,
    /// A repetition; the text from its start.
    Repetition(&'a str),
}

impl<'a> Translator<'a> {
    fn expression(&mut self) -> Result<(), RegexError> {
        let mut open_groups = 0;
        let mut before = Before::Nothing;
        while let Some(first) = self.rest.chars().next() {
            match first {
                '(' => {
                    if self.group()? {
                        open_groups += 1;
                    }
                    before = Before::Nothing;
                    continue;
                }
                ')' if open_groups == 0 => return fault("unexpected )", self.text),
                ')' => {
                    open_groups -= 1;
                    self.copy(1);
                    before = Before::Item;
                    continue;
                }
                '|' => {
                    self.copy(1);
                    before = Before::Nothing;
                    continue;
                }
                '*' | '+' | '?' => {
                    before = self.repetition(1, &before)?;
                    continue;
                }
                '{' => {
                    if let Some(length) = repeat_length(self.rest) {
                        before = self.repetition(length, &before)?;
                        continue;
                    }
                    self.literal(first);
                }
                '[' => self.rest = class(self.rest, &mut self.output)?,
                '\\' => self.escape()?,
                '^' | '$' | '.' => self.copy(1),
                _ => self.literal(first),
            }
            before = Before::Item;
        }
        if open_groups > 0 {
            fault("missing closing )", self.text)
        } else {
            Ok(())
        }
    }

    /// Copies syntax that both languages share.
    fn copy(&mut self, length: usize) {
        self.output.push_str(&self.rest[..length]);
        self.rest = &self.rest[length..];
    }

    fn literal(&mut self, c: char) {
        write_literal(&mut self.output, c);
        self.rest = &self.rest[c.len_utf8()..];
    }

    /// Reads the opening of a group, or flags for the rest of the current group; true if a group was opened.
    fn group(&mut self) -> Result<bool, RegexError> {
        if !self.rest.starts_with("(?") {
            self.copy(1);
            return Ok(true);
        }
        for opening in ["(?P<", "(?<"] {
            let Some(named) = self.rest.strip_prefix(opening) else {
                continue;
            };
            if named.starts_with(['=', '!']) {
                return fault("invalid or unsupported Perl syntax", opening);
            }
            let Some(length) = named.find('>') else {
                return fault("invalid named capture", self.rest);
            };
            let name = &named[..length];
            let is_name = name.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic())
                && name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric());
            if !is_name {
                return fault("invalid named capture", &self.rest[..opening.len() + length + 1]);
            }
            if !self.names.insert(name) {
                return Err(RegexError::DuplicateName(name.to_owned()));
            }
            self.copy(opening.len() + length + 1);
            return Ok(true);
        }
        self.flags()
    }

    /// Reads `(?im-s)` or `(?im-s:`.
    fn flags(&mut self) -> Result<bool, RegexError> {
        let (mut on, mut off) = (BTreeSet::new(), BTreeSet::new());
        let mut negative = false;
        for (at, c) in self.rest.char_indices().skip(2) {
            match c {
                'i' | 'm' | 's' | 'U' => {
                    let (to, from) = if negative {
                        (&mut off, &mut on)
                    } else {
                        (&mut on, &mut off)
                    };
                    to.insert(c);
                    from.remove(&c);
                }
                '-' if !negative => negative = true,
                ':' | ')' if !negative || !off.is_empty() => {
                    let (on, off): (String, String) = (on.into_iter().collect(), off.into_iter().collect());
                    let minus = if off.is_empty() { "" } else { "-" };
                    // Without flags `(?)` says nothing.
                    if c == ':' || !on.is_empty() || !off.is_empty() {
                        self.output.push_str(&format!("(?{on}{minus}{off}{c}"));
                    }
                    self.rest = &self.rest[at + 1..];
                    return Ok(c == ':');
                }
                _ => return fault("invalid or unsupported Perl syntax", &self.rest[..at + c.len_utf8()]),
            }
        }
        fault("invalid or unsupported Perl syntax", self.rest)
    }

    /// Reads a repetition of `length` bytes, and the `?` that makes it lazy.
    fn repetition(&mut self, length: usize, before: &Before<'a>) -> Result<Before<'a>, RegexError> {
        let start = self.rest;
        let lazy = usize::from(start[length..].starts_with('?'));
        let operator = &start[..length + lazy];
        match before {
            Before::Nothing => return fault("missing argument to repetition operator", operator),
            Before::Repetition(earlier) => {
                let both = &earlier[..earlier.len() - start.len() + operator.len()];
                return fault("invalid nested repetition operator", both);
            }
            Before::Item => {}
        }
        if !counts_are_valid(&start[..length]) {
            return fault("invalid repeat count", &start[..length]);
        }
        self.copy(length + lazy);
        Ok(Before::Repetition(start))
    }

    fn escape(&mut self) -> Result<(), RegexError> {
        let rest = self.rest;
        match rest.as_bytes().get(1) {
            Some(b'A' | b'z') => {
                self.copy(2);
                return Ok(());
            }
            // Word boundaries are those of ASCII words.
            Some(boundary @ (b'b' | b'B')) => {
                self.output
                    .push_str(if *boundary == b'b' { r"(?-u:\b)" } else { r"(?-u:\B)" });
                self.rest = &rest[2..];
                return Ok(());
            }
            Some(b'Q') => {
                let quoted = &rest[2..];
                let (literal, after) = quoted.split_once(r"\E").unwrap_or((quoted, ""));
                literal.chars().for_each(|c| write_literal(&mut self.output, c));
                self.rest = after;
                return Ok(());
            }
            _ => {}
        }
        let (escape, after) = escape(rest)?;
        match escape {
            Escape::Character(c) => write_literal(&mut self.output, c),
            Escape::Class(class) => self.output.push_str(&class),
        }
        self.rest = after;
        Ok(())
    }
}

/// Length of the `{n}`, `{n,}` or `{n,m}` at the start of the text; none if the brace is a literal.
fn repeat_length(text: &str) -> Option<usize> {
    let end = text.find('}')?;
    let counts = &text[1..end];
    let (least, most) = counts.split_once(',').unwrap_or((counts, counts));
    let is_number = |digits: &str| {
        let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
        plain && (digits == "0" || !digits.starts_with('0'))
    };
    (is_number(least) && (most.is_empty() || is_number(most))).then_some(end + 1)
}

/// Are the counts of a repetition within bounds and in order?
fn counts_are_valid(operator: &str) -> bool {
    let Some(counts) = operator.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) else {
        return true;
    };
    let (least, most) = counts.split_once(',').unwrap_or((counts, counts));
    let number = |digits: &str| digits.parse::<u32>().ok().filter(|n| *n <= MAX_REPEAT);
    match (number(least), number(most)) {
        (Some(least), Some(most)) => least <= most,
        (Some(_), None) => most.is_empty(),
        (None, _) => false,
    }
}
