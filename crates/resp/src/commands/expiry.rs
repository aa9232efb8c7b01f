//! How long keys live.

use super::read;
use crate::context::{CommandError, CommandResult, Context, Flow};
use crate::events::GENERIC;
use crate::protocol::Arguments;

/// In what a time is given.
#[derive(Clone, Copy)]
struct Unit {
    milliseconds: i64,
    /// Since 1970; else from now on.
    is_absolute: bool,
}

pub(super) fn expire(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    set(
        context,
        words,
        Unit {
            milliseconds: 1000,
            is_absolute: false,
        },
    )
}

pub(super) fn pexpire(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    set(
        context,
        words,
        Unit {
            milliseconds: 1,
            is_absolute: false,
        },
    )
}

pub(super) fn expireat(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    set(
        context,
        words,
        Unit {
            milliseconds: 1000,
            is_absolute: true,
        },
    )
}

pub(super) fn pexpireat(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    set(
        context,
        words,
        Unit {
            milliseconds: 1,
            is_absolute: true,
        },
    )
}

/// Under which old ends of life the new one is set.
#[derive(Default)]
struct Condition {
    only_without: bool,
    only_with: bool,
    only_later: bool,
    only_earlier: bool,
}

impl Condition {
    fn read(words: Arguments<'_>) -> Result<Condition, CommandError> {
        let mut condition = Condition::default();
        for word in words.from(3).iter() {
            match word.to_ascii_lowercase().as_slice() {
                b"nx" => condition.only_without = true,
                b"xx" => condition.only_with = true,
                b"gt" => condition.only_later = true,
                b"lt" => condition.only_earlier = true,
                _ => {
                    return Err(CommandError(
                        format!("ERR Unsupported option {}", read::text(word)).into(),
                    ));
                }
            }
        }
        if condition.only_without && (condition.only_with || condition.only_later || condition.only_earlier) {
            return Err(CommandError::text(
                "ERR NX and XX, GT or LT options at the same time are not compatible",
            ));
        }
        if condition.only_later && condition.only_earlier {
            return Err(CommandError::text(
                "ERR GT and LT options at the same time are not compatible",
            ));
        }
        Ok(condition)
    }

    /// A key without an end lives for ever.
    fn allows(&self, old: Option<i64>, new: i64) -> bool {
        !(self.only_without && old.is_some()
            || self.only_with && old.is_none()
            || self.only_later && old.is_none_or(|old| new <= old)
            || self.only_earlier && old.is_some_and(|old| new >= old))
    }
}

fn set(context: &mut Context<'_>, words: Arguments<'_>, unit: Unit) -> CommandResult {
    let invalid = || CommandError(format!("ERR invalid expire time in '{}' command", context.command.name).into());
    let number = read::integer(&words[2])?;
    // Looked at once: a life of one millisecond is one.
    let now = context.now_ms();
    let start = if unit.is_absolute { 0 } else { now };
    let time = number
        .checked_mul(unit.milliseconds)
        .and_then(|milliseconds| milliseconds.checked_add(start))
        .filter(|time| *time < i64::MAX)
        .ok_or_else(invalid)?;
    let condition = Condition::read(words)?;
    let (db, key) = (context.db(), &words[1]);
    let is_set = context
        .access
        .expires_at(db, key)
        .is_some_and(|old| condition.allows(old, time));
    if is_set {
        if time <= now {
            context.access.remove(db, key);
            context.notify(GENERIC, "del", key);
        } else {
            context.access.set_expiry(db, key, Some(time));
            context.notify(GENERIC, "expire", key);
        }
    }
    context.reply.integer(i64::from(is_set));
    Ok(Flow::Done)
}

pub(super) fn persist(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    let (db, key) = (context.db(), &words[1]);
    let has_end = context.access.expires_at(db, key).flatten().is_some();
    if has_end {
        context.access.set_expiry(db, key, None);
        context.notify(GENERIC, "persist", key);
    }
    context.reply.integer(i64::from(has_end));
    Ok(Flow::Done)
}

pub(super) fn ttl(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    let now = context.now_ms();
    // Rounded, as the peer does.
    tell(context, words, |time| (time - now).max(0).saturating_add(500) / 1000)
}

pub(super) fn pttl(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    let now = context.now_ms();
    tell(context, words, |time| (time - now).max(0))
}

pub(super) fn expiretime(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    tell(context, words, |time| time.saturating_add(500) / 1000)
}

pub(super) fn pexpiretime(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    tell(context, words, |time| time)
}

fn tell(context: &mut Context<'_>, words: Arguments<'_>, show: impl Fn(i64) -> i64) -> CommandResult {
    let answer = match context.access.expires_at(context.db(), &words[1]) {
        None => -2,
        Some(None) => -1,
        Some(Some(time)) => show(time),
    };
    context.reply.integer(answer);
    Ok(Flow::Done)
}
