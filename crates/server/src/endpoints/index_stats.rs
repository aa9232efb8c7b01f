//! `/loki/api/v1/index/stats` (http-api.md 8.1).

use crate::AppState;
use crate::encode::json_response;
use crate::error::HttpError;
use crate::estimate::{Estimate, estimate};
use crate::request::{Params, Tenant, now_ns, span};
use axum::extract::State;
use axum::response::Response;
use timberline_logql::ast::{Expr, Matcher};

/// Tells how much a selector would read.
pub(super) async fn handle(
    State(state): State<AppState>,
    Tenant(tenant): Tenant,
    params: Params,
) -> Result<Response, HttpError> {
    let now_ns = now_ns();
    let span = span(&params, now_ns)?;
    let matchers = selector(params.get("query").unwrap_or_default())?;
    let mut stats = Estimate::default();
    if let Some(span) = state.policy().admit_span(span, now_ns)? {
        (stats, _) = state.gate().run(estimate(&state, &tenant, matchers, span)).await?;
    }
    let body = serde_json::to_vec(&stats).expect("bug: four numbers are always JSON");
    Ok(json_response(body))
}

/// A selector that is good enough for a query: it must not match everything.
fn selector(text: &str) -> Result<Vec<Matcher>, HttpError> {
    match timberline_logql::parse(text)? {
        Expr::Log(log) if log.stages.is_empty() => Ok(log.matchers),
        _ => Err(HttpError::bad_request(
            "parse error : only label matchers are supported",
        )),
    }
}
