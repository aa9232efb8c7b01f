//! Paths of `| json a="b.c[0]"` (logql.md 7.2).

use crate::Error;
use crate::json::Value;

/// One step of a path.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Step {
    Member(String),
    Item(usize),
}

/// Takes a path apart.
pub(crate) fn parse(text: &str) -> Result<Vec<Step>, Error> {
    let mut steps = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        if let Some(inner) = rest.strip_prefix('[') {
            let (step, after) = bracket(inner).ok_or(Error::Parse)?;
            steps.push(step);
            rest = after;
            continue;
        }
        if !steps.is_empty() {
            rest = rest.strip_prefix('.').ok_or(Error::Parse)?;
        }
        let identifier = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let end = rest.find(|c| !identifier(c)).unwrap_or(rest.len());
        if end == 0 || rest.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(Error::Parse);
        }
        steps.push(Step::Member(rest[..end].to_owned()));
        rest = &rest[end..];
    }
    if steps.is_empty() { Err(Error::Parse) } else { Ok(steps) }
}

/// What stands behind `[`.
fn bracket(inner: &str) -> Option<(Step, &str)> {
    if let Some(quoted) = inner.strip_prefix('"') {
        let (name, after) = quoted.split_once('"')?;
        return Some((Step::Member(name.to_owned()), after.strip_prefix(']')?));
    }
    let (index, after) = inner.split_once(']')?;
    Some((Step::Item(index.trim().parse().ok()?), after))
}

/// The value at the end of the path.
pub(crate) fn find<'a>(value: &'a Value, path: &[Step]) -> Option<&'a Value> {
    let Some((step, rest)) = path.split_first() else {
        return Some(value);
    };
    let next = match (value, step) {
        (Value::Object(members, _), Step::Member(name)) => members.iter().find(|m| m.0 == *name).map(|m| &m.1),
        (Value::Array(items, _), Step::Item(index)) => items.get(*index),
        _ => None,
    };
    find(next?, rest)
}
