//! `/loki/api/v1/query` (http-api.md 5.1).

use crate::AppState;
use crate::encode::{Layout, answer_response, text_response};
use crate::error::HttpError;
use crate::request::{Params, Tenant, direction, limit, now_ns, parse_time, wants_explanation};
use axum::extract::State;
use axum::response::Response;
use timberline_query::InstantRequest;

/// Evaluates a metric query at one time; with `explain=1` tells how instead.
pub(super) async fn handle(
    State(state): State<AppState>,
    Tenant(tenant): Tenant,
    params: Params,
) -> Result<Response, HttpError> {
    let request = request(&params, now_ns())?;
    if wants_explanation(&params)? {
        let explain = state.query().explain_instant(&tenant, request);
        let (explanation, _) = state.gate().run(explain).await?;
        return Ok(text_response(explanation.to_string()));
    }
    let (answer, waited) = state.gate().run(state.query().instant(&tenant, request)).await?;
    Ok(answer_response(answer, Layout::Merged, waited).await)
}

/// `limit` and `direction` mean nothing for metric queries, but must be right where they are given.
fn request(params: &Params, now_ns: i64) -> Result<InstantRequest, HttpError> {
    limit(params)?;
    direction(params)?;
    let time = params.get("time").map(parse_time).transpose();
    let time = time.map_err(|why| HttpError::bad_request(format!("could not parse 'time' parameter: {why}")))?;
    let query = params.get("query").unwrap_or_default().to_owned();
    Ok(InstantRequest {
        query,
        time_ns: time.unwrap_or(now_ns),
    })
}
