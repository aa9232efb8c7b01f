// hot path: no locks shared between cores, no logging above debug, no allocation per row.
//! Looks for a level field in a JSON or logfmt line without decoding the line.

use crate::level::{is_level_name, known_level};
use memchr::{memchr, memchr2};

/// Fields of objects nested deeper than this are not looked at (the outermost object has depth 0).
const MAX_FIELD_DEPTH: usize = 2;
/// Deeper nesting ends the search: the kinds of the open brackets are kept in the bits of one word.
const MAX_BRACKETS: usize = 64;

/// The level in a JSON object's fields; the least deep one counts. Damaged JSON is read as far as it goes.
pub(crate) fn json_level(line: &[u8]) -> Option<&'static str> {
    let start = line.iter().position(|byte| !byte.is_ascii_whitespace())?;
    if line[start] != b'{' {
        return None;
    }
    let mut nested: Option<(usize, &'static str)> = None;
    let mut arrays: u64 = 0; // bit n: the nth open bracket is `[`
    let mut depth: usize = 0;
    let mut key: Option<&[u8]> = None;
    let mut at = start + 1;
    while at < line.len() {
        match line[at] {
            b'"' => {
                let Some(length) = string_length(&line[at + 1..]) else {
                    break;
                };
                let text = &line[at + 1..at + 1 + length];
                at += length + 2;
                let in_object = arrays & (1 << depth) == 0;
                match key.take() {
                    Some(name) => {
                        let reachable = depth <= MAX_FIELD_DEPTH && arrays == 0 && is_level_name(name);
                        if let Some(level) = reachable.then(|| known_level(text)).flatten() {
                            if depth == 0 {
                                return Some(level);
                            }
                            if nested.is_none_or(|(found, _)| depth < found) {
                                nested = Some((depth, level));
                            }
                        }
                    }
                    None if in_object => key = Some(text),
                    None => {}
                }
                continue;
            }
            opening @ (b'{' | b'[') => {
                depth += 1;
                if depth == MAX_BRACKETS {
                    break;
                }
                arrays |= u64::from(opening == b'[') << depth;
                key = None;
            }
            b'}' | b']' => {
                arrays &= !(1 << depth);
                let Some(outer) = depth.checked_sub(1) else { break };
                depth = outer;
                key = None;
            }
            b',' => key = None,
            _ => {}
        }
        at += 1;
    }
    nested.map(|(_, level)| level)
}

/// The level in the fields of a logfmt line: `level=warn`, `level="warn"`.
pub(crate) fn logfmt_level(line: &[u8]) -> Option<&'static str> {
    memchr(b'=', line)?;
    let mut at = 0;
    while at < line.len() {
        if line[at].is_ascii_whitespace() {
            at += 1;
            continue;
        }
        let token = &line[at..];
        let key_length = token
            .iter()
            .position(|&byte| byte == b'=' || byte == b'"' || byte.is_ascii_whitespace())?;
        if token[key_length] == b'"' {
            at += key_length + 1 + string_length(&token[key_length + 1..])? + 1;
            continue;
        }
        if token[key_length] != b'=' {
            at += key_length;
            continue;
        }
        let value = &token[key_length + 1..];
        let (text, consumed) = if value.first() == Some(&b'"') {
            let length = string_length(&value[1..])?;
            (&value[1..1 + length], length + 2)
        } else {
            let length = value.iter().position(u8::is_ascii_whitespace).unwrap_or(value.len());
            (&value[..length], length)
        };
        if is_level_name(&token[..key_length])
            && let Some(level) = known_level(text)
        {
            return Some(level);
        }
        at += key_length + 1 + consumed;
    }
    None
}

/// Bytes before the quote that ends a string, `text` beginning behind the one that starts it.
fn string_length(text: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        let found = at + memchr2(b'"', b'\\', text.get(at..)?)?;
        if text[found] == b'"' {
            return Some(found);
        }
        at = found + 2;
    }
}
