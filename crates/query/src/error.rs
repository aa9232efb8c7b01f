//! Why a query has no answer.

use datafusion_common::DataFusionError;
use timberline_logql::{ParseError, stage_error};

/// Why a query has no answer. The variants are what a server maps to statuses; the texts are for people.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum QueryError {
    /// The text is not a query; the message starts `parse error` (http-api.md 1.5: 400).
    #[error("{0}")]
    Parse(String),
    /// The query can't be answered with these parameters or this data (400).
    #[error("{0}")]
    BadRequest(String),
    /// A limit was passed; the message names it and its value (400).
    #[error("{0}")]
    Limit(String),
    /// Nobody waits for the answer any more.
    #[error("the query was cancelled")]
    Cancelled,
    /// Objects could not be read (500).
    #[error("{0}")]
    Storage(String),
    /// A fault of the engine itself (500).
    #[error("{0}")]
    Internal(String),
}

impl QueryError {
    /// The same error, pointing at the place in the query where that is known only now: stages compile without their text.
    pub(crate) fn shown_in(self, query: &str) -> Self {
        match &self {
            Self::Parse(text) if !text.contains('\n') => match text.strip_prefix("parse error : ") {
                Some(message) => Self::Parse(stage_error(query, message).report()),
                None => self,
            },
            _ => self,
        }
    }
}

impl From<QueryError> for DataFusionError {
    fn from(error: QueryError) -> Self {
        DataFusionError::External(Box::new(error))
    }
}

impl From<DataFusionError> for QueryError {
    /// Takes the error of ours out of the wrappings that operators put around it.
    fn from(error: DataFusionError) -> Self {
        match error.find_root() {
            DataFusionError::External(inner) => match inner.downcast_ref::<QueryError>() {
                Some(ours) => ours.clone(),
                None => QueryError::Internal(inner.to_string()),
            },
            other => QueryError::Internal(other.to_string()),
        }
    }
}

impl From<timberline_store::Error> for QueryError {
    fn from(error: timberline_store::Error) -> Self {
        QueryError::Storage(error.to_string())
    }
}

impl From<ParseError> for QueryError {
    fn from(error: ParseError) -> Self {
        QueryError::Parse(error.report())
    }
}

impl From<timberline_logql::pipeline::CompileError> for QueryError {
    fn from(error: timberline_logql::pipeline::CompileError) -> Self {
        ParseError::new(error.to_string()).into()
    }
}

impl From<arrow_schema::ArrowError> for QueryError {
    /// Columns of ours that make no batch.
    fn from(error: arrow_schema::ArrowError) -> Self {
        QueryError::Internal(format!("bug: columns make no batch: {error}"))
    }
}
