//! Which logs a query may read.

use crate::QueryError;
use async_trait::async_trait;
use std::fmt::Debug;
use timberline_logql::ast::Matcher;
use timberline_store::source::TimeSpan;

/// Decides which logs a query may read: limits that hold for LogQL hold for SQL.
#[async_trait]
pub trait LogsAdmission: Debug + Send + Sync {
    /// The part of a time span that may be read of the streams that matchers choose; `None` if nothing of it may be, an error if the query
    /// is to be refused.
    async fn admit(&self, matchers: &[Matcher], span: TimeSpan) -> Result<Option<TimeSpan>, QueryError>;
}
