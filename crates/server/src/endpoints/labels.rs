//! `/loki/api/v1/labels` (http-api.md 7).

use crate::AppState;
use crate::encode::{json_response, write_names};
use crate::error::HttpError;
use crate::request::{Params, Tenant, now_ns, span};
use axum::extract::State;
use axum::response::Response;
use timberline_logql::ast::Matcher;

/// Lists the names of stream labels.
pub(super) async fn handle(
    State(state): State<AppState>,
    Tenant(tenant): Tenant,
    params: Params,
) -> Result<Response, HttpError> {
    let now_ns = now_ns();
    let span = span(&params, now_ns)?;
    let matchers = selector(&params)?;
    let Some(span) = state.policy().admit_listing(span, now_ns)? else {
        return Ok(json_response(write_names(&[])));
    };
    let (names, _) = state.gate().run(state.query().labels(&tenant, &matchers, span)).await?;
    Ok(json_response(write_names(&names)))
}

/// The optional selector in `query`.
pub(super) fn selector(params: &Params) -> Result<Vec<Matcher>, HttpError> {
    let Some(text) = params.get("query") else {
        return Ok(Vec::new());
    };
    Ok(timberline_logql::parse_selector(text)?)
}
