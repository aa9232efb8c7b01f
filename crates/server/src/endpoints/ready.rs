//! `GET /ready` (http-api.md 14).

use crate::AppState;
use crate::error::HttpError;
use axum::extract::State;
use axum::http::StatusCode;

/// Says whether requests are welcome: yes, from the first connection until the server is told to stop.
pub(super) async fn handle(State(state): State<AppState>) -> Result<&'static str, HttpError> {
    if state.is_stopping() {
        return Err(HttpError::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "not ready: the server is stopping",
        ));
    }
    Ok("ready\n")
}
