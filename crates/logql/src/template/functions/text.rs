// hot path: no locks, no logging, nothing allocated per entry in steady state.

//! Functions of texts. Lengths and places count bytes, except where characters are named.

use memchr::memmem;

use super::{int_of, text_of};
use crate::template::context::{Context, Failure, Outcome};
use crate::template::limits::MAX_TEXT_BYTES;
use crate::template::print::printf::character_length;
use crate::template::sink::Sink;
use crate::template::value::Value;

pub(super) fn lower<'a>(context: &mut Context<'_, 'a>, arguments: &[Value<'a>]) -> Outcome<'a> {
    map_characters(context, text_of(arguments, 0), to_lower)
}

pub(super) fn upper<'a>(context: &mut Context<'_, 'a>, arguments: &[Value<'a>]) -> Outcome<'a> {
    map_characters(context, text_of(arguments, 0), to_upper)
}

/// The first letter of each word in upper case.
pub(super) fn title<'a>(context: &mut Context<'_, 'a>, arguments: &[Value<'a>]) -> Outcome<'a> {
    let mut before = ' ';
    map_characters(context, text_of(arguments, 0), |c| {
        let starts = is_separator(before);
        before = c;
        if starts { to_upper(c) } else { c }
    })
}

fn is_separator(c: char) -> bool {
    if c.is_ascii() {
        !c.is_ascii_alphanumeric() && c != '_'
    } else {
        c.is_whitespace()
    }
}

/// Go maps each character to one character. What is not UTF-8 becomes U+FFFD, unless all is ASCII.
fn map_characters<'a>(context: &mut Context<'_, 'a>, text: &'a [u8], mut map: impl FnMut(char) -> char) -> Outcome<'a> {
    context.text(|out| {
        for chunk in text.utf8_chunks() {
            chunk.valid().chars().for_each(|c| out.push_char(map(c)));
            for _ in chunk.invalid() {
                out.push_char(map('\u{fffd}'));
            }
        }
    })
}

fn to_upper(c: char) -> char {
    match c {
        c if c.is_ascii() => c.to_ascii_uppercase(),
        // Their full forms are two characters, their simple ones one.
        '\u{1f80}'..='\u{1f87}' | '\u{1f90}'..='\u{1f97}' | '\u{1fa0}'..='\u{1fa7}' => {
            char::from_u32(u32::from(c) + 8).unwrap_or(c)
        }
        '\u{1fb3}' | '\u{1fc3}' | '\u{1ff3}' => char::from_u32(u32::from(c) + 9).unwrap_or(c),
        _ => only(c.to_uppercase(), c),
    }
}

fn to_lower(c: char) -> char {
    match c {
        c if c.is_ascii() => c.to_ascii_lowercase(),
        '\u{130}' => 'i',
        _ => only(c.to_lowercase(), c),
    }
}

fn only(mut mapped: impl Iterator<Item = char>, otherwise: char) -> char {
    match (mapped.next(), mapped.next()) {
        (Some(c), None) => c,
        _ => otherwise,
    }
}

pub(super) fn replace_first<'a>(context: &mut Context<'_, 'a>, arguments: &[Value<'a>]) -> Outcome<'a> {
    let (text, old, new) = (text_of(arguments, 0), text_of(arguments, 1), text_of(arguments, 2));
    replace(context, text, old, new, int_of(arguments, 3))
}

pub(super) fn replace_all<'a>(context: &mut Context<'_, 'a>, arguments: &[Value<'a>]) -> Outcome<'a> {
    let (old, new, text) = (text_of(arguments, 0), text_of(arguments, 1), text_of(arguments, 2));
    replace(context, text, old, new, -1)
}

/// Replaces the first `count` places, or all if it is negative. The empty text is found before each character and at the end.
fn replace<'a>(context: &mut Context<'_, 'a>, text: &'a [u8], old: &'a [u8], new: &'a [u8], count: i64) -> Outcome<'a> {
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    if old == new || count == 0 {
        return Ok(Value::Text(text));
    }
    context.text(|out| {
        if old.is_empty() {
            let mut rest = text;
            for _ in 0..count {
                out.push(new);
                if rest.is_empty() || out.is_exceeded() {
                    break;
                }
                let (character, after) = rest.split_at(character_length(rest));
                out.push(character);
                rest = after;
            }
            out.push(rest);
            return;
        }
        let mut rest = text;
        for at in memmem::find_iter(text, old).take(count) {
            let copied = text.len() - rest.len();
            out.push(&text[copied..at]);
            out.push(new);
            rest = &text[at + old.len()..];
            if out.is_exceeded() {
                break;
            }
        }
        out.push(rest);
    })
}

