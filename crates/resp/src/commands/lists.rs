//! Keys that hold lists: the few commands that programs try a server with. A list is one packed text, so every change copies it; this
//! server is not made for long ones.

use super::read;
use crate::context::{CommandError, CommandResult, Context, Flow};
use crate::events::LIST;
use crate::protocol::Arguments;
use timberline_series::keyspace::{Plain, Value};

/// The longest list, in bytes.
const MAX_LIST_BYTES: usize = 64 << 20;

/// The elements of a packed list: each behind its length in four bytes.
fn unpack(mut packed: &[u8]) -> Vec<&[u8]> {
    let mut elements = Vec::new();
    while let Some((len, rest)) = packed.split_first_chunk::<4>() {
        let Some((element, rest)) = rest.split_at_checked(u32::from_le_bytes(*len) as usize) else {
            break;
        };
        elements.push(element);
        packed = rest;
    }
    elements
}

fn pack(elements: &[&[u8]]) -> Vec<u8> {
    let mut packed = Vec::with_capacity(elements.iter().map(|element| 4 + element.len()).sum());
    for element in elements {
        // Elements are arguments of requests, which are far shorter than 4 GiB.
        packed.extend_from_slice(&(element.len() as u32).to_le_bytes());
        packed.extend_from_slice(element);
    }
    packed
}

pub(super) fn lpush(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    push(context, words, true, "lpush")
}

pub(super) fn rpush(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    push(context, words, false, "rpush")
}

fn push(context: &mut Context<'_>, words: Arguments<'_>, in_front: bool, event: &str) -> CommandResult {
    let key = &words[1];
    let len = context.access.update_plain(Plain::List, context.db(), key, |old| {
        let mut elements = unpack(old.unwrap_or_default());
        for element in words.from(2).iter() {
            elements.insert(if in_front { 0 } else { elements.len() }, element);
        }
        let packed = pack(&elements);
        if packed.len() > MAX_LIST_BYTES {
            return (
                None,
                Err(CommandError::text("ERR list exceeds maximum allowed size (64 MiB)")),
            );
        }
        (Some(packed), Ok(elements.len()))
    })??;
    context.notify(LIST, event, key);
    context.reply.integer(len as i64);
    Ok(Flow::Done)
}

pub(super) fn lpop(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    pop(context, words, true, "lpop")
}

pub(super) fn rpop(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    pop(context, words, false, "rpop")
}

fn pop(context: &mut Context<'_>, words: Arguments<'_>, in_front: bool, event: &str) -> CommandResult {
    if words.len() > 3 {
        return Err(CommandError::arity(context.command.name));
    }
    let key = &words[1];
    let count = words.get(2).map(read::count).transpose()?;
    let taken = context.access.update_plain(Plain::List, context.db(), key, |old| {
        let Some(old) = old else { return (None, None) };
        let mut elements = unpack(old);
        let many = count.unwrap_or(1).min(elements.len());
        let taken: Vec<Vec<u8>> = if in_front {
            elements.drain(..many).map(<[u8]>::to_vec).collect()
        } else {
            elements
                .drain(elements.len() - many..)
                .rev()
                .map(<[u8]>::to_vec)
                .collect()
        };
        ((many > 0).then(|| pack(&elements)), Some(taken))
    })?;
    if taken.as_ref().is_some_and(|taken| !taken.is_empty()) {
        context.notify(LIST, event, key);
    }
    match (taken, count) {
        (None, None) => context.reply.null(),
        (None, Some(_)) => context.reply.null_array(),
        (Some(taken), None) => context.reply.bulk_or_null(taken.first().map(Vec::as_slice)),
        (Some(taken), Some(_)) => {
            context.reply.array(taken.len());
            taken.iter().for_each(|element| context.reply.bulk(element));
        }
    }
    Ok(Flow::Done)
}

pub(super) fn llen(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    let len = match context.access.value(context.db(), &words[1]) {
        None => 0,
        Some(Value::List(packed)) => unpack(&packed).len(),
        Some(_) => return Err(CommandError::WRONG_TYPE),
    };
    context.reply.integer(len as i64);
    Ok(Flow::Done)
}

pub(super) fn lrange(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    let (start, stop) = (read::integer(&words[2])?, read::integer(&words[3])?);
    let packed = match context.access.value(context.db(), &words[1]) {
        None => None,
        Some(Value::List(packed)) => Some(packed),
        Some(_) => return Err(CommandError::WRONG_TYPE),
    };
    let elements = unpack(packed.as_deref().unwrap_or_default());
    // Negative places count from the end.
    let place = |at: i64| {
        if at < 0 {
            at.saturating_add(elements.len() as i64)
        } else {
            at
        }
    };
    let first = place(start).max(0) as usize;
    let end = usize::try_from(place(stop).saturating_add(1))
        .unwrap_or(0)
        .min(elements.len());
    let asked = elements.get(first..end).unwrap_or_default();
    context.reply.array(asked.len());
    asked.iter().for_each(|element| context.reply.bulk(element));
    Ok(Flow::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_packed_and_unpacked() {
        let elements: [&[u8]; 3] = [b"one", b"", b"\x00\xff"];
        assert_eq!(unpack(&pack(&elements)), elements);
        assert!(unpack(&[]).is_empty());
        assert!(unpack(&[9, 0, 0, 0, 1]).is_empty());
    }
}
