//! Cases in files: rows, queries, expected answers. Each is asked of many layouts of the same rows (few or many sources, small or large
//! runs, in order of arrival or sorted, every row held twice), by one thread and by several; all must give the same answer.
//!
//! A file holds lines `=== data` followed by rows (`{labels}` sets the stream, `SECONDS LINE ## name=value ..` adds an entry), then any
//! number of `=== query WHY` followed by the query, a line of parameters (`range FROM TO STEP`, `lines FROM TO LIMIT DIRECTION [INTERVAL]`,
//! `at TIME`), `---` and the answer, of which only the start counts if it ends in `...`.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::fmt::Write;
use std::sync::Arc;
use support::{Layout, Row, Sources, Storage};
use timberline_query::{
    Answer, Direction, InstantRequest, QueryEngine, QueryError, QueryLimits, QueryResult, RangeRequest,
};
use timberline_store::TenantId;

const SECOND: f64 = 1e9;

fn ns(seconds: &str) -> i64 {
    (seconds.parse::<f64>().unwrap_or_else(|_| panic!("time {seconds}")) * SECOND).round() as i64
}

fn rows(text: &str) -> Vec<Row> {
    let (mut labels, mut rows) = (Default::default(), Vec::new());
    for line in text.lines().filter(|l| !l.trim().is_empty()) {
        if line.starts_with('{') {
            labels = timberline_logql::parse_labels(line).unwrap();
            continue;
        }
        let (line, metadata) = line.trim().split_once(" ## ").unwrap_or((line.trim(), ""));
        let (time, line) = line.split_once(' ').unwrap_or((line, ""));
        let pair = |p: &str| p.split_once('=').map(|(n, v)| (n.to_owned(), v.to_owned())).unwrap();
        let metadata = metadata.split_whitespace().map(pair).collect();
        rows.push(Row {
            labels: Clone::clone(&labels),
            timestamp_ns: ns(time),
            line: line.to_owned(),
            metadata,
        });
    }
    rows
}

enum Request {
    Range(RangeRequest),
    Instant(InstantRequest),
}

fn request(query: &str, parameters: &str) -> Request {
    let words: Vec<&str> = parameters.split_whitespace().collect();
    let query = query.to_owned();
    let base = RangeRequest {
        query: query.clone(),
        start_ns: ns(words[1]),
        end_ns: ns(words.get(2).unwrap_or(&words[1])),
        step_ns: None,
        interval_ns: 0,
        limit: 100,
        direction: Direction::Backward,
    };
    match words[0] {
        "at" => Request::Instant(InstantRequest {
            query,
            time_ns: ns(words[1]),
        }),
        "range" => Request::Range(RangeRequest {
            step_ns: Some(ns(words[3])),
            ..base
        }),
        "lines" => Request::Range(RangeRequest {
            limit: words[3].parse().unwrap(),
            direction: match words[4] {
                "forward" => Direction::Forward,
                _ => Direction::Backward,
            },
            interval_ns: words.get(5).map_or(0, |i| ns(i)),
            ..base
        }),
        other => panic!("unknown parameters {other}"),
    }
}

async fn ask(engine: &QueryEngine, query: &str, parameters: &str) -> Result<Answer, QueryError> {
    let tenant = TenantId::single();
    match request(query, parameters) {
        Request::Range(request) => engine.range(&tenant, request).await,
        Request::Instant(request) => engine.instant(&tenant, request).await,
    }
}

/// How a query was run, without what differs from one run to the next.
async fn explained(engine: &QueryEngine, query: &str, parameters: &str) -> String {
    let tenant = TenantId::single();
    let explanation = match request(query, parameters) {
        Request::Range(request) => engine.explain_range(&tenant, request).await,
        Request::Instant(request) => engine.explain_instant(&tenant, request).await,
    };
    let varies = |line: &&str| line.trim_start().starts_with("time ") || line.trim_start().starts_with("memory ");
    let text = explanation.map_or_else(|error| error.to_string(), |explanation| explanation.to_string());
    text.lines()
        .filter(|line| !varies(line))
        .map(|line| format!("{line}\n"))
        .collect()
}

fn print(answer: Result<Answer, QueryError>) -> String {
    let mut out = String::new();
    let seconds = |ns: i64| ns as f64 / SECOND;
    match answer.map(|a| a.result) {
        Err(error) => {
            let variant = format!("{error:?}");
            let variant = variant.split('(').next().unwrap();
            writeln!(out, "{variant}: {}", error.to_string().lines().next().unwrap()).unwrap();
        }
        Ok(QueryResult::Scalar { value, .. }) => writeln!(out, "{value}").unwrap(),
        Ok(QueryResult::Vector(samples)) => {
            for sample in samples {
                writeln!(out, "{} {}", sample.labels, sample.value).unwrap();
            }
        }
        Ok(QueryResult::Matrix(series)) => {
            for series in series {
                write!(out, "{}", series.labels).unwrap();
                for (time, value) in series.points {
                    write!(out, " {}:{value}", seconds(time)).unwrap();
                }
                out.push('\n');
            }
        }
        Ok(QueryResult::Streams(streams)) => {
            for stream in streams {
                writeln!(out, "{}", stream.labels).unwrap();
                for entry in stream.entries {
                    let line = String::from_utf8_lossy(&entry.line).into_owned();
                    writeln!(out, "  {} {line}", seconds(entry.timestamp_ns)).unwrap();
                }
            }
        }
    }
    out
}

