//! One rule at one time.

use crate::rule::{Group, Rule};
use timberline_query::{InstantRequest, QueryEngine, QueryError, QueryResult};

/// Why a rule gave nothing.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EvaluationError {
    #[error("{0}")]
    Query(#[from] QueryError),
    #[error("the evaluation took longer than {0} s")]
    TimedOut(f64),
    #[error("{found} series exceed the group's limit of {limit}")]
    TooMany { found: usize, limit: usize },
    #[error("{refused} of {samples} samples were refused, the first because {why}")]
    Refused {
        refused: usize,
        samples: usize,
        why: String,
    },
}

/// A value of a rule, with the labels of the answer.
pub(crate) struct Value {
    pub(crate) labels: Vec<(String, String)>,
    pub(crate) value: f64,
}

/// Asks for the values of a rule at a time.
pub(crate) async fn evaluate(
    query: &QueryEngine,
    group: &Group,
    rule: &Rule,
    time_ms: i64,
) -> Result<Vec<Value>, EvaluationError> {
    let request = InstantRequest {
        query: rule.expr.clone(),
        time_ns: time_ms.saturating_mul(1_000_000),
    };
    let values = match query.instant(&group.tenant, request).await?.result {
        QueryResult::Vector(samples) => {
            let value = |sample: timberline_query::Sample| Value {
                labels: sample
                    .labels
                    .iter()
                    .map(|(n, v)| (n.to_owned(), v.to_owned()))
                    .collect(),
                value: sample.value,
            };
            samples.into_iter().map(value).collect()
        }
        QueryResult::Scalar { value, .. } => vec![Value {
            labels: Vec::new(),
            value,
        }],
        QueryResult::Streams(_) | QueryResult::Matrix(_) => {
            return Err(QueryError::Internal("bug: a metric query at one time gave something else".into()).into());
        }
    };
    if group.limit > 0 && values.len() > group.limit {
        return Err(EvaluationError::TooMany {
            found: values.len(),
            limit: group.limit,
        });
    }
    Ok(values)
}
