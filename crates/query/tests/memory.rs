//! What a query holds is bounded: with a limit of exactly what it needs it is answered, with one byte less it is refused by name.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::sync::Arc;
use support::{Layout, Row, Sources, Storage};
use timberline_logql::labels::LabelSet;
use timberline_query::{Answer, Direction, QueryEngine, QueryError, QueryLimits, RangeRequest};
use timberline_store::TenantId;

fn rows() -> Vec<Row> {
    let row = |at: i64| Row {
        labels: LabelSet::from_pairs([("app", ["a", "b"][at as usize % 2])]),
        timestamp_ns: at * 1_000_000_000,
        line: format!("level=info n={at} id={}", at % 10),
        metadata: vec![("trace".to_owned(), format!("t{at}"))],
    };
    (1..=300).map(row).collect()
}

fn ask(
    query: &str,
    interval_ns: i64,
    (doubled, storage): (bool, Storage),
    max_query_memory_bytes: usize,
) -> Result<Answer, QueryError> {
    let layout = Layout {
        source_rows: 100,
        run_rows: 20,
        sorted: true,
        doubled,
        storage,
    };
    let limits = QueryLimits {
        threads: 1,
        max_query_memory_bytes,
        ..QueryLimits::default()
    };
    let engine = QueryEngine::new(Arc::new(Sources::new(&rows(), layout)), limits).unwrap();
    let request = RangeRequest {
        query: query.to_owned(),
        start_ns: 0,
        end_ns: 300_000_000_000,
        step_ns: Some(10_000_000_000),
        interval_ns,
        limit: 1000,
        direction: Direction::Backward,
    };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(engine.range(&TenantId::single(), request))
}

#[test]
fn a_query_is_refused_one_byte_below_what_it_needs() {
    let f = |query: &str, interval_ns: i64, layout: (bool, Storage)| {
        let needed = ask(query, interval_ns, layout, usize::MAX)
            .unwrap()
            .stats
            .memory_peak_bytes as usize;
        assert!(needed > 1000, "{query}: {needed}");
        let again = ask(query, interval_ns, layout, needed).unwrap();
        assert_eq!(again.stats.memory_peak_bytes as usize, needed, "{query}");
        let refused = ask(query, interval_ns, layout, needed - 1);
        let Err(QueryError::Limit(text)) = refused else {
            panic!("{query}: {refused:?}")
        };
        let limit = format!("max_query_memory_bytes={}", needed - 1);
        assert!(
            text.contains(&limit) && text.contains("query would hold "),
            "{query}: {text}"
        );
        needed
    };
    let app = r#"{app=~".+"}"#;
    let (once, twice) = ((false, Storage::Memory), (true, Storage::Memory));
    // Lines, their labels, and the copies of them.
    for storage in [Storage::Memory, Storage::Object, Storage::ObjectWithFilters] {
        f(app, 0, (false, storage));
    }
    f(app, 1, once);
    f(app, 0, twice);
    // Labels of series, states, samples kept one by one, points, operands, entries seen before.
    let few = f(&format!("sum(count_over_time({app}[10s]))"), 0, once);
    let many = f(&format!("count_over_time({app}[10s])"), 0, once);
    assert!(many > 10 * few, "{many} {few}");
    let doubled = f(&format!("sum(count_over_time({app}[10s]))"), 0, twice);
    assert!(doubled > few + 300 * 24, "{doubled} {few}");
    f(
        &format!("quantile_over_time(0.9, {app} | logfmt | unwrap n [1m]) by (app)"),
        0,
        once,
    );
    f(&format!("rate_counter({app} | logfmt | unwrap n [1m])"), 0, once);
    f(&format!("topk(3, count_over_time({app} | logfmt [1m]))"), 0, once);
    f(
        &format!("count_over_time({app}[1m]) / on (trace) count_over_time({app}[20s])"),
        0,
        once,
    );
}
