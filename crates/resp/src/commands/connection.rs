//! Commands over the connection itself: PING, HELLO, AUTH, SELECT.

use super::read;
use crate::context::{CommandError, CommandResult, Context, Flow};
use crate::protocol::{Arguments, Protocol};
use crate::session::ReplyMode;
use std::sync::atomic::Ordering;

pub(super) fn ping(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    if words.len() > 2 {
        return Err(CommandError::arity("ping"));
    }
    if context.session.is_subscribed() && !context.reply.is_resp3() {
        context.reply.array(2);
        context.reply.bulk(b"pong");
        context.reply.bulk(words.get(1).unwrap_or_default());
    } else if let Some(message) = words.get(1) {
        context.reply.bulk(message);
    } else {
        context.reply.simple("PONG");
    }
    Ok(Flow::Done)
}

pub(super) fn echo(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    context.reply.bulk(&words[1]);
    Ok(Flow::Done)
}

pub(super) fn quit(context: &mut Context<'_>, _: Arguments<'_>) -> CommandResult {
    context.reply.ok();
    Ok(Flow::Close)
}

pub(super) fn reset(context: &mut Context<'_>, _: Arguments<'_>) -> CommandResult {
    let server = context.server;
    context.session.discard(server);
    context.session.unsubscribe_all(server);
    context.session.db = 0;
    context.session.reply_mode = ReplyMode::On;
    set_protocol(context, Protocol::Two);
    context.session.client.texts.lock().name.clear();
    context.session.client.no_evict.store(false, Ordering::Relaxed);
    context.session.client.no_touch.store(false, Ordering::Relaxed);
    let (user, version) = server.acl.default_user();
    let needs_password = !(user.is_enabled && user.no_password);
    context.session.log_in(user, version);
    context.session.is_authenticated = !needs_password;
    context.reply.simple("RESET");
    Ok(Flow::Done)
}

pub(super) fn select(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    context.session.db = read::database(&words[1])?;
    context.reply.ok();
    Ok(Flow::Done)
}

pub(super) fn auth(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    let (name, password) = match (words.len(), words.get(1), words.get(2)) {
        (2, Some(password), _) => {
            if context.server.acl.default_user().0.no_password {
                return Err(CommandError::text(
                    "ERR AUTH <password> called without any password configured for the default user. Are you sure your \
                     configuration is correct?",
                ));
            }
            (crate::acl::DEFAULT_USER.into(), password)
        }
        (3, Some(name), Some(password)) => (read::text(name), password),
        _ => return Err(CommandError::SYNTAX),
    };
    log_in(context, &name, password)?;
    context.reply.ok();
    Ok(Flow::Done)
}

fn log_in(context: &mut Context<'_>, name: &str, password: &[u8]) -> Result<(), CommandError> {
    let Some((user, version)) = context.server.acl.log_in(name, password) else {
        context.server.stats.denied.add(1);
        return Err(CommandError::text(
            "WRONGPASS invalid username-password pair or user is disabled.",
        ));
    };
    context.session.log_in(user, version);
    Ok(())
}

fn set_protocol(context: &mut Context<'_>, protocol: Protocol) {
    context.reply.protocol = protocol;
    context
        .session
        .client
        .protocol
        .store(protocol.number() as u8, Ordering::Relaxed);
}

pub(super) fn hello(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    let protocol = match words.get(1) {
        None => context.reply.protocol,
        Some(word) => match read::strict_integer(word) {
            Some(2) => Protocol::Two,
            Some(3) => Protocol::Three,
            Some(_) => return Err(CommandError::text("NOPROTO unsupported protocol version")),
            None => {
                return Err(CommandError::text(
                    "ERR Protocol version is not an integer or out of range",
                ));
            }
        },
    };
    let mut credentials = None;
    let mut name = None;
    let mut at = 2;
    while at < words.len() {
        match (words.get(at + 1), words.get(at + 2)) {
            (Some(user), Some(password)) if words.is(at, "auth") => {
                credentials = Some((user, password));
                at += 3;
            }
            (Some(client_name), _) if words.is(at, "setname") => {
                name = Some(client_name);
                at += 2;
            }
            _ => {
                return Err(CommandError(
                    format!("ERR Syntax error in HELLO option '{}'", read::text(&words[at])).into(),
                ));
            }
        }
    }
    if let Some((user, password)) = credentials {
        log_in(context, &read::text(user), password)?;
    }
    if !context.session.is_authenticated {
        return Err(CommandError::text(
            "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> <pass> \
             option can be used to authenticate the client and select the RESP protocol version at the same time",
        ));
    }
    if let Some(name) = name {
        super::clients::set_name(context, name)?;
    }
    set_protocol(context, protocol);
    let id = context.session.client.id as i64;
    let reply = &mut *context.reply;
    reply.map(7);
    for (field, value) in [("server", "redis"), ("version", super::information::COMPATIBLE_VERSION)] {
        reply.bulk(field.as_bytes());
        reply.bulk(value.as_bytes());
    }
    reply.bulk(b"proto");
    reply.integer(protocol.number());
    reply.bulk(b"id");
    reply.integer(id);
    for (field, value) in [("mode", "standalone"), ("role", "master")] {
        reply.bulk(field.as_bytes());
        reply.bulk(value.as_bytes());
    }
    reply.bulk(b"modules");
    reply.array(1);
    super::information::module(reply);
    Ok(Flow::Done)
}
