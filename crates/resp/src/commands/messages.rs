//! SUBSCRIBE, PUBLISH and their kin.

use crate::context::{CommandError, CommandResult, Context, Flow};
use crate::protocol::Arguments;
use crate::pubsub::Kind;

pub(super) fn subscribe(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    enter(context, words, Kind::Channel)
}

pub(super) fn psubscribe(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    enter(context, words, Kind::Pattern)
}

pub(super) fn ssubscribe(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    enter(context, words, Kind::Shard)
}

pub(super) fn unsubscribe(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    leave(context, words, Kind::Channel)
}

pub(super) fn punsubscribe(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    leave(context, words, Kind::Pattern)
}

pub(super) fn sunsubscribe(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    leave(context, words, Kind::Shard)
}

fn enter(context: &mut Context<'_>, words: Arguments<'_>, kind: Kind) -> CommandResult {
    if context.nested && !context.reply.is_resp3() {
        return Err(CommandError::text(
            "ERR subscribing isn't allowed inside MULTI for RESP2 clients",
        ));
    }
    drain(context);
    for name in words.from(1).iter() {
        if context.session.subscriptions[kind as usize].insert(name.into()) {
            context.server.hub.subscribe(kind, name, &context.session.client);
        }
        acknowledge(context, kind.words().0, Some(name), kind);
    }
    context.session.publish_counts();
    Ok(Flow::Done)
}

fn leave(context: &mut Context<'_>, words: Arguments<'_>, kind: Kind) -> CommandResult {
    let names: Vec<Box<[u8]>> = if words.len() > 1 {
        words.from(1).iter().map(Into::into).collect()
    } else {
        context.session.subscriptions[kind as usize].iter().cloned().collect()
    };
    for name in &names {
        if context.session.subscriptions[kind as usize].remove(name) {
            context.server.hub.unsubscribe(kind, name, &context.session.client);
        }
        drain(context);
        acknowledge(context, kind.words().1, Some(name), kind);
    }
    if names.is_empty() {
        acknowledge(context, kind.words().1, None, kind);
    }
    context.session.publish_counts();
    Ok(Flow::Done)
}

/// Messages that came before stand before the reply.
fn drain(context: &mut Context<'_>) {
    if !context.nested {
        context.session.client.drain(context.reply.bytes_mut());
    }
}

fn acknowledge(context: &mut Context<'_>, word: &str, name: Option<&[u8]>, kind: Kind) {
    let count = context.session.subscription_count(kind) as i64;
    context.reply.push(3);
    context.reply.bulk(word.as_bytes());
    context.reply.bulk_or_null(name);
    context.reply.integer(count);
}

pub(super) fn publish(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    let count = context.server.hub.publish(&words[1], &words[2]);
    context.reply.integer(count as i64);
    Ok(Flow::Done)
}

pub(super) fn spublish(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    let count = context.server.hub.publish_to_shard(&words[1], &words[2]);
    context.reply.integer(count as i64);
    Ok(Flow::Done)
}

pub(super) fn channels(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    names(context, words, Kind::Channel)
}

pub(super) fn shard_channels(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    names(context, words, Kind::Shard)
}

fn names(context: &mut Context<'_>, words: Arguments<'_>, kind: Kind) -> CommandResult {
    if words.len() > 3 {
        return Err(CommandError::arity(context.command.name));
    }
    let names = context.server.hub.names(kind, words.get(2));
    context.reply.array(names.len());
    for name in names {
        context.reply.bulk(&name);
    }
    Ok(Flow::Done)
}

pub(super) fn numsub(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    counts(context, words, Kind::Channel)
}

pub(super) fn shard_numsub(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    counts(context, words, Kind::Shard)
}

fn counts(context: &mut Context<'_>, words: Arguments<'_>, kind: Kind) -> CommandResult {
    let names = words.from(2);
    context.reply.array(2 * names.len());
    for name in names.iter() {
        context.reply.bulk(name);
        context.reply.integer(context.server.hub.listeners(kind, name) as i64);
    }
    Ok(Flow::Done)
}

pub(super) fn numpat(context: &mut Context<'_>, _: Arguments<'_>) -> CommandResult {
    context.reply.integer(context.server.hub.count(Kind::Pattern) as i64);
    Ok(Flow::Done)
}
