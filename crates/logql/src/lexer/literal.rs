//! Strings and numbers.

use super::token::TokenKind;
use crate::bytes_size::parse_bytes_size;
use crate::duration::{parse_go_duration, parse_prometheus_duration};

/// Reads the string literal at the start of `text`, which begins with `"` or a backtick (logql.md 2.4). Answers the
/// unquoted text and the length of the literal in bytes.
pub(crate) fn string(text: &str) -> Result<(String, usize), &'static str> {
    if let Some(raw) = text.strip_prefix('`') {
        let end = raw.find('`').ok_or(NOT_TERMINATED)?;
        return Ok((raw[..end].to_owned(), end + 2));
    }
    // Escapes can spell single bytes of a character, so that only the whole is UTF-8.
    let mut bytes = Vec::new();
    let mut rest = text.get(1..).ok_or(NOT_TERMINATED)?;
    loop {
        let special = rest.find(['"', '\\', '\n']).ok_or(NOT_TERMINATED)?;
        bytes.extend_from_slice(&rest.as_bytes()[..special]);
        rest = &rest[special..];
        match rest.as_bytes()[0] {
            b'"' => break,
            b'\n' => return Err(NOT_TERMINATED),
            _ => rest = escape(rest, &mut bytes)?,
        }
    }
    let length = text.len() - rest.len() + 1;
    let unquoted = String::from_utf8(bytes).map_err(|_| "string is not valid UTF-8")?;
    Ok((unquoted, length))
}

const NOT_TERMINATED: &str = "literal not terminated";
const INVALID_ESCAPE: &str = "invalid char escape";

/// Appends what the escape at the start of `text` stands for; answers the text behind it.
fn escape<'a>(text: &'a str, bytes: &mut Vec<u8>) -> Result<&'a str, &'static str> {
    let kind = text[1..].chars().next().ok_or(NOT_TERMINATED)?;
    let simple = match kind {
        'a' => 0x07,
        'b' => 0x08,
        'f' => 0x0c,
        'n' => b'\n',
        'r' => b'\r',
        't' => b'\t',
        'v' => 0x0b,
        '\\' => b'\\',
        '"' => b'"',
        '0'..='7' => {
            let value = digits(text, 1, 3, 8)?;
            bytes.push(u8::try_from(value).map_err(|_| INVALID_ESCAPE)?);
            return Ok(&text[4..]);
        }
        'x' => {
            let value = digits(text, 2, 2, 16)?;
            bytes.push(u8::try_from(value).map_err(|_| INVALID_ESCAPE)?);
            return Ok(&text[4..]);
        }
        'u' | 'U' => {
            let length = if kind == 'u' { 4 } else { 8 };
            let character = char::from_u32(digits(text, 2, length, 16)?).ok_or(INVALID_ESCAPE)?;
            bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            return Ok(&text[2 + length..]);
        }
        _ => return Err(INVALID_ESCAPE),
    };
    bytes.push(simple);
    Ok(&text[2..])
}

/// The number of exactly `length` digits from byte `start`.
fn digits(text: &str, start: usize, length: usize, radix: u32) -> Result<u32, &'static str> {
    let digits = text.get(start..start + length).ok_or(INVALID_ESCAPE)?;
    if !digits.chars().all(|c| c.is_digit(radix)) {
        return Err(INVALID_ESCAPE);
    }
    u32::from_str_radix(digits, radix).map_err(|_| INVALID_ESCAPE)
}

/// Reads the number, duration or size at the start of `text`, which begins with a digit or with a dot and a digit.
/// Answers the token and its length in bytes.
pub(super) fn number(text: &str) -> (TokenKind, usize) {
    let number_length = number_length(text);
    let after = &text[number_length..];
    if after.starts_with(|c: char| c == '_' || c.is_alphabetic()) {
        let in_word = |c: char| c == '_' || c == '.' || c.is_alphanumeric();
        let word_length = text.find(|c| !in_word(c)).unwrap_or(text.len());
        let word = &text[..word_length];
        let kind = if let Ok(ns) = parse_prometheus_duration(word).or_else(|_| parse_go_duration(word)) {
            TokenKind::Duration(ns)
        } else if let Some(bytes) = parse_bytes_size(word) {
            TokenKind::Bytes(bytes)
        } else {
            // Not a number and a word: `a > 5kb > 1` would then be two filters.
            TokenKind::Unknown(word.to_owned())
        };
        return (kind, word_length);
    }
    let digits = &text[..number_length];
    match digits.parse::<f64>() {
        Ok(value) if value.is_finite() => (TokenKind::Number(value), number_length),
        _ => {
            let message = format!("number {digits:?} is out of range");
            (
                TokenKind::Bad {
                    message,
                    in_range: false,
                },
                number_length,
            )
        }
    }
}

/// Length of `digits [. digits] [e [sign] digits]`.
fn number_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let skip_digits = |mut at: usize| {
        while bytes.get(at).is_some_and(u8::is_ascii_digit) {
            at += 1;
        }
        at
    };
    let mut end = skip_digits(0);
    if bytes.get(end) == Some(&b'.') {
        end = skip_digits(end + 1);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let digits = end + 1 + sign;
        let exponent_end = skip_digits(digits);
        if exponent_end > digits {
            end = exponent_end;
        }
    }
    end
}
