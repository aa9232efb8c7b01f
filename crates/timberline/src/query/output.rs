//! Writes an answer: as lines for people, as raw lines, as JSON.

use super::answer::{Answer, Labels, Stream};
use super::table;
use crate::time;
use jiff::tz::TimeZone;
use serde_json::json;
use std::cmp::Reverse;
use std::fmt::Write as _;
use std::io::{self, Write};
use timberline_logql::labels::LabelSet;

/// Form of the output.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Form {
    /// Lines with time and labels; a table for metrics.
    Default,
    /// Lines alone; `labels value` for metrics.
    Raw,
    /// One JSON object for each line or value.
    JsonLines,
    /// A table.
    Table,
    /// The API's result.
    Json,
}

/// Whether to colour.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Color {
    Yes,
    No,
}

/// How to write.
#[derive(Clone, Debug)]
pub(super) struct Style {
    pub(super) form: Form,
    pub(super) color: Color,
    pub(super) zone: TimeZone,
    /// Oldest line first.
    pub(super) forward: bool,
}

/// Colours that can be read on dark and on light ground; the labels' hash picks one.
const COLORS: [u8; 6] = [32, 33, 34, 35, 36, 31];

/// Writes the answer to `out`; remarks for people to `remarks`.
pub(super) fn write(answer: &Answer, style: &Style, out: &mut impl Write, remarks: &mut impl Write) -> io::Result<()> {
    match (style.form, answer) {
        (Form::Json, _) => writeln!(out, "{:#}", answer.to_json()),
        (Form::JsonLines, _) => json_lines(answer, style, out),
        (Form::Default, Answer::Streams(streams)) => plain_lines(streams, style, out, remarks),
        (Form::Raw, Answer::Streams(streams)) => {
            for (_, line, _) in merged(streams, style.forward) {
                out.write_all(line)?;
                out.write_all(b"\n")?;
            }
            Ok(())
        }
        (Form::Raw, Answer::Matrix(series) | Answer::Vector(series)) => {
            for one in series {
                for (ns, value) in &one.points {
                    writeln!(
                        out,
                        "{} {} {value}",
                        time::display(*ns, &style.zone),
                        selector(&one.labels)
                    )?;
                }
            }
            Ok(())
        }
        (Form::Raw, Answer::Scalar(_, value)) => writeln!(out, "{value}"),
        (Form::Default | Form::Table, _) => table::write(answer, style, out),
    }
}

/// All entries in order of time; those of equal times stay in the order of their streams.
pub(super) fn merged(streams: &[Stream], forward: bool) -> Vec<(i64, &[u8], &Labels)> {
    let mut all = Vec::new();
    for stream in streams {
        all.extend(
            stream
                .entries
                .iter()
                .map(|(ns, line)| (*ns, line.as_slice(), &stream.labels)),
        );
    }
    if forward {
        all.sort_by_key(|(ns, _, _)| *ns);
    } else {
        all.sort_by_key(|(ns, _, _)| Reverse(*ns));
    }
    all
}

/// Labels as a selector, `{a="b"}`.
pub(super) fn selector(labels: &Labels) -> String {
    LabelSet::from_pairs(labels.iter().map(|(n, v)| (n.as_str(), v.as_str()))).to_string()
}

fn plain_lines(streams: &[Stream], style: &Style, out: &mut impl Write, remarks: &mut impl Write) -> io::Result<()> {
    let common = common_labels(streams);
    if !common.is_empty() {
        writeln!(remarks, "Common labels: {}", selector(&common))?;
    }
    for (ns, line, labels) in merged(streams, style.forward) {
        let own: Labels = labels
            .iter()
            .filter(|(n, _)| !common.contains_key(*n))
            .map(|(n, v)| (n.clone(), v.clone()))
            .collect();
        // Enough for people; `push` sets lines of the same second apart by nanoseconds.
        let when = time::display(ns - ns.rem_euclid(1_000_000), &style.zone);
        let own = if own.is_empty() {
            String::new()
        } else {
            selector(&own) + " "
        };
        match style.color {
            Color::Yes => write!(out, "\x1b[2m{when}\x1b[0m \x1b[{}m{own}\x1b[0m", color_of(labels))?,
            Color::No => write!(out, "{when} {own}")?,
        }
        out.write_all(line)?;
        out.write_all(b"\n")?;
    }
    Ok(())
}

