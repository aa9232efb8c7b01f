//! SQL over HTTP: forms, tenants, statuses, the limits of logs, clients that leave.

use crate::harness::{Server, T0, pending_provider};
use crate::{JSON, PUSH, shop};
use timberline_server::{Figure, FigureValue, MoreMetrics, QueryPolicy, ServerOptions};

const SQL: &str = "/timberline/api/v1/sql";
const FORM: &[(&str, &str)] = &[("content-type", "application/x-www-form-urlencoded")];

#[tokio::test(flavor = "multi_thread")]
async fn rows_as_json_lines_and_csv() {
    let server = Server::start(ServerOptions::default()).await;
    assert_eq!(server.post(PUSH, JSON, &shop()).await.status, 204);

    let reply = server
        .get(&format!("{SQL}?query=SELECT+*+FROM+logs+ORDER+BY+timestamp"))
        .await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert_eq!(
        reply.header("content-type"),
        Some("application/x-ndjson; charset=utf-8")
    );
    assert_eq!(
        reply.text().lines().next_back().unwrap(),
        "{\"timestamp\":\"2026-06-01T12:00:00.000000001Z\",\"line\":\"level=error second\",\
         \"labels\":{\"app\":\"shop\",\"env\":\"dev\",\"service_name\":\"shop\"},\"metadata\":{\"detected_level\":\"error\",\"trace_id\":\"0af7\"}}"
    );

    let body = b"query=SELECT+labels%5B'app'%5D+AS+app,+count(*)+AS+n+FROM+logs+GROUP+BY+app&format=csv";
    let reply = server.post(SQL, FORM, body).await;
    assert_eq!((reply.status, reply.text().as_str()), (200, "app,n\nshop,2\n"));
    assert_eq!(
        reply.header("content-type"),
        Some("text/csv; charset=utf-8; header=present")
    );

    // Another tenant has no lines.
    let headers = [FORM[0], ("x-scope-orgid", "other")];
    let reply = server
        .post(SQL, &headers, b"query=SELECT+count(*)+AS+n+FROM+logs&format=csv")
        .await;
    assert_eq!(reply.text(), "n\n0\n");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn mistakes_are_named_with_their_place() {
    let server = Server::start(ServerOptions::default()).await;
    let f = async |query: &str, want: &str| {
        let reply = server.get(&format!("{SQL}?{query}")).await;
        assert_eq!(reply.status, 400, "{query}: {}", reply.text());
        assert!(reply.text().contains(want), "{query}: {}", reply.text());
    };
    f("", "there is no statement").await;
    f("query=SELECT+1+FROM+logs+WHERE+)", "SQL error at line 1, column 26: ").await;
    f("query=SELECT+nothing+FROM+logs", "SQL error at line 1, column 8: ").await;
    f(
        "query=DROP+TABLE+logs",
        "only SELECT, EXPLAIN, SHOW and DESCRIBE are answered",
    )
    .await;
    f(
        "query=SELECT+1&format=xml",
        "'format' is \"xml\", but must be jsonl or csv",
    )
    .await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_of_logs_hold() {
    let options = ServerOptions {
        query_policy: QueryPolicy {
            required_labels: vec!["app".to_owned()],
            max_query_length: std::time::Duration::from_secs(3600),
            ..QueryPolicy::default()
        },
        ..ServerOptions::default()
    };
    let server = Server::start(options).await;
    assert_eq!(server.post(PUSH, JSON, &shop()).await.status, 204);
    let f = async |condition: &str, status: u16, want: &str| {
        let target = format!("{SQL}?format=csv&query=SELECT+count(*)+AS+n+FROM+logs+WHERE+{condition}");
        let reply = server.get(&target).await;
        assert_eq!(reply.status, status, "{condition}: {}", reply.text());
        assert!(reply.text().contains(want), "{condition}: {}", reply.text());
    };
    f("timestamp%3E'2026-06-01'", 400, "missing required matchers [app]").await;
    f("labels['app']='shop'", 400, "the query time range exceeds the limit").await;
    let hour = "timestamp+BETWEEN+'2026-06-01T11:30:00'+AND+'2026-06-01T12:30:00'";
    f(&format!("labels['app']='shop'+AND+{hour}"), 200, "n\n2\n").await;
    assert_eq!(T0, 1_780_315_200_000_000_000);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_leaves_ends_its_query() {
    let (provider, mut events) = pending_provider();
    let server = Server::over(provider, ServerOptions::default()).await;
    let connection = server
        .send("GET", &format!("{SQL}?query=SELECT+line+FROM+logs"), &[], b"")
        .await;
    assert_eq!(events.recv().await, Some("started"));
    drop(connection);
    assert_eq!(events.recv().await, Some("dropped"));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn figures_of_other_parts_are_shown() {
    let figure = |name, value| Figure {
        name,
        help: "Look there",
        value,
    };
    let read = move || {
        vec![
            figure("timberline_rules_things", FigureValue::Counter(3)),
            figure("timberline_rules_level", FigureValue::Gauge(0.5)),
        ]
    };
    let options = ServerOptions {
        more_metrics: vec![MoreMetrics::new(read)],
        ..ServerOptions::default()
    };
    let server = Server::start(options).await;
    let text = server.get("/metrics").await.text();
    assert!(text.contains("timberline_rules_things_total 3\n"), "{text}");
    assert!(text.contains("timberline_rules_level 0.5\n"), "{text}");
    server.stop().await;
}
