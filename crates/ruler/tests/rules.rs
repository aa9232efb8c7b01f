//! Lines go in over HTTP, rules are evaluated, samples are in the store; also after a restart.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use axum::body::Body;
use axum::http::Request;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use timberline_ingest::EngineOptions;
use timberline_query::{QueryEngine, QueryLimits};
use timberline_ruler::{CATCH_UP_MS, Group, Loaded, Ruler, load};
use timberline_series::engine::Engine;
use timberline_series::range::{RangeQuery, run};
use timberline_series::series::Reach;
use timberline_server::{AppState, ServerOptions, router};
use timberline_store::{Catalog, Store, TenantId};
use tower::ServiceExt;

/// A whole minute, milliseconds.
const T0: i64 = 1_780_315_200_000;
const MINUTE: i64 = 60_000;

/// The write path behind HTTP, and what reads it.
struct Logs {
    router: axum::Router,
    query: QueryEngine,
    _data: tempfile::TempDir,
}

impl Logs {
    async fn open() -> Self {
        let data = tempfile::tempdir().unwrap();
        let store = Store::in_memory();
        let catalog = Catalog::open(store.clone()).await.unwrap();
        let engine = timberline_ingest::Engine::open(EngineOptions::new(data.path()), store, catalog);
        let engine = engine.await.unwrap();
        let query = QueryEngine::new(Arc::new(engine.clone()), QueryLimits::default()).unwrap();
        let state = AppState::new(engine, query.clone(), ServerOptions::default());
        Self {
            router: router(state),
            query,
            _data: data,
        }
    }

