//! Pages that filters exclude are not read, and no answer changes by it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use proptest::prelude::*;
use std::sync::Arc;
use support::{Layout, Row, Sources, Storage};
use timberline_logql::labels::LabelSet;
use timberline_query::{Answer, Direction, QueryEngine, QueryError, QueryLimits, RangeRequest};
use timberline_store::TenantId;

const WORDS: [&str; 12] = [
    "connection",
    "refused",
    "upstream",
    "timeout",
    "request",
    "accepted",
    "verified",
    "Checkout",
    "retry",
    "cache",
    "handler",
    "shutdown",
];

/// 2000 rows in two streams, in order of time. The words of a line change with its time; a third of the rows has a level.
/// All have a `region`, which the label of one stream hides.
fn rows(seed: u64) -> Vec<Row> {
    let mut state = seed;
    let mut next = move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 20) as u32
    };
    let row = |at: usize| {
        let words = (0..4).map(|_| WORDS[(next() as usize % 5 + at / 300 * 3) % WORDS.len()]);
        let words: Vec<&str> = words.collect();
        let is_first = at.is_multiple_of(2);
        let labels: &[(&str, &str)] = if is_first {
            &[("app", "a")]
        } else {
            &[("app", "b"), ("region", "eu")]
        };
        let mut metadata = vec![("trace_id".to_owned(), format!("{:08x}{:08x}", next(), next()))];
        if next().is_multiple_of(3) {
            metadata.push(("level".to_owned(), ["info", "warn", "error"][at / 500 % 3].to_owned()));
        }
        metadata.push(("region".to_owned(), format!("us-{:08x}", next())));
        Row {
            labels: LabelSet::from_pairs(labels.iter().copied()),
            timestamp_ns: at as i64 + 1,
            line: format!("{} code={} id={:08x}{:08x}", words.join(" "), at % 3, next(), next()),
            metadata,
        }
    };
    (0..2000).map(row).collect()
}

fn engine(rows: &[Row], storage: Storage) -> QueryEngine {
    engine_of(rows, storage, 5000)
}

fn engine_of(rows: &[Row], storage: Storage, source_rows: usize) -> QueryEngine {
    let layout = Layout {
        source_rows,
        run_rows: 250,
        sorted: true,
        doubled: false,
        storage,
    };
    let limits = QueryLimits {
        threads: 1,
        ..QueryLimits::default()
    };
    QueryEngine::new(Arc::new(Sources::new(rows, layout)), limits).unwrap()
}

