//! `/loki/api/v1/detected_fields` (http-api.md 10.1).

use crate::AppState;
use crate::encode::{json_response, write_detected_fields};
use crate::error::HttpError;
use crate::request::{Params, Tenant, now_ns, positive, span};
use axum::extract::State;
use axum::response::Response;
use timberline_query::DetectRequest;

/// Fields, or values of one, that are returned where nothing is asked for.
pub(super) const DEFAULT_LIMIT: usize = 1000;
/// Lines looked at where nothing is asked for.
const DEFAULT_LINE_LIMIT: usize = 100;

/// Lists the fields of the newest lines of a log query.
pub(super) async fn handle(
    State(state): State<AppState>,
    Tenant(tenant): Tenant,
    params: Params,
) -> Result<Response, HttpError> {
    let request = request(&params, now_ns())?;
    // The older name of the parameter.
    let limit = positive(&params, "field_limit", DEFAULT_LIMIT)?;
    let limit = positive(&params, "limit", limit)?;
    let fields = state.query().detect_fields(&tenant, request);
    let (fields, _) = state.gate().run(fields).await?;
    Ok(json_response(write_detected_fields(&fields, limit)))
}

/// Whose fields are asked for.
pub(super) fn request(params: &Params, now_ns: i64) -> Result<DetectRequest, HttpError> {
    let span = span(params, now_ns)?;
    Ok(DetectRequest {
        query: params.get("query").unwrap_or_default().to_owned(),
        start_ns: span.min_ns,
        end_ns: span.max_ns,
        line_limit: positive(params, "line_limit", DEFAULT_LINE_LIMIT)?,
    })
}
