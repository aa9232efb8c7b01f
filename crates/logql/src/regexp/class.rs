//! Bracketed classes. RE2 has no nested classes and no set operations: `[`, `&&`, `--` and `~~` are literals there.

use super::RegexError;
use super::escape::{Escape, character, escape};
use super::translate::{fault, write_literal};

const POSIX_NAMES: [&str; 14] = [
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space", "upper", "word",
    "xdigit",
];

/// Rewrites the class at the start of the text; answers the text behind it.
pub(super) fn class<'a>(text: &'a str, output: &mut String) -> Result<&'a str, RegexError> {
    let mut rest = &text[1..];
    output.push('[');
    if let Some(after) = rest.strip_prefix('^') {
        output.push('^');
        rest = after;
    }
    let mut is_first = true;
    loop {
        if !is_first && let Some(after) = rest.strip_prefix(']') {
            output.push(']');
            return Ok(after);
        }
        is_first = false;
        if let Some((name, after)) = posix_class(rest)? {
            output.push_str(name);
            rest = after;
            continue;
        }
        if rest.starts_with('\\')
            && let (Escape::Class(class), after) = escape(rest)?
        {
            output.push_str(&class);
            rest = after;
            continue;
        }
        rest = range(text, rest, output)?;
    }
}

/// Reads `[:alpha:]` or `[:^alpha:]`, which both languages share. Without `:]` the bracket is a literal.
fn posix_class(text: &str) -> Result<Option<(&str, &str)>, RegexError> {
    let Some(inner) = text.strip_prefix("[:") else {
        return Ok(None);
    };
    let Some(length) = inner.find(":]") else {
        return Ok(None);
    };
    let (whole, after) = text.split_at(length + 4);
    let name = &inner[..length];
    if POSIX_NAMES.contains(&name.strip_prefix('^').unwrap_or(name)) {
        Ok(Some((whole, after)))
    } else {
        fault("invalid character class range", whole)
    }
}

/// Rewrites one character, or two with a dash between. `class` is the text from the start of the class.
fn range<'a>(class: &'a str, text: &'a str, output: &mut String) -> Result<&'a str, RegexError> {
    let (low, after) = single(class, text)?;
    write_literal(output, low);
    let Some(high_text) = after.strip_prefix('-').filter(|high| !high.starts_with(']')) else {
        return Ok(after);
    };
    let (high, after) = single(class, high_text)?;
    if high < low {
        return fault("invalid character class range", &text[..text.len() - after.len()]);
    }
    output.push('-');
    write_literal(output, high);
    Ok(after)
}

fn single<'a>(class: &'a str, text: &'a str) -> Result<(char, &'a str), RegexError> {
    match text.chars().next() {
        None => fault("missing closing ]", class),
        Some('\\') => character(text),
        Some(c) => Ok((c, &text[c.len_utf8()..])),
    }
}
