//! What a query can use: the tables, the functions, and the limits it runs under.

use super::labels::LabelAccess;
use super::logs::LogsTable;
use super::series::SeriesTable;
use super::{SqlRequest, query_error};
use crate::QueryError;
use crate::engine::Run;
use datafusion::catalog::{
    CatalogProvider, MemoryCatalogProvider, MemoryCatalogProviderList, MemorySchemaProvider, SchemaProvider,
    TableProvider,
};
use datafusion::common::Result;
use datafusion::execution::context::SQLOptions;
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::execution::session_state::{SessionState, SessionStateBuilder};
use datafusion::execution::{SessionStateDefaults, config::SessionConfig};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::sql::parser::Statement;
use std::sync::Arc;

const CATALOG: &str = "timberline";
const SCHEMA: &str = "public";

/// Rows of a batch between operators.
pub(super) const BATCH_ROWS: usize = 8192;

/// The session of one query. File formats, table factories and object stores are left out: there is no way to a file.
pub(super) fn state(run: &Run, request: &SqlRequest) -> Result<SessionState, QueryError> {
    let mut config = SessionConfig::new()
        .with_create_default_catalog_and_schema(false)
        .with_default_catalog_and_schema(CATALOG, SCHEMA)
        .with_information_schema(true)
        .with_target_partitions(run.threads())
        .with_batch_size(BATCH_ROWS);
    config.options_mut().sql_parser.collect_spans = true;
    // A scan of logs hands out its rows once.
    config.options_mut().execution.enable_recursive_ctes = false;
    let runtime = RuntimeEnvBuilder::new()
        .with_memory_pool(run.context.memory_pool())
        .with_disk_manager_builder(DiskManagerBuilder::default().with_mode(DiskManagerMode::Disabled))
        .build_arc()
        .map_err(query_error)?;
    let mut planners = SessionStateDefaults::default_expr_planners();
    planners.push(Arc::new(LabelAccess));
    let table_functions = SessionStateDefaults::default_table_functions();
    let table_functions = table_functions.into_iter().map(|f| (f.name().to_owned(), f));
    let catalogs = MemoryCatalogProviderList::new();
    let mut state = SessionStateBuilder::new()
        .with_config(config)
        .with_runtime_env(runtime)
        .with_expr_planners(planners)
        .with_scalar_functions(SessionStateDefaults::default_scalar_functions())
        .with_aggregate_functions(SessionStateDefaults::default_aggregate_functions())
        .with_window_functions(SessionStateDefaults::default_window_functions())
        .with_table_functions(table_functions.collect())
        .with_catalog_list(Arc::new(catalogs))
        .build();
    // What now() says.
    state.mark_start_execution();
    let catalog = tables(run, request).map_err(query_error)?;
    state.catalog_list().register_catalog(CATALOG.into(), Arc::new(catalog));
    Ok(state)
}

fn tables(run: &Run, request: &SqlRequest) -> Result<MemoryCatalogProvider> {
    let schema = MemorySchemaProvider::new();
    let add = |name: &str, table: Arc<dyn TableProvider>| schema.register_table(name.into(), table);
    if let Some(engine) = run.series() {
        add(
            "series",
            Arc::new(SeriesTable::new(engine.clone(), run.context.clone(), run.threads())),
        )?;
    }
    add("logs", Arc::new(LogsTable::new(run, request.logs.clone())))?;
    let catalog = MemoryCatalogProvider::new();
    catalog.register_schema(SCHEMA, Arc::new(schema))?;
    Ok(catalog)
}

/// Plans a statement.
pub(super) async fn plan(state: &SessionState, statement: Statement) -> Result<Arc<dyn ExecutionPlan>> {
    let logical = state.statement_to_plan(statement).await?;
    // What the check of the statement let pass because it stands inside.
    let reads_only = SQLOptions::new()
        .with_allow_ddl(false)
        .with_allow_dml(false)
        .with_allow_statements(false);
    reads_only.verify_plan(&logical)?;
    state.create_physical_plan(&logical).await
}
