//! The server over real connections: what clients send, what they get.
#![expect(clippy::unwrap_used, reason = "a test that can't go on may panic")]

mod harness;

use flate2::read::GzDecoder;
use harness::{Reply, Server, T0, T1, pending_provider};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::time::Duration;
use timberline_server::ServerOptions;

const PUSH: &str = "/loki/api/v1/push";
const JSON: &[(&str, &str)] = &[("content-type", "application/json")];

/// A push body of one stream.
fn body(labels: &Value, values: &Value) -> Vec<u8> {
    json!({"streams": [{"stream": labels, "values": values}]})
        .to_string()
        .into_bytes()
}

fn shop() -> Vec<u8> {
    let values = json!([
        [T0.to_string(), "level=info first"],
        [(T0 + 1).to_string(), "level=error second", {"trace_id": "0af7"}],
    ]);
    body(&json!({"app": "shop", "env": "dev"}), &values)
}

#[tokio::test]
async fn a_body_that_unpacks_to_more_than_it_says_waits_for_its_room_and_gets_in() {
    let server = Server::start(ServerOptions {
        max_push_inflight_bytes: 8 << 10,
        ..ServerOptions::default()
    })
    .await;
    let json = body(&json!({"app": "shop"}), &json!([[T0.to_string(), "x".repeat(50_000)]]));
    let pack = |part: &[u8]| {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packer.write_all(part).unwrap();
        packer.finish().unwrap()
    };
    // The length at the end is that of the last member.
    let packed = [pack(&json[..40_000]), pack(&json[40_000..])].concat();
    let headers = [JSON[0], ("content-encoding", "gzip")];
    let replies = futures::future::join_all((0..4).map(|_| server.post(PUSH, &headers, &packed))).await;
    assert!(replies.iter().all(|reply| reply.status == 204));
    server.stop().await;
}

/// The range of the test data.
fn range() -> String {
    format!("start={}&end={}", T0 - 1_000_000_000, T1)
}

fn result(reply: &Reply) -> Value {
    assert_eq!(reply.status, 200, "{}", reply.text());
    reply.json()["data"]["result"].clone()
}

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
async fn refusals() {
    let options = ServerOptions {
        max_push_bytes: 300,
        max_push_unpacked_bytes: 1000,
        ..ServerOptions::default()
    };
    let server = Server::start(options).await;
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
    let instant =
        "log queries are not supported as an instant query type, please change your query to a range query type";
    ask("/loki/api/v1/query?query={a=\"b\"}", 400, instant).await;

    let push = async |headers: &[(&str, &str)], body: &[u8], status: u16, text: &str| {
        let reply = server.post(PUSH, headers, body).await;
        assert_eq!(reply.status, status, "{}", reply.text());
        assert!(
            reply.text().contains(text) && reply.text().ends_with('\n'),
            "{} should contain {text}",
            reply.text()
        );
    };
    push(&[], b"{}", 400, "mime: no media type").await;
    push(
        &[JSON[0], ("content-encoding", "br")],
        b"{}",
        400,
        "Content-Encoding \"br\" not supported",
    )
    .await;
    push(
        &[JSON[0], ("content-encoding", "gzip")],
        b"{}",
        400,
        "gzip body is damaged",
    )
    .await;
    push(
        &[("content-type", "application/x-protobuf")],
        b"\xff\xff",
        400,
        "snappy body is damaged",
    )
    .await;
    push(JSON, b"{\"streams\":[", 400, "unexpected end of the body").await;
    push(
        JSON,
        b"{\"streams\":[]}",
        422,
        "error at least one valid stream is required for ingestion",
    )
    .await;
    push(
        JSON,
        &[b' '; 301],
        413,
        "request body too large: 301 bytes, limit: 300 bytes",
    )
    .await;
    let bomb = snap::raw::Encoder::new().compress_vec(&[b' '; 2000]).unwrap();
    push(
        &[JSON[0], ("content-encoding", "snappy")],
        &bomb,
        413,
        "request body too large: 2000 bytes, limit: 1000 bytes",
    )
    .await;

    let chunked = [JSON[0], ("transfer-encoding", "chunked")];
    let chunks = [&b"12d\r\n"[..], &[b' '; 301], b"\r\n0\r\n\r\n"].concat();
    let reply = server.request_as_is("POST", PUSH, &chunked, &chunks).await;
    assert_eq!(
        (reply.status, reply.text().as_str()),
        (413, "request body too large: 301 bytes, limit: 300 bytes\n")
    );

    // Who asks before sending is told before sending.
    let asking = [JSON[0], ("content-length", "999"), ("expect", "100-continue")];
    let reply = server.request_as_is("POST", PUSH, &asking, b"").await;
    let text = "request body too large: 999 bytes, limit: 300 bytes\n";
    assert_eq!((reply.status, reply.text().as_str()), (413, text));

    let metrics = server.get("/metrics").await.text();
    let counter = "timberline_push_bodies_refused_total{reason=\"request_body_too_large\"} 4";
    assert!(metrics.contains(counter), "{metrics}");
    let reply = server.get("/loki/api/v1/push").await;
    assert_eq!(reply.status, 405);
}

