//! `GET /log_level` (http-api.md 14).

use crate::AppState;
use crate::encode::json_response;
use axum::extract::State;
use axum::response::Response;

/// Tells the level of the log.
pub(super) async fn handle(State(state): State<AppState>) -> Response {
    let message = format!("Current log level is {}", state.options().log_level);
    json_response(serde_json::json!({ "message": message }).to_string().into_bytes())
}
