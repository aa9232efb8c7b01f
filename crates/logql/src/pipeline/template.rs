// hot path: no locks, no logging, nothing allocated per entry in steady state.

//! Templates made of text and plain fields (logql.md 9). Functions, variables and control structures are refused by name.

use super::CompileError;
use super::entry::Labels;

/// Bound of what one expansion may write. Templates that repeat a label would otherwise double the memory with each stage.
const MAX_OUTPUT_BYTES: usize = 16 << 20;

/// A compiled template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Template {
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    /// `{{.name}}`; nothing if the label is absent
    Field(String),
    /// `{{__line__}}`
    Line,
}

/// An expansion grew too long.
pub(super) struct TooLong;

impl Template {
    /// Compiles a template.
    pub(super) fn compile(text: &str) -> Result<Self, CompileError> {
        let mut parts: Vec<Part> = Vec::new();
        let mut rest = text;
        let mut trim_left = false;
        loop {
            let (mut literal, action) = match rest.split_once("{{") {
                Some((literal, action)) => (literal, Some(action)),
                None => (rest, None),
            };
            if trim_left {
                literal = literal.trim_start_matches(is_space);
            }
            let starts_trim = |a: &str| a.starts_with('-') && a[1..].starts_with(is_space);
            if action.is_some_and(starts_trim) {
                literal = literal.trim_end_matches(is_space);
            }
            if !literal.is_empty() {
                parts.push(Part::Text(literal.to_owned()));
            }
            let Some(action) = action else {
                return Ok(Self { parts });
            };
            let body = if starts_trim(action) { &action[1..] } else { action };
            let Some(end) = end_of_action(body) else {
                return Err(CompileError::Invalid("template: line:1: unclosed action".to_owned()));
            };
            let (inner, after) = (&body[..end], &body[end + 2..]);
            let marked = inner.strip_suffix('-').filter(|i| i.ends_with(is_space));
            trim_left = marked.is_some();
            parts.extend(compile_action(marked.unwrap_or(inner).trim_matches(is_space))?);
            rest = after;
        }
    }

    /// The labels that the template reads.
    pub(super) fn fields(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| {
            if let Part::Field(name) = part {
                Some(name.as_str())
            } else {
                None
            }
        })
    }

    /// True if the template reads the line.
    pub(super) fn reads_line(&self) -> bool {
        self.parts.contains(&Part::Line)
    }

    /// Appends the expansion to `out`.
    pub(super) fn expand(&self, labels: &Labels, line: &[u8], out: &mut Vec<u8>) -> Result<(), TooLong> {
        let start = out.len();
        for part in &self.parts {
            let text = match part {
                Part::Text(text) => text.as_bytes(),
                Part::Field(name) => labels.get(name.as_bytes()).unwrap_or_default(),
                Part::Line => line,
            };
            if out.len() - start + text.len() > MAX_OUTPUT_BYTES {
                return Err(TooLong);
            }
            out.extend_from_slice(text);
        }
        Ok(())
    }
}

impl TooLong {
    /// Appends the message.
    pub(super) fn write(self, out: &mut Vec<u8>) {
        out.extend_from_slice(format!("template output exceeds {MAX_OUTPUT_BYTES} bytes").as_bytes());
    }
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n')
}

/// Where `}}` closes the action; braces in strings and comments do not count.
fn end_of_action(body: &str) -> Option<usize> {
    if let Some(comment) = body.trim_start_matches(is_space).strip_prefix("/*") {
        let from = body.len() - comment.len() + comment.find("*/")?;
        return Some(from + body[from..].find("}}")?);
    }
    let mut quote = None;
    let mut escaped = false;
    for (at, c) in body.char_indices() {
        match quote {
            Some(_) if escaped => escaped = false,
            Some('"') if c == '\\' => escaped = true,
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if c == '"' || c == '`' => quote = Some(c),
            None if body[at..].starts_with("}}") => return Some(at),
            None => {}
        }
    }
    None
}

fn compile_action(action: &str) -> Result<Option<Part>, CompileError> {
    if action.starts_with("/*") && action.ends_with("*/") {
        return Ok(None);
    }
    if action == "__line__" {
        return Ok(Some(Part::Line));
    }
    if let Some(name) = action.strip_prefix('.')
        && is_identifier(name)
    {
        return Ok(Some(Part::Field(name.to_owned())));
    }
    if let Some(text) = action.strip_prefix('`').and_then(|t| t.strip_suffix('`'))
        && !text.contains('`')
    {
        return Ok(Some(Part::Text(text.to_owned())));
    }
    if action.is_empty() {
        return Err(CompileError::Invalid(
            "template: line:1: missing value for command".to_owned(),
        ));
    }
    let word = action
        .split(is_space)
        .find(|word| is_identifier(word))
        .unwrap_or(action);
    Err(CompileError::NotSupported(format!(
        "template action \"{word}\" in \"{{{{{action}}}}}\""
    )))
}

fn is_identifier(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_') && text.chars().all(|c| c.is_alphanumeric() || c == '_')
}
