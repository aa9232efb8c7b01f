//! Entries sent: bodies of all kinds, good and bad.

use crate::harness::{Server, T0};
use crate::{JSON, PUSH, body, range, result};
use serde_json::json;
use std::io::Write;
use std::time::Duration;
use timberline_server::ServerOptions;

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

#[tokio::test(flavor = "multi_thread")]
async fn bodies_that_cannot_be_read_are_refused() {
    let options = ServerOptions {
        max_push_bytes: 300,
        max_push_unpacked_bytes: 1000,
        ..ServerOptions::default()
    };
    let server = Server::start(options).await;
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
