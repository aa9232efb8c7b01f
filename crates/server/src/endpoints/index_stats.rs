//! `/loki/api/v1/index/stats` (http-api.md 8.1).

use crate::AppState;
use crate::encode::json_response;
use crate::error::HttpError;
use crate::request::{Params, Tenant, now_ns, span};
use axum::extract::State;
use axum::response::Response;
use std::collections::HashSet;
use timberline_logql::ast::{Expr, Matcher};
use timberline_logql::labels::LabelSet;
use timberline_query::QueryError;
use timberline_store::TenantId;
use timberline_store::source::{SourceProvider, TimeSpan};

/// What a selector would read. Where a stream reaches beyond the time range, all of what its object holds is counted.
#[derive(Debug, Default, PartialEq, Eq, serde::Serialize)]
struct IndexStats {
    streams: u64,
    /// Stretches of one stream in one object or in the head.
    chunks: u64,
    bytes: u64,
    entries: u64,
}

/// Tells how much a selector would read.
pub(super) async fn handle(
    State(state): State<AppState>,
    Tenant(tenant): Tenant,
    params: Params,
) -> Result<Response, HttpError> {
    let span = span(&params, now_ns())?;
    let matchers = selector(params.get("query").unwrap_or_default())?;
    let (stats, _) = state.gate().run(count(&state, &tenant, matchers, span)).await?;
    let body = serde_json::to_vec(&stats).expect("bug: four numbers are always JSON");
    Ok(json_response(body))
}

/// A selector that is good enough for a query: it must not match everything.
fn selector(text: &str) -> Result<Vec<Matcher>, HttpError> {
    match timberline_logql::parse(text) {
        Ok(Expr::Log(log)) if log.stages.is_empty() => Ok(log.matchers),
        Ok(_) => Err(HttpError::bad_request(
            "parse error : only label matchers are supported",
        )),
        Err(error) => Err(HttpError::bad_request(error.report())),
    }
}

async fn count(
    state: &AppState,
    tenant: &TenantId,
    matchers: Vec<Matcher>,
    span: TimeSpan,
) -> Result<IndexStats, QueryError> {
    let chosen = state.query().series(tenant, &[matchers], span).await?;
    let chosen: HashSet<LabelSet> = chosen.into_iter().collect();
    let mut stats = IndexStats {
        streams: chosen.len() as u64,
        ..IndexStats::default()
    };
    for source in state.engine().sources(tenant, span).await? {
        for stream in source.streams().await?.iter() {
            if stream.span.overlaps(&span) && chosen.contains(&stream.labels) {
                stats.chunks += 1;
                stats.bytes += stream.bytes;
                stats.entries += stream.rows;
            }
        }
    }
    Ok(stats)
}
