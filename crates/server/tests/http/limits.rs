//! What queries are held to: each limit at its value, and one beyond.

use crate::harness::{Server, T0, T1};
use crate::{JSON, PUSH};
use serde_json::json;
use timberline_query::QueryLimits;

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
