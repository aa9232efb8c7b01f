//! P1: every kind of stage after the other.

use super::{Bench, Reader, Title, lines};
use crate::Report;

/// What the published workload does; the line is no JSON, as intended.
const STAGES: &str = r#"|= "metrics.go" | logfmt | duration > 10ms and status = 200
    | label_format caller_foo=caller, new="{{.query_type}}:{{.range_type}}" | json | __error__ = "JSONParserErr"
    | line_format "Q=>{{.query}},D=>{{.duration}}""#;

pub(super) fn run(bench: &Bench, report: &mut Report) {
    let lines = lines::statistics(bench.lines());
    let rows = [
        ("full pipeline, log query", Reader::Entries, 7000.0),
        ("full pipeline, metric query, all labels", Reader::AllSeries, 6000.0),
        (
            "full pipeline, metric query, by two labels",
            Reader::SeriesBy(&["app", "query_type"]),
            6000.0,
        ),
    ];
    for (name, reader, peer) in rows {
        let title = Title {
            id: "P1",
            name,
            peer: Some(peer),
            goal: Some(900.0),
        };
        let passed = bench.run(&title, STAGES, &reader, &lines, report);
        assert_eq!(passed, lines.len(), "every line comes through");
    }
}
