//! Which rows a query is about, and their way through its stages, in the order written.

use crate::entry::{Entry, Row};
use crate::text::{Mode, holds};
use crate::{Error, format, label_filter, line_filter, parsers};
use timberline_logql::ast::{LogExpr, Stage};

/// Whether the row's stream is selected.
pub(crate) fn selects(log: &LogExpr, row: &Row) -> Result<bool, Error> {
    for matcher in &log.matchers {
        let value = row.labels.get(&matcher.name).map(String::as_str);
        if !holds(matcher, value, Mode::Stream)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Applies all stages; `None` if one of them drops the entry. Nothing reads the labels that parsers make from stage `unread_from` on: these are
/// passed over, but for the line that `unpack` makes.
pub(crate) fn run(stages: &[Stage], unread_from: usize, row: &Row) -> Result<Option<Entry>, Error> {
    let mut entry = Entry::new(row);
    for (at, stage) in stages.iter().enumerate() {
        match stage {
            Stage::Json(_) | Stage::Logfmt { .. } | Stage::Regexp(_) | Stage::Pattern(_) if at >= unread_from => {}
            Stage::Unpack if at >= unread_from => parsers::unpack_line(&mut entry),
            _ if apply(stage, &mut entry)? => {}
            _ => return Ok(None),
        }
    }
    Ok(Some(entry))
}

/// Stages that can't be made are an error, also where no row reaches them.
pub(crate) fn check(log: &LogExpr) -> Result<(), Error> {
    let row = Row {
        labels: Default::default(),
        timestamp_ns: 0,
        line: String::new(),
        metadata: Vec::new(),
    };
    selects(log, &row)?;
    for stage in &log.stages {
        apply(stage, &mut Entry::new(&row))?;
    }
    Ok(())
}

/// Whether the entry stays.
fn apply(stage: &Stage, entry: &mut Entry) -> Result<bool, Error> {
    match stage {
        Stage::LineFilter(filter) => return line_filter::passes(filter, &entry.line),
        Stage::LabelFilter(filter) => return label_filter::passes(filter, entry),
        Stage::Json(extractions) if extractions.is_empty() => parsers::json_all(entry),
        Stage::Json(extractions) => parsers::json_some(entry, extractions)?,
        Stage::Logfmt {
            strict,
            keep_empty,
            extractions,
        } => match extractions.as_slice() {
            [] => parsers::logfmt_all(entry, *strict, *keep_empty),
            _ => parsers::logfmt_some(entry, *strict, extractions),
        },
        Stage::Regexp(text) => parsers::regexp(entry, text)?,
        Stage::Pattern(text) => parsers::pattern(entry, text)?,
        Stage::Unpack => parsers::unpack(entry),
        Stage::LineFormat(template) => format::line_format(entry, template)?,
        Stage::LabelFormat(formats) => format::label_format(entry, formats)?,
        Stage::Decolorize => format::decolorize(entry)?,
        Stage::Drop(selects) => format::drop(entry, selects)?,
        Stage::Keep(selects) => format::keep(entry, selects)?,
    }
    Ok(true)
}
