//! Log queries, and what is promised of their order (logql.md 12).

use crate::entry::{Labels, Row};
use crate::{Answer, Ask, Error, pipeline};
use timberline_logql::ast::LogExpr;

/// All lines that pass, and which of them are to be shown.
#[derive(Clone, Debug, PartialEq)]
pub struct Lines {
    /// In the direction asked for; lines of one stream at one time in order of arrival or its reverse.
    all: Vec<Line>,
    limit: usize,
    interval_ns: i64,
}

#[derive(Clone, Debug, PartialEq)]
struct Line {
    stored_stream: Labels,
    found: Found,
}

/// A line of an answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// Its time.
    pub timestamp_ns: i64,
    /// Its text.
    pub line: String,
    /// Its final labels. Of `__error_details__` only the presence counts: its value is empty.
    pub labels: Labels,
}

pub(crate) fn evaluate(rows: &[Row], log: &LogExpr, ask: &Ask) -> Result<Answer, Error> {
    pipeline::check(log)?;
    let Ask::Lines {
        start_ns,
        end_ns,
        limit,
        forward,
        interval_ns,
    } = *ask
    else {
        return Err(Error::BadRequest);
    };
    if end_ns < start_ns {
        return Err(Error::BadRequest);
    }
    let mut all = Vec::new();
    for row in rows {
        if (start_ns..end_ns).contains(&row.timestamp_ns)
            && pipeline::selects(log, row)?
            && let Some(entry) = pipeline::run(&log.stages, log.stages.len(), row)?
        {
            let found = Found {
                timestamp_ns: row.timestamp_ns,
                line: entry.line.clone(),
                labels: entry.labels_with_error(),
            };
            let stored_stream = row.labels.clone();
            all.push(Line { stored_stream, found });
        }
    }
    all.sort_by_key(|line| line.found.timestamp_ns);
    if !forward {
        all.reverse();
    }
    Ok(Answer::Lines(Lines {
        all,
        limit,
        interval_ns,
    }))
}

impl Lines {
    /// True if no line passes.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The lines to be shown. Their times are certain; which of several lines at one time, and in which order, is so only within a stream.
    pub fn shown(&self) -> Vec<&Found> {
        let mut shown: Vec<&Found> = Vec::new();
        for Line { found, .. } in &self.all {
            let away = |last: &&Found| last.timestamp_ns.abs_diff(found.timestamp_ns);
            let near = shown
                .last()
                .is_some_and(|last| away(last) < self.interval_ns.unsigned_abs());
            if !near && shown.len() < self.limit {
                shown.push(found);
            }
        }
        shown
    }

    /// What is wrong with an answer, if anything is. Of lines at the same time only the order within a stream is promised; so each stream
    /// must give its first so many, and the streams may be interleaved in any way.
    pub fn differs(&self, found: &[Found]) -> Option<String> {
        let times: Vec<i64> = found.iter().map(|f| f.timestamp_ns).collect();
        let wanted: Vec<i64> = self.shown().iter().map(|f| f.timestamp_ns).collect();
        if times != wanted {
            return Some(format!("times {wanted:?} wanted, {times:?} found"));
        }
        for group in found.chunk_by(|a, b| a.timestamp_ns == b.timestamp_ns) {
            let mut streams: Vec<Vec<&Found>> = Vec::new();
            let mut known: Vec<&Labels> = Vec::new();
            for line in self
                .all
                .iter()
                .filter(|l| l.found.timestamp_ns == group[0].timestamp_ns)
            {
                let index = known.iter().position(|k| **k == line.stored_stream).unwrap_or_else(|| {
                    known.push(&line.stored_stream);
                    streams.push(Vec::new());
                    known.len() - 1
                });
                streams[index].push(&line.found);
            }
            if !interleaves(group, &mut streams) {
                return Some(format!("no order of {streams:?} gives {group:?}"));
            }
        }
        None
    }
}

/// Whether the lines are the first so many of each stream, interleaved.
fn interleaves(lines: &[Found], streams: &mut [Vec<&Found>]) -> bool {
    let Some((first, rest)) = lines.split_first() else {
        return true;
    };
    (0..streams.len()).any(|index| {
        if streams[index].first() != Some(&first) {
            return false;
        }
        let taken = streams[index].remove(0);
        let fits = interleaves(rest, streams);
        streams[index].insert(0, taken);
        fits
    })
}