fn ask(engine: &QueryEngine, query: &str, limit: usize) -> Result<Answer, QueryError> {
    let request = RangeRequest {
        query: query.to_owned(),
        start_ns: 0,
        end_ns: 3000,
        step_ns: Some(3000),
        interval_ns: 0,
        limit,
        direction: Direction::Backward,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(engine.range(&TenantId::single(), request))
}

/// The rows of an answer, or why there is none.
fn print(answer: &Result<Answer, QueryError>) -> String {
    match answer {
        Ok(answer) => format!("{:?}", answer.result),
        Err(error) => error.to_string(),
    }
}

/// Counters of `{app=~".+"}` and these stages over 8 runs, of which each stream has 4: runs skipped by text, by value; lines decoded;
/// answered.
#[test]
fn only_pages_that_may_hold_what_is_wanted_are_read() {
    let mut rows = rows(1);
    rows[600].line = "panic: Unexpected EOF id=77777777deadbeef".into();
    rows[1301].metadata.push(("user".into(), "alice".into()));
    let trace = rows[1700].metadata[0].1.clone();
    let (filtered, plain) = (
        engine(&rows, Storage::ObjectWithFilters),
        engine(&rows, Storage::Object),
    );
    let f = |stages: &str, want: [u64; 4]| {
        let query = format!("{{app=~\".+\"}} {stages}");
        let (answer, without) = (ask(&filtered, &query, 5000), ask(&plain, &query, 5000));
        assert_eq!(print(&answer), print(&without), "{query}");
        let (answer, without) = (answer.unwrap(), without.unwrap());
        let stats = &answer.stats;
        let found = [
            stats.runs_skipped_by_text,
            stats.runs_skipped_by_value,
            stats.lines_decoded / 250,
            stats.entries_returned,
        ];
        assert_eq!((stats.runs, found), (8, want), "{query}");
        assert_eq!(without.stats.runs_skipped_by_text, 0, "{query}");
        stats.clone()
    };
    let first = f(r#"|= "nobody wrote such a thing""#, [8, 0, 0, 0]);
    assert_eq!(
        (first.pages_fetched, first.filters_fetched, first.filters_unusable),
        (0, 1, 0)
    );
    assert!(first.filter_bytes_fetched > 100);
    // The sources of these tests count over all queries.
    let second = f(r#"|= "panic: Unexpected""#, [7, 0, 1, 1]);
    assert_eq!(second.filters_fetched, 1, "kept from the first query");
    assert_eq!(
        (first.pages_fetched, second.pages_fetched),
        (0, 6),
        "two keys, line and three columns of metadata of one run"
    );
    f(r#"|= "PANIC: unexpected""#, [7, 0, 1, 0]);
    f(r#"|~ "(?i)PANIC: +unexpected""#, [7, 0, 1, 1]);
    f(r#"|~ "nobody|wrote [0-9]+ lines""#, [8, 0, 0, 0]);
    f(r#"|> "<_>Unexpected <_> id=77777777<_>""#, [7, 0, 1, 1]);
    f(r#"|= "nobody wrote this" or "panic: Unexpected""#, [7, 0, 1, 1]);
    f(r#"| json |= "panic: Unexpected""#, [7, 0, 1, 1]);
    f(r#"|= "panic: Unexpected" | line_format "x" |= "x""#, [7, 0, 1, 1]);
    f(&format!(r#"| trace_id="{trace}""#), [0, 7, 1, 1]);
    f(&format!(r#"| trace_id="{trace}" or user="alice""#), [0, 6, 2, 2]);
    f(&format!(r#"| trace_id=~"{trace}|0123456789abcdef""#), [0, 7, 1, 1]);
    f(
        &format!(r#"| line_format "x" | drop level | trace_id="{trace}" | json"#),
        [0, 7, 1, 1],
    );
    f(r#"| user="alice""#, [0, 7, 1, 1]);
    f(r#"| nobody="x""#, [0, 8, 0, 0]);
    f(&format!(r#"|= "panic: Unexpected" | trace_id="{trace}""#), [1, 7, 0, 0]);
    // What stands after a stage that makes labels, and what negates, excludes nothing.
    f(&format!(r#"| logfmt | trace_id="{trace}""#), [0, 0, 8, 1]);
    f(
        &format!(r#"| label_format x=trace_id | trace_id="{trace}""#),
        [0, 0, 8, 0],
    );
    f(
        &format!(r#"| trace_id="{trace}" or level!="""#),
        [0, 0, 8, ask_count(&rows, &trace)],
    );
    for everything in [
        "",
        r#"|= """#,
        r#"|~ ".*""#,
        r#"!= "nobody wrote such a thing""#,
        r#"| nobody="""#,
        r#"| nobody!="x""#,
    ] {
        f(everything, [0, 0, 8, 2000]);
    }
    f(r#"|= "id=""#, [0, 0, 8, 2000]);
    // A label of a chosen stream hides metadata of its name.
    f(r#"| region="eu""#, [0, 0, 8, 1000]);
    let metadata_only = ask(&filtered, r#"{app="a"} | region="eu""#, 5000).unwrap();
    assert_eq!(
        (
            metadata_only.stats.runs_skipped_by_value,
            metadata_only.stats.entries_returned
        ),
        (4, 0)
    );
    // A search for few lines does not look at the filters of sources that it does not reach.
    let several = engine_of(&rows, Storage::ObjectWithFilters, 500);
    let fetched = |limit| {
        let answer = ask(&several, r#"{app=~".+"} |= "code=""#, limit).unwrap();
        (answer.stats.sources, answer.stats.filters_fetched)
    };
    assert_eq!((fetched(3), fetched(5000)), ((4, 1), (4, 4)));
}

/// Entries with a level, or with that trace id.
fn ask_count(rows: &[Row], trace: &str) -> u64 {
    let has = |row: &&Row| {
        row.metadata
            .iter()
            .any(|(name, value)| name == "level" || value == trace)
    };
    rows.iter().filter(has).count() as u64
}

/// A stage of a query, its texts cut out of rows.
fn stage(row: &Row, start: usize, length: usize, kind: usize) -> String {
    let start = start % row.line.len();
    let text = &row.line[start..row.line.len().min(start + length)];
    let region = &row.metadata[row.metadata.len() - 1].1;
    let (name, value) = &row.metadata[kind % row.metadata.len()];
    match kind {
        0..4 => format!("|= `{text}`"),
        4 => format!("|~ `(?i){}`", text.to_ascii_uppercase()),
        5 => format!("|~ `{text}.*(code|x)=`"),
        6 => format!("|= `{text}` or `refused`"),
        7 => format!("!= `{text}`"),
        8..12 => format!("| {name}=`{value}`"),
        12 => format!("| {name}=`{value}` or level=`warn`"),
        13 => format!("| {name}!=`{value}`"),
        14 => "| logfmt".to_owned(),
        15 => "| line_format `{{.level}}`".to_owned(),
        16 => format!("| drop {name}"),
        17 => "| label_format level=trace_id".to_owned(),
        18 => format!("| keep {name}"),
        19 => format!("| region_extracted=`{region}`"),
        20 => format!("| region=`{region}`"),
        _ => "| json".to_owned(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn answers_are_the_same_with_filters_and_without(
        seed in any::<u64>(),
        picks in prop::collection::vec(prop::collection::vec((any::<prop::sample::Index>(), 0usize..60, 1usize..20, 0usize..22), 1..4), 20),
        selector in prop::sample::select(vec![r#"{app=~".+"}"#, r#"{app="a"}"#, r#"{region="eu"}"#]),
    ) {
        let rows = rows(seed);
        let engines = [Storage::Memory, Storage::Object, Storage::ObjectWithFilters].map(|storage| engine(&rows, storage));
        for stages in picks {
            let stages: Vec<String> = stages.iter().map(|(row, start, length, kind)| stage(row.get(&rows), *start, *length, *kind)).collect();
            let log = format!("{selector} {}", stages.join(" "));
            for (query, limit) in [(log.clone(), 5000), (log.clone(), 7), (format!("sum by (level) (count_over_time({log} [3s]))"), 100)] {
                let [memory, object, filtered] = [0, 1, 2].map(|at: usize| print(&ask(&engines[at], &query, limit)));
                prop_assert_eq!(&memory, &object, "{}", query);
                prop_assert_eq!(&memory, &filtered, "{}", query);
            }
        }
    }
}
