//! `GET /loki/api/v1/status/buildinfo` (http-api.md 14).

use crate::encode::json_response;
use axum::response::Response;

/// The version of the API whose shape we have, and our own. Grafana switches features on by the first part.
const VERSION: &str = concat!("3.5.0+timberline.", env!("CARGO_PKG_VERSION"));

/// Tells the version.
pub(super) async fn handle() -> Response {
    let info = serde_json::json!({
        "version": VERSION,
        "revision": "unknown",
        "branch": "unknown",
        "buildUser": "timberline",
        "buildDate": "unknown",
        "goVersion": "none",
    });
    json_response(info.to_string().into_bytes())
}
