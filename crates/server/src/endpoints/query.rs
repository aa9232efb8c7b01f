//! `/loki/api/v1/query` (http-api.md 5.1).

use crate::AppState;
use crate::encode::{Layout, answer_response, text_response};
use crate::error::HttpError;
use crate::estimate::check_bytes;
use crate::request::{Params, Tenant, direction, explores, limit, now_ns, parse_time, wants_explanation};
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use timberline_query::{Answer, InstantRequest, QueryResult};
use timberline_store::source::TimeSpan;

/// Evaluates a metric query at one time; with `explain=1` tells how instead.
pub(super) async fn handle(
    State(state): State<AppState>,
    Tenant(tenant): Tenant,
    headers: HeaderMap,
    params: Params,
) -> Result<Response, HttpError> {
    let now_ns = now_ns();
    let request = request(&params, now_ns)?;
    let expr = timberline_logql::parse(&request.query)?;
    let asked = TimeSpan {
        min_ns: request.time_ns,
        max_ns: request.time_ns,
    };
    let Some(span) = state.policy().admit(&expr, asked, now_ns)? else {
        let nothing = Answer::from(QueryResult::Vector(Vec::new()));
        return Ok(answer_response(nothing, Layout::Merged, 0.0).await);
    };
    let mut engine = state.query().clone();
    if explores(&headers) {
        engine = engine.cutting_series();
    }
    if wants_explanation(&params)? {
        let explain = async {
            check_bytes(&state, &tenant, &expr, span).await?;
            Ok::<_, HttpError>(engine.explain_instant(&tenant, request).await?)
        };
        let (explanation, _) = state.gate().run(explain).await?;
        return Ok(text_response(explanation.to_string()));
    }
    let work = async {
        check_bytes(&state, &tenant, &expr, span).await?;
        Ok::<_, HttpError>(engine.instant(&tenant, request).await?)
    };
    let (answer, waited) = state.gate().run(work).await?;
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
