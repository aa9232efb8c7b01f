//! `/loki/api/v1/query_range` (http-api.md 5.2).

use crate::AppState;
use crate::encode::{Layout, answer_response, text_response};
use crate::error::HttpError;
use crate::request::{Params, Tenant, now_ns, range_request, wants_explanation};
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;

/// The header with which Grafana asks for labels by category (http-api.md 6.2).
const ENCODING_FLAGS: &str = "x-loki-response-encoding-flags";

/// Finds log lines, or evaluates a metric query, over a time range; with `explain=1` tells how instead.
pub(super) async fn handle(
    State(state): State<AppState>,
    Tenant(tenant): Tenant,
    headers: HeaderMap,
    params: Params,
) -> Result<Response, HttpError> {
    let request = range_request(&params, now_ns())?;
    if wants_explanation(&params)? {
        let explain = state.query().explain_range(&tenant, request);
        let (explanation, _) = state.gate().run(explain).await?;
        return Ok(text_response(explanation.to_string()));
    }
    let layout = layout(&headers);
    let (answer, waited) = state.gate().run(state.query().range(&tenant, request)).await?;
    Ok(answer_response(answer, layout, waited).await)
}

fn layout(headers: &HeaderMap) -> Layout {
    let values = headers
        .get_all(ENCODING_FLAGS)
        .iter()
        .filter_map(|value| value.to_str().ok());
    if values
        .flat_map(|value| value.split(','))
        .any(|flag| flag.trim() == "categorize-labels")
    {
        Layout::Categorized
    } else {
        Layout::Merged
    }
}
