//! `/loki/api/v1/query_range` (http-api.md 5.2).

use crate::AppState;
use crate::encode::{Layout, answer_response, text_response};
use crate::error::HttpError;
use crate::estimate::check_bytes;
use crate::request::{Params, Tenant, explores, now_ns, range_request, wants_explanation};
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use timberline_logql::ast::Expr;
use timberline_query::{Answer, QueryResult};
use timberline_store::source::TimeSpan;

/// The header with which Grafana asks for labels by category (http-api.md 6.2).
const ENCODING_FLAGS: &str = "x-loki-response-encoding-flags";

/// Finds log lines, or evaluates a metric query, over a time range; with `explain=1` tells how instead.
pub(super) async fn handle(
    State(state): State<AppState>,
    Tenant(tenant): Tenant,
    headers: HeaderMap,
    params: Params,
) -> Result<Response, HttpError> {
    let now_ns = now_ns();
    let mut request = range_request(&params, now_ns)?;
    let layout = layout(&headers);
    let expr = timberline_logql::parse(&request.query)?;
    let asked = TimeSpan {
        min_ns: request.start_ns,
        max_ns: request.end_ns,
    };
    let Some(span) = state.policy().admit(&expr, asked, now_ns)? else {
        let nothing = match expr {
            Expr::Log(_) => QueryResult::Streams(Vec::new()),
            Expr::Metric(_) => QueryResult::Matrix(Vec::new()),
        };
        return Ok(answer_response(Answer::from(nothing), layout, 0.0).await);
    };
    request.start_ns = span.min_ns;
    let mut engine = state.query().clone();
    if explores(&headers) {
        engine = engine.cutting_series();
    }
    if wants_explanation(&params)? {
        let explain = async {
            check_bytes(&state, &tenant, &expr, span).await?;
            Ok::<_, HttpError>(engine.explain_range(&tenant, request).await?)
        };
        let (explanation, _) = state.gate().run(explain).await?;
        return Ok(text_response(explanation.to_string()));
    }
    let work = async {
        check_bytes(&state, &tenant, &expr, span).await?;
        Ok::<_, HttpError>(engine.range(&tenant, request).await?)
    };
    let (answer, waited) = state.gate().run(work).await?;
    Ok(answer_response(answer, layout, waited).await)
}

fn layout(headers: &HeaderMap) -> Layout {
    let values = headers
        .get_all(ENCODING_FLAGS)
        .iter()
        .filter_map(|value| value.to_str().ok());
    if values
        .flat_map(|value| value.split(','))
        .any(|flag| flag.trim() == "categorize-labels")
    {
        Layout::Categorized
    } else {
        Layout::Merged
    }
}
