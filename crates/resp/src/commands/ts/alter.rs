//! TS.ALTER (specification, chapter 3).

use super::keys;
use super::refusal::Refusal;
use super::series_options::Positions;
use crate::context::{Context, Flow};
use crate::events;
use crate::protocol::Arguments;

pub(super) fn run(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<Flow, Refusal> {
    let key = arguments.get(1).ok_or(Refusal::Arity)?;
    let given = Positions::find(arguments, 2).read(arguments)?;
    let series = keys::series(context, key)?;
    context.access.alter(&series, given.changes);
    context.notify(events::MODULE, "ts.alter", key);
    context.reply.ok();
    Ok(Flow::Done)
}
