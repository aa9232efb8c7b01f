//! Copying and moving keys, and taking them out and in as bytes.

use super::read;
use crate::context::{CommandError, CommandResult, Context, Flow};
use crate::events::GENERIC;
use crate::protocol::Arguments;
use timberline_series::error::RestoreError;

pub(super) fn copy(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    let (mut to_db, mut replace) = (context.db(), false);
    let mut at = 3;
    while at < words.len() {
        if words.is(at, "replace") {
            replace = true;
            at += 1;
        } else if words.is(at, "db")
            && let Some(number) = words.get(at + 1)
        {
            to_db = read::database(number)?;
            at += 2;
        } else {
            return Err(CommandError::SYNTAX);
        }
    }
    let (from, to) = (&words[1], &words[2]);
    if to_db == context.db() && from == to {
        return Err(CommandError::text("ERR source and destination objects are the same"));
    }
    let is_done = context.access.copy(context.db(), from, to_db, to, replace)?;
    if is_done {
        context
            .server
            .events
            .notify(context.server, GENERIC, "copy_to", to_db, to);
    }
    context.reply.integer(i64::from(is_done));
    Ok(Flow::Done)
}

pub(super) fn move_key(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    let to_db = read::database(&words[2])?;
    if to_db == context.db() {
        return Err(CommandError::text("ERR source and destination objects are the same"));
    }
    let is_done = context.access.move_key(context.db(), &words[1], to_db);
    if is_done {
        context.notify(GENERIC, "move_from", &words[1]);
        context
            .server
            .events
            .notify(context.server, GENERIC, "move_to", to_db, &words[1]);
    }
    context.reply.integer(i64::from(is_done));
    Ok(Flow::Done)
}

pub(super) fn dump(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    let payload = context.access.dump(context.db(), &words[1]).transpose()?;
    context.reply.bulk_or_null(payload.as_deref());
    Ok(Flow::Done)
}

pub(super) fn restore(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    let (mut replace, mut is_absolute) = (false, false);
    let mut at = 4;
    while at < words.len() {
        let number = words.get(at + 1).and_then(read::strict_integer);
        if words.is(at, "replace") {
            replace = true;
        } else if words.is(at, "absttl") {
            is_absolute = true;
        } else if words.is(at, "idletime") || words.is(at, "freq") {
            // When a key was read is not kept.
            number.filter(|number| *number >= 0).ok_or(CommandError::SYNTAX)?;
            at += 1;
        } else {
            return Err(CommandError::SYNTAX);
        }
        at += 1;
    }
    let life = read::integer(&words[2])?;
    if life < 0 {
        return Err(CommandError::text("ERR Invalid TTL value, must be >= 0"));
    }
    let start = if is_absolute { 0 } else { context.now_ms() };
    let expires_at = (life > 0).then(|| life.saturating_add(start).min(i64::MAX - 1));
    let key = &words[1];
    match context
        .access
        .restore(context.db(), key, &words[3], expires_at, replace)
    {
        Ok(()) => {}
        Err(RestoreError::KeyExists) => return Err(CommandError::text("BUSYKEY Target key name already exists.")),
        Err(RestoreError::BadPayload) => {
            return Err(CommandError::text("ERR DUMP payload version or checksum are wrong"));
        }
    }
    // One whose time is over already is gone at once.
    context.access.value(context.db(), key);
    context.notify(GENERIC, "restore", key);
    context.reply.ok();
    Ok(Flow::Done)
}
