//! TS.DELETERULE (specification, chapter 7).

use super::refusal::{self, Refusal, rule_refusal};
use crate::context::{Context, Flow};
use crate::events;
use crate::protocol::Arguments;
use timberline_series::error::RuleError;

pub(super) fn run(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<Flow, Refusal> {
    let (Some(source), Some(destination)) = (arguments.get(1), arguments.get(2)) else {
        return Err(Refusal::Arity);
    };
    context
        .access
        .delete_rule(context.db(), source, destination)
        .map_err(|error| match error {
            // A destination that is not there has no rule.
            RuleError::DestinationMissing | RuleError::DestinationWrongType => refusal::RULE_MISSING,
            error => rule_refusal(error),
        })?;
    context.notify(events::MODULE, "ts.deleterule:src", source);
    context.notify(events::MODULE, "ts.deleterule:dest", destination);
    context.reply.ok();
    Ok(Flow::Done)
}