    /// Pushes a line for each time, milliseconds after [`T0`].
    async fn push(&self, tenant: &str, app: &str, times_ms: &[i64]) {
        let line = |ms: &i64| format!(r#"["{}","size={ms}"]"#, (T0 + ms) * 1_000_000);
        let lines: Vec<String> = times_ms.iter().map(line).collect();
        let body = format!(
            r#"{{"streams":[{{"stream":{{"app":"{app}"}},"values":[{}]}}]}}"#,
            lines.join(",")
        );
        let request = Request::post("/loki/api/v1/push")
            .header("content-type", "application/json")
            .header("x-scope-orgid", tenant)
            .body(Body::from(body))
            .unwrap();
        assert_eq!(self.router.clone().oneshot(request).await.unwrap().status(), 204);
    }
}

fn write(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn loaded(files: &[(&str, &str)]) -> Loaded {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        write(folder.path(), name, text);
    }
    load(folder.path()).unwrap()
}

/// The samples of a key: minutes after [`T0`] and values.
fn samples(store: &Engine, key: &str) -> Vec<(i64, f64)> {
    let Ok(series) = store.shared().series(0, key.as_bytes()) else {
        return Vec::new();
    };
    let view = series.view(0, i64::MAX, Reach::Inside, false).unwrap();
    let query = RangeQuery {
        from: 0,
        to: i64::MAX,
        timestamps: None,
        values: None,
        aggregation: None,
        count: None,
        reverse: false,
    };
    let rows = run(&view, &query).unwrap();
    let times = rows.timestamps.iter().map(|ms| (ms - T0) / MINUTE);
    times.zip(rows.values.iter().copied()).collect()
}

fn ruler(logs: &Logs, store: &Arc<Engine>) -> Ruler {
    Ruler::new(logs.query.clone(), store.clone(), Duration::from_secs(60))
}

const COUNTS: &str = r#"
groups:
  - name: counts
    interval: 1m
    rules:
      - record: app:lines:count1m
        expr: sum by (app) (count_over_time({app=~".+"}[1m]))
        labels:
          team: core
      - record: one
        expr: "1 + 1"
"#;

#[tokio::test(flavor = "multi_thread")]
async fn counts_are_recorded_and_caught_up() {
    let logs = Logs::open().await;
    logs.push("fake", "web", &[-50_000, -40_000, 0, 1_000, 2_000]).await;
    logs.push("fake", "api", &[-1_000, 130_000]).await;
    let store = Arc::new(Engine::in_memory());
    let groups = loaded(&[("counts.yaml", COUNTS)]).groups;
    let (web, api) = (
        r#"app:lines:count1m{app="web",team="core"}"#,
        r#"app:lines:count1m{app="api",team="core"}"#,
    );

    let first = ruler(&logs, &store);
    first.catch_up(&groups, T0).await;
    assert_eq!(samples(&store, web), [(0, 3.0)]);
    assert_eq!(samples(&store, api), [(0, 1.0)]);
    assert_eq!(samples(&store, "one"), [(0, 2.0)]);
    let statistics = first.statistics();
    assert_eq!(
        (statistics.evaluations.load(Relaxed), statistics.samples.load(Relaxed)),
        (2, 3)
    );
    let labels = store.shared().series(0, web.as_bytes()).unwrap().labels();
    let labels: Vec<_> = labels
        .iter()
        .map(|(n, v)| [n, v].map(|t| std::str::from_utf8(t).unwrap().to_owned()))
        .collect();
    assert_eq!(
        labels,
        [["__name__", "app:lines:count1m"], ["app", "web"], ["team", "core"]]
    );

    // After a restart the newest sample tells how far it was; again later nothing changes.
    for _ in 0..2 {
        ruler(&logs, &store).catch_up(&groups, T0 + 3 * MINUTE + 5_000).await;
        assert_eq!(samples(&store, web), [(0, 3.0), (1, 2.0)]);
        assert_eq!(samples(&store, api), [(0, 1.0), (3, 1.0)]);
        assert_eq!(samples(&store, "one"), [(0, 2.0), (1, 2.0), (2, 2.0), (3, 2.0)]);
    }

    // What is due too long ago stays out.
    let late = ruler(&logs, &store);
    late.catch_up(&groups, T0 + 10 * CATCH_UP_MS).await;
    let found = samples(&store, "one");
    assert_eq!(found[4].0, 9 * CATCH_UP_MS / MINUTE);
    assert_eq!(found.len(), 4 + 61);
    assert!(late.statistics().missed.load(Relaxed) > 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_rule_leaves_the_others_alone() {
    let logs = Logs::open().await;
    logs.push("fake", "web", &[-1_000]).await;
    logs.push("fake", "api", &[-2_000]).await;
    let store = Arc::new(Engine::in_memory());
    let groups = loaded(&[(
        "rules.yaml",
        r#"
groups:
  - name: g
    interval: 30s
    limit: 1
    rules:
      - record: too_many
        expr: sum by (app) (count_over_time({app=~".+"}[1m]))
      - record: fails
        expr: sum(sum_over_time({app=~".+"} | label_format a="{{ .x | div 0 }}" | unwrap app [1m]))
      - record: total
        expr: sum(count_over_time({app=~".+"}[1m]))
"#,
    )])
    .groups;
    let ruler = ruler(&logs, &store);
    ruler.catch_up(&groups, T0).await;
    assert_eq!(samples(&store, "total"), [(0, 2.0)]);
    assert_eq!(store.shared().len(0), 1);
    assert_eq!(ruler.statistics().failures.load(Relaxed), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn tenants_are_told_apart() {
    let logs = Logs::open().await;
    logs.push("team-a", "web", &[-1_000]).await;
    logs.push("fake", "web", &[-1_000, -2_000]).await;
    let store = Arc::new(Engine::in_memory());
    let text = "groups: [{name: g, rules: [{record: n, expr: 'sum(count_over_time({app=\"web\"}[1m]))'}]}]";
    let groups = loaded(&[("a.yaml", text), ("team-a/a.yml", text), ("readme.txt", "x")]).groups;
    let tenants: Vec<&str> = groups.iter().map(|group: &Group| group.tenant.as_str()).collect();
    assert_eq!(tenants, [TenantId::single().as_str(), "team-a"]);
    ruler(&logs, &store).catch_up(&groups, T0).await;
    assert_eq!(samples(&store, "n"), [(0, 2.0)]);
    assert_eq!(samples(&store, r#"n{__tenant__="team-a"}"#), [(0, 1.0)]);
    // The progress of one is not that of the other.
    ruler(&logs, &store).catch_up(&groups[1..], T0 + MINUTE).await;
    ruler(&logs, &store).catch_up(&groups[..1], T0 + 2 * MINUTE).await;
    assert_eq!(samples(&store, "n"), [(0, 2.0)]);
}

#[test]
fn problems_are_told() {
    let f = |text: &str, groups: usize, want: &str| {
        let loaded = loaded(&[("r.yaml", text)]);
        assert_eq!(loaded.groups.len(), groups, "{text}");
        let [problem] = loaded.problems.as_slice() else {
            panic!("{text}: {:?}", loaded.problems)
        };
        let shown = problem.to_string();
        assert!(shown.contains("r.yaml: ") && shown.contains(want), "{text}: {shown}");
    };
    let rules = |rules: &str| format!("groups: [{{name: g, rules: [{rules}, {{record: ok, expr: '1'}}]}}]");
    f(
        &rules("{alert: Down, expr: '1'}"),
        1,
        "alerting rules are not evaluated",
    );
    f(&rules("{record: 'a b', expr: '1'}"), 1, "the name of a record");
    f(&rules("{record: a, expr: '{a=\"b\"}'}"), 1, "write a metric query");
    f(&rules("{record: a, expr: 'sum('}"), 1, "parse error");
    f(
        &rules("{record: a, expr: '1', labels: {'a-b': x}}"),
        1,
        "\"a-b\" is not the name of a label",
    );
    f(&rules("{record: a, expr: '1', for: 1m}"), 1, "unknown field `for`");
    f(
        "groups: [{name: g, interval: soon, rules: [{record: a, expr: '1'}]}]",
        0,
        "interval \"soon\"",
    );
    f(
        "groups: [{name: g, rules: [{record: a, expr: '1'}]}, {name: g, rules: []}]",
        1,
        "group \"g\" is there twice",
    );
    f("groups: [", 0, "line");
    f("group: []", 0, "unknown field `group`");
    let folder = tempfile::tempdir().unwrap();
    assert!(load(&folder.path().join("none")).is_err());
    assert!(load(folder.path()).unwrap().groups.is_empty());
}
