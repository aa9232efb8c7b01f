//! Keys that hold texts.

use super::read;
use crate::context::{CommandError, CommandResult, Context, Flow};
use crate::events::STRING;
use crate::protocol::Arguments;
use std::sync::Arc;
use timberline_series::error::KeyError;
use timberline_series::keyspace::{Expiry, Plain, Value};

/// The longest text of a key.
const MAX_TEXT_BYTES: usize = 512 << 20;

impl From<KeyError> for CommandError {
    fn from(error: KeyError) -> CommandError {
        match error {
            KeyError::WrongType => CommandError::WRONG_TYPE,
            KeyError::Missing => CommandError::NO_SUCH_KEY,
        }
    }
}

fn text(context: &Context<'_>, key: &[u8]) -> Result<Option<Arc<[u8]>>, CommandError> {
    match context.access.value(context.db(), key) {
        None => {
            context.server.stats.misses.add(1);
            Ok(None)
        }
        Some(Value::Text(text)) => {
            context.server.stats.hits.add(1);
            Ok(Some(text))
        }
        Some(Value::Series(_) | Value::List(_)) => Err(CommandError::WRONG_TYPE),
    }
}

pub(super) fn get(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    let text = text(context, &words[1])?;
    context.reply.bulk_or_null(text.as_deref());
    Ok(Flow::Done)
}

/// The options of SET and GETEX.
#[derive(Default)]
struct Options {
    expiry: Option<Expiry>,
    only_if_missing: bool,
    only_if_there: bool,
    get: bool,
    persist: bool,
}

fn options(context: &Context<'_>, words: Arguments<'_>, first: usize, is_set: bool) -> Result<Options, CommandError> {
    let mut options = Options::default();
    let mut at = first;
    while at < words.len() {
        let unit = ["ex", "px", "exat", "pxat"].iter().position(|unit| words.is(at, unit));
        if let Some(unit) = unit {
            let value = words.get(at + 1).ok_or(CommandError::SYNTAX)?;
            if options.expiry.is_some() || options.persist {
                return Err(CommandError::SYNTAX);
            }
            let time = end_of_life(context, read::integer(value)?, unit)?;
            options.expiry = Some(Expiry::At(time));
            at += 2;
            continue;
        }
        if is_set && words.is(at, "keepttl") && options.expiry.is_none() {
            options.expiry = Some(Expiry::Keep);
        } else if is_set && words.is(at, "nx") && !options.only_if_there {
            options.only_if_missing = true;
        } else if is_set && words.is(at, "xx") && !options.only_if_missing {
            options.only_if_there = true;
        } else if is_set && words.is(at, "get") {
            options.get = true;
        } else if !is_set && words.is(at, "persist") && options.expiry.is_none() {
            options.persist = true;
        } else {
            return Err(CommandError::SYNTAX);
        }
        at += 1;
    }
    Ok(options)
}

/// When a key ends, of a number in a unit: seconds, milliseconds, and the same since 1970.
fn end_of_life(context: &Context<'_>, number: i64, unit: usize) -> Result<i64, CommandError> {
    let invalid = || CommandError(format!("ERR invalid expire time in '{}' command", context.command.name).into());
    if number <= 0 {
        return Err(invalid());
    }
    let milliseconds = if unit.is_multiple_of(2) {
        number.checked_mul(1000)
    } else {
        Some(number)
    };
    let start = if unit < 2 { context.now_ms() } else { 0 };
    milliseconds
        .and_then(|milliseconds| milliseconds.checked_add(start))
        .filter(|time| *time < i64::MAX)
        .ok_or_else(invalid)
}

pub(super) fn set(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    let options = options(context, words, 3, true)?;
    let (key, new) = (&words[1], &words[2]);
    let is_conditional = options.only_if_missing || options.only_if_there || options.get;
    // What depends on the old value must not be seen half done.
    if is_conditional && !context.access.is_exclusive() {
        return Ok(Flow::Exclusive);
    }
    let old = if options.get { text(context, key)? } else { None };
    let is_there = is_conditional && context.access.value(context.db(), key).is_some();
    let is_refused = options.only_if_missing && is_there || options.only_if_there && !is_there;
    if !is_refused {
        let expiry = options.expiry.unwrap_or(Expiry::Clear);
        context.access.set_text(context.db(), key, new, expiry);
        context.notify(STRING, "set", key);
        if matches!(expiry, Expiry::At(_)) {
            context.notify(crate::events::GENERIC, "expire", key);
        }
    }
    match (options.get, is_refused) {
        (true, _) => context.reply.bulk_or_null(old.as_deref()),
        (false, true) => context.reply.null(),
        (false, false) => context.reply.ok(),
    }
    Ok(Flow::Done)
}

