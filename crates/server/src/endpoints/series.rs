//! `/loki/api/v1/series` (http-api.md 7).

use crate::AppState;
use crate::encode::{json_response, write_label_sets};
use crate::error::HttpError;
use crate::request::{Params, Tenant, now_ns, span};
use axum::extract::State;
use axum::response::Response;
use timberline_logql::ast::Matcher;

/// Lists the streams that match any of the selectors.
pub(super) async fn handle(
    State(state): State<AppState>,
    Tenant(tenant): Tenant,
    params: Params,
) -> Result<Response, HttpError> {
    let now_ns = now_ns();
    let span = span(&params, now_ns)?;
    let selectors = selectors(&params)?;
    let Some(span) = state.policy().admit_span(span, now_ns)? else {
        return Ok(json_response(write_label_sets(&[])));
    };
    let (sets, _) = state
        .gate()
        .run(state.query().series(&tenant, &selectors, span))
        .await?;
    Ok(json_response(write_label_sets(&sets)))
}

/// The selectors; none asks for everything.
fn selectors(params: &Params) -> Result<Vec<Vec<Matcher>>, HttpError> {
    let texts = params
        .all("match[]")
        .chain(params.all("match"))
        .filter(|text| !text.is_empty());
    let mut selectors = Vec::new();
    for text in texts {
        selectors.push(timberline_logql::parse_selector(text)?);
    }
    Ok(selectors)
}
