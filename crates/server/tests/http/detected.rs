//! Fields, their values, and labels that are worth choosing by.

use crate::harness::{Reply, Server, T0};
use crate::{JSON, PUSH, range};
use serde_json::{Value, json};
use timberline_server::ServerOptions;

const FORM: &[(&str, &str)] = &[("content-type", "application/x-www-form-urlencoded")];

/// The answer without its order and without the level that each entry gets.
fn fields(reply: &Reply) -> Vec<Value> {
    assert_eq!(reply.status, 200, "{}", reply.text());
    let mut fields = reply.json()["fields"].as_array().cloned().unwrap_or_default();
    fields.retain(|field| field["label"] != "detected_level");
    fields.sort_by_key(|field| field["label"].to_string());
    fields
}

async fn start() -> Server {
    let server = Server::start(ServerOptions::default()).await;
    let at = |n: i64| (T0 + n).to_string();
    let body = json!({"streams": [
        {"stream": {"app": "json", "pod": "7", "shard": "1"}, "values": [
            [at(0), r#"{"resp":{"x-id":"a"},"size":"10kb","pod":"p"}"#],
            [at(1), r#"{"size":"2MiB","took":"5ms"}"#, {"user": "u1"}],
        ]},
        {"stream": {"app": "logfmt", "pod": "8", "shard": "2"}, "values": [
            [at(2), "status=200 took=1s"],
            [at(3), "status=404 user=u2"],
            [at(4), "nothing to see"],
        ]},
    ]});
    let reply = server.post(PUSH, JSON, body.to_string().as_bytes()).await;
    assert_eq!(reply.status, 204, "{}", reply.text());
    server
}

#[tokio::test(flavor = "multi_thread")]
async fn fields_of_lines() {
    let server = start().await;
    let all = [
        json!({"label": "pod_extracted", "type": "string", "cardinality": 1, "parsers": ["json"], "jsonPath": ["pod"]}),
        json!({"label": "resp_x_id", "type": "string", "cardinality": 1, "parsers": ["json"], "jsonPath": ["resp", "x-id"]}),
        json!({"label": "size", "type": "bytes", "cardinality": 2, "parsers": ["json"], "jsonPath": ["size"]}),
        json!({"label": "status", "type": "int", "cardinality": 2, "parsers": ["logfmt"]}),
        json!({"label": "took", "type": "duration", "cardinality": 2, "parsers": ["json", "logfmt"], "jsonPath": ["took"]}),
        json!({"label": "user", "type": "string", "cardinality": 2, "parsers": ["logfmt"]}),
    ];
    let target = "/loki/api/v1/detected_fields";
    for flushed in [false, true] {
        if flushed {
            assert_eq!(server.post("/flush", &[], b"").await.status, 204);
        }
        let query = format!("query={{app=~\".%2B\"}}&{}", range());
        let reply = server.get(&format!("{target}?{query}")).await;
        assert_eq!(fields(&reply), all, "flushed: {flushed}");
        assert_eq!(reply.json()["limit"], 1000);
        let reply = server.post(target, FORM, query.as_bytes()).await;
        assert_eq!(fields(&reply), all, "flushed: {flushed}");
    }

    let ask = async |parameters: &str| server.get(&format!("{target}?{parameters}&{}", range())).await;
    // The newest two lines.
    let reply = ask("query={app=~\".%2B\"}&line_limit=2").await;
    assert_eq!(
        fields(&reply),
        [
            json!({"label": "status", "type": "int", "cardinality": 1, "parsers": ["logfmt"]}),
            json!({"label": "user", "type": "string", "cardinality": 1, "parsers": ["logfmt"]}),
        ]
    );
    // A query with a parser says what the fields are.
    let reply = ask("query={app=\"logfmt\"}|logfmt|status=\"404\"|drop%20user").await;
    assert_eq!(
        fields(&reply),
        [json!({"label": "status", "type": "int", "cardinality": 1, "parsers": ["logfmt"]})]
    );
    let reply = ask("query={app=\"json\"}|json|took=\"5ms\"").await;
    assert_eq!(
        fields(&reply)[0],
        json!({"label": "size", "type": "bytes", "cardinality": 1, "parsers": ["json"], "jsonPath": ["size"]})
    );
    for (limit, number) in [("limit=2", 2), ("field_limit=2", 2), ("field_limit=9&limit=3", 3)] {
        let reply = ask(&format!("query={{app=~\".%2B\"}}&{limit}")).await.json();
        assert_eq!(reply["fields"].as_array().map(Vec::len), Some(number), "{limit}");
        assert_eq!(reply["limit"], number, "{limit}");
    }
    assert_eq!(ask("query={app=\"none\"}").await.text(), "{}");
}

#[tokio::test(flavor = "multi_thread")]
async fn values_of_a_field() {
    let server = start().await;
    let ask = async |field: &str, parameters: &str| {
        let target = format!("/loki/api/v1/detected_field/{field}/values?{parameters}&{}", range());
        let reply = server.get(&target).await;
        assert_eq!(reply.status, 200, "{}", reply.text());
        reply.text()
    };
    let all = "query={app=~\".%2B\"}";
    assert_eq!(ask("status", all).await, r#"{"values":["200","404"],"limit":1000}"#);
    assert_eq!(ask("size", all).await, r#"{"values":["10kB","2.1MB"],"limit":1000}"#);
    assert_eq!(ask("user", all).await, r#"{"values":["u1","u2"],"limit":1000}"#);
    assert_eq!(
        ask("status", &format!("{all}&limit=1")).await,
        r#"{"values":["200"],"limit":1}"#
    );
    assert_eq!(
        ask("status", &format!("{all}&line_limit=2")).await,
        r#"{"values":["404"],"limit":1000}"#
    );
    assert_eq!(ask("unknown", all).await, "{}");
    // Labels of the stream are no fields.
    assert_eq!(ask("app", all).await, "{}");
}

#[tokio::test(flavor = "multi_thread")]
async fn labels_worth_choosing_by() {
    let server = start().await;
    let target = "/loki/api/v1/detected_labels";
    let label = |label: &str, cardinality: usize| json!({"label": label, "cardinality": cardinality});
    // `shard` holds only numbers, and so does `pod`, which people choose by all the same.
    let all = json!({"detectedLabels": [label("app", 2), label("pod", 2), label("service_name", 2)]});
    assert_eq!(server.get(&format!("{target}?{}", range())).await.json(), all);
    assert_eq!(server.post(target, FORM, range().as_bytes()).await.json(), all);
    let one = json!({"detectedLabels": [label("app", 1), label("pod", 1), label("service_name", 1)]});
    let reply = server
        .get(&format!("{target}?query={{app=\"json\"}}&{}", range()))
        .await;
    assert_eq!(reply.json(), one);
    let reply = server
        .get(&format!("{target}?query={{app=\"none\"}}&{}", range()))
        .await;
    assert_eq!(reply.text(), "{}");
}

#[tokio::test(flavor = "multi_thread")]
async fn questions_that_make_no_sense_are_refused() {
    let server = Server::start(ServerOptions::default()).await;
    let ask = async |target: &str, text: &str| {
        let reply = server.get(&format!("/loki/api/v1/{target}")).await;
        assert_eq!((reply.status, reply.text().as_str()), (400, text), "{target}");
    };
    for target in ["detected_fields", "detected_field/a/values"] {
        let query = format!("{target}?query={{a=\"b\"}}");
        ask(target, "parse error : syntax error: unexpected $end").await;
        ask(&format!("{query}&line_limit=0"), "line_limit must be a positive value").await;
        ask(&format!("{query}&limit=-1"), "limit must be a positive value").await;
        ask(
            &format!("{query}&line_limit=x"),
            "strconv.Atoi: parsing \"x\": invalid syntax",
        )
        .await;
        ask(
            &format!("{query}&line_limit=60000"),
            "max entries limit per query exceeded, limit > max_entries_limit_per_query (60000 > 50000)",
        )
        .await;
        ask(
            &format!("{target}?query=rate({{a=\"b\"}}[1m])"),
            "fields are detected in log lines: a metric query has none",
        )
        .await;
        ask(
            &format!("{query}&start=2&end=1"),
            "end timestamp must not be before or equal to start time",
        )
        .await;
    }
    ask(
        "detected_labels?query={a=\"b\"}|json",
        "parse error : only label matchers are supported",
    )
    .await;
}
