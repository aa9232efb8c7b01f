//! The table `logs`: a row for each log line of the tenant.

mod admission;
mod conditions;
mod exec;

pub use admission::LogsAdmission;

use super::labels::labels_type;
use crate::QueryError;
use crate::engine::Run;
use crate::request::Direction;
use crate::scan::ScanOutput;
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use async_trait::async_trait;
use conditions::{Condition, Conditions};
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{Result, project_schema};
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::empty::EmptyExec;
use exec::{LogsExec, LogsScan};
use std::fmt;
use std::sync::{Arc, LazyLock};
use timberline_logql::pipeline::Wants;
use timberline_store::MAX_TIMESTAMP_NS;
use timberline_store::source::TimeSpan;

/// Positions of the columns.
struct Columns;

impl Columns {
    const TIMESTAMP: usize = 0;
    const LINE: usize = 1;
    const LABELS: usize = 2;
    const METADATA: usize = 3;
}

static SCHEMA: LazyLock<SchemaRef> = LazyLock::new(|| {
    let field = |name: &str, kind: DataType| Field::new(name, kind, false);
    Arc::new(Schema::new(vec![
        field("timestamp", DataType::Timestamp(TimeUnit::Nanosecond, None)),
        field("line", DataType::Utf8),
        field("labels", labels_type()),
        field("metadata", labels_type()),
    ]))
});

/// The log lines of one tenant, from the same sources as LogQL's.
pub(super) struct LogsTable {
    run: Run,
    admission: Arc<dyn LogsAdmission>,
}

impl LogsTable {
    pub(super) fn new(run: &Run, admission: Arc<dyn LogsAdmission>) -> Self {
        Self {
            run: run.clone(),
            admission,
        }
    }

    /// The times that a scan covers; `None` if there are none.
    async fn span(&self, conditions: &Conditions) -> Result<Option<TimeSpan>, QueryError> {
        let span = TimeSpan {
            min_ns: conditions.times.first.max(-MAX_TIMESTAMP_NS),
            max_ns: conditions.times.last.min(MAX_TIMESTAMP_NS),
        };
        if span.min_ns > span.max_ns {
            return Ok(None);
        }
        self.admission.admit(&conditions.matchers, span).await
    }
}

impl fmt::Debug for LogsTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LogsTable").finish_non_exhaustive()
    }
}

#[async_trait]
impl TableProvider for LogsTable {
    fn schema(&self) -> SchemaRef {
        SCHEMA.clone()
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        let pushed = |filter: &&Expr| match Condition::of(filter) {
            Some(Condition::Times(_) | Condition::Stream(_)) => TableProviderFilterPushDown::Exact,
            Some(Condition::Line(_)) => TableProviderFilterPushDown::Inexact,
            None => TableProviderFilterPushDown::Unsupported,
        };
        Ok(filters.iter().map(pushed).collect())
    }

    async fn scan(
        &self,
        _: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let conditions = Conditions::of(filters);
        let projection = match projection {
            Some(columns) => columns.clone(),
            None => (0..SCHEMA.fields().len()).collect(),
        };
        let schema = project_schema(&SCHEMA, Some(&projection))?;
        let Some(span) = self.span(&conditions).await? else {
            return Ok(Arc::new(EmptyExec::new(schema)));
        };
        // Without the column, metadata is not read.
        let wants = if projection.contains(&Columns::METADATA) {
            Wants::All
        } else {
            Wants::Only(Vec::new())
        };
        let planner = self.run.planner(false);
        let log = conditions.into_log();
        let input = planner
            .scan(&log, &wants, span, Direction::Forward, ScanOutput::Entries, None)
            .await?;
        let scan = LogsScan {
            input,
            projection,
            schema,
            limit,
            context: self.run.context.clone(),
        };
        Ok(Arc::new(LogsExec::new(scan)))
    }
}
