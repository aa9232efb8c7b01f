//! TS.CREATE (specification, chapter 3).

use super::refusal::{self, Refusal};
use super::series_options::Positions;
use crate::context::{Context, Flow};
use crate::events;
use crate::protocol::Arguments;

pub(super) fn run(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<Flow, Refusal> {
    let key = arguments.get(1).ok_or(Refusal::Arity)?;
    let given = Positions::find(arguments, 2).read(arguments)?;
    let options = given.or(context.access.engine().settings().series_options());
    context
        .access
        .create(context.db(), key, options)
        .map_err(|_| refusal::KEY_EXISTS)?;
    context.notify(events::MODULE, "ts.create", key);
    context.reply.ok();
    Ok(Flow::Done)
}
