//! Stages that rewrite: `line_format`, `label_format`, `decolorize`, `drop`, `keep` (logql.md 8).

use crate::Error;
use crate::entry::{DETAILS, ERROR, Entry};
use crate::template::{Data, expand};
use crate::text::{Mode, holds, regex};
use std::collections::BTreeSet;
use timberline_logql::ast::{LabelFormat, LabelSelect, LabelSource};

pub(crate) fn line_format(entry: &mut Entry, template: &str) -> Result<(), Error> {
    let labels = entry.labels_with_error();
    let data = Data {
        labels: &labels,
        line: &entry.line,
    };
    entry.line = expand(template, &data)?;
    Ok(())
}

pub(crate) fn label_format(entry: &mut Entry, formats: &[LabelFormat]) -> Result<(), Error> {
    let names: BTreeSet<&String> = formats.iter().map(|f| &f.label).collect();
    if names.len() < formats.len() || names.iter().any(|n| *n == ERROR) {
        return Err(Error::Parse);
    }
    // Templates see the labels as they were at the first of them.
    let mut seen = None;
    for format in formats {
        match &format.source {
            LabelSource::Label(source) => {
                if let Some(value) = entry.get(source).map(String::from) {
                    // In this order: a label renamed to itself is gone.
                    entry.set(&format.label, &value);
                    entry.remove(source);
                }
            }
            LabelSource::Template(template) => {
                let labels = seen.get_or_insert_with(|| entry.labels_with_error());
                let line = entry.line.clone();
                let value = expand(template, &Data { labels, line: &line })?;
                entry.set(&format.label, &value);
            }
        }
    }
    Ok(())
}

/// Removes escape sequences of terminals.
pub(crate) fn decolorize(entry: &mut Entry) -> Result<(), Error> {
    let sequences = regex("\x1b\\[[0-9;?]*[A-Za-z]", Mode::Line)?;
    entry.line = sequences.replace_all(&entry.line, "").into_owned();
    Ok(())
}

pub(crate) fn drop(entry: &mut Entry, selects: &[LabelSelect]) -> Result<(), Error> {
    for select in selects {
        match select {
            LabelSelect::Name(name) => entry.remove(name),
            LabelSelect::Matcher(matcher) => {
                let value = entry.get(&matcher.name).map(String::from);
                if holds(matcher, value.as_deref(), Mode::Label)? {
                    entry.remove(&matcher.name);
                }
            }
        }
    }
    Ok(())
}

pub(crate) fn keep(entry: &mut Entry, selects: &[LabelSelect]) -> Result<(), Error> {
    for (name, value) in entry.labels() {
        let mut listed = name == ERROR || name == DETAILS;
        for select in selects {
            listed |= match select {
                LabelSelect::Name(wanted) => *wanted == name,
                LabelSelect::Matcher(matcher) => matcher.name == name && holds(matcher, Some(&value), Mode::Label)?,
            };
        }
        if !listed {
            entry.remove(&name);
        }
    }
    Ok(())
}