/// The labels that all streams have with the same value.
fn common_labels(streams: &[Stream]) -> Labels {
    let Some((first, rest)) = streams.split_first() else {
        return Labels::new();
    };
    let shared = |(name, value): &(&String, &String)| rest.iter().all(|s| s.labels.get(*name) == Some(value));
    first
        .labels
        .iter()
        .filter(shared)
        .map(|(n, v)| (n.clone(), v.clone()))
        .collect()
}

fn color_of(labels: &Labels) -> u8 {
    let mut text = String::new();
    for (name, value) in labels {
        let _ = write!(text, "{name}={value},");
    }
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |h, b| {
        (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3)
    });
    COLORS[(hash >> 32) as usize % COLORS.len()]
}

fn json_lines(answer: &Answer, style: &Style, out: &mut impl Write) -> io::Result<()> {
    match answer {
        Answer::Streams(streams) => {
            for (ns, line, labels) in merged(streams, style.forward) {
                let line = String::from_utf8_lossy(line);
                let when = time::display(ns, &style.zone);
                writeln!(out, "{}", json!({"timestamp": when, "labels": labels, "line": line}))?;
            }
        }
        Answer::Matrix(series) | Answer::Vector(series) => {
            for one in series {
                for (ns, value) in &one.points {
                    let when = time::display(*ns, &style.zone);
                    writeln!(
                        out,
                        "{}",
                        json!({"timestamp": when, "labels": one.labels, "value": value})
                    )?;
                }
            }
        }
        Answer::Scalar(ns, value) => {
            let when = time::display(*ns, &style.zone);
            writeln!(out, "{}", json!({"timestamp": when, "value": value}))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::answer::Series;
    use super::*;

    fn labels(pairs: &[(&str, &str)]) -> Labels {
        pairs.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect()
    }

    fn shown(answer: &Answer, form: Form, color: Color, forward: bool) -> (String, String) {
        let style = Style {
            form,
            color,
            zone: TimeZone::UTC,
            forward,
        };
        let (mut out, mut remarks) = (Vec::new(), Vec::new());
        write(answer, &style, &mut out, &mut remarks).unwrap();
        (String::from_utf8(out).unwrap(), String::from_utf8(remarks).unwrap())
    }

    fn lines() -> Answer {
        let stream = |host: &str, entries: &[(i64, &str)]| Stream {
            labels: labels(&[("host", host), ("job", "x")]),
            entries: entries
                .iter()
                .map(|(s, line)| (s * 1_000_000_000, line.as_bytes().to_vec()))
                .collect(),
        };
        Answer::Streams(vec![
            stream("a", &[(3, "three"), (1, "one")]),
            stream("b", &[(2, "two")]),
        ])
    }

    #[test]
    fn lines_newest_first_with_common_labels_apart() {
        let (out, remarks) = shown(&lines(), Form::Default, Color::No, false);
        let want = "1970-01-01T00:00:03Z {host=\"a\"} three\n1970-01-01T00:00:02Z {host=\"b\"} two\n1970-01-01T00:00:01Z {host=\"a\"} one\n";
        assert_eq!((out.as_str(), remarks.as_str()), (want, "Common labels: {job=\"x\"}\n"));
        assert_eq!(shown(&lines(), Form::Raw, Color::No, true).0, "one\ntwo\nthree\n");
        assert_eq!(
            shown(&Answer::Streams(vec![]), Form::Default, Color::No, false),
            (String::new(), String::new())
        );
    }

    #[test]
    fn colours_only_if_wanted() {
        assert!(
            shown(&lines(), Form::Default, Color::Yes, false)
                .0
                .contains("\x1b[0mthree\n")
        );
    }

    #[test]
    fn json_lines_are_one_object_each() {
        let (out, _) = shown(&lines(), Form::JsonLines, Color::No, true);
        let first = r#"{"labels":{"host":"a","job":"x"},"line":"one","timestamp":"1970-01-01T00:00:01Z"}"#;
        assert_eq!(out.lines().next(), Some(first));
        let series = Answer::Vector(vec![Series {
            labels: labels(&[("a", "b")]),
            points: vec![(0, "1.5".to_owned())],
        }]);
        let (out, _) = shown(&series, Form::JsonLines, Color::No, true);
        assert_eq!(
            out,
            "{\"labels\":{\"a\":\"b\"},\"timestamp\":\"1970-01-01T00:00:00Z\",\"value\":\"1.5\"}\n"
        );
    }
}
