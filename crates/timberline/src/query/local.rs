//! Asks a data folder without a server.

use super::answer::{Answer, Labels, Series, Stream};
use super::{Question, Span};
use crate::{Failure, folder};
use anyhow::{Context, anyhow};
use std::path::Path;
use std::sync::Arc;
use timberline_ingest::{Engine, EngineOptions};
use timberline_logql::labels::LabelSet;
use timberline_query::{Direction, InstantRequest, QueryEngine, QueryError, QueryLimits, QueryResult, RangeRequest};
use timberline_store::{Catalog, Store, TenantId};
use tokio::runtime::Runtime;

/// Answers the question from the objects and the write-ahead log of a data folder, of which nothing is changed.
pub(super) fn ask(data: &Path, tenant: Option<&String>, question: &Question) -> Result<Answer, Failure> {
    let folder = Folder::open(data, tenant)?;
    let answer = match request(question) {
        Request::Range(request) => folder.runtime.block_on(folder.query.range(&folder.tenant, request)),
        Request::Instant(request) => folder.runtime.block_on(folder.query.instant(&folder.tenant, request)),
    };
    Ok(converted(answer.map_err(failure)?.result))
}

/// Runs the question over a data folder and tells how.
pub(super) fn explain(data: &Path, tenant: Option<&String>, question: &Question) -> Result<String, Failure> {
    let folder = Folder::open(data, tenant)?;
    let explanation = match request(question) {
        Request::Range(request) => folder
            .runtime
            .block_on(folder.query.explain_range(&folder.tenant, request)),
        Request::Instant(request) => folder
            .runtime
            .block_on(folder.query.explain_instant(&folder.tenant, request)),
    };
    Ok(explanation.map_err(failure)?.to_string())
}

/// An engine over a data folder.
struct Folder {
    runtime: Runtime,
    query: QueryEngine,
    tenant: TenantId,
}

impl Folder {
    fn open(data: &Path, tenant: Option<&String>) -> Result<Self, Failure> {
        let tenant = match tenant {
            Some(name) => TenantId::new(name).map_err(Failure::usage)?,
            None => TenantId::single(),
        };
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let engine = runtime
            .block_on(open(data))
            .with_context(|| format!("data folder {}", data.display()))?;
        let query = QueryEngine::new(Arc::new(engine), limits())?;
        Ok(Self { runtime, query, tenant })
    }
}

enum Request {
    Range(RangeRequest),
    Instant(InstantRequest),
}

fn request(question: &Question) -> Request {
    let query = question.query.clone();
    match question.span {
        Span::Range {
            start_ns,
            end_ns,
            step_ns,
        } => Request::Range(RangeRequest {
            query,
            start_ns,
            end_ns,
            step_ns,
            interval_ns: 0,
            limit: question.limit as usize,
            direction: if question.forward {
                Direction::Forward
            } else {
                Direction::Backward
            },
        }),
        Span::Instant { time_ns } => Request::Instant(InstantRequest { query, time_ns }),
    }
}

/// The limits protect a server from those who ask; who asks here pays alone.
fn limits() -> QueryLimits {
    QueryLimits {
        max_entries: usize::MAX,
        max_series: usize::MAX,
        max_query_memory_bytes: usize::MAX,
        ..QueryLimits::default()
    }
}

async fn open(data: &Path) -> anyhow::Result<Engine> {
    let objects = folder::objects(data);
    if !objects.is_dir() {
        return Err(anyhow!(
            "{} is not a folder, so no server has kept its data here",
            objects.display()
        ));
    }
    let store = Store::open_local_read_only(&objects)?;
    let catalog = Catalog::open_read_only(store.clone()).await?;
    Ok(Engine::open_read_only(EngineOptions::new(data), store, catalog).await?)
}

fn failure(error: QueryError) -> Failure {
    match error {
        QueryError::Parse(_) | QueryError::BadRequest(_) | QueryError::Limit(_) => Failure::usage(error),
        _ => Failure::failed(error),
    }
}

fn converted(result: QueryResult) -> Answer {
    match result {
        QueryResult::Streams(streams) => Answer::Streams(
            streams
                .into_iter()
                .map(|stream| Stream {
                    labels: labels(&stream.labels),
                    entries: stream
                        .entries
                        .into_iter()
                        .map(|e| (e.timestamp_ns, e.line.to_vec()))
                        .collect(),
                })
                .collect(),
        ),
        QueryResult::Matrix(series) => Answer::Matrix(
            series
                .into_iter()
                .map(|one| Series {
                    labels: labels(&one.labels),
                    points: one.points.into_iter().map(|(ns, value)| (ns, number(value))).collect(),
                })
                .collect(),
        ),
        QueryResult::Vector(samples) => Answer::Vector(
            samples
                .into_iter()
                .map(|one| Series {
                    labels: labels(&one.labels),
                    points: vec![(one.time_ns, number(one.value))],
                })
                .collect(),
        ),
        QueryResult::Scalar { time_ns, value } => Answer::Scalar(time_ns, number(value)),
    }
}

fn labels(set: &LabelSet) -> Labels {
    set.iter()
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

/// As the API writes numbers: the shortest decimal that reads back as the same number, without exponent.
fn number(value: f64) -> String {
    match value {
        f64::INFINITY => "+Inf".to_owned(),
        f64::NEG_INFINITY => "-Inf".to_owned(),
        value => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn numbers() {
        let f = |value: f64, want: &str| assert_eq!(super::number(value), want);
        f(1.0, "1");
        f(0.1, "0.1");
        f(1e21, "1000000000000000000000");
        f(f64::NAN, "NaN");
        f(f64::INFINITY, "+Inf");
        f(f64::NEG_INFINITY, "-Inf");
    }
}
