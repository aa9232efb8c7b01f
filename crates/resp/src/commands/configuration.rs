//! CONFIG.

use crate::config;
use crate::context::{CommandError, CommandResult, Context, Flow};
use crate::protocol::Arguments;

pub(super) fn get(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    let patterns: Vec<&[u8]> = words.from(2).iter().collect();
    let settings = config::get(context.server, &patterns);
    context.reply.map(settings.len());
    for (name, value) in settings {
        context.reply.bulk(name.as_bytes());
        context.reply.bulk(value.as_bytes());
    }
    Ok(Flow::Done)
}

pub(super) fn set(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    if !words.len().is_multiple_of(2) {
        return Err(CommandError::arity(context.command.name));
    }
    let names = words.iter().skip(2).step_by(2);
    let pairs: Vec<(&[u8], &[u8])> = names.zip(words.iter().skip(3).step_by(2)).collect();
    config::set(context.server, &pairs)?;
    context.reply.ok();
    Ok(Flow::Done)
}

pub(super) fn reset_statistics(context: &mut Context<'_>, _: Arguments<'_>) -> CommandResult {
    context.server.stats.reset();
    context.reply.ok();
    Ok(Flow::Done)
}

pub(super) fn rewrite(_: &mut Context<'_>, _: Arguments<'_>) -> CommandResult {
    Err(CommandError::text("ERR The server is running without a config file"))
}
