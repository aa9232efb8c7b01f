//! P2: parsers.

use super::lines::{self, Lines};
use super::{Bench, Reader, Title};
use crate::Report;

pub(super) fn run(bench: &Bench, report: &mut Report) {
    let count = bench.lines();
    let (statistics, small, large, access) = (
        lines::statistics(count),
        lines::small_json(count),
        lines::large_json(count),
        lines::access(count),
    );
    let pattern = r#"| pattern "<ip> - - [<_>] \"<method> <path> <_>\" <status> <bytes> <_>""#;
    let regexp = r#"| regexp "^(?P<ip>\\S+) .*\"(?P<method>[A-Z]+) (?P<path>\\S+) [^\"]*\" (?P<status>\\d+)""#;
    let by_status = || Reader::SeriesBy(&["status"]);
    let mut row =
        |name: &'static str, stages: &str, reader: &Reader, lines: &Lines, peer: Option<f64>, goal: Option<f64>| {
            let title = Title {
                id: "P2",
                name,
                peer,
                goal,
            };
            let passed = bench.run(&title, stages, reader, lines, report);
            assert_eq!(passed, lines.len(), "every line comes through");
        };
    row(
        "json, 110 bytes, 4 members",
        "| json",
        &Reader::Entries,
        &small,
        Some(2500.0),
        Some(250.0),
    );
    row(
        "json, 110 bytes, by (status)",
        "| json",
        &by_status(),
        &small,
        None,
        None,
    );
    row(
        "json, 300 bytes, 12 members, nested",
        "| json",
        &Reader::Entries,
        &large,
        None,
        None,
    );
    row(
        "json, 300 bytes, by (status)",
        "| json",
        &by_status(),
        &large,
        None,
        None,
    );
    let path = r#"| json method="request.method""#;
    row(
        "json with an expression, 300 bytes",
        path,
        &Reader::Entries,
        &large,
        None,
        None,
    );
    row(
        "logfmt, 300 bytes, 15 keys",
        "| logfmt",
        &Reader::Entries,
        &statistics,
        Some(5400.0),
        Some(400.0),
    );
    row(
        "logfmt, 300 bytes, by (status)",
        "| logfmt",
        &by_status(),
        &statistics,
        None,
        None,
    );
    row(
        "logfmt with two expressions, 300 bytes",
        "| logfmt status, took=\"duration\"",
        &Reader::Entries,
        &statistics,
        None,
        None,
    );
    row(
        "pattern, 110 bytes, 5 captures",
        pattern,
        &Reader::Entries,
        &access,
        None,
        None,
    );
    row(
        "pattern, 110 bytes, by (status)",
        pattern,
        &by_status(),
        &access,
        None,
        None,
    );
    row(
        "regexp, 110 bytes, 4 groups",
        regexp,
        &Reader::Entries,
        &access,
        None,
        None,
    );
}
