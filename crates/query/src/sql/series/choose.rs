//! Which series a query reads: by key or by the label index where the conditions allow it, then by the conditions themselves.

use super::conditions::Conditions;
use super::rows::{SeriesRow, series_columns};
use super::{Columns, SCHEMA};
use crate::QueryError;
use crate::context::QueryContext;
use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch};
use datafusion::catalog::Session;
use datafusion::common::{DFSchema, Result};
use datafusion::execution::memory_pool::MemoryReservation;
use datafusion::logical_expr::utils::conjunction;
use datafusion::physical_expr::PhysicalExpr;
use std::sync::Arc;
use timberline_series::engine::Engine;
use timberline_series::keyspace::DATABASES;
use timberline_series::labels::Filters;
use timberline_series::series::Series;

/// A series that a query reads.
#[derive(Clone, Debug)]
pub(super) struct Chosen {
    pub(super) db: u8,
    pub(super) key: Arc<[u8]>,
    pub(super) series: Arc<Series>,
}

/// Series that are looked at while the gate of the engine is held once, and evaluated as one batch.
const SERIES_PER_LOOK: usize = 4096;

/// Chooses series, by database and key.
pub(super) fn choose(
    engine: &Engine,
    conditions: &Conditions,
    session: &dyn Session,
    context: &QueryContext,
    held: &MemoryReservation,
) -> Result<Vec<Chosen>> {
    let test = test(conditions, session)?;
    let mut chosen = Vec::new();
    for db in 0..DATABASES {
        let db = db as u8;
        let mut keep = |candidates: Vec<Chosen>| {
            context.cancelled.check()?;
            let passed = match &test {
                Some(test) => passing(candidates, test)?,
                None => candidates,
            };
            held.try_grow(passed.iter().map(|one| size_of::<Chosen>() + one.key.len()).sum())?;
            chosen.extend(passed);
            Ok::<_, datafusion::common::DataFusionError>(())
        };
        if let (None, Some(filters)) = (&conditions.keys, filters(conditions)) {
            let selected = engine.shared().select(db, &filters);
            for some in selected.chunks(SERIES_PER_LOOK) {
                let candidate = |one: &timberline_series::labels::Selected| Chosen {
                    db,
                    key: one.key.clone(),
                    series: one.series.clone(),
                };
                keep(some.iter().map(candidate).collect())?;
            }
            continue;
        }
        let keys = match &conditions.keys {
            Some(keys) => keys.iter().map(|key| Arc::from(key.as_slice())).collect(),
            None => {
                let mut keys = engine.shared().keys(db);
                keys.sort_unstable();
                keys
            }
        };
        for some in keys.chunks(SERIES_PER_LOOK) {
            let access = engine.shared();
            let candidate = |key: &Arc<[u8]>| {
                let series = access.series(db, key).ok()?;
                let key = key.clone();
                Some(Chosen { db, key, series })
            };
            let candidates = some.iter().filter_map(candidate).collect();
            drop(access);
            keep(candidates)?;
        }
    }
    Ok(chosen)
}

/// What the label index is asked; `None` if it can't tell anything.
fn filters(conditions: &Conditions) -> Option<Filters> {
    Filters::new(conditions.labels.clone()).ok()
}

/// The conditions about series as one expression over their columns.
fn test(conditions: &Conditions, session: &dyn Session) -> Result<Option<Arc<dyn PhysicalExpr>>> {
    let Some(condition) = conjunction(conditions.of_series.iter().cloned()) else {
        return Ok(None);
    };
    let schema = DFSchema::try_from(SCHEMA.project(&SERIES)?)?;
    Ok(Some(session.create_physical_expr(condition, &schema)?))
}

/// The columns that conditions about series look at.
const SERIES: [usize; 3] = [Columns::DB, Columns::KEY, Columns::LABELS];

fn passing(candidates: Vec<Chosen>, test: &Arc<dyn PhysicalExpr>) -> Result<Vec<Chosen>> {
    let rows: Vec<SeriesRow> = candidates.iter().map(|one| SeriesRow::of(one, 1)).collect();
    let schema = Arc::new(SCHEMA.project(&SERIES)?);
    let batch = RecordBatch::try_new(schema, series_columns(&rows, &SERIES)?)?;
    let passes = test.evaluate(&batch)?.into_array(batch.num_rows())?;
    let Some(passes) = passes.as_boolean_opt() else {
        return Err(QueryError::Internal("bug: a condition is not true or false".into()).into());
    };
    let holds = |row: usize| passes.is_valid(row) && passes.value(row);
    let candidates = candidates.into_iter().enumerate();
    Ok(candidates.filter(|(row, _)| holds(*row)).map(|(_, one)| one).collect())
}
