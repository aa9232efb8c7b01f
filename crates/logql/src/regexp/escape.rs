//! What a backslash begins, inside and outside of classes.

use super::RegexError;
use super::translate::fault;

/// Meaning of an escape.
pub(super) enum Escape {
    /// This character.
    Character(char),
    /// This class, which may stand alone or inside another class.
    Class(String),
}

/// Reads the escape at the start of the text; answers the text behind it too.
pub(super) fn escape(text: &str) -> Result<(Escape, &str), RegexError> {
    let Some(kind) = text[1..].chars().next() else {
        return fault("trailing backslash at end of expression", "");
    };
    if let Some(class) = ascii_class(kind) {
        return Ok((Escape::Class(class.to_owned()), &text[2..]));
    }
    if matches!(kind, 'p' | 'P') {
        let (class, after) = unicode_class(text, kind == 'P')?;
        return Ok((Escape::Class(class), after));
    }
    let (character, after) = character(text)?;
    Ok((Escape::Character(character), after))
}

fn ascii_class(kind: char) -> Option<&'static str> {
    Some(match kind {
        'd' => "[0-9]",
        'D' => "[^0-9]",
        's' => r"[\t\n\x0C\r ]",
        'S' => r"[^\t\n\x0C\r ]",
        'w' => "[0-9A-Za-z_]",
        'W' => "[^0-9A-Za-z_]",
        _ => return None,
    })
}

/// Reads `\pN`, `\p{Name}` or `\p{^Name}`.
fn unicode_class(text: &str, negated: bool) -> Result<(String, &str), RegexError> {
    const PROBLEM: &str = "invalid character class range";
    let Some(first) = text[2..].chars().next() else {
        return fault(PROBLEM, text);
    };
    let (whole, name) = if first == '{' {
        let Some(end) = text.find('}') else {
            return fault(PROBLEM, text);
        };
        (&text[..=end], &text[3..end])
    } else {
        let end = 2 + first.len_utf8();
        (&text[..end], &text[2..end])
    };
    let (name, negated) = match name.strip_prefix('^') {
        Some(name) => (name, !negated),
        None => (name, negated),
    };
    let is_name = !name.is_empty() && name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric());
    let class = format!(r"\{}{{{name}}}", if negated { 'P' } else { 'p' });
    if !is_name || regex_syntax::parse(&class).is_err() {
        return fault(PROBLEM, whole);
    }
    Ok((class, &text[whole.len()..]))
}

/// Reads an escape that stands for one character.
pub(super) fn character(text: &str) -> Result<(char, &str), RegexError> {
    let Some(kind) = text[1..].chars().next() else {
        return fault("trailing backslash at end of expression", "");
    };
    let after = &text[1 + kind.len_utf8()..];
    let plain = match kind {
        'a' => '\u{7}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\u{b}',
        'x' => return hexadecimal(text, after),
        // A single digit other than zero would be a back-reference.
        '1'..='7' if !after.starts_with(is_octal) => return fault(PROBLEM, &text[..2]),
        '0'..='7' => return octal(text),
        c if c.is_ascii() && !c.is_ascii_alphanumeric() => c,
        _ => return fault(PROBLEM, &text[..1 + kind.len_utf8()]),
    };
    Ok((plain, after))
}

const PROBLEM: &str = "invalid escape sequence";

fn is_octal(c: char) -> bool {
    c.is_digit(8)
}

fn octal(text: &str) -> Result<(char, &str), RegexError> {
    let digits = text[1..].chars().take(3).take_while(|c| is_octal(*c)).count();
    let value = u32::from_str_radix(&text[1..=digits], 8).ok().and_then(char::from_u32);
    match value {
        Some(c) => Ok((c, &text[1 + digits..])),
        None => fault(PROBLEM, &text[..=digits]),
    }
}

/// Reads the digits after `\x`: two, or any number in braces.
fn hexadecimal<'a>(text: &'a str, after: &'a str) -> Result<(char, &'a str), RegexError> {
    let (digits, rest) = match after.strip_prefix('{') {
        Some(inner) => match inner.split_once('}') {
            Some(parts) => parts,
            None => return fault(PROBLEM, text),
        },
        None => {
            let length = after.chars().take(2).map(char::len_utf8).sum();
            let (digits, rest) = after.split_at(length);
            (if digits.chars().count() == 2 { digits } else { "" }, rest)
        }
    };
    let is_number = !digits.is_empty() && digits.chars().all(|c| c.is_ascii_hexdigit());
    let value = if is_number {
        u32::from_str_radix(digits, 16).ok().and_then(char::from_u32)
    } else {
        None
    };
    match value {
        Some(c) => Ok((c, rest)),
        None => fault(PROBLEM, text[..text.len() - rest.len()].trim_end_matches('}')),
    }
}
