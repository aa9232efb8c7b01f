//! TS.DEL (specification, chapters 3 and 7.5).

use super::refusal::{self, Refusal};
use super::{keys, numbers};
use crate::context::{Context, Flow};
use crate::events;
use crate::protocol::Arguments;
use timberline_series::error::DeleteError;

pub(super) fn run(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<Flow, Refusal> {
    let (Some(key), Some(from), Some(to)) = (arguments.get(1), arguments.get(2), arguments.get(3)) else {
        return Err(Refusal::Arity);
    };
    let (from, to) = numbers::bounds(from, to)?;
    let series = keys::series(context, key)?;
    let removed = context.access.delete(&series, from, to).map_err(|error| match error {
        DeleteError::BeyondRetention => refusal::DELETE_BEYOND_RETENTION,
        DeleteError::Read(error) => error.into(),
    })?;
    context.notify(events::MODULE, "ts.del", key);
    context.reply.integer(i64::try_from(removed).unwrap_or(i64::MAX));
    Ok(Flow::Done)
}
