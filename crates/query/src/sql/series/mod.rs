//! The table `series`: a row for each sample.

mod choose;
mod conditions;
mod exec;
mod rows;

use super::labels::labels_type;
use crate::QueryError;
use crate::context::QueryContext;
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use async_trait::async_trait;
use choose::choose;
use conditions::{Condition, Conditions};
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{Result, project_schema};
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use exec::{SeriesExec, SeriesScan};
use std::fmt;
use std::sync::{Arc, LazyLock};
use timberline_series::engine::Engine;

/// Positions of the columns.
struct Columns;

impl Columns {
    const DB: usize = 0;
    const KEY: usize = 1;
    const TIMESTAMP: usize = 2;
    const VALUE: usize = 3;
    const LABELS: usize = 4;
}

static SCHEMA: LazyLock<SchemaRef> = LazyLock::new(|| {
    let field = |name: &str, kind: DataType| Field::new(name, kind, false);
    Arc::new(Schema::new(vec![
        field("db", DataType::UInt8),
        field("key", DataType::Utf8),
        field("timestamp", DataType::Timestamp(TimeUnit::Millisecond, None)),
        field("value", DataType::Float64),
        field("labels", labels_type()),
    ]))
});

/// The samples of all series in all databases.
pub(super) struct SeriesTable {
    engine: Arc<Engine>,
    context: Arc<QueryContext>,
    partitions: usize,
}

impl SeriesTable {
    pub(super) fn new(engine: Arc<Engine>, context: Arc<QueryContext>, partitions: usize) -> Self {
        Self {
            engine,
            context,
            partitions,
        }
    }
}

impl fmt::Debug for SeriesTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SeriesTable").finish_non_exhaustive()
    }
}

#[async_trait]
impl TableProvider for SeriesTable {
    fn schema(&self) -> SchemaRef {
        SCHEMA.clone()
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        let pushed = |filter: &&Expr| match Condition::of(filter) {
            Some(_) => TableProviderFilterPushDown::Exact,
            None => TableProviderFilterPushDown::Unsupported,
        };
        Ok(filters.iter().map(pushed).collect())
    }

    async fn scan(
        &self,
        session: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let conditions = Conditions::of(filters);
        let held = self.context.reserve("chosen series");
        let chosen = choose(&self.engine, &conditions, session, &self.context, &held)?;
        let projection = match projection {
            Some(columns) => columns.clone(),
            None => (0..SCHEMA.fields().len()).collect(),
        };
        let scan = SeriesScan {
            chosen,
            times: conditions.times,
            schema: project_schema(&SCHEMA, Some(&projection))?,
            projection,
            limit,
            context: self.context.clone(),
            _held: held,
        };
        Ok(Arc::new(SeriesExec::new(scan, self.partitions)))
    }
}

/// A chunk that can't be read.
#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn unreadable(error: timberline_series::view::ReadError) -> QueryError {
    QueryError::Storage(error.to_string())
}
