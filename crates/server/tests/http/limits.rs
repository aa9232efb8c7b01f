//! What queries are held to: each limit at its value, and one beyond.

use crate::harness::{Server, T0, T1};
use crate::{JSON, PUSH};
use serde_json::json;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use timberline_query::QueryLimits;
use timberline_server::{QueryPolicy, ServerOptions};

const SECOND_NS: i64 = 1_000_000_000;

/// A server with so many streams of one line each.
async fn with_streams(limits: QueryLimits, streams: usize) -> Server {
    let server = Server::limited(limits).await;
    let stream =
        |n: usize| json!({"stream": {"app": "shop", "n": n.to_string()}, "values": [[T0.to_string(), "line"]]});
    let body = json!({"streams": (0..streams).map(stream).collect::<Vec<_>>()});
    let reply = server.post(PUSH, JSON, body.to_string().as_bytes()).await;
    assert_eq!(reply.status, 204, "{}", reply.text());
    server
}

async fn ask(server: &Server, endpoint: &str, parameters: &str, want: Result<usize, &str>) {
    let reply = server.get(&format!("/loki/api/v1/{endpoint}?{parameters}")).await;
    match want {
        Ok(results) => {
            assert_eq!(reply.status, 200, "{parameters}: {}", reply.text());
            let result = &reply.json()["data"]["result"];
            assert_eq!(result.as_array().map(Vec::len), Some(results), "{parameters}");
        }
        Err(text) => {
            assert_eq!(reply.status, 400, "{parameters}: {}", reply.text());
            assert!(reply.text().contains(text), "{parameters}: {}", reply.text());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn series_of_a_metric_query() {
    let limits = QueryLimits {
        max_series: 2,
        ..QueryLimits::default()
    };
    let many = Err("maximum number of series (2) reached for a single query");
    let time = format!("time={T1}");
    let (range, count) = (format!("start={T1}&end={T1}"), "count_over_time({app=\"shop\"}[5m])");
    for (streams, want) in [(2, Ok(2)), (3, many)] {
        let server = with_streams(limits.clone(), streams).await;
        ask(&server, "query", &format!("query={count}&{time}"), want).await;
        ask(&server, "query_range", &format!("query={count}&{range}"), want).await;
        ask(
            &server,
            "query",
            &format!("query=topk(1,{count})&{time}"),
            want.map(|_| 1),
        )
        .await;
        ask(&server, "query", &format!("query=sum({count})&{time}"), Ok(1)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_explores_gets_the_first_series() {
    let limits = QueryLimits {
        max_series: 2,
        ..QueryLimits::default()
    };
    let (time, range) = (format!("time={T1}"), format!("start={T1}&end={T1}"));
    let count = "count_over_time({app=\"shop\"}[5m])";
    let tags = [("x-query-tags", "user=me,source=grafana-lokiexplore-app")];
    for streams in [2, 3] {
        let server = with_streams(limits.clone(), streams).await;
        for (target, series) in [
            (format!("query?query={count}&{time}"), 2),
            (format!("query_range?query={count}&{range}"), 2),
            (format!("query?query=topk(1,{count})&{time}"), 1),
            // Both operands have the same series.
            (format!("query?query={count}*{count}&{time}"), 2),
            (
                format!("query?query={count}%20or%20label_replace({count},\"m\",\"$1\",\"n\",\"(.*)\")&{time}"),
                2,
            ),
        ] {
            let reply = server
                .request("GET", &format!("/loki/api/v1/{target}"), &tags, b"")
                .await;
            assert_eq!(reply.status, 200, "{target}: {}", reply.text());
            let found = reply.json()["data"]["result"].as_array().map(Vec::len);
            assert_eq!(found, Some(series), "{target}: {}", reply.text());
            let is_cut = streams > 2 || target.contains("%20or");
            let warnings =
                json!(["maximum number of series (2) reached for a single query; returning partial results"]);
            let want = if is_cut { warnings } else { json!(null) };
            assert_eq!(reply.json()["warnings"], want, "{target}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_of_a_log_query() {
    let server = with_streams(QueryLimits::default(), 1).await;
    let query = format!("query={{app=\"shop\"}}&start={T0}&end={T1}");
    ask(&server, "query_range", &format!("{query}&limit=50000"), Ok(1)).await;
    let text = "max entries limit per query exceeded, limit > max_entries_limit_per_query (50001 > 50000)";
    ask(&server, "query_range", &format!("{query}&limit=50001"), Err(text)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn points_of_a_series() {
    let server = with_streams(QueryLimits::default(), 1).await;
    let end = T0 + 11_000 * SECOND_NS;
    let query = format!("query=count_over_time({{app=\"shop\"}}[1m])&step=1&start={T0}");
    ask(&server, "query_range", &format!("{query}&end={end}"), Ok(1)).await;
    let text = "exceeded maximum resolution of 11,000 points per time series";
    let beyond = end + SECOND_NS;
    ask(&server, "query_range", &format!("{query}&end={beyond}"), Err(text)).await;
}

/// A server with this policy and three lines of 10, 20 and 30 bytes.
async fn with_policy(query_policy: QueryPolicy) -> Server {
    let server = Server::start(ServerOptions {
        query_policy,
        ..ServerOptions::default()
    })
    .await;
    let values = json!([
        [T0.to_string(), "x".repeat(10)],
        [(T0 + SECOND_NS).to_string(), "y".repeat(20)],
        [(T0 + 2 * SECOND_NS).to_string(), "z".repeat(30)],
    ]);
    let body = json!({"streams": [{"stream": {"app": "shop"}, "values": values}]});
    assert_eq!(server.post(PUSH, JSON, body.to_string().as_bytes()).await.status, 204);
    server
}

#[tokio::test(flavor = "multi_thread")]
async fn length_of_the_time_range() {
    let policy = QueryPolicy {
        max_query_length: Duration::from_secs(60),
        ..QueryPolicy::default()
    };
    let server = with_policy(policy).await;
    let (allowed, beyond) = (T0 + 60 * SECOND_NS, T0 + 61 * SECOND_NS);
    let text = "the query time range exceeds the limit (query length: 1m1s, limit: 1m)";
    for query in ["{app=\"shop\"}", "rate({app=\"shop\"}[1h])"] {
        let query = format!("query={query}&start={T0}");
        ask(&server, "query_range", &format!("{query}&end={allowed}"), Ok(1)).await;
        ask(&server, "query_range", &format!("{query}&end={beyond}"), Err(text)).await;
    }
    for endpoint in [
        "labels",
        "label/app/values",
        "series",
        "index/stats",
        "detected_fields",
        "detected_labels",
    ] {
        let query = format!("query={{app=\"shop\"}}&start={T0}");
        let reply = server
            .get(&format!("/loki/api/v1/{endpoint}?{query}&end={allowed}"))
            .await;
        assert_eq!(reply.status, 200, "{endpoint}: {}", reply.text());
        ask(&server, endpoint, &format!("{query}&end={beyond}"), Err(text)).await;
    }
    let metrics = server.get("/metrics").await.text();
    let counter = "timberline_queries_over_limit_total{limit=\"max_query_length\"} 8";
    assert!(metrics.contains(counter), "{metrics}");
}

#[tokio::test(flavor = "multi_thread")]
async fn ranges_matchers_and_labels_of_a_query() {
    let policy = QueryPolicy {
        max_query_range: Duration::from_secs(60),
        max_streams_matchers_per_query: 3,
        required_labels: vec!["app".into()],
        minimum_labels_number: 2,
        ..QueryPolicy::default()
    };
    let server = with_policy(policy).await;
    let time = format!("time={T1}");
    for (query, want) in [
        ("count_over_time({app=\"shop\",b=\"\"}[60s])", Ok(1)),
        (
            "count_over_time({app=\"shop\",b=\"\"}[61s])",
            Err("[interval] value exceeds limit: [1m1s] > [1m]"),
        ),
        (
            "count_over_time({app=\"shop\",b=\"\",c=\"\",d=\"\"}[60s])",
            Err("max streams matchers per query exceeded, matchers-count > limit (4 > 3)"),
        ),
        (
            "count_over_time({b=\"c\",d=\"\"}[60s])",
            Err("stream selector is missing required matchers [app], labels present in the query were [b, d]"),
        ),
        (
            "count_over_time({app=\"shop\"}[60s])",
            Err("stream selector has less label matchers than required"),
        ),
    ] {
        ask(&server, "query", &format!("query={query}&{time}"), want).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_too_far_back_is_not_found() {
    // T0 lies within the lookback of the first server and is too old for the second.
    let age = SystemTime::now().duration_since(UNIX_EPOCH).unwrap() - Duration::from_nanos(T0.unsigned_abs());
    for (lookback, found) in [
        (age + Duration::from_secs(3600), 1),
        (age - Duration::from_secs(3600), 0),
    ] {
        let policy = QueryPolicy {
            max_query_lookback: lookback,
            ..QueryPolicy::default()
        };
        let server = with_policy(policy).await;
        let range = format!("start={T0}&end={T1}");
        let log = format!("query={{app=\"shop\"}}&{range}");
        ask(&server, "query_range", &log, Ok(found)).await;
        let count = "count_over_time({app=\"shop\"}[5m])";
        ask(&server, "query_range", &format!("query={count}&{range}"), Ok(found)).await;
        ask(&server, "query", &format!("query={count}&time={T1}"), Ok(found)).await;
        let reply = server.get(&format!("/loki/api/v1/query?query=1%2B1&time={T1}")).await;
        assert_eq!(reply.json()["data"]["resultType"], "scalar");
        let empty = [
            ("labels", json!({"status": "success"})),
            ("label/app/values", json!({"status": "success"})),
            ("series", json!({"status": "success", "data": []})),
            (
                "index/stats",
                json!({"streams": 0, "chunks": 0, "bytes": 0, "entries": 0}),
            ),
            ("detected_fields", json!({})),
            ("detected_labels", json!({})),
        ];
        for (endpoint, nothing) in empty {
            let reply = server.get(&format!("/loki/api/v1/{endpoint}?{log}")).await;
            assert_eq!(reply.status, 200, "{endpoint}: {}", reply.text());
            assert_eq!(reply.json() == nothing, found == 0, "{endpoint}: {}", reply.text());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bytes_that_would_be_read() {
    // The three lines and the level "unknown" of each, in memory and in an object.
    for (limit, refused) in [(81, false), (80, true)] {
        let policy = QueryPolicy {
            max_query_bytes_read: limit,
            ..QueryPolicy::default()
        };
        let server = with_policy(policy).await;
        for flushed in [false, true] {
            if flushed {
                assert_eq!(server.post("/flush", &[], b"").await.status, 204);
            }
            let want = if refused {
                Err("the query would read too many bytes (query: 81B, limit: 80B)")
            } else {
                Ok(1)
            };
            let range = format!("start={T0}&end={T1}");
            ask(&server, "query_range", &format!("query={{app=\"shop\"}}&{range}"), want).await;
            let count = "count_over_time({app=\"shop\"}[2m])";
            ask(&server, "query", &format!("query={count}&time={T1}"), want).await;
            // Half of the time, half of the bytes.
            let half = format!("query={{app=\"shop\"}}&start={T0}&end={}", T0 + SECOND_NS);
            ask(&server, "query_range", &half, Ok(1)).await;
            if refused {
                let detected = format!("query={{app=\"shop\"}}&{range}");
                ask(&server, "detected_fields", &detected, want).await;
            }
        }
    }
}
