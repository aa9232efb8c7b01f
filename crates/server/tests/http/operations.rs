//! What all requests share, and what those who run the server see.

use crate::harness::Server;
use crate::{JSON, PUSH, range, shop};
use flate2::read::GzDecoder;
use serde_json::json;
use std::io::Read;
use std::time::Duration;
use timberline_server::ServerOptions;

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
