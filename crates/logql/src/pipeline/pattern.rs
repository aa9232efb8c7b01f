// hot path: no locks, no logging, nothing allocated per line.

//! Patterns: the line filters `|>` and `!>` (logql.md 5.2) and the parser `pattern` (7.6).

use memchr::memmem::Finder;

use super::entry::Labels;
use super::needs::Needs;

#[derive(Clone, Debug)]
enum Part {
    Literal(Box<Finder<'static>>),
    /// `<_>`, without a name
    Capture(Option<String>),
}

/// Splits a pattern. Neighbouring literal characters are one part; a `<` that opens no capture is literal.
fn split(text: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut literal = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if let Some(name) = capture_name(rest) {
            if !literal.is_empty() {
                parts.push(Part::Literal(Box::new(Finder::new(&literal).into_owned())));
                literal.clear();
            }
            rest = &rest[name.len() + 2..];
            parts.push(Part::Capture((name != "_").then(|| name.to_owned())));
        } else {
            literal.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    if !literal.is_empty() {
        parts.push(Part::Literal(Box::new(Finder::new(&literal).into_owned())));
    }
    parts
}

/// The name in `<name>...`.
fn capture_name(text: &str) -> Option<&str> {
    let (name, _) = text.strip_prefix('<')?.split_once('>')?;
    let is_start = |c: char| c.is_ascii_alphabetic() || c == '_';
    (name.starts_with(is_start) && name.chars().all(|c| is_start(c) || c.is_ascii_digit())).then_some(name)
}

fn written(capture: Option<&String>) -> String {
    format!("<{}>", capture.map_or("_", String::as_str))
}

fn refuse_neighbours(parts: &[Part]) -> Result<(), String> {
    for pair in parts.windows(2) {
        if let [Part::Capture(a), Part::Capture(b)] = pair {
            let captures = written(a.as_ref()) + &written(b.as_ref());
            return Err(format!("found consecutive capture '{captures}': invalid expression"));
        }
    }
    Ok(())
}

/// The test of a pattern line filter.
#[derive(Clone, Debug)]
pub(super) struct PatternTest {
    parts: Vec<Part>,
}

impl PatternTest {
    /// Compiles the text of `|>`.
    pub(super) fn compile(text: &str) -> Result<Self, String> {
        let parts = split(text);
        for part in &parts {
            if let Part::Capture(Some(name)) = part {
                return Err(format!("named captures are not allowed: found '<{name}>'"));
            }
        }
        refuse_neighbours(&parts)?;
        Ok(Self { parts })
    }

    /// True if the line matches: literals are found from left to right, first occurrence, and a wildcard takes at least
    /// one byte; the first literal may lie anywhere, the end of the pattern is the end of the line.
    pub(super) fn matches(&self, line: &[u8]) -> bool {
        let mut rest = line;
        let mut after_wildcard = false;
        for part in &self.parts {
            match part {
                Part::Capture(_) => after_wildcard = true,
                Part::Literal(finder) => {
                    let Some(at) = finder.find(rest) else {
                        return false;
                    };
                    if after_wildcard && at == 0 {
                        return false;
                    }
                    rest = &rest[at + finder.needle().len()..];
                    after_wildcard = false;
                }
            }
        }
        rest.is_empty() != after_wildcard
    }
}

/// The stage `pattern`.
#[derive(Clone, Debug)]
pub(super) struct PatternStage {
    parts: Vec<Part>,
    needs: Needs,
}

impl PatternStage {
    /// Compiles the text of the stage.
    pub(super) fn compile(text: &str, needs: Needs) -> Result<Self, String> {
        let parts = split(text);
        let names: Vec<&String> = parts
            .iter()
            .filter_map(|p| {
                if let Part::Capture(name) = p {
                    name.as_ref()
                } else {
                    None
                }
            })
            .collect();
        if names.is_empty() {
            return Err("at least one capture is required".to_owned());
        }
        refuse_neighbours(&parts)?;
        for (at, name) in names.iter().enumerate() {
            if names[..at].contains(name) {
                return Err(format!("duplicate capture name ({name}): invalid expression"));
            }
        }
        Ok(Self { parts, needs })
    }

    /// Adds the captures. A literal that is not found gives the rest of the line to the capture before it and ends the
    /// extraction.
    pub(super) fn run(&self, line: &[u8], labels: &mut Labels) {
        let mut rest = line;
        let mut parts = self.parts.as_slice();
        if let [Part::Literal(first), others @ ..] = parts {
            let Some(after) = rest.strip_prefix(first.needle()) else {
                return;
            };
            (rest, parts) = (after, others);
        }
        while let [Part::Capture(name), others @ ..] = parts {
            let (found, needle_length) = match others.first() {
                Some(Part::Literal(finder)) => (finder.find(rest), finder.needle().len()),
                _ => (None, 0),
            };
            if let Some(name) = name {
                labels.add(name.as_bytes(), &rest[..found.unwrap_or(rest.len())], &self.needs);
            }
            let Some(at) = found else {
                return;
            };
            rest = &rest[at + needle_length..];
            parts = &others[1..];
        }
    }
}
