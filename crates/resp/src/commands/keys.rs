//! Keys of any kind (specification, chapter 17).

use super::read;
use crate::context::{CommandError, CommandResult, Context, Flow};
use crate::events::GENERIC;
use crate::glob;
use crate::protocol::Arguments;
use timberline_series::keyspace::Value;

/// Keys of one step of SCAN, whatever COUNT says.
const MAX_SCAN_COUNT: usize = 1 << 20;

/// What TYPE says of a value.
pub(super) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Series(_) => "TSDB-TYPE",
        Value::Text(_) => "string",
        Value::List(_) => "list",
    }
}

pub(super) fn del(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    let mut count = 0;
    for key in words.from(1).iter() {
        if context.access.remove(context.db(), key) {
            context.notify(GENERIC, "del", key);
            count += 1;
        }
    }
    context.reply.integer(count);
    Ok(Flow::Done)
}

pub(super) fn exists(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    let count = words
        .from(1)
        .iter()
        .filter(|key| context.access.value(context.db(), key).is_some())
        .count();
    context.reply.integer(count as i64);
    Ok(Flow::Done)
}

pub(super) fn type_of(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    let value = context.access.value(context.db(), &words[1]);
    context.reply.simple(value.as_ref().map_or("none", type_name));
    Ok(Flow::Done)
}

pub(super) fn keys(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    let pattern = &words[1];
    let mut keys = context.access.keys(context.db());
    keys.retain(|key| glob::matches(pattern, key));
    context.reply.array(keys.len());
    for key in keys {
        context.reply.bulk(&key);
    }
    Ok(Flow::Done)
}

pub(super) fn scan(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    let cursor: u64 = std::str::from_utf8(&words[1])
        .ok()
        .and_then(|text| text.parse().ok())
        .ok_or(CommandError::text("ERR invalid cursor"))?;
    let (mut pattern, mut count, mut kind) = (None, 10, None);
    let mut at = 2;
    while at < words.len() {
        let value = words.get(at + 1).ok_or(CommandError::SYNTAX)?;
        if words.is(at, "match") {
            pattern = Some(value);
        } else if words.is(at, "count") {
            count = usize::try_from(read::integer(value)?).unwrap_or(0);
            if count == 0 {
                return Err(CommandError::SYNTAX);
            }
        } else if words.is(at, "type") {
            kind = Some(value);
        } else {
            return Err(CommandError::SYNTAX);
        }
        at += 2;
    }
    let db = context.db();
    let (next, mut keys) = context.access.scan(db, cursor, count.min(MAX_SCAN_COUNT));
    keys.retain(|key| {
        pattern.is_none_or(|pattern| glob::matches(pattern, key))
            && kind.is_none_or(|kind| {
                let value = context.access.value(db, key);
                value.is_some_and(|value| type_name(&value).as_bytes().eq_ignore_ascii_case(kind))
            })
    });
    context.reply.array(2);
    context.reply.bulk(next.to_string().as_bytes());
    context.reply.array(keys.len());
    for key in keys {
        context.reply.bulk(&key);
    }
    Ok(Flow::Done)
}

pub(super) fn random_key(context: &mut Context<'_>, _: Arguments<'_>) -> CommandResult {
    let key = context.access.random_key(context.db(), rand::random());
    context.reply.bulk_or_null(key.as_deref());
    Ok(Flow::Done)
}

pub(super) fn rename(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    change_name(context, words, false)?;
    context.reply.ok();
    Ok(Flow::Done)
}

pub(super) fn renamenx(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    let is_done = change_name(context, words, true)?;
    context.reply.integer(i64::from(is_done));
    Ok(Flow::Done)
}

fn change_name(context: &mut Context<'_>, words: Arguments<'_>, only_if_new: bool) -> Result<bool, CommandError> {
    let (from, to) = (&words[1], &words[2]);
    let is_done = context
        .access
        .rename(context.db(), from, to, only_if_new)
        .ok_or(CommandError::NO_SUCH_KEY)?;
    if is_done {
        context.notify(GENERIC, "rename_from", from);
        context.notify(GENERIC, "rename_to", to);
    }
    Ok(is_done)
}

pub(super) fn touch(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    exists(context, words)
}

pub(super) fn dbsize(context: &mut Context<'_>, _: Arguments<'_>) -> CommandResult {
    let db = context.db();
    // Keys whose time is over do not count.
    while context.access.expire_some(db) > 0 {}
    context.reply.integer(context.access.len(db) as i64);
    Ok(Flow::Done)
}

pub(super) fn flushdb(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    let db = context.db();
    flush(context, words, Some(db))
}

pub(super) fn flushall(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    flush(context, words, None)
}

fn flush(context: &mut Context<'_>, words: Arguments<'_>, db: Option<u8>) -> CommandResult {
    match words.len() {
        1 => {}
        2 if words.is(1, "async") || words.is(1, "sync") => {}
        _ => return Err(CommandError::SYNTAX),
    }
    context.access.flush(db);
    context.reply.ok();
    Ok(Flow::Done)
}

pub(super) fn swapdb(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    let one = read::strict_integer(&words[1]).ok_or(CommandError::text("ERR invalid first DB index"))?;
    let other = read::strict_integer(&words[2]).ok_or(CommandError::text("ERR invalid second DB index"))?;
    let (one, other) = (
        read::database(one.to_string().as_bytes())?,
        read::database(other.to_string().as_bytes())?,
    );
    context.access.swap(one, other);
    context.reply.ok();
    Ok(Flow::Done)
}

/// The value of a key that OBJECT is asked of.
fn object(context: &Context<'_>, words: Arguments<'_>) -> Option<Value> {
    context.access.value(context.db(), &words[2])
}

pub(super) fn encoding(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    match object(context, words) {
        None => context.reply.null(),
        Some(Value::Series(_)) => context.reply.bulk(b"raw"),
        Some(Value::List(_)) => context.reply.bulk(b"listpack"),
        Some(Value::Text(text)) => context.reply.bulk(match read::strict_integer(&text) {
            Some(_) => b"int",
            None if text.len() <= 44 => b"embstr",
            None => b"raw",
        }),
    }
    Ok(Flow::Done)
}

pub(super) fn refcount(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    match object(context, words) {
        None => context.reply.null(),
        Some(_) => context.reply.integer(1),
    }
    Ok(Flow::Done)
}

pub(super) fn idletime(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    match object(context, words) {
        None => context.reply.null(),
        // When a key was read last is not kept.
        Some(_) => context.reply.integer(0),
    }
    Ok(Flow::Done)
}

pub(super) fn freq(_: &mut Context<'_>, _: Arguments<'_>) -> CommandResult {
    Err(CommandError::text(
        "ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note that when switching between \
         policies at runtime LRU and LFU data will take some time to adjust.",
    ))
}
