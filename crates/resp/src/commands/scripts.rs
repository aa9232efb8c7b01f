//! EVAL, EVALSHA, SCRIPT.

use super::{flags, read};
use crate::context::{CommandError, CommandResult, Context, Flow};
use crate::protocol::Arguments;
use crate::script;

pub(super) fn eval(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    let (keys, further) = keys(words)?;
    // A script that can't be kept is run all the same.
    let _ = context.server.scripts.load(&words[1]);
    run(context, &words[1], keys, further)
}

pub(super) fn evalsha(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    let (keys, further) = keys(words)?;
    let digest = read::text(&words[1]).to_ascii_lowercase();
    let script = context
        .server
        .scripts
        .get(&digest)
        .ok_or(CommandError::text("NOSCRIPT No matching script. Please use EVAL."))?;
    run(context, &script, keys, further)
}

fn run(context: &mut Context<'_>, script: &[u8], keys: Arguments<'_>, further: Arguments<'_>) -> CommandResult {
    let is_read_only = context.command.has(flags::READONLY);
    script::run(context, script, keys, further, is_read_only)?;
    Ok(Flow::Done)
}

/// The keys and the words behind them.
fn keys(words: Arguments<'_>) -> Result<(Arguments<'_>, Arguments<'_>), CommandError> {
    let count = read::integer(&words[2])?;
    let count = usize::try_from(count).map_err(|_| CommandError::text("ERR Number of keys can't be negative"))?;
    if count > words.len() - 3 {
        return Err(CommandError::text(
            "ERR Number of keys can't be greater than number of args",
        ));
    }
    Ok((words.from(3).first(count), words.from(3 + count)))
}

pub(super) fn load(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    let digest = context.server.scripts.load(&words[2])?;
    context.reply.bulk(digest.as_bytes());
    Ok(Flow::Done)
}

pub(super) fn exists(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    let digests = words.from(2);
    context.reply.array(digests.len());
    for digest in digests.iter() {
        let is_known = context
            .server
            .scripts
            .get(&read::text(digest).to_ascii_lowercase())
            .is_some();
        context.reply.integer(i64::from(is_known));
    }
    Ok(Flow::Done)
}

pub(super) fn flush(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    if words.len() > 3 || words.len() == 3 && !words.is(2, "async") && !words.is(2, "sync") {
        return Err(CommandError::text("ERR SCRIPT FLUSH only support SYNC|ASYNC option"));
    }
    context.server.scripts.flush();
    context.reply.ok();
    Ok(Flow::Done)
}

pub(super) fn kill(context: &mut Context<'_>, _: Arguments<'_>) -> CommandResult {
    context.server.scripts.kill()?;
    context.reply.ok();
    Ok(Flow::Done)
}