fn layouts() -> Vec<(Layout, usize)> {
    let mut layouts = Vec::new();
    for source_rows in [1000, 3, 1] {
        for run_rows in [1000, 2] {
            for sorted in [true, false] {
                for doubled in [false, true] {
                    let layout = Layout {
                        source_rows,
                        run_rows,
                        sorted,
                        doubled,
                        storage: Storage::Memory,
                    };
                    layouts.extend([(layout, 1), (layout, 3)]);
                    if sorted {
                        let stored = |storage| Layout { storage, ..layout };
                        layouts.extend([(stored(Storage::Object), 1), (stored(Storage::ObjectWithFilters), 3)]);
                    }
                }
            }
        }
    }
    layouts
}

/// The rows of a file, and for each case its query, parameters and answer.
fn cases(text: &str) -> (Vec<Row>, Vec<(&str, &str, &str)>) {
    let mut parts = text.split("=== ").skip(1);
    let data = parts
        .next()
        .and_then(|p| p.strip_prefix("data\n"))
        .expect("file starts with === data");
    let rows = rows(data);
    let case = |part| {
        // What follows on the line of the separator says why the answer is what it is.
        let case = str::strip_prefix(part, "query").and_then(|part| part.split_once('\n'));
        let (question, expected) = case
            .and_then(|(_, case)| case.split_once("---\n"))
            .expect("=== query, --- before the answer");
        let (query, parameters) = question.trim_end().rsplit_once('\n').expect("query and parameters");
        (query, parameters, expected.trim())
    };
    let cases: Vec<_> = parts.map(case).collect();
    assert!(!cases.is_empty());
    (rows, cases)
}

fn check(text: &str) {
    let (rows, cases) = cases(text);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    for (layout, threads) in layouts() {
        let limits = QueryLimits {
            threads,
            max_series: 5,
            max_result_points: 1000,
            max_entries: 1000,
            ..QueryLimits::default()
        };
        let engine = QueryEngine::new(Arc::new(Sources::new(&rows, layout)), limits).unwrap();
        for (query, parameters, expected) in &cases {
            let found = print(runtime.block_on(ask(&engine, query, parameters)));
            let found = found.trim();
            let (found, expected) = match expected.strip_suffix("...") {
                Some(start) => (found.get(..start.len()).unwrap_or(found), start),
                None => (found, *expected),
            };
            assert_eq!(found, expected, "{query}\n{parameters}\n{layout:?}, {threads} threads");
        }
    }
}

