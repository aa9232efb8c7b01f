//! `GET /metrics` (http-api.md 14).

use crate::AppState;
use crate::error::HttpError;
use crate::metrics::from_openmetrics;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};

/// Prometheus chooses its parser by the media type.
const OPENMETRICS: &str = "application/openmetrics-text";
const OPENMETRICS_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const PROMETHEUS_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Shows all metrics: in the Prometheus text format, in OpenMetrics for who accepts that.
pub(super) async fn handle(State(state): State<AppState>, headers: HeaderMap) -> Result<Response, HttpError> {
    let text = state.metrics().text();
    let text = text.map_err(|error| HttpError::new(StatusCode::INTERNAL_SERVER_ERROR, format!("metrics: {error}")))?;
    let accepts = |value: &header::HeaderValue| value.to_str().is_ok_and(|value| value.contains(OPENMETRICS));
    if headers.get_all(header::ACCEPT).iter().any(accepts) {
        return Ok(([(header::CONTENT_TYPE, OPENMETRICS_TYPE)], text).into_response());
    }
    Ok(([(header::CONTENT_TYPE, PROMETHEUS_TYPE)], from_openmetrics(&text)).into_response())
}
