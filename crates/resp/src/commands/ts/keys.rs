//! Keys that a command names or filters choose.

use super::refusal::{self, Refusal};
use crate::context::Context;
use std::sync::Arc;
use timberline_series::error::KeyError;
use timberline_series::labels::{Filters, Selected};
use timberline_series::series::Series;

/// The series of a key.
pub(super) fn series(context: &Context<'_>, key: &[u8]) -> Result<Arc<Series>, Refusal> {
    context.access.series(context.db(), key).map_err(|error| match error {
        KeyError::Missing => refusal::MISSING_KEY,
        KeyError::WrongType => refusal::WRONG_TYPE,
    })
}

/// The series that filters choose, ascending by key; refused if the client may not read one of them.
pub(super) fn select(context: &Context<'_>, filters: &Filters) -> Result<Vec<Selected>, Refusal> {
    let selected = context.access.select(context.db(), filters);
    context.check_readable(selected.iter().map(|selected| &*selected.key))?;
    Ok(selected)
}
