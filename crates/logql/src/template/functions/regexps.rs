// hot path: no locks, no logging, nothing allocated per entry in steady state.

//! Functions of regular expressions.

use std::ops::Range;

use regex::bytes::CaptureLocations;

use super::text_of;
use crate::template::context::{CachedRegex, Context, Outcome};
use crate::template::print::printf::character_length;
use crate::template::sink::Sink;
use crate::template::value::Value;

/// How many matches there are that do not overlap.
pub(super) fn count<'a>(context: &mut Context<'_, 'a>, arguments: &[Value<'a>]) -> Outcome<'a> {
    let cached = context.take_regex(text_of(arguments, 0))?;
    let mut count = 0;
    let text = text_of(arguments, 1);
    let mut matches = Matches::new(text);
    while matches
        .next(|at| cached.regex.find_at(text, at).map(|found| found.range()))
        .is_some()
    {
        count += 1;
    }
    context.keep_regex(cached);
    Ok(Value::Int(count))
}

/// Replaces all matches; `$1` and `${name}` stand for what a group matched.
pub(super) fn replace_all<'a>(context: &mut Context<'_, 'a>, arguments: &[Value<'a>]) -> Outcome<'a> {
    let replacement = text_of(arguments, 2);
    if !replacement.contains(&b'$') {
        return replace_all_literally(context, arguments);
    }
    let mut cached = context.take_regex(text_of(arguments, 0))?;
    let text = text_of(arguments, 1);
    let replaced = context.text(|out| append_replaced(&mut cached, text, replacement, out));
    context.keep_regex(cached);
    replaced
}

pub(super) fn replace_all_literally<'a>(context: &mut Context<'_, 'a>, arguments: &[Value<'a>]) -> Outcome<'a> {
    let cached = context.take_regex(text_of(arguments, 0))?;
    let (text, replacement) = (text_of(arguments, 1), text_of(arguments, 2));
    let replaced = context.text(|out| {
        let mut copied = 0;
        let mut matches = Matches::new(text);
        while let Some(found) = matches.next(|at| cached.regex.find_at(text, at).map(|found| found.range())) {
            out.push(&text[copied..found.start]);
            out.push(replacement);
            copied = found.end;
            if out.is_exceeded() {
                break;
            }
        }
        out.push(&text[copied..]);
    });
    context.keep_regex(cached);
    replaced
}

fn append_replaced(cached: &mut CachedRegex, text: &[u8], replacement: &[u8], out: &mut Sink<'_>) {
    let CachedRegex { regex, locations, .. } = cached;
    let mut copied = 0;
    let mut matches = Matches::new(text);
    while let Some(found) = matches.next(|at| regex.captures_read_at(locations, text, at).map(|found| found.range())) {
        out.push(&text[copied..found.start]);
        let group_of = |name: &[u8]| {
            let mut names = regex.capture_names();
            names.position(|group| group.is_some_and(|group| group.as_bytes() == name))
        };
        append_expanded(text, replacement, locations, group_of, out);
        copied = found.end;
        if out.is_exceeded() {
            break;
        }
    }
    out.push(&text[copied..]);
}

/// The matches in a text that do not overlap. An empty one right behind another does not count, and none is looked for within a
/// character.
struct Matches<'t> {
    text: &'t [u8],
    at: usize,
    last_end: Option<usize>,
}

impl<'t> Matches<'t> {
    fn new(text: &'t [u8]) -> Self {
        Self {
            text,
            at: 0,
            last_end: None,
        }
    }

    fn next(&mut self, mut find: impl FnMut(usize) -> Option<Range<usize>>) -> Option<Range<usize>> {
        while self.at <= self.text.len() {
            let found = find(self.at)?;
            self.at = if found.is_empty() {
                let rest = &self.text[found.end..];
                found.end + if rest.is_empty() { 1 } else { character_length(rest) }
            } else {
                found.end
            };
            if !found.is_empty() || self.last_end != Some(found.start) {
                self.last_end = Some(found.end);
                return Some(found);
            }
        }
        None
    }
}

/// Appends the replacement with its `$` filled in. A `$` before anything else is itself.
fn append_expanded(
    text: &[u8],
    replacement: &[u8],
    locations: &CaptureLocations,
    group_of: impl Fn(&[u8]) -> Option<usize>,
    out: &mut Sink<'_>,
) {
    let mut rest = replacement;
    while let Some(dollar) = memchr::memchr(b'$', rest) {
        out.push(&rest[..dollar]);
        rest = &rest[dollar + 1..];
        if let Some(after) = rest.strip_prefix(b"$") {
            out.push_byte(b'$');
            rest = after;
            continue;
        }
        let Some((name, after)) = group_name(rest) else {
            out.push_byte(b'$');
            continue;
        };
        rest = after;
        let number = std::str::from_utf8(name)
            .ok()
            .and_then(|name| name.parse::<usize>().ok());
        let group = number.or_else(|| group_of(name));
        if let Some((start, end)) = group.and_then(|group| locations.get(group)) {
            out.push(&text[start..end]);
        }
    }
    out.push(rest);
}

/// The name behind a `$`, and what follows it.
fn group_name(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let (inner, in_braces) = match text.strip_prefix(b"{") {
        Some(inner) => (inner, true),
        None => (text, false),
    };
    let is_name = |b: &u8| b.is_ascii_alphanumeric() || *b == b'_';
    let length = inner.iter().take_while(|b| is_name(b)).count();
    let (name, after) = inner.split_at(length);
    if name.is_empty() {
        return None;
    }
    Some((name, if in_braces { after.strip_prefix(b"}")? } else { after }))
}
