//! Patterns: literals and `<name>` captures, of `| pattern` (logql.md 7.6) and of `|>` (5.2).

use crate::Error;

/// One piece of a pattern.
#[derive(Clone, Debug, PartialEq)]
enum Part {
    Literal(String),
    /// `_` is one that is thrown away.
    Capture(String),
}

fn parts(text: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut literal = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if let Some(name) = capture_at(rest) {
            if !literal.is_empty() {
                parts.push(Part::Literal(std::mem::take(&mut literal)));
            }
            parts.push(Part::Capture(name.to_owned()));
            rest = &rest[name.len() + 2..];
        } else {
            literal.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    if !literal.is_empty() {
        parts.push(Part::Literal(literal));
    }
    parts
}

/// The name of a capture that starts here.
fn capture_at(text: &str) -> Option<&str> {
    let name = text.strip_prefix('<')?.split_once('>')?.0;
    let identifier = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let valid = !name.is_empty() && name.chars().all(identifier) && !name.starts_with(|c: char| c.is_ascii_digit());
    valid.then_some(name)
}

fn adjacent_captures(parts: &[Part]) -> bool {
    parts
        .windows(2)
        .any(|two| matches!(two, [Part::Capture(_), Part::Capture(_)]))
}

/// What `| pattern` takes from a line.
pub(crate) fn captures(pattern: &str, line: &str) -> Result<Vec<(String, String)>, Error> {
    let parts = parts(pattern);
    let mut names: Vec<&String> = Vec::new();
    for part in &parts {
        if let Part::Capture(name) = part
            && name != "_"
        {
            if names.contains(&name) {
                return Err(Error::Parse);
            }
            names.push(name);
        }
    }
    if names.is_empty() || adjacent_captures(&parts) {
        return Err(Error::Parse);
    }
    let mut found = Vec::new();
    let mut rest = line;
    let mut parts = parts.iter();
    let mut pending: Option<&String> = None;
    for part in &mut parts {
        match part {
            Part::Capture(name) => pending = Some(name),
            Part::Literal(literal) => match pending.take() {
                None => match rest.strip_prefix(literal.as_str()) {
                    Some(after) => rest = after,
                    None => return Ok(found),
                },
                Some(name) => match rest.split_once(literal.as_str()) {
                    Some((value, after)) => {
                        found.push((name.clone(), value.to_owned()));
                        rest = after;
                    }
                    None => {
                        found.push((name.clone(), rest.to_owned()));
                        pending = None;
                        break;
                    }
                },
            },
        }
    }
    if let Some(name) = pending {
        found.push((name.clone(), rest.to_owned()));
    }
    found.retain(|(name, _)| name != "_");
    Ok(found)
}

/// Whether `|>` finds the pattern in a line.
pub(crate) fn matches(pattern: &str, line: &str) -> Result<bool, Error> {
    let parts = parts(pattern);
    let named = parts.iter().any(|p| matches!(p, Part::Capture(name) if name != "_"));
    if named || adjacent_captures(&parts) {
        return Err(Error::Parse);
    }
    if parts.is_empty() {
        return Ok(line.is_empty());
    }
    let mut rest = line;
    // The first literal is searched anywhere.
    let mut wildcard = false;
    for (index, part) in parts.iter().enumerate() {
        let last = index + 1 == parts.len();
        match part {
            Part::Capture(_) if last => return Ok(!rest.is_empty()),
            Part::Capture(_) => wildcard = true,
            Part::Literal(literal) => {
                // The first occurrence counts, and a wildcard takes at least one byte.
                let Some((before, after)) = rest.split_once(literal.as_str()) else {
                    return Ok(false);
                };
                if wildcard && before.is_empty() {
                    return Ok(false);
                }
                rest = after;
                wildcard = false;
            }
        }
    }
    Ok(rest.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_are_as_described() {
        let f = |pattern, line, want| assert_eq!(matches(pattern, line), Ok(want), "{pattern} {line}");
        f("a<_>c", "abc", true);
        f("a<_>c", "ac", false);
        f("foo<_>", "a foo b", true);
        f("<_>foo", "foo bar", false);
        f("<_>foo", "a foo b", false);
        f("<_>foo", "a foo", true);
        f("", "", true);
        f("", "x", false);
        assert_eq!(matches("<name>", "x"), Err(Error::Parse));
        assert_eq!(matches("<_><_>", "x"), Err(Error::Parse));
    }
}