pub(super) fn trim_space<'a>(_: &mut Context<'_, 'a>, arguments: &[Value<'a>]) -> Outcome<'a> {
    let text = text_of(arguments, 0);
    let text = trim_start(text, char::is_whitespace);
    Ok(Value::Text(trim_end(text, char::is_whitespace)))
}

pub(super) fn trim_cutset<'a>(_: &mut Context<'_, 'a>, arguments: &[Value<'a>]) -> Outcome<'a> {
    Ok(trim_both(text_of(arguments, 0), text_of(arguments, 1)))
}

pub(super) fn trim_all<'a>(_: &mut Context<'_, 'a>, arguments: &[Value<'a>]) -> Outcome<'a> {
    Ok(trim_both(text_of(arguments, 1), text_of(arguments, 0)))
}

pub(super) fn trim_left<'a>(_: &mut Context<'_, 'a>, arguments: &[Value<'a>]) -> Outcome<'a> {
    let cutset = text_of(arguments, 1);
    Ok(Value::Text(trim_start(text_of(arguments, 0), |c| is_in(cutset, c))))
}

pub(super) fn trim_right<'a>(_: &mut Context<'_, 'a>, arguments: &[Value<'a>]) -> Outcome<'a> {
    let cutset = text_of(arguments, 1);
    Ok(Value::Text(trim_end(text_of(arguments, 0), |c| is_in(cutset, c))))
}

fn trim_both<'a>(text: &'a [u8], cutset: &[u8]) -> Value<'a> {
    let text = trim_start(text, |c| is_in(cutset, c));
    Value::Text(trim_end(text, |c| is_in(cutset, c)))
}

fn is_in(cutset: &[u8], c: char) -> bool {
    cutset.utf8_chunks().any(|chunk| chunk.valid().contains(c))
}

fn trim_start(mut text: &[u8], cuts: impl Fn(char) -> bool) -> &[u8] {
    while !text.is_empty() {
        let (head, rest) = text.split_at(character_length(text));
        if !cuts(first_character(head)) {
            break;
        }
        text = rest;
    }
    text
}

fn trim_end(mut text: &[u8], cuts: impl Fn(char) -> bool) -> &[u8] {
    while !text.is_empty() {
        // The longest character that ends the text, or a byte that is none.
        let fits = |length: &usize| *length <= text.len() && std::str::from_utf8(&text[text.len() - length..]).is_ok();
        let is_start = |length: &usize| text[text.len() - length] & 0xc0 != 0x80;
        let length = (1..=4).find(|length| fits(length) && is_start(length)).unwrap_or(1);
        let (rest, tail) = text.split_at(text.len() - length);
        if !cuts(first_character(tail)) {
            break;
        }
        text = rest;
    }
    text
}

fn first_character(text: &[u8]) -> char {
    let chunk = text.utf8_chunks().next();
    chunk
        .and_then(|chunk| chunk.valid().chars().next())
        .unwrap_or('\u{fffd}')
}

pub(super) fn trim_prefix<'a>(_: &mut Context<'_, 'a>, arguments: &[Value<'a>]) -> Outcome<'a> {
    let (text, prefix) = (text_of(arguments, 0), text_of(arguments, 1));
    Ok(Value::Text(text.strip_prefix(prefix).unwrap_or(text)))
}

pub(super) fn trim_prefix_first<'a>(_: &mut Context<'_, 'a>, arguments: &[Value<'a>]) -> Outcome<'a> {
    let (prefix, text) = (text_of(arguments, 0), text_of(arguments, 1));
    Ok(Value::Text(text.strip_prefix(prefix).unwrap_or(text)))
}

pub(super) fn trim_suffix<'a>(_: &mut Context<'_, 'a>, arguments: &[Value<'a>]) -> Outcome<'a> {
    let (text, suffix) = (text_of(arguments, 0), text_of(arguments, 1));
    Ok(Value::Text(text.strip_suffix(suffix).unwrap_or(text)))
}

pub(super) fn trim_suffix_first<'a>(_: &mut Context<'_, 'a>, arguments: &[Value<'a>]) -> Outcome<'a> {
    let (suffix, text) = (text_of(arguments, 0), text_of(arguments, 1));
    Ok(Value::Text(text.strip_suffix(suffix).unwrap_or(text)))
}

pub(super) fn contains<'a>(_: &mut Context<'_, 'a>, arguments: &[Value<'a>]) -> Outcome<'a> {
    let found = memmem::find(text_of(arguments, 1), text_of(arguments, 0));
    Ok(Value::Bool(found.is_some()))
}

pub(super) fn has_prefix<'a>(_: &mut Context<'_, 'a>, arguments: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::Bool(text_of(arguments, 1).starts_with(text_of(arguments, 0))))
}

pub(super) fn has_suffix<'a>(_: &mut Context<'_, 'a>, arguments: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::Bool(text_of(arguments, 1).ends_with(text_of(arguments, 0))))
}

