// hot path: no locks, no logging, nothing allocated per line.

//! The stage `json` with expressions (logql.md 7.2).

use super::entry::{ErrorKind, Labels};
use super::json::NOT_AN_OBJECT;
use super::json_scan::{Cursor, Malformed, Value, append_string, unescape};
use super::needs::Needs;
use crate::ast::Extraction;

#[derive(Clone, Debug, PartialEq, Eq)]
enum PathPart {
    Key(Vec<u8>),
    Index(usize),
}

/// The stage `json a="b.c"`.
#[derive(Clone, Debug)]
pub(super) struct JsonPathStage {
    targets: Vec<(String, Vec<PathPart>)>,
    needs: Needs,
}

impl JsonPathStage {
    /// Compiles the expressions of the stage.
    pub(super) fn compile(extractions: &[Extraction], needs: Needs) -> Result<Self, String> {
        let target = |extraction: &Extraction| Ok((extraction.label.clone(), parse_path(&extraction.expression)?));
        Ok(Self {
            targets: extractions.iter().map(target).collect::<Result<_, String>>()?,
            needs,
        })
    }

    /// Adds the label of each expression.
    pub(super) fn run(&self, line: &[u8], labels: &mut Labels) {
        if !matches!(Cursor::new(line).peek(), Some(b'{' | b'[' | b'"')) {
            labels.fail(ErrorKind::JsonParser, |_| {});
            return;
        }
        for (name, path) in &self.targets {
            let found = find(line, path);
            if matches!(found, Found::Nothing) && labels.is_base(name.as_bytes()) {
                continue;
            }
            if let Some(open) = labels.open(name.as_bytes(), &self.needs) {
                match found {
                    Found::String(raw) => append_string(raw, labels.value()),
                    Found::Text(text) => labels.value().extend_from_slice(text),
                    Found::Nothing | Found::Damaged => {}
                }
                labels.close(&open);
            }
            if matches!(found, Found::Damaged) {
                labels.fail(ErrorKind::JsonParser, |details| {
                    details.extend_from_slice(NOT_AN_OBJECT)
                });
            }
        }
    }
}

enum Found<'a> {
    /// Text between quotes, escapes not undone.
    String(&'a [u8]),
    /// Number, boolean, object or array as written; empty for `null`.
    Text(&'a [u8]),
    /// The path leads nowhere, or the line is damaged before its end.
    Nothing,
    /// The value is there and does not end.
    Damaged,
}

fn find<'a>(line: &'a [u8], path: &[PathPart]) -> Found<'a> {
    let mut cursor = Cursor::new(line);
    for part in path {
        let is_there = match (part, cursor.value()) {
            (PathPart::Key(key), Ok(Value::Object)) => enter_member(&mut cursor, key),
            (PathPart::Index(index), Ok(Value::Array)) => enter_element(&mut cursor, *index),
            _ => Ok(false),
        };
        if is_there != Ok(true) {
            return Found::Nothing;
        }
    }
    cursor.peek();
    let start = cursor.position();
    match cursor.value() {
        Ok(Value::String(raw)) => Found::String(raw),
        Ok(Value::Literal(text)) => Found::Text(text),
        Ok(Value::Null) => Found::Text(b""),
        Ok(block) => match cursor.skip_rest(block) {
            Ok(()) => Found::Text(cursor.since(start)),
            Err(Malformed) => Found::Damaged,
        },
        Err(Malformed) => Found::Damaged,
    }
}

/// Goes to the value of the first member named `wanted` of the object just entered.
fn enter_member(cursor: &mut Cursor<'_>, wanted: &[u8]) -> Result<bool, Malformed> {
    let mut is_first = true;
    while !cursor.pass(b'}') {
        if !std::mem::replace(&mut is_first, false) && !cursor.pass(b',') {
            return Err(Malformed);
        }
        let key = cursor.key()?;
        if key == wanted || (key.contains(&b'\\') && is_escaped_form(key, wanted)) {
            return Ok(true);
        }
        let value = cursor.value()?;
        cursor.skip_rest(value)?;
    }
    Ok(false)
}

/// Goes to the element `index` of the array just entered.
fn enter_element(cursor: &mut Cursor<'_>, index: usize) -> Result<bool, Malformed> {
    if cursor.peek() == Some(b']') {
        return Ok(false);
    }
    for _ in 0..index {
        let value = cursor.value()?;
        cursor.skip_rest(value)?;
        if !cursor.pass(b',') {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Keys with escapes are rare enough for an allocation.
fn is_escaped_form(key: &[u8], wanted: &[u8]) -> bool {
    let mut plain = Vec::with_capacity(key.len());
    unescape(key, &mut plain) && plain == wanted
}

/// Parses `a.b["c"][0]`.
fn parse_path(text: &str) -> Result<Vec<PathPart>, String> {
    let fail = |problem: String| Err(format!("cannot parse expression [{text}]: syntax error: {problem}"));
    let mut path = Vec::new();
    let mut rest = text.trim();
    if rest.is_empty() {
        return fail("unexpected $end, expecting FIELD or LSB".to_owned());
    }
    while !rest.is_empty() {
        if let Some(inner) = rest.strip_prefix('[') {
            let Some((part, after)) = parse_bracket(inner) else {
                return fail(format!("unexpected {}, expecting STRING or INDEX", token_name(inner)));
            };
            path.push(part);
            rest = after.trim_start();
            continue;
        }
        let field = match rest.strip_prefix('.') {
            Some(after) if !path.is_empty() => after,
            None if path.is_empty() => rest,
            _ => return fail(format!("unexpected {}", token_name(rest))),
        };
        let is_start = |c: char| c.is_alphabetic() || c == '_';
        let length = field
            .find(|c: char| !is_start(c) && !c.is_ascii_digit())
            .unwrap_or(field.len());
        if !field.starts_with(is_start) {
            return fail(format!("unexpected {}, expecting FIELD", token_name(field)));
        }
        path.push(PathPart::Key(field.as_bytes()[..length].to_vec()));
        rest = field[length..].trim_start();
    }
    Ok(path)
}

/// Parses `"key"]` or `0]` and answers what follows.
fn parse_bracket(text: &str) -> Option<(PathPart, &str)> {
    let text = text.trim_start();
    let Some(quoted) = text.strip_prefix('"') else {
        let (index, after) = text.split_once(']')?;
        let index = index.trim();
        let is_number = !index.is_empty() && index.bytes().all(|b| b.is_ascii_digit());
        return is_number.then(|| Some((PathPart::Index(index.parse().ok()?), after)))?;
    };
    let mut escaped = false;
    let end = quoted.find(|c| {
        let is_end = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        is_end
    })?;
    let mut key = Vec::new();
    if !unescape(&quoted.as_bytes()[..end], &mut key) {
        return None;
    }
    let after = quoted[end + 1..].trim_start().strip_prefix(']')?;
    Some((PathPart::Key(key), after))
}

fn token_name(text: &str) -> &'static str {
    match text.chars().next() {
        None => "$end",
        Some('.') => "DOT",
        Some('[') => "LSB",
        Some(']') => "RSB",
        Some('"') => "STRING",
        Some(c) if c.is_ascii_digit() => "INDEX",
        Some(c) if c.is_alphabetic() || c == '_' => "FIELD",
        Some(_) => "character",
    }
}