#[tokio::test(flavor = "multi_thread")]
async fn good_entries_of_a_refused_request_are_kept() {
    let server = Server::start(ServerOptions::default()).await;
    let streams = json!({"streams": [
        {"stream": {"app": "good"}, "values": [[T0.to_string(), "kept"]]},
        {"stream": {"app": "bad"}, "values": [[T0.to_string(), "x".repeat(2 << 20)]]},
    ]});
    let reply = server.post(PUSH, JSON, streams.to_string().as_bytes()).await;
    assert_eq!(reply.status, 400);
    assert!(reply.text().contains("app=\"bad\""), "{}", reply.text());
    let found = result(
        &server
            .get(&format!("/loki/api/v1/query_range?query={{app=~\".%2B\"}}&{}", range()))
            .await,
    );
    assert_eq!(found.as_array().unwrap().len(), 1);
    assert_eq!(found[0]["values"][0][1], "kept");
    let metrics = server.get("/metrics").await.text();
    let counter = "loki_discarded_samples_total{tenant=\"fake\",reason=\"line_too_long\"} 1";
    assert!(metrics.contains(counter), "{metrics}");
}

/// A wrong label set or time is refused with its stream, its value and what it should be; the rest of the request is stored.
#[tokio::test(flavor = "multi_thread")]
async fn mistakes_in_labels_and_times_cost_only_their_entries() {
    let long = "-".repeat(100_000);
    let cases = [
        (
            r#""stream":{"a-b":"1"},"values":[["1","x"]]"#,
            r#"error parsing labels '{a-b="1"}' with error: label name 'a-b'"#,
        ),
        (
            r#""stream":{"":"1"},"values":[["1","x"]]"#,
            "label name '' is not of the form",
        ),
        (
            r#""stream":{"1a":"1"},"values":[["1","x"]]"#,
            "label name '1a' is not of the form",
        ),
        (
            r#""stream":{"a":"1","b":["1"]},"values":[["1","x"]]"#,
            r#"error parsing labels '{a="1"}' with error: label "b" must be a string, an array was found"#,
        ),
        (
            &format!(r#""stream":{{"{long}":"1"}},"values":[["1","x"]]"#),
            "is not of the form",
        ),
        (
            r#""stream":{"a":"1"},"values":[[2,"x"]]"#,
            r#"entry for stream '{a="1", service_name="unknown_service"}': timestamp must be a string of decimal nanoseconds, a number was found"#,
        ),
        (
            r#""stream":{"a":"1"},"values":[["2.5","x",{"k":"v"}]]"#,
            r#"timestamp "2.5" is not a decimal number of nanoseconds"#,
        ),
        (
            r#""stream":{"a":"1"},"values":[["","x"]]"#,
            r#"timestamp "" is not a decimal number"#,
        ),
        (
            r#""stream":{"a":"1"},"values":[[null]]"#,
            "timestamp must be a string of decimal nanoseconds, null was found",
        ),
        (
            r#""stream":{"a":"1"},"values":[["9223372036854775808","x"]]"#,
            "is not a decimal number of nanoseconds",
        ),
        (
            &format!(r#""stream":{{"a":"1"}},"values":[["{long}","x"]]"#),
            "is not a decimal number of nanoseconds",
        ),
        (
            r#""labels":"{a=\"1\"}","entries":[{"ts":5,"line":"x"}]"#,
            r#""ts" must be a string with a time of RFC 3339, a number was found"#,
        ),
        (
            r#""labels":"{a=\"1\"}","entries":[{"ts":"9999-01-01T00:00:00Z","line":"x"}]"#,
            "is not a time of RFC 3339 between 1677 and 2262",
        ),
    ];
    let server = Server::start(ServerOptions::default()).await;
    for (number, (bad, want)) in cases.into_iter().enumerate() {
        let good = format!(r#""stream":{{"app":"good{number}"}},"values":[["{T0}","kept"]]"#);
        let body = format!(r#"{{"streams":[{{{bad}}},{{{good}}},{{{bad}}}]}}"#);
        let reply = server.post(PUSH, JSON, body.as_bytes()).await;
        let text = reply.text();
        assert!(
            reply.status == 400 && text.contains(want),
            "{bad}: {} {text}",
            reply.status
        );
        // Stream and name are each quoted to 1 KiB at most.
        assert!(text.len() < 3000, "{} bytes", text.len());
        let query = format!("/loki/api/v1/query_range?query={{app=\"good{number}\"}}&{}", range());
        assert_eq!(result(&server.get(&query).await).as_array().unwrap().len(), 1, "{bad}");
    }
    let all = format!("/loki/api/v1/query_range?query={{a=~\".%2B\"}}&{}", range());
    assert_eq!(result(&server.get(&all).await), json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn tenants_do_not_see_each_other() {
    let server = Server::start(ServerOptions::default()).await;
    let tenant = |name: &'static str| [JSON[0], ("x-scope-orgid", name)];
    assert_eq!(server.post(PUSH, &tenant("a"), &shop()).await.status, 204);
    let labels = format!("/loki/api/v1/labels?{}", range());
    assert!(server.request("GET", &labels, &tenant("a"), b"").await.json()["data"].is_array());
    for other in [&tenant("b")[..], &[]] {
        assert_eq!(
            server.request("GET", &labels, other, b"").await.json(),
            json!({"status": "success"})
        );
    }
    let reply = server.post(PUSH, &tenant("a|b"), &shop()).await;
    assert_eq!((reply.status, reply.text().as_str()), (400, "multiple org IDs present"));

    let server = Server::start(ServerOptions {
        auth_required: true,
        ..ServerOptions::default()
    })
    .await;
    for target in [labels.as_str(), "/loki/api/v1/query?query=1"] {
        let reply = server.get(target).await;
        assert_eq!((reply.status, reply.text().as_str()), (401, "no org id"));
    }
    assert_eq!(server.post(PUSH, &tenant("a"), &shop()).await.status, 204);
    assert_eq!(server.get("/ready").await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn operations() {
    let options = ServerOptions {
        config_yaml: "http: x\n".into(),
        log_level: "debug".into(),
        ..ServerOptions::default()
    };
    let server = Server::start(options).await;
    let f = async |target: &str, want: &str| {
        let reply = server.get(target).await;
        assert_eq!((reply.status, reply.text().as_str()), (200, want), "{target}");
    };
    f("/ready", "ready\n").await;
    f("/config", "http: x\n").await;
    f("/log_level", r#"{"message":"Current log level is debug"}"#).await;
    f(
        "/services",
        "server => Running\ningester => Running\nquerier => Running\nstore => Running\n",
    )
    .await;
    f(
        "/loki/api/v1/format_query?query={a=\"b\"}|=\"c\"",
        r#"{"status":"success","data":"{a=\"b\"} |= \"c\""}"#,
    )
    .await;
    assert_eq!(server.get("/flush").await.status, 204);

    let reply = server.get("/loki/api/v1/format_query?query=bad+{").await;
    assert_eq!((reply.status, &reply.json()["status"]), (400, &json!("invalid-query")));
    assert!(
        reply.json()["error"]
            .as_str()
            .unwrap()
            .starts_with("parse error at line 1, col 1: ")
    );
    let info = server.get("/loki/api/v1/status/buildinfo").await.json();
    assert!(info["version"].as_str().unwrap().starts_with("3."), "{info}");

    let metrics = server.get("/metrics").await;
    assert!(
        metrics
            .header("content-type")
            .unwrap()
            .starts_with("text/plain; version=0.0.4")
    );
    let text = metrics.text();
    let count = "timberline_http_request_duration_seconds_count{method=\"GET\",route=\"/ready\",status=\"200\"} 1";
    for part in [
        count,
        "# TYPE timberline_wal_fsyncs_total counter\ntimberline_wal_fsyncs_total 0",
        "timberline_http_requests_in_flight 1",
    ] {
        assert!(text.contains(part), "{part} is missing in\n{text}");
    }
    let prometheus = "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.2";
    let metrics = server.request("GET", "/metrics", &[("accept", prometheus)], b"").await;
    assert!(
        metrics
            .header("content-type")
            .unwrap()
            .starts_with("application/openmetrics-text")
    );
    assert!(metrics.text().ends_with("# EOF\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_are_compressed_for_who_can_read_it() {
    let server = Server::start(ServerOptions::default()).await;
    let reply = server
        .request("GET", "/metrics", &[("accept-encoding", "gzip")], b"")
        .await;
    assert_eq!(reply.header("content-encoding"), Some("gzip"));
    let mut text = String::new();
    GzDecoder::new(&reply.body[..]).read_to_string(&mut text).unwrap();
    assert!(text.contains("# TYPE timberline_"));
    assert_eq!(server.get("/metrics").await.header("content-encoding"), None);
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

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_never_comes_is_not_waited_for() {
    let options = ServerOptions {
        push_read_timeout: Duration::from_millis(1),
        ..ServerOptions::default()
    };
    let server = Server::start(options).await;
    let headers = [JSON[0], ("content-length", "100")];
    let reply = server.request_as_is("POST", PUSH, &headers, b"{").await;
    assert_eq!(reply.status, 408);
    assert!(reply.text().contains("push_read_timeout"), "{}", reply.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn senders_that_announce_much_and_send_nothing_keep_nobody_waiting() {
    let options = ServerOptions {
        max_push_inflight_bytes: 64 << 10,
        push_read_timeout: Duration::from_secs(3600),
        ..ServerOptions::default()
    };
    let server = Server::start(options).await;
    let mut stuck = Vec::new();
    for length in ["60000000", "99999999999"] {
        stuck.push(
            server
                .send("POST", PUSH, &[JSON[0], ("content-length", length)], b"{")
                .await,
        );
        // Longer than the budget itself, so that its share is the last to be had.
        let values: Vec<_> = (0..1000)
            .map(|i| json!([(T0 + i).to_string(), "x".repeat(100)]))
            .collect();
        let reply = server
            .post(PUSH, JSON, &body(&json!({"app": "shop"}), &json!(values)))
            .await;
        assert_eq!(reply.status, 204, "{}", reply.text());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn shutdown_waits_for_idle_connections_no_longer_than_the_deadline() {
    let server = Server::start(ServerOptions::default()).await;
    assert_eq!(server.get("/ready").await.status, 200);
    server.stop().await;

    // A request whose body never comes would keep the server for a minute.
    let options = ServerOptions {
        shutdown_deadline: Duration::ZERO,
        ..ServerOptions::default()
    };
    let server = Server::start(options).await;
    let _stuck = server
        .send("POST", PUSH, &[JSON[0], ("content-length", "100")], b"{")
        .await;
    server.stop().await;
}
