//! Writes an answer as a table.

use super::answer::{Answer, Labels, Series, Stream};
use super::output::{Style, merged, selector};
use crate::plain_table::PlainTable;
use crate::time;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

/// Up to this many series stand side by side, one column each; more stand below each other.
const MAX_COLUMNS: usize = 8;

/// Writes the answer.
pub(super) fn write(answer: &Answer, style: &Style, out: &mut impl Write) -> io::Result<()> {
    let table = match answer {
        Answer::Scalar(_, value) => return writeln!(out, "{value}"),
        _ if answer.is_empty() => return Ok(()),
        Answer::Streams(streams) => of_lines(streams, style),
        Answer::Matrix(series) if series.len() <= MAX_COLUMNS => side_by_side(series, style),
        Answer::Matrix(series) => one_below_the_other(series, style),
        Answer::Vector(series) => of_labels(series),
    };
    writeln!(out, "{}", table)
}

fn of_lines(streams: &[Stream], style: &Style) -> PlainTable {
    let mut table = PlainTable::new(["time", "labels", "line"]);
    for (ns, line, labels) in merged(streams, style.forward) {
        let line = String::from_utf8_lossy(line).into_owned();
        table.row(vec![time::display(ns, &style.zone), selector(labels), line]);
    }
    table
}

fn side_by_side(series: &[Series], style: &Style) -> PlainTable {
    let mut header = vec!["time".to_owned()];
    header.extend(series.iter().map(|s| heading(&s.labels)));
    let mut table = PlainTable::new(header);
    let columns: Vec<BTreeMap<i64, &str>> = series
        .iter()
        .map(|s| s.points.iter().map(|(ns, value)| (*ns, value.as_str())).collect())
        .collect();
    let times: BTreeSet<i64> = columns.iter().flat_map(|c| c.keys().copied()).collect();
    for ns in times {
        let mut row = vec![time::display(ns, &style.zone)];
        row.extend(columns.iter().map(|c| c.get(&ns).copied().unwrap_or("").to_owned()));
        table.row(row);
    }
    table.align_right(1..series.len() + 1);
    table
}

/// One label is known by its value, none is the whole.
fn heading(labels: &Labels) -> String {
    let mut values = labels.values();
    match (values.next(), values.next()) {
        (None, _) => "value".to_owned(),
        (Some(only), None) => only.clone(),
        _ => selector(labels),
    }
}

fn one_below_the_other(series: &[Series], style: &Style) -> PlainTable {
    let mut table = PlainTable::new(["time", "labels", "value"]);
    for one in series {
        for (ns, value) in &one.points {
            table.row(vec![
                time::display(*ns, &style.zone),
                selector(&one.labels),
                value.clone(),
            ]);
        }
    }
    table.align_right(2..3);
    table
}

fn of_labels(series: &[Series]) -> PlainTable {
    let names: BTreeSet<&String> = series.iter().flat_map(|s| s.labels.keys()).collect();
    let mut header: Vec<String> = names.iter().map(|n| (*n).clone()).collect();
    header.push("value".to_owned());
    let mut table = PlainTable::new(header);
    for one in series {
        let mut row: Vec<String> = names
            .iter()
            .map(|n| one.labels.get(*n).cloned().unwrap_or_default())
            .collect();
        row.extend(one.points.first().map(|(_, value)| value.clone()));
        table.row(row);
    }
    table.align_right(names.len()..names.len() + 1);
    table
}

#[cfg(test)]
mod tests {
    use super::super::output::{Color, Form};
    use super::*;
    use jiff::tz::TimeZone;

    fn shown(answer: &Answer) -> String {
        let style = Style {
            form: Form::Table,
            color: Color::No,
            zone: TimeZone::UTC,
            forward: false,
        };
        let mut out = Vec::new();
        write(answer, &style, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn series(labels: &[(&str, &str)], points: &[(i64, &str)]) -> Series {
        Series {
            labels: labels.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect(),
            points: points
                .iter()
                .map(|(s, v)| (s * 1_000_000_000, (*v).to_owned()))
                .collect(),
        }
    }

    #[test]
    fn a_matrix_has_a_row_for_each_time() {
        let answer = Answer::Matrix(vec![
            series(&[("action", "install")], &[(0, "1"), (60, "22")]),
            series(&[("action", "remove")], &[(60, "3")]),
        ]);
        let want = [
            "time                  install  remove",
            "1970-01-01T00:00:00Z        1",
            "1970-01-01T00:01:00Z       22       3",
        ];
        assert_eq!(shown(&answer).lines().collect::<Vec<_>>(), want);
        assert!(shown(&Answer::Matrix(vec![series(&[], &[(0, "7")])])).contains("value"));
    }

    #[test]
    fn a_vector_has_a_column_for_each_label() {
        let answer = Answer::Vector(vec![
            series(&[("a", "x"), ("b", "y")], &[(0, "10")]),
            series(&[("a", "z")], &[(0, "2")]),
        ]);
        let want = ["a  b  value", "x  y     10", "z         2"];
        assert_eq!(shown(&answer).lines().collect::<Vec<_>>(), want);
    }

    #[test]
    fn many_series_stand_below_each_other() {
        let many = (0..9).map(|i| series(&[("i", &i.to_string())], &[(0, "1")])).collect();
        assert_eq!(shown(&Answer::Matrix(many)).lines().count(), 10);
    }

    #[test]
    fn nothing_and_numbers() {
        assert_eq!(shown(&Answer::Vector(vec![])), "");
        assert_eq!(shown(&Answer::Scalar(0, "2".to_owned())), "2\n");
    }
}
