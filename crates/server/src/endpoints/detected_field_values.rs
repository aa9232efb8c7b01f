//! `/loki/api/v1/detected_field/{name}/values` (http-api.md 10.2).

use super::detected_fields::{DEFAULT_LIMIT, fields};
use crate::AppState;
use crate::encode::{json_response, write_field_values};
use crate::error::HttpError;
use crate::request::{Params, Tenant, positive};
use axum::extract::{Path, State};
use axum::response::Response;

/// Lists the values of one field of the newest lines of a log query.
pub(super) async fn handle(
    State(state): State<AppState>,
    Tenant(tenant): Tenant,
    Path(name): Path<String>,
    params: Params,
) -> Result<Response, HttpError> {
    let limit = positive(&params, "limit", DEFAULT_LIMIT)?;
    let fields = fields(&state, &tenant, &params).await?;
    let field = fields.iter().find(|field| *field.label == *name);
    let values = field.map(|field| field.values()).unwrap_or_default();
    Ok(json_response(write_field_values(values, limit)))
}
