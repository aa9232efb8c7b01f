//! `GET` and `POST /flush` (http-api.md 14).

use crate::AppState;
use crate::error::HttpError;
use axum::extract::State;
use axum::http::StatusCode;

/// Brings all entries acknowledged so far into data objects. The peer answers at once and flushes afterwards; here the answer
/// means that it is done, which is the more useful promise.
pub(super) async fn handle(State(state): State<AppState>) -> Result<StatusCode, HttpError> {
    match state.engine().flush().await {
        Ok(_) => Ok(StatusCode::NO_CONTENT),
        Err(error) => Err(HttpError::new(
            StatusCode::SERVICE_UNAVAILABLE,
            format!("flush failed: {error}"),
        )),
    }
}
