//! `/loki/api/v1/label/{name}/values` (http-api.md 7).

use super::labels::selector;
use crate::AppState;
use crate::encode::{json_response, write_names};
use crate::error::HttpError;
use crate::request::{Params, Tenant, now_ns, span};
use axum::extract::{Path, State};
use axum::response::Response;

/// Lists the values of a stream label.
pub(super) async fn handle(
    State(state): State<AppState>,
    Tenant(tenant): Tenant,
    Path(name): Path<String>,
    params: Params,
) -> Result<Response, HttpError> {
    let now_ns = now_ns();
    let span = span(&params, now_ns)?;
    let matchers = selector(&params)?;
    let Some(span) = state.policy().admit_listing(span, now_ns)? else {
        return Ok(json_response(write_names(&[])));
    };
    let values = state.query().label_values(&tenant, &name, &matchers, span);
    let (values, _) = state.gate().run(values).await?;
    Ok(json_response(write_names(&values)))
}