pub(super) fn setnx(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    if !context.access.is_exclusive() {
        return Ok(Flow::Exclusive);
    }
    let key = &words[1];
    let is_free = context.access.value(context.db(), key).is_none();
    if is_free {
        context.access.set_text(context.db(), key, &words[2], Expiry::Clear);
        context.notify(STRING, "set", key);
    }
    context.reply.integer(i64::from(is_free));
    Ok(Flow::Done)
}

pub(super) fn setex(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    set_with_life(context, words, 0)
}

pub(super) fn psetex(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    set_with_life(context, words, 1)
}

fn set_with_life(context: &mut Context<'_>, words: Arguments<'_>, unit: usize) -> CommandResult {
    let time = end_of_life(context, read::integer(&words[2])?, unit)?;
    context
        .access
        .set_text(context.db(), &words[1], &words[3], Expiry::At(time));
    context.notify(STRING, "set", &words[1]);
    context.notify(crate::events::GENERIC, "expire", &words[1]);
    context.reply.ok();
    Ok(Flow::Done)
}

pub(super) fn getset(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    if !context.access.is_exclusive() {
        return Ok(Flow::Exclusive);
    }
    let old = text(context, &words[1])?;
    context
        .access
        .set_text(context.db(), &words[1], &words[2], Expiry::Clear);
    context.notify(STRING, "set", &words[1]);
    context.reply.bulk_or_null(old.as_deref());
    Ok(Flow::Done)
}

pub(super) fn getdel(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    if !context.access.is_exclusive() {
        return Ok(Flow::Exclusive);
    }
    let old = text(context, &words[1])?;
    if old.is_some() {
        context.access.remove(context.db(), &words[1]);
        context.notify(crate::events::GENERIC, "del", &words[1]);
    }
    context.reply.bulk_or_null(old.as_deref());
    Ok(Flow::Done)
}

pub(super) fn getex(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    let options = options(context, words, 2, false)?;
    let key = &words[1];
    let old = text(context, key)?;
    if old.is_some() {
        if let Some(Expiry::At(time)) = options.expiry {
            context.access.set_expiry(context.db(), key, Some(time));
            context.notify(crate::events::GENERIC, "expire", key);
        } else if options.persist && context.access.expires_at(context.db(), key).flatten().is_some() {
            context.access.set_expiry(context.db(), key, None);
            context.notify(crate::events::GENERIC, "persist", key);
        }
    }
    context.reply.bulk_or_null(old.as_deref());
    Ok(Flow::Done)
}

pub(super) fn mget(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    let keys = words.from(1);
    context.reply.array(keys.len());
    for key in keys.iter() {
        match context.access.value(context.db(), key) {
            Some(Value::Text(text)) => context.reply.bulk(&text),
            _ => context.reply.null(),
        }
    }
    Ok(Flow::Done)
}

/// A key and its text.
type Pair<'a> = (&'a [u8], &'a [u8]);

/// The pairs of MSET and MSETNX.
fn pairs<'a>(context: &Context<'_>, words: Arguments<'a>) -> Result<Vec<Pair<'a>>, CommandError> {
    if words.len().is_multiple_of(2) {
        return Err(CommandError::arity(context.command.name));
    }
    let keys = words.iter().skip(1).step_by(2);
    Ok(keys.zip(words.iter().skip(2).step_by(2)).collect())
}

pub(super) fn mset(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    for (key, text) in pairs(context, words)? {
        context.access.set_text(context.db(), key, text, Expiry::Clear);
        context.notify(STRING, "set", key);
    }
    context.reply.ok();
    Ok(Flow::Done)
}

pub(super) fn msetnx(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    let pairs = pairs(context, words)?;
    let all_free = pairs
        .iter()
        .all(|(key, _)| context.access.value(context.db(), key).is_none());
    if all_free {
        for (key, text) in pairs {
            context.access.set_text(context.db(), key, text, Expiry::Clear);
            context.notify(STRING, "set", key);
        }
    }
    context.reply.integer(i64::from(all_free));
    Ok(Flow::Done)
}