/// The first bytes, or the last ones if the number is negative.
pub(super) fn truncate<'a>(_: &mut Context<'_, 'a>, arguments: &[Value<'a>]) -> Outcome<'a> {
    let (count, text) = (int_of(arguments, 0), text_of(arguments, 1));
    let kept = usize::try_from(count.unsigned_abs())
        .unwrap_or(usize::MAX)
        .min(text.len());
    Ok(Value::Text(if count < 0 {
        &text[text.len() - kept..]
    } else {
        &text[..kept]
    }))
}

/// The bytes from a place to another one.
pub(super) fn substring<'a>(context: &mut Context<'_, 'a>, arguments: &[Value<'a>]) -> Outcome<'a> {
    let (start, end, text) = (int_of(arguments, 0), int_of(arguments, 1), text_of(arguments, 2));
    let length = text.len() as i64;
    let (from, to) = match (start, end) {
        (start, end) if start < 0 => (0, end),
        (start, end) if end < 0 || end > length => (start, length),
        both => both,
    };
    let found = usize::try_from(from).ok().zip(usize::try_from(to).ok());
    if let Some(part) = found.and_then(|(from, to)| text.get(from..to)) {
        return Ok(Value::Text(part));
    }
    Err(if to < 0 {
        context.fail(format_args!("runtime error: slice bounds out of range [:{to}]"))
    } else if to > length {
        context.fail(format_args!(
            "runtime error: slice bounds out of range [:{to}] with length {length}"
        ))
    } else {
        context.fail(format_args!("runtime error: slice bounds out of range [{from}:{to}]"))
    })
}

pub(super) fn indent<'a>(context: &mut Context<'_, 'a>, arguments: &[Value<'a>]) -> Outcome<'a> {
    let spaces = repeat_count(context, int_of(arguments, 0))?;
    context.text(|out| append_indented(text_of(arguments, 1), spaces, out))
}

pub(super) fn newline_indent<'a>(context: &mut Context<'_, 'a>, arguments: &[Value<'a>]) -> Outcome<'a> {
    let spaces = repeat_count(context, int_of(arguments, 0))?;
    context.text(|out| {
        out.push_byte(b'\n');
        append_indented(text_of(arguments, 1), spaces, out);
    })
}

fn append_indented(text: &[u8], spaces: usize, out: &mut Sink<'_>) {
    for (at, line) in text.split(|b| *b == b'\n').enumerate() {
        if at > 0 {
            out.push_byte(b'\n');
        }
        out.push_repeated(b" ", spaces);
        out.push(line);
        if out.is_exceeded() {
            break;
        }
    }
}

pub(super) fn repeat<'a>(context: &mut Context<'_, 'a>, arguments: &[Value<'a>]) -> Outcome<'a> {
    let count = repeat_count(context, int_of(arguments, 0))?;
    let text = text_of(arguments, 1);
    context.text(|out| out.push_repeated(text, count))
}

fn repeat_count(context: &mut Context<'_, '_>, count: i64) -> Result<usize, Failure> {
    usize::try_from(count).map_err(|_| context.fail(format_args!("strings: negative Repeat count")))
}

pub(super) fn align_left<'a>(context: &mut Context<'_, 'a>, arguments: &[Value<'a>]) -> Outcome<'a> {
    align(context, int_of(arguments, 0), text_of(arguments, 1), false)
}

pub(super) fn align_right<'a>(context: &mut Context<'_, 'a>, arguments: &[Value<'a>]) -> Outcome<'a> {
    align(context, int_of(arguments, 0), text_of(arguments, 1), true)
}

/// Exactly so many characters: padded with spaces or cut. A negative number leaves the text as it is.
fn align<'a>(context: &mut Context<'_, 'a>, width: i64, text: &'a [u8], right: bool) -> Outcome<'a> {
    let Ok(width) = usize::try_from(width) else {
        return Ok(Value::Text(text));
    };
    let (mut length, mut rest) = (0, text);
    while !rest.is_empty() {
        rest = &rest[character_length(rest)..];
        length += 1;
    }
    if width >= length {
        let missing = width - length;
        if missing > MAX_TEXT_BYTES {
            return Err(context.fail(format_args!("width {width} exceeds {MAX_TEXT_BYTES}")));
        }
        return context.text(|out| {
            out.push_repeated(b" ", if right { missing } else { 0 });
            out.push(text);
            out.push_repeated(b" ", if right { 0 } else { missing });
        });
    }
    // Cut behind the characters that stay, or before them.
    let passed = if right { length - width } else { width };
    let mut rest = text;
    for _ in 0..passed {
        rest = &rest[character_length(rest)..];
    }
    Ok(Value::Text(if right { rest } else { &text[..text.len() - rest.len()] }))
}