/// Pruning that silently stops working changes no answer: so the counters are held.
#[test]
fn what_is_not_needed_is_not_read() {
    let text: String = (0..100)
        .map(|i| format!("{{app=\"{}\"}}\n {i} line {i}\n", ["a", "b", "c", "d"][i / 25]))
        .collect();
    let layout = Layout {
        source_rows: 1000,
        run_rows: 5,
        sorted: true,
        doubled: false,
        storage: Storage::Memory,
    };
    let sources = Arc::new(Sources::new(&rows(&text), layout));
    let engine = QueryEngine::new(
        sources,
        QueryLimits {
            threads: 1,
            ..QueryLimits::default()
        },
    )
    .unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let f = |query: &str, parameters: &str, want: [u64; 6]| {
        let stats = runtime.block_on(ask(&engine, query, parameters)).unwrap().stats;
        let (skipped, limit) = (stats.runs_skipped_by_stream, stats.runs_skipped_by_limit);
        let found = [
            stats.runs,
            skipped,
            stats.runs_skipped_by_time,
            limit,
            stats.lines_processed,
            stats.lines_decoded,
        ];
        assert_eq!(found, want, "{query} {parameters}");
    };
    // Runs, skipped by stream, by time, by limit; rows of chosen streams, lines decoded.
    f(r#"{app="b"}"#, "lines 0 100 100 backward", [20, 15, 0, 0, 25, 25]);
    f(r#"{app=~".+"}"#, "lines 30 40 100 backward", [20, 0, 18, 0, 10, 10]);
    f(r#"{app=~".+"}"#, "lines 0 100 5 backward", [20, 0, 0, 19, 5, 5]);
    f(r#"{app=~".+"}"#, "lines 0 100 7 forward", [20, 0, 0, 18, 10, 10]);
    f(r#"count_over_time({app="d"}[100s])"#, "at 100", [20, 15, 0, 0, 25, 0]);
    f(
        r#"count_over_time({app="d"} |= "line" [100s])"#,
        "at 100",
        [20, 15, 0, 0, 25, 25],
    );
}

/// The stack is bounded too: the most operators that the parser takes, and as many levels as it takes.
#[test]
fn large_expressions_are_answered() {
    let rows = rows("{app=\"a\"}\n 1 x\n");
    let layout = layouts()[0].0;
    let engine = QueryEngine::new(Arc::new(Sources::new(&rows, layout)), QueryLimits::default()).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let count = r#"count_over_time({app="a"}[10s])"#;
    let f = |query: String, want: &str| {
        let found = print(runtime.block_on(ask(&engine, &query, "at 10")));
        assert_eq!(found.trim(), want, "{}", &query[..60]);
    };
    f(format!("1{}", " + 1".repeat(1000)), "1001");
    f(
        format!("{count}{}", format!(" + {count}").repeat(1000)),
        r#"{app="a"} 1001"#,
    );
    f(format!("vector(1){}", " or vector(1)".repeat(1000)), "{} 1");
    f(format!("{}{count}{}", "sum(".repeat(120), ")".repeat(120)), "{} 1");
    f(
        format!("{}{count}{}", "(1 + ".repeat(120), ")".repeat(120)),
        r#"{app="a"} 121"#,
    );
}

/// Lines of one stream at the same time keep the order of arrival or its reverse, also across the streams of the answer.
#[test]
fn equal_times_keep_the_order_of_arrival() {
    let text: String = (0..40)
        .map(|i| format!(" 1 {{\"k\":\"{}\",\"n\":\"{i:02}\"}}\n", i * 7 % 5))
        .collect();
    let rows = rows(&format!("{{app=\"a\"}}\n{text}"));
    let runtime = tokio::runtime::Runtime::new().unwrap();
    for (layout, threads) in layouts() {
        let limits = QueryLimits {
            threads,
            ..QueryLimits::default()
        };
        let engine = QueryEngine::new(Arc::new(Sources::new(&rows, layout)), limits).unwrap();
        let f = |parameters: &str, want: Vec<usize>| {
            let answer = runtime
                .block_on(ask(&engine, r#"{app="a"} | json k"#, parameters))
                .unwrap();
            let QueryResult::Streams(streams) = answer.result else {
                panic!("not lines")
            };
            let mut entries: Vec<_> = streams.into_iter().flat_map(|s| s.entries).collect();
            entries.sort_by_key(|e| e.position);
            let number = |line: &[u8]| {
                String::from_utf8_lossy(&line[line.len() - 4..line.len() - 2])
                    .parse()
                    .unwrap()
            };
            let found: Vec<usize> = entries.iter().map(|e| number(&e.line)).collect();
            assert_eq!(found, want, "{parameters} {layout:?}, {threads} threads");
        };
        f("lines 0 10 100 forward", (0..40).collect());
        f("lines 0 10 100 backward", (0..40).rev().collect());
        f("lines 0 10 7 forward", (0..7).collect());
        f("lines 0 10 7 backward", (33..40).rev().collect());
    }
}

/// The explanations of a file; the whole of what was found is shown where one differs.
#[test]
fn explanations() {
    let text = include_str!("cases/explain.txt");
    let (rows, cases) = cases(text);
    let layout = Layout {
        source_rows: 8,
        run_rows: 2,
        sorted: true,
        doubled: false,
        storage: Storage::Memory,
    };
    let limits = QueryLimits {
        threads: 1,
        ..QueryLimits::default()
    };
    let engine = QueryEngine::new(Arc::new(Sources::new(&rows, layout)), limits).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (mut wanted, mut found) = (String::new(), String::new());
    for (query, parameters, expected) in cases {
        let text = runtime.block_on(explained(&engine, query, parameters));
        let head = format!("=== query\n{query}\n{parameters}\n---\n");
        wanted += &format!("{head}{expected}\n\n");
        found += &format!("{head}{}\n\n", text.trim());
    }
    assert!(found == wanted, "found:\n{found}");
}

#[test]
fn lines() {
    check(include_str!("cases/lines.txt"));
}

#[test]
fn ranges() {
    check(include_str!("cases/ranges.txt"));
}

#[test]
fn vectors() {
    check(include_str!("cases/vectors.txt"));
}

#[test]
fn order() {
    check(include_str!("cases/order.txt"));
}

#[test]
fn pipeline() {
    check(include_str!("cases/pipeline.txt"));
}

#[test]
fn metrics() {
    check(include_str!("cases/metrics.txt"));
}

#[test]
fn selectors() {
    check(include_str!("cases/selectors.txt"));
}

#[test]
fn line_filters() {
    check(include_str!("cases/line_filters.txt"));
}

#[test]
fn label_filters() {
    check(include_str!("cases/label_filters.txt"));
}

#[test]
fn parsers() {
    check(include_str!("cases/parsers.txt"));
}

#[test]
fn formats() {
    check(include_str!("cases/formats.txt"));
}

#[test]
fn pipeline_errors() {
    check(include_str!("cases/pipeline_errors.txt"));
}

#[test]
fn log_queries() {
    check(include_str!("cases/log_queries.txt"));
}

#[test]
fn windows() {
    check(include_str!("cases/windows.txt"));
}

#[test]
fn aggregations() {
    check(include_str!("cases/aggregations.txt"));
}

#[test]
fn operators() {
    check(include_str!("cases/operators.txt"));
}

#[test]
fn numbers() {
    check(include_str!("cases/numbers.txt"));
}
