//! Templates, as much of them as the generator writes: text, labels, the line, and a few functions (logql.md 9).

use crate::Error;
use crate::entry::Labels;

/// What a template may read.
pub(crate) struct Data<'a> {
    pub(crate) labels: &'a Labels,
    pub(crate) line: &'a str,
}

/// The text that the template makes.
pub(crate) fn expand(template: &str, data: &Data<'_>) -> Result<String, Error> {
    let mut out = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        out.push_str(before);
        let (action, after) = after.split_once("}}").ok_or(Error::Parse)?;
        if action.contains('`') || action.starts_with('-') || action.ends_with('-') {
            return Err(Error::NotKnown("template"));
        }
        out.push_str(&pipeline(action, data)?);
        rest = after;
    }
    out.push_str(rest);
    Ok(out)
}

fn pipeline(action: &str, data: &Data<'_>) -> Result<String, Error> {
    let mut piped: Option<String> = None;
    for command in action.split('|') {
        let mut words = command.split_whitespace();
        let first = words.next().ok_or(Error::Parse)?;
        let mut arguments: Vec<String> = words.map(|w| operand(w, data)).collect::<Result<_, _>>()?;
        arguments.extend(piped.take());
        piped = Some(match (first, arguments.as_slice()) {
            ("ToUpper" | "upper", [text]) => text.to_uppercase(),
            ("ToLower" | "lower", [text]) => text.to_lowercase(),
            ("trim" | "TrimSpace", [text]) => text.trim().to_owned(),
            ("len", [text]) => text.len().to_string(),
            (_, []) => operand(first, data)?,
            _ => return Err(Error::NotKnown("template")),
        });
    }
    piped.ok_or(Error::Parse)
}

fn operand(word: &str, data: &Data<'_>) -> Result<String, Error> {
    let identifier = |c: char| c.is_ascii_alphanumeric() || c == '_';
    match word.strip_prefix('.') {
        Some(name) if !name.is_empty() && name.chars().all(identifier) => {
            Ok(data.labels.get(name).cloned().unwrap_or_default())
        }
        None if word == "__line__" => Ok(data.line.to_owned()),
        _ => Err(Error::NotKnown("template")),
    }
}
