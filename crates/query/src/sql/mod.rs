//! SQL over what is stored: the tables `series` (samples of the time-series store) and `logs` (log lines of the tenant), read-only.
//!
//! Parsing, planning and most operators are DataFusion's. Ours are the two tables, each of which turns the conditions of a query into
//! what it need not read, and the bounds: statements that only read, no files, the memory of a query, its threads, its cancellation.

mod error;
mod labels;
mod logs;
mod output;
mod series;
mod session;
mod statement;
mod time_range;

pub use logs::LogsAdmission;

use crate::engine::Run;
use crate::{QueryEngine, QueryError};
use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use error::query_error;
use futures::TryStreamExt;
use output::BodyWriter;
use statement::read_only;
use std::sync::Arc;
use timberline_store::TenantId;

/// Form of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SqlForm {
    /// One JSON object for each row.
    JsonLines,
    /// Values with commas between (RFC 4180), the names of the columns first.
    Csv,
}

/// An SQL query.
#[derive(Clone, Debug)]
pub struct SqlRequest {
    /// The statement.
    pub sql: String,
    /// How the answer is to be written.
    pub form: SqlForm,
    /// What of the logs may be read.
    pub logs: Arc<dyn LogsAdmission>,
}

/// An answer, written out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqlAnswer {
    /// The rows in the form that was asked for.
    pub body: Vec<u8>,
    /// How many rows there are.
    pub rows: usize,
}

impl QueryEngine {
    /// Answers an SQL query. Dropping the future cancels it.
    pub async fn sql(&self, tenant: &TenantId, request: SqlRequest) -> Result<SqlAnswer, QueryError> {
        let work = |run: Run| async move { run.sql(&request).await };
        self.run(tenant, work).await
    }
}

impl Run {
    async fn sql(&self, request: &SqlRequest) -> Result<SqlAnswer, QueryError> {
        let statement = read_only(&request.sql)?;
        let state = session::state(self, request)?;
        let plan = session::plan(&state, statement).await.map_err(query_error)?;
        let batches = execute_stream(plan.clone(), state.task_ctx()).map_err(query_error)?;
        self.write_all(&plan, batches, request.form).await
    }

    async fn write_all(
        &self,
        plan: &Arc<dyn ExecutionPlan>,
        mut batches: datafusion::physical_plan::SendableRecordBatchStream,
        form: SqlForm,
    ) -> Result<SqlAnswer, QueryError> {
        let held = self.context.reserve("rows of the answer");
        let mut body = BodyWriter::new(form, &plan.schema())?;
        while let Some(batch) = batches.try_next().await.map_err(query_error)? {
            self.context.cancelled.check()?;
            body.write(&batch)?;
            held.try_resize(body.bytes())?;
        }
        Ok(body.finish())
    }
}
