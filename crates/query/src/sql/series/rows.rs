//! The columns that all samples of a series share, repeated for its rows.

use super::super::labels::LabelsBuilder;
use super::Columns;
use super::choose::Chosen;
use crate::QueryError;
use arrow_array::builder::StringBuilder;
use arrow_array::{ArrayRef, UInt8Array};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;
use timberline_series::labels::Labels;

/// A series with the number of rows that stand for it.
pub(super) struct SeriesRow {
    db: u8,
    key: Arc<[u8]>,
    labels: Labels,
    rows: usize,
}

impl SeriesRow {
    /// So many rows of a series.
    pub(super) fn of(chosen: &Chosen, rows: usize) -> Self {
        Self {
            db: chosen.db,
            key: chosen.key.clone(),
            labels: chosen.series.labels(),
            rows,
        }
    }
}

/// The columns of a projection that belong to series.
pub(super) fn series_columns(series: &[SeriesRow], projection: &[usize]) -> Result<Vec<ArrayRef>, QueryError> {
    let column = |index: &usize| match *index {
        Columns::DB => Some(Ok(databases(series))),
        Columns::KEY => Some(Ok(keys(series))),
        Columns::LABELS => Some(labels(series)),
        _ => None,
    };
    projection.iter().filter_map(column).collect()
}

fn databases(series: &[SeriesRow]) -> ArrayRef {
    let values = series.iter().flat_map(|one| std::iter::repeat_n(one.db, one.rows));
    Arc::new(UInt8Array::from_iter_values(values))
}

fn keys(series: &[SeriesRow]) -> ArrayRef {
    let mut keys = StringBuilder::new();
    for one in series {
        let key = String::from_utf8_lossy(&one.key);
        for _ in 0..one.rows {
            keys.append_value(&key);
        }
    }
    Arc::new(keys.finish())
}

fn labels(series: &[SeriesRow]) -> Result<ArrayRef, QueryError> {
    let mut builder = LabelsBuilder::new();
    for one in series {
        // A map has each name once: the first counts, as for readers of one label.
        let mut seen = BTreeSet::new();
        let pairs: Vec<(Cow<'_, str>, Cow<'_, str>)> = one
            .labels
            .iter()
            .filter(|(name, _)| seen.insert(*name))
            .map(|(name, value)| (String::from_utf8_lossy(name), String::from_utf8_lossy(value)))
            .collect();
        builder.append(one.rows, &pairs.iter().map(|(name, value)| (&**name, &**value)));
    }
    builder
        .finish()
        .map_err(|error| QueryError::Internal(format!("bug: labels make no column: {error}")))
}
