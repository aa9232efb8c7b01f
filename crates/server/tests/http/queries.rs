//! Questions asked: lines, numbers, labels, streams.

use crate::harness::{Server, T0, T1, pending_provider};
use crate::{JSON, PUSH, range, result, shop};
use serde_json::json;
use std::time::Duration;
use timberline_server::ServerOptions;

#[tokio::test(flavor = "multi_thread")]
async fn pushed_lines_are_found_before_and_after_a_flush() {
    let server = Server::start(ServerOptions::default()).await;
    let reply = server.post(PUSH, JSON, &shop()).await;
    assert_eq!((reply.status, reply.text().as_str()), (204, ""));

    for flushed in [false, true] {
        if flushed {
            assert_eq!(server.post("/flush", &[], b"").await.status, 204);
            assert!(
                server
                    .get("/metrics")
                    .await
                    .text()
                    .contains("timberline_flushes_total 1")
            );
        }
        let query = format!("/loki/api/v1/query_range?query=%7Bapp%3D%22shop%22%7D&{}", range());
        let want = json!([
            {"stream": {"app": "shop", "detected_level": "error", "env": "dev", "service_name": "shop", "trace_id": "0af7"},
             "values": [[(T0 + 1).to_string(), "level=error second"]]},
            {"stream": {"app": "shop", "detected_level": "info", "env": "dev", "service_name": "shop"},
             "values": [[T0.to_string(), "level=info first"]]},
        ]);
        let mut found = result(&server.get(&query).await);
        found
            .as_array_mut()
            .unwrap()
            .sort_by_key(|stream| stream["stream"]["detected_level"].to_string());
        assert_eq!(found, want, "flushed: {flushed}");

        let flags = [("x-loki-response-encoding-flags", "categorize-labels")];
        let reply = server.request("GET", &query, &flags, b"").await;
        assert_eq!(reply.json()["data"]["encodingFlags"], json!(["categorize-labels"]));
        let want = json!([{"stream": {"app": "shop", "env": "dev", "service_name": "shop"}, "values": [
            [(T0 + 1).to_string(), "level=error second", {"structuredMetadata": {"detected_level": "error", "trace_id": "0af7"}}],
            [T0.to_string(), "level=info first", {"structuredMetadata": {"detected_level": "info"}}],
        ]}]);
        assert_eq!(result(&reply), want, "flushed: {flushed}");

        let form = [("content-type", "application/x-www-form-urlencoded")];
        let parameters = format!("query={{app=\"shop\"}}|=\"second\"&limit=1&{}", range());
        let reply = server
            .post("/loki/api/v1/query_range", &form, parameters.as_bytes())
            .await;
        assert_eq!(
            result(&reply)[0]["values"],
            json!([[(T0 + 1).to_string(), "level=error second"]])
        );
        assert_eq!(
            reply.json()["data"]["stats"]["summary"]["totalEntriesReturned"],
            json!(1)
        );

        let reply = server.get(&format!("/loki/api/v1/labels?{}", range())).await;
        assert_eq!(
            reply.json(),
            json!({"status": "success", "data": ["app", "env", "service_name"]})
        );
        let reply = server.get(&format!("/loki/api/v1/label/app/values?{}", range())).await;
        assert_eq!(reply.json(), json!({"status": "success", "data": ["shop"]}));
        let reply = server
            .get(&format!("/loki/api/v1/label/nothere/values?{}", range()))
            .await;
        assert_eq!(reply.json(), json!({"status": "success"}));
        let reply = server
            .get(&format!(
                "/loki/api/v1/series?match[]={{app=\"shop\"}}&match={{x=\"y\"}}&{}",
                range()
            ))
            .await;
        let set = json!({"app": "shop", "env": "dev", "service_name": "shop"});
        assert_eq!(reply.json(), json!({"status": "success", "data": [set]}));
        let reply = server
            .get(&format!("/loki/api/v1/index/stats?query={{app=\"shop\"}}&{}", range()))
            .await;
        let stats = reply.json();
        assert_eq!(
            (&stats["streams"], &stats["chunks"], &stats["entries"]),
            (&json!(1), &json!(1), &json!(2)),
            "{stats}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn queries_are_explained() {
    let server = Server::start(ServerOptions::default()).await;
    assert_eq!(server.post(PUSH, JSON, &shop()).await.status, 204);
    let time = T1 / 1_000_000_000;
    let lines = format!("/loki/api/v1/query_range?query={{app=\"shop\"}}&{}", range());
    let count = format!("/loki/api/v1/query?time={time}&query=sum(count_over_time({{app=\"shop\"}}[1h]))");
    for (target, parts) in [
        (
            lines,
            [
                "the newest 100 lines",
                "scan of {app=\"shop\"}",
                "max_query_memory_bytes",
            ],
        ),
        (
            count,
            [
                "number of entries",
                "grouped by () while it is read",
                "line text     not read",
            ],
        ),
    ] {
        let reply = server.get(&format!("{target}&explain=1")).await;
        assert_eq!(reply.status, 200);
        assert_eq!(reply.header("content-type"), Some("text/plain; charset=utf-8"));
        for part in parts {
            assert!(reply.text().contains(part), "{part} is missing in\n{}", reply.text());
        }
        let reply = server.get(&format!("{target}&explain=0")).await;
        assert_eq!(reply.header("content-type"), Some("application/json; charset=UTF-8"));
        assert!(reply.json()["data"]["stats"]["querier"]["store"]["dataobj"]["memoryPeakBytes"].as_u64() > Some(0));
        let reply = server.get(&format!("{target}&explain=how")).await;
        assert_eq!(
            (reply.status, reply.text().as_str()),
            (400, "invalid explain 'how': must be 1 or 0")
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn instant_queries_and_numbers() {
    let server = Server::start(ServerOptions::default()).await;
    assert_eq!(server.post(PUSH, JSON, &shop()).await.status, 204);
    let time = T1 / 1_000_000_000;
    let reply = server
        .get(&format!(
            "/loki/api/v1/query?time={time}&query=sum(count_over_time({{app=\"shop\"}}[1h]))"
        ))
        .await;
    assert_eq!(result(&reply), json!([{"metric": {}, "value": [time, "2"]}]));
    assert_eq!(reply.json()["data"]["resultType"], "vector");
    let reply = server.get(&format!("/loki/api/v1/query?time={time}&query=7/2")).await;
    assert_eq!(result(&reply), json!([time * 1000, "3.5"]));
    assert_eq!(reply.json()["data"]["resultType"], "scalar");
    assert_eq!(reply.header("content-type"), Some("application/json; charset=UTF-8"));
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_that_make_no_sense_are_refused() {
    let server = Server::start(ServerOptions::default()).await;
    let ask = async |target: &str, status: u16, text: &str| {
        let reply = server.get(target).await;
        assert_eq!((reply.status, reply.text().as_str()), (status, text), "{target}");
        assert_eq!(
            reply.header("content-type"),
            Some("text/plain; charset=utf-8"),
            "{target}"
        );
    };
    let range_query = |more: &str| format!("/loki/api/v1/query_range?query={{a=\"b\"}}&{more}");
    ask("/nothing/here", 404, "404 page not found").await;
    ask("/", 404, "404 page not found").await;
    ask(&range_query("limit=0"), 400, "limit must be a positive value").await;
    ask(&range_query("direction=up"), 400, "invalid direction 'up'").await;
    ask(
        &range_query("start=9&end=8"),
        400,
        "end timestamp must not be before or equal to start time",
    )
    .await;
    ask(
        &range_query("step=abc"),
        400,
        "cannot parse \"abc\" to a valid duration",
    )
    .await;
    ask(&range_query("x=%zz"), 400, "invalid URL escape in \"%zz\"").await;
    ask(
        "/loki/api/v1/query_range",
        400,
        "parse error : syntax error: unexpected $end",
    )
    .await;
    ask(
        "/loki/api/v1/labels?query={a=\"b\"}|json",
        400,
        "parse error : only label matchers are supported",
    )
    .await;
    let report = "parse error at line 1, col 13: syntax error: unexpected )\nrate({a=\"b\"})\n            ^";
    ask("/loki/api/v1/query_range?query=rate({a=\"b\"})", 400, report).await;
    ask("/loki/api/v1/query?query=rate({a=\"b\"})", 400, report).await;
    let report =
        "parse error at line 1, col 5: syntax error: unexpected $end, expecting = or =~ or !~ or !=\n{bad\n    ^";
    ask("/loki/api/v1/series?match[]={bad", 400, report).await;
    ask("/loki/api/v1/labels?query={bad", 400, report).await;
    ask("/loki/api/v1/index/stats?query={bad", 400, report).await;
    let reply = server.get("/loki/api/v1/format_query?query=bad%20{").await;
    let error =
        r#"{"status":"invalid-query","error":"parse error at line 1, col 1: syntax error: unexpected IDENTIFIER"}"#;
    assert_eq!((reply.status, reply.text().as_str()), (400, error));
    let instant =
        "log queries are not supported as an instant query type, please change your query to a range query type";
    ask("/loki/api/v1/query?query={a=\"b\"}", 400, instant).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_that_takes_too_long_is_answered() {
    let (provider, _) = pending_provider();
    let options = ServerOptions {
        query_timeout: Duration::from_millis(1),
        ..ServerOptions::default()
    };
    let server = Server::over(provider, options).await;
    let reply = server.get("/loki/api/v1/query_range?query={a=\"b\"}").await;
    assert_eq!(reply.status, 504);
    assert!(
        reply
            .text()
            .starts_with("request timed out, decrease the duration of the request")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_leaves_takes_its_query_along() {
    let (provider, mut events) = pending_provider();
    let options = ServerOptions {
        max_concurrent_queries: 1,
        max_queued_queries: 0,
        ..ServerOptions::default()
    };
    let server = Server::over(provider, options).await;
    let connection = server
        .send("GET", "/loki/api/v1/query_range?query={a=\"b\"}", &[], b"")
        .await;
    assert_eq!(events.recv().await, Some("started"));
    let reply = server.get("/loki/api/v1/labels").await;
    assert_eq!(
        (reply.status, reply.text().as_str()),
        (429, "too many outstanding requests")
    );
    let metrics = server.get("/metrics").await.text();
    for part in [
        "timberline_queries_running 1",
        "timberline_queries_waiting 0",
        "timberline_queries_refused_total 1",
    ] {
        assert!(metrics.contains(part), "{part} is missing in\n{metrics}");
    }
    drop(connection);
    assert_eq!(events.recv().await, Some("dropped"));
}
