//! Comparing texts, and regular expressions with the meaning of RE2.

use crate::Error;
use regex::Regex;
use std::cell::RefCell;
use std::collections::HashMap;
use timberline_logql::ast::{MatchOp, Matcher};

/// What `.` and the ends mean.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Mode {
    /// Somewhere in a line; `.` is no newline.
    Line,
    /// The whole value of a label; `.` is no newline.
    Label,
    /// The whole value of a label of a stream; `.` is any character.
    Stream,
}

thread_local! {
    static COMPILED: RefCell<HashMap<(String, Mode), Result<Regex, Error>>> = RefCell::default();
}

/// A compiled expression.
pub(crate) fn regex(text: &str, mode: Mode) -> Result<Regex, Error> {
    let compile = || {
        let text = in_ascii(text);
        // Alone first, so that `a)(b` is no expression.
        Regex::new(&text).map_err(|_| Error::Parse)?;
        let whole = match mode {
            Mode::Line => text,
            Mode::Label => format!("^(?:{text})$"),
            Mode::Stream => format!("^(?s:{text})$"),
        };
        Regex::new(&whole).map_err(|_| Error::Parse)
    };
    let key = (text.to_owned(), mode);
    COMPILED.with_borrow_mut(|compiled| compiled.entry(key).or_insert_with(compile).clone())
}

/// The classes of RE2 are those of ASCII.
fn in_ascii(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('w') => out.push_str("[0-9A-Za-z_]"),
            Some('W') => out.push_str("[^0-9A-Za-z_]"),
            Some('d') => out.push_str("[0-9]"),
            Some('D') => out.push_str("[^0-9]"),
            Some('s') => out.push_str("[\\t\\n\\f\\r ]"),
            Some('S') => out.push_str("[^\\t\\n\\f\\r ]"),
            Some('b') => out.push_str("(?-u:\\b)"),
            Some(other) => out.extend(['\\', other]),
            None => out.push('\\'),
        }
    }
    out
}

/// Whether the matcher holds for a value; a missing label is the empty text.
pub(crate) fn holds(matcher: &Matcher, value: Option<&str>, mode: Mode) -> Result<bool, Error> {
    let value = value.unwrap_or("");
    Ok(match matcher.op {
        MatchOp::Equal => value == matcher.value,
        MatchOp::NotEqual => value != matcher.value,
        MatchOp::Regex => regex(&matcher.value, mode)?.is_match(value),
        MatchOp::NotRegex => !regex(&matcher.value, mode)?.is_match(value),
    })
}
