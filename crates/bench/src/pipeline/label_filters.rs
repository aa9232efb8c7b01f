//! P4: label filters behind a parser, read by the series that they leave.

use super::{Bench, Reader, Title, lines};
use crate::Report;

const FILTERS: [(&str, &str); 8] = [
    ("logfmt, no filter, by (status)", ""),
    ("logfmt, equal text, rare", r#"| latency="none""#),
    ("logfmt, equal text, half", r#"| latency="slow""#),
    ("logfmt, choice of texts", r#"| query_type=~"metric|limited""#),
    ("logfmt, expression", r#"| query_type=~"met.*""#),
    ("logfmt, number", "| status >= 200"),
    ("logfmt, duration", "| duration > 10ms"),
    ("logfmt, size", "| total_bytes_mb < 1GB"),
];

pub(super) fn run(bench: &Bench, report: &mut Report) {
    let lines = lines::statistics(bench.lines());
    for (name, filter) in FILTERS {
        let title = Title {
            id: "P4",
            name,
            peer: None,
            goal: None,
        };
        let stages = format!("| logfmt {filter}");
        bench.run(&title, &stages, &Reader::SeriesBy(&["status"]), &lines, report);
    }
}
