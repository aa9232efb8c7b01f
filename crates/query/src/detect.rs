//! What could be asked next: fields of the lines of a log query, labels worth choosing by (http-api.md 10).

use crate::answer::{Entry, QueryResult};
use crate::engine::Run;
use crate::request::{Direction, RangeRequest};
use crate::{QueryEngine, QueryError};
use std::collections::{BTreeMap, BTreeSet};
use timberline_logql::ast::{Expr, Matcher};
use timberline_logql::detect::{DetectedField, FieldDetector, is_worth_offering};
use timberline_store::TenantId;
use timberline_store::source::TimeSpan;

/// Lines after which other work on the same thread gets a turn.
const LINES_PER_TURN: usize = 64;

/// Whose fields are asked for.
#[derive(Clone, Debug)]
pub struct DetectRequest {
    /// LogQL text of a log query.
    pub query: String,
    /// First nanosecond.
    pub start_ns: i64,
    /// First nanosecond that is no longer included.
    pub end_ns: i64,
    /// How many lines are looked at, the newest first.
    pub line_limit: usize,
}

impl QueryEngine {
    /// The fields of the newest lines of a log query, in order of their names. Dropping the future cancels the query.
    pub async fn detect_fields(
        &self,
        tenant: &TenantId,
        request: DetectRequest,
    ) -> Result<Vec<DetectedField>, QueryError> {
        let Expr::Log(log) = timberline_logql::parse(&request.query)? else {
            let text = "fields are detected in log lines: a metric query has none";
            return Err(QueryError::BadRequest(text.into()));
        };
        let range = RangeRequest {
            query: request.query,
            start_ns: request.start_ns,
            end_ns: request.end_ns,
            step_ns: None,
            interval_ns: 0,
            limit: request.line_limit,
            direction: Direction::Backward,
        };
        let QueryResult::Streams(streams) = self.range(tenant, range).await?.result else {
            return Err(QueryError::Internal("bug: a log query has no streams".into()));
        };
        let mut entries: Vec<Entry> = streams.into_iter().flat_map(|stream| stream.entries).collect();
        // As found, so that a field has the path of its newest line.
        entries.sort_unstable_by_key(|entry| entry.position);
        let work = |run: Run| async move {
            let mut detector = FieldDetector::new(&log.stages);
            for lines in entries.chunks(LINES_PER_TURN) {
                for entry in lines {
                    run.context.cancelled.check()?;
                    let added = detector.add(&entry.labels, &entry.line);
                    added.map_err(|error| QueryError::Limit(error.to_string()))?;
                }
                tokio::task::yield_now().await;
            }
            Ok(detector.finish())
        };
        self.run(tenant, work).await
    }

    /// Labels of streams with entries in a time span that are worth choosing by, with the numbers of their values, in order of
    /// their names. No matchers: all streams.
    pub async fn detect_labels(
        &self,
        tenant: &TenantId,
        matchers: &[Matcher],
        span: TimeSpan,
    ) -> Result<Vec<(String, usize)>, QueryError> {
        let streams = self.streams(tenant, matchers, span).await?;
        let mut values: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (name, value) in streams.iter().flat_map(|labels| labels.iter()) {
            values.entry(name).or_default().insert(value);
        }
        let labels = values
            .into_iter()
            .filter(|(name, values)| is_worth_offering(name, values.iter().copied()))
            .map(|(name, values)| (name.to_owned(), values.len()));
        Ok(labels.collect())
    }
}
