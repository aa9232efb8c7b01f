//! The server over real connections: what clients send, what they get.
#![expect(clippy::unwrap_used, reason = "a test that can't go on may panic")]

mod detected;
mod harness;
mod limits;
mod operations;
mod push;
mod queries;
mod sql;

use harness::{Reply, T0, T1};
use serde_json::{Value, json};

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

/// The range of the test data.
fn range() -> String {
    format!("start={}&end={}", T0 - 1_000_000_000, T1)
}

fn result(reply: &Reply) -> Value {
    assert_eq!(reply.status, 200, "{}", reply.text());
    reply.json()["data"]["result"].clone()
}
