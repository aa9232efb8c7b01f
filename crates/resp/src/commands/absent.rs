//! Commands over data types that this server does not have: an honest refusal.

use crate::context::{CommandError, CommandResult, Context};
use crate::protocol::Arguments;

/// An existing key holds another type, as it would on a server that has the type; else the server says that it does not have it.
pub(super) fn data_type(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    for place in context.command.keys.places(words) {
        if context.access.value(context.db(), &words[place]).is_some() {
            return Err(CommandError::WRONG_TYPE);
        }
    }
    Err(CommandError(
        format!(
            "ERR '{}' is not supported: this server has time series, strings and plain lists only",
            context.command.name
        )
        .into(),
    ))
}

pub(super) fn cluster(_: &mut Context<'_>, _: Arguments<'_>) -> CommandResult {
    Err(CommandError::text("ERR This instance has cluster support disabled"))
}

pub(super) fn replication(context: &mut Context<'_>, _: Arguments<'_>) -> CommandResult {
    Err(CommandError(
        format!(
            "ERR '{}' is not supported: this server has no replicas",
            context.command.name
        )
        .into(),
    ))
}

pub(super) fn monitor(_: &mut Context<'_>, _: Arguments<'_>) -> CommandResult {
    Err(CommandError::text(
        "ERR 'monitor' is not supported: commands are not told to other clients. See SLOWLOG.",
    ))
}
