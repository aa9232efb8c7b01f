//! `/loki/api/v1/detected_labels` (http-api.md 10.3).

use super::labels::selector;
use crate::AppState;
use crate::encode::{json_response, write_detected_labels};
use crate::error::HttpError;
use crate::request::{Params, Tenant, now_ns, span};
use axum::extract::State;
use axum::response::Response;

/// Lists the stream labels that are worth choosing by.
pub(super) async fn handle(
    State(state): State<AppState>,
    Tenant(tenant): Tenant,
    params: Params,
) -> Result<Response, HttpError> {
    let now_ns = now_ns();
    let span = span(&params, now_ns)?;
    let matchers = selector(&params)?;
    let Some(span) = state.policy().admit_span(span, now_ns)? else {
        return Ok(json_response(write_detected_labels(&[])));
    };
    let labels = state.query().detect_labels(&tenant, &matchers, span);
    let (labels, _) = state.gate().run(labels).await?;
    Ok(json_response(write_detected_labels(&labels)))
}
