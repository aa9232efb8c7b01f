//! Parsers: stages that make labels of a line (logql.md 7).

use crate::entry::Entry;
use crate::json::Value;
use crate::text::{Mode, regex};
use crate::{Error, json, json_path, logfmt, pattern};
use timberline_logql::ast::Extraction;

const JSON_ERROR: &str = "JSONParserErr";
const LOGFMT_ERROR: &str = "LogfmtParserErr";

/// A name as a label (logql.md 10.3).
fn sanitised(name: &str) -> String {
    let name = name.trim();
    let valid = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' };
    let mut out: String = name.chars().map(valid).collect();
    if out.starts_with(|c: char| c.is_ascii_digit()) {
        out.insert(0, '_');
    }
    out
}

/// `| json`
pub(crate) fn json_all(entry: &mut Entry) {
    let line = entry.line.clone();
    let (value, intact) = json::read(&line);
    match value {
        Some(Value::Object(members, _)) => {
            for (name, value) in &members {
                flatten(entry, name, value);
            }
            if !intact {
                entry.fail(JSON_ERROR, true);
            }
        }
        _ => entry.fail(JSON_ERROR, true),
    }
}

fn flatten(entry: &mut Entry, name: &str, value: &Value) {
    match value {
        // Of an inner object that does not end nothing is taken.
        Value::Object(_, None) => {}
        Value::Object(members, Some(_)) => {
            for (member, value) in members {
                flatten(entry, &format!("{name}_{member}"), value);
            }
        }
        Value::Array(..) | Value::Null | Value::Damaged => {}
        Value::Text(text) | Value::Bare(text) => entry.extract(&sanitised(name), text),
    }
}

/// `| json a="b.c"`
pub(crate) fn json_some(entry: &mut Entry, extractions: &[Extraction]) -> Result<(), Error> {
    let line = entry.line.clone();
    let value = json::read(&line).0;
    let json = line.trim_start().starts_with(['{', '[', '"']);
    if !json {
        entry.fail(JSON_ERROR, false);
    }
    for extraction in extractions {
        let path = json_path::parse(&extraction.expression)?;
        if !json {
            continue;
        }
        let found = value.as_ref().and_then(|v| json_path::find(v, &path));
        match found {
            Some(Value::Text(text) | Value::Bare(text)) => entry.extract(&extraction.label, text),
            Some(Value::Array(_, Some(text)) | Value::Object(_, Some(text))) => entry.extract(&extraction.label, text),
            Some(Value::Null) => entry.extract(&extraction.label, ""),
            Some(Value::Damaged | Value::Array(..) | Value::Object(..)) => {
                entry.extract(&extraction.label, "");
                entry.fail(JSON_ERROR, true);
            }
            None => entry.extract_nothing(&extraction.label),
        }
    }
    Ok(())
}

/// `| logfmt`
pub(crate) fn logfmt_all(entry: &mut Entry, strict: bool, keep_empty: bool) {
    for pair in logfmt::pairs(&entry.line.clone()) {
        match pair {
            Ok((name, value)) if !value.is_empty() || keep_empty => entry.extract(&sanitised(&name), &value),
            Ok(_) => {}
            Err(()) if strict => return entry.fail(LOGFMT_ERROR, true),
            Err(()) => {}
        }
    }
}

/// `| logfmt a="b"`
pub(crate) fn logfmt_some(entry: &mut Entry, strict: bool, extractions: &[Extraction]) {
    let mut values = vec![None; extractions.len()];
    for pair in logfmt::pairs(&entry.line.clone()) {
        match pair {
            Ok((name, value)) => {
                for (extraction, found) in extractions.iter().zip(&mut values) {
                    if sanitised(&name) == extraction.expression {
                        *found = Some(value.clone());
                    }
                }
            }
            Err(()) if strict => {
                entry.fail(LOGFMT_ERROR, true);
                break;
            }
            Err(()) => {}
        }
    }
    for (extraction, value) in extractions.iter().zip(values) {
        match value {
            Some(value) => entry.extract(&extraction.label, &value),
            None => entry.extract_nothing(&extraction.label),
        }
    }
}

/// `| regexp "(?P<name>..)"`
pub(crate) fn regexp(entry: &mut Entry, text: &str) -> Result<(), Error> {
    let regex = regex(text, Mode::Line)?;
    let names: Vec<&str> = regex.capture_names().flatten().collect();
    if names.is_empty() {
        return Err(Error::Parse);
    }
    let line = entry.line.clone();
    if let Some(captures) = regex.captures(&line) {
        for name in names {
            entry.extract(name, captures.name(name).map_or("", |m| m.as_str()));
        }
    }
    Ok(())
}

/// `| pattern "<name> .."`
pub(crate) fn pattern(entry: &mut Entry, text: &str) -> Result<(), Error> {
    for (name, value) in pattern::captures(text, &entry.line.clone())? {
        entry.extract(&name, &value);
    }
    Ok(())
}

/// `| unpack`
pub(crate) fn unpack(entry: &mut Entry) {
    let line = entry.line.clone();
    match json::read(&line) {
        (Some(Value::Object(members, _)), true) => {
            let Some(Value::Text(packed)) = members.iter().find(|m| m.0 == "_entry").map(|m| &m.1) else {
                return;
            };
            for (name, value) in &members {
                if let Value::Text(text) = value
                    && name != "_entry"
                {
                    entry.extract(&sanitised(name), text);
                }
            }
            entry.line.clone_from(packed);
        }
        _ => entry.fail(JSON_ERROR, true),
    }
}

/// `| unpack` where only its line counts.
pub(crate) fn unpack_line(entry: &mut Entry) {
    let mut unpacked = entry.clone();
    unpack(&mut unpacked);
    entry.line = unpacked.line;
}
