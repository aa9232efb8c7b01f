//! How much a selector would read, from what sources know of their streams: no line is looked at.

use crate::AppState;
use crate::error::HttpError;
use crate::limits::reads;
use std::collections::HashSet;
use timberline_logql::ast::{Expr, Matcher};
use timberline_logql::labels::LabelSet;
use timberline_query::QueryError;
use timberline_store::TenantId;
use timberline_store::source::{SourceProvider, StreamInfo, TimeSpan};

/// What a selector would read. Where a stream reaches beyond the time range, all of what its object holds is counted.
#[derive(Debug, Default, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Estimate {
    pub(crate) streams: u64,
    /// Stretches of one stream in one object or in the head.
    pub(crate) chunks: u64,
    pub(crate) bytes: u64,
    pub(crate) entries: u64,
    /// The share of `bytes` that lies in the time range if a stream's entries are spread evenly.
    #[serde(skip)]
    pub(crate) bytes_in_span: u64,
}

/// Adds up the streams of a tenant that a selector chooses.
pub(crate) async fn estimate(
    state: &AppState,
    tenant: &TenantId,
    matchers: Vec<Matcher>,
    span: TimeSpan,
) -> Result<Estimate, QueryError> {
    let chosen = state.query().series(tenant, &[matchers], span).await?;
    let chosen: HashSet<LabelSet> = chosen.into_iter().collect();
    let mut estimate = Estimate {
        streams: chosen.len() as u64,
        ..Estimate::default()
    };
    for source in state.engine().sources(tenant, span).await? {
        for stream in source.streams().await?.iter() {
            if stream.span.overlaps(&span) && chosen.contains(&stream.labels) {
                estimate.chunks += 1;
                estimate.bytes += stream.bytes;
                estimate.entries += stream.rows;
                estimate.bytes_in_span += bytes_within(stream, span);
            }
        }
    }
    Ok(estimate)
}

/// Refuses a query that would read more bytes than the policy allows.
pub(crate) async fn check_bytes(
    state: &AppState,
    tenant: &TenantId,
    expr: &Expr,
    span: TimeSpan,
) -> Result<(), HttpError> {
    let policy = state.policy();
    if policy.max_query_bytes_read == 0 {
        return Ok(());
    }
    let mut bytes = 0_u64;
    for (log, span) in reads(expr, span) {
        let read = estimate(state, tenant, log.matchers.clone(), span).await?.bytes_in_span;
        bytes = bytes.saturating_add(read);
    }
    policy.check_bytes(bytes)
}

/// The stream's bytes within the span, were its entries spread evenly.
fn bytes_within(stream: &StreamInfo, span: TimeSpan) -> u64 {
    let length = |min_ns: i64, max_ns: i64| u128::from(max_ns.abs_diff(min_ns)) + 1;
    let whole = length(stream.span.min_ns, stream.span.max_ns);
    let part = length(stream.span.min_ns.max(span.min_ns), stream.span.max_ns.min(span.max_ns));
    let bytes = u128::from(stream.bytes) * part.min(whole) / whole;
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_shared_out_by_time() {
        let f = |stream: (i64, i64), span: (i64, i64), want: u64| {
            let span_of = |(min_ns, max_ns)| TimeSpan { min_ns, max_ns };
            let info = StreamInfo {
                id: 1,
                labels: LabelSet::default(),
                span: span_of(stream),
                rows: 1,
                bytes: 1000,
                duplicates: None,
            };
            assert_eq!(bytes_within(&info, span_of(span)), want, "{stream:?} {span:?}");
        };
        f((0, 99), (0, 99), 1000);
        f((0, 99), (-5, 500), 1000);
        f((0, 99), (50, 500), 500);
        f((0, 99), (-10, 24), 250);
        f((0, 99), (10, 10), 10);
        f((7, 7), (7, 7), 1000);
        f((i64::MIN, i64::MAX), (0, i64::MAX), 500);
    }
}
