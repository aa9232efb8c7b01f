//! Errors as clients see them: a status and a plain text (http-api.md 1.5).

use crate::push::DecodeError;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use timberline_logql::ParseError;
use timberline_query::QueryError;

/// What can end the server itself; errors of single requests are answers and never get here.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The listening socket failed.
    #[error("http listener: {0}")]
    Listen(#[from] std::io::Error),
}

/// The text of a 504.
const TIMED_OUT: &str = "request timed out, decrease the duration of the request or add more label matchers (prefer exact match over \
                         regex match) to reduce the amount of data processed";

/// An answer that is not a success.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct HttpError {
    status: StatusCode,
    text: String,
    /// The limit that the request passed.
    limit: Option<LimitHit>,
}

/// Marks an answer that refuses a query for passing a limit, so that it is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LimitHit(pub(crate) &'static str);

impl HttpError {
    /// An error of this status with this text as its body.
    pub(crate) fn new(status: StatusCode, text: impl Into<String>) -> Self {
        Self {
            status,
            text: text.into(),
            limit: None,
        }
    }

    /// 400: the query passes the limit of this name.
    pub(crate) fn over_limit(limit: &'static str, text: impl Into<String>) -> Self {
        Self {
            limit: Some(LimitHit(limit)),
            ..Self::bad_request(text)
        }
    }

    /// 400: the request makes no sense.
    pub(crate) fn bad_request(text: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, text)
    }

    /// 504: the query took longer than it may.
    pub(crate) fn timed_out() -> Self {
        Self::new(StatusCode::GATEWAY_TIMEOUT, TIMED_OUT)
    }

    /// 429: more queries wait than may.
    pub(crate) fn queue_full() -> Self {
        Self::new(StatusCode::TOO_MANY_REQUESTS, "too many outstanding requests")
    }

    /// The text alone.
    pub(crate) fn into_text(self) -> String {
        self.text
    }

    #[cfg(test)]
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The same error with a newline at its end, as push errors have it.
    pub(crate) fn with_newline(mut self) -> Self {
        self.text.push('\n');
        self
    }
}

/// Marks an answer that is nobody's mistake but ours or the disk's, so that it is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The handler panicked.
    Panic,
    /// Storage holds other bytes than were written.
    Corrupt,
}

impl Fault {
    /// The fault's name in metrics.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Panic => "panic",
            Self::Corrupt => "corrupt",
        }
    }
}

impl IntoResponse for HttpError {
    fn into_response(self) -> Response {
        let fault = self.text.starts_with("corrupt:").then_some(Fault::Corrupt);
        if self.status.is_server_error() {
            tracing::error!(status = self.status.as_u16(), error = %self.text, "request failed");
        }
        let mut response = (
            self.status,
            [(header::CONTENT_TYPE, "text/plain; charset=utf-8")],
            self.text,
        )
            .into_response();
        if let Some(fault) = fault {
            response.extensions_mut().insert(fault);
        }
        if let Some(limit) = self.limit {
            response.extensions_mut().insert(limit);
        }
        response
    }
}

impl From<DecodeError> for HttpError {
    fn from(error: DecodeError) -> Self {
        let status = match error {
            DecodeError::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            _ => StatusCode::BAD_REQUEST,
        };
        Self::new(status, error.to_string()).with_newline()
    }
}

impl From<ParseError> for HttpError {
    fn from(error: ParseError) -> Self {
        Self::bad_request(error.report())
    }
}

impl From<QueryError> for HttpError {
    fn from(error: QueryError) -> Self {
        if let QueryError::Limit(text) = error {
            return Self::over_limit("evaluation", text);
        }
        let status = match error {
            QueryError::Parse(_) | QueryError::BadRequest(_) | QueryError::Limit(_) => StatusCode::BAD_REQUEST,
            // Nobody reads it.
            QueryError::Cancelled => StatusCode::SERVICE_UNAVAILABLE,
            QueryError::Storage(_) | QueryError::Internal(_) => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self::new(status, error.to_string())
    }
}
