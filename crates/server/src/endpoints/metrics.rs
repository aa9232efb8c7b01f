//! `GET /metrics` (http-api.md 14).

use crate::AppState;
use crate::error::HttpError;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};

/// The text format that the metrics are written in; Prometheus chooses its parser by it.
const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Shows all metrics.
pub(super) async fn handle(State(state): State<AppState>) -> Result<Response, HttpError> {
    let text = state.metrics().text();
    let text = text.map_err(|error| HttpError::new(StatusCode::INTERNAL_SERVER_ERROR, format!("metrics: {error}")))?;
    Ok(([(header::CONTENT_TYPE, MEDIA_TYPE)], text).into_response())
}
