//! `/loki/api/v1/detected_fields` (http-api.md 10.1).

use crate::AppState;
use crate::encode::{json_response, write_detected_fields};
use crate::error::HttpError;
use crate::estimate::check_bytes;
use crate::request::{Params, Tenant, now_ns, positive, span};
use axum::extract::State;
use axum::response::Response;
use timberline_logql::detect::DetectedField;
use timberline_query::DetectRequest;
use timberline_store::TenantId;

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
    // The older name of the parameter.
    let limit = positive(&params, "field_limit", DEFAULT_LIMIT)?;
    let limit = positive(&params, "limit", limit)?;
    let fields = fields(&state, &tenant, &params).await?;
    Ok(json_response(write_detected_fields(&fields, limit)))
}

/// The fields that the request is about.
pub(super) async fn fields(
    state: &AppState,
    tenant: &TenantId,
    params: &Params,
) -> Result<Vec<DetectedField>, HttpError> {
    let now_ns = now_ns();
    let span = span(params, now_ns)?;
    let line_limit = positive(params, "line_limit", DEFAULT_LINE_LIMIT)?;
    let query = params.get("query").unwrap_or_default().to_owned();
    let expr = timberline_logql::parse(&query)?;
    let Some(span) = state.policy().admit(&expr, span, now_ns)? else {
        return Ok(Vec::new());
    };
    let request = DetectRequest {
        query,
        start_ns: span.min_ns,
        end_ns: span.max_ns,
        line_limit,
    };
    let work = async {
        check_bytes(state, tenant, &expr, span).await?;
        Ok::<_, HttpError>(state.query().detect_fields(tenant, request).await?)
    };
    let (fields, _) = state.gate().run(work).await?;
    Ok(fields)
}
