//! A query that nobody waits for ends: what its threads still compute after its future was dropped is measured in time of the processor.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::sync::Arc;
use std::time::Duration;
use support::{Layout, Row, Sources, Storage};
use timberline_logql::labels::LabelSet;
use timberline_query::{Direction, QueryEngine, QueryLimits, RangeRequest};
use timberline_store::TenantId;

/// Most work after a query is cancelled.
const MOST_WORK: Duration = Duration::from_millis(200);

fn engine(rows: &[Row], storage: Storage) -> QueryEngine {
    let layout = Layout {
        source_rows: rows.len(),
        run_rows: 8192,
        sorted: true,
        doubled: false,
        storage,
    };
    let limits = QueryLimits {
        threads: 2,
        max_series: usize::MAX,
        max_result_points: usize::MAX,
        max_query_memory_bytes: usize::MAX,
        ..QueryLimits::default()
    };
    QueryEngine::new(Arc::new(Sources::new(rows, layout)), limits).unwrap()
}

/// What the threads for queries have computed so far.
fn worked() -> Duration {
    let mut nanoseconds = 0;
    for task in std::fs::read_dir("/proc/self/task").unwrap().flatten() {
        let read = |name: &str| std::fs::read_to_string(task.path().join(name)).unwrap_or_default();
        if read("comm").trim() == "query" {
            nanoseconds += read("schedstat").split(' ').next().unwrap().parse::<u64>().unwrap();
        }
    }
    Duration::from_nanos(nanoseconds)
}

/// Starts a query, drops it after its threads have worked for a while, and sees what they still do.
async fn cancel(engine: &QueryEngine, query: &str, step_ns: i64) {
    let request = RangeRequest {
        query: query.to_owned(),
        start_ns: 0,
        end_ns: 10_000 * step_ns,
        step_ns: Some(step_ns),
        interval_ns: 0,
        limit: 1000,
        direction: Direction::Forward,
    };
    let tenant = TenantId::single();
    for pause in [50, 300, 1000] {
        let before = worked();
        let worked_enough = async {
            while worked() - before < Duration::from_millis(pause) {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        tokio::select! {
            answer = engine.range(&tenant, request.clone()) => {
                panic!("{query} was answered before it was cancelled: {:?}", answer.map(|a| a.stats))
            }
            () = worked_enough => {}
        }
        let at_drop = worked();
        while engine.working() > 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let after = worked() - at_drop;
        assert!(after < MOST_WORK, "{query}: {after:?} of work after it was cancelled");
    }
}

fn row(timestamp_ns: i64, labels: &LabelSet, line: String) -> Row {
    Row {
        labels: labels.clone(),
        timestamp_ns,
        line,
        metadata: Vec::new(),
    }
}

#[tokio::test]
async fn work_ends_with_the_future() {
    let labels = LabelSet::from_pairs([("app", "a")]);
    let app = r#"{app="a"}"#;
    // Long lines, of which each takes long.
    let long: Vec<Row> = (0..2000).map(|at| row(at, &labels, "ab ".repeat(10_000))).collect();
    let long = engine(&long, Storage::Object);
    let filters: String = (20..60).map(|n| format!(r#" !~ "[ab ]{{{n}}}[c-z]""#)).collect();
    cancel(&long, &format!("{app}{filters}"), 1).await;
    let parsers: String = (20..60)
        .map(|n| format!(r#" | regexp "(?P<x>[ab ]{{{n}}}[c-z])""#))
        .collect();
    cancel(&long, &format!("{app}{parsers}"), 1).await;
    // One series in each row, in as many windows as there may be, and every operator over them.
    let rows: Vec<Row> = (0..2000).map(|at| row(at, &labels, format!("n={at}"))).collect();
    let many = engine(&rows, Storage::ObjectWithFilters);
    let counted = format!("count_over_time({app} | logfmt [1s])");
    cancel(&many, &counted, 1).await;
    cancel(&many, &format!("{counted} / {counted}"), 1).await;
    cancel(&many, &format!("topk(5, {counted})"), 1).await;
    let head = engine(&rows, Storage::Memory);
    cancel(
        &head,
        &format!("avg_over_time({app} | logfmt | unwrap n [1s]) by (app) + {counted}"),
        1,
    )
    .await;
}