pub(super) fn incr(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    add(context, &words[1], 1, "incrby")
}

pub(super) fn decr(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    add(context, &words[1], -1, "decrby")
}

pub(super) fn incrby(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    add(context, &words[1], read::integer(&words[2])?, "incrby")
}

pub(super) fn decrby(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    let step = read::integer(&words[2])?
        .checked_neg()
        .ok_or(CommandError::text("ERR decrement would overflow"))?;
    add(context, &words[1], step, "decrby")
}

fn add(context: &mut Context<'_>, key: &[u8], step: i64, event: &str) -> CommandResult {
    let sum = context.access.update_plain(Plain::Text, context.db(), key, |old| {
        let old = match old {
            None => 0,
            Some(text) => match read::integer(text) {
                Ok(old) => old,
                Err(error) => return (None, Err(error)),
            },
        };
        match old.checked_add(step) {
            Some(sum) => (Some(sum.to_string().into_bytes()), Ok(sum)),
            None => (
                None,
                Err(CommandError::text("ERR increment or decrement would overflow")),
            ),
        }
    })??;
    context.notify(STRING, event, key);
    context.reply.integer(sum);
    Ok(Flow::Done)
}

pub(super) fn incrbyfloat(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    let key = &words[1];
    let step = read::float(&words[2]).ok_or(CommandError::NOT_A_FLOAT)?;
    let sum = context.access.update_plain(Plain::Text, context.db(), key, |old| {
        let Some(old) = old.map_or(Some(0.0), read::float) else {
            return (None, Err(CommandError::NOT_A_FLOAT));
        };
        let sum = old + step;
        if !sum.is_finite() {
            return (
                None,
                Err(CommandError::text("ERR increment would produce NaN or Infinity")),
            );
        }
        let text = format!("{sum}").into_bytes();
        (Some(text.clone()), Ok(text))
    })??;
    context.notify(STRING, "incrbyfloat", key);
    context.reply.bulk(&sum);
    Ok(Flow::Done)
}

const TOO_LONG: CommandError = CommandError::text("ERR string exceeds maximum allowed size (proto-max-bulk-len)");

pub(super) fn append(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    let len = context
        .access
        .update_plain(Plain::Text, context.db(), &words[1], |old| {
            let mut text = old.unwrap_or_default().to_vec();
            if text.len() + words[2].len() > MAX_TEXT_BYTES {
                return (None, Err(TOO_LONG));
            }
            text.extend_from_slice(&words[2]);
            let len = text.len();
            (Some(text), Ok(len))
        })??;
    context.notify(STRING, "append", &words[1]);
    context.reply.integer(len as i64);
    Ok(Flow::Done)
}

pub(super) fn strlen(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    let len = text(context, &words[1])?.map_or(0, |text| text.len());
    context.reply.integer(len as i64);
    Ok(Flow::Done)
}

pub(super) fn getrange(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    let (start, end) = (read::integer(&words[2])?, read::integer(&words[3])?);
    let text = text(context, &words[1])?.unwrap_or_default();
    let len = text.len() as i64;
    // Negative places count from the end.
    let place = |number: i64| if number < 0 { (len + number).max(0) } else { number };
    let is_inverted = start < 0 && end < 0 && start > end;
    let (start, end) = (place(start), place(end).min(len - 1));
    let chosen = if is_inverted || start > end {
        &[]
    } else {
        &text[start as usize..=end as usize]
    };
    context.reply.bulk(chosen);
    Ok(Flow::Done)
}

pub(super) fn setrange(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    let offset =
        usize::try_from(read::integer(&words[2])?).map_err(|_| CommandError::text("ERR offset is out of range"))?;
    let piece = &words[3];
    let end = offset.checked_add(piece.len()).filter(|end| *end <= MAX_TEXT_BYTES);
    let len = context
        .access
        .update_plain(Plain::Text, context.db(), &words[1], |old| {
            let mut text = old.unwrap_or_default().to_vec();
            if piece.is_empty() {
                return (None, Ok(text.len()));
            }
            let Some(end) = end else { return (None, Err(TOO_LONG)) };
            text.resize(text.len().max(end), 0);
            text[offset..end].copy_from_slice(piece);
            let len = text.len();
            (Some(text), Ok(len))
        })??;
    if !piece.is_empty() {
        context.notify(STRING, "setrange", &words[1]);
    }
    context.reply.integer(len as i64);
    Ok(Flow::Done)
}
