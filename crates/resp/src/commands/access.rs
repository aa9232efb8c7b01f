//! ACL: users and what they may do.

use super::read;
use crate::acl::{CATEGORIES, DEFAULT_USER, hex, in_category};
use crate::commands;
use crate::context::{CommandError, CommandResult, Context, Flow};
use crate::dispatch::check_permission;
use crate::protocol::{Arguments, Reply};

fn append_texts<T: AsRef<str>>(reply: &mut Reply, texts: &[T]) {
    reply.array(texts.len());
    for text in texts {
        reply.bulk(text.as_ref().as_bytes());
    }
}

pub(super) fn whoami(context: &mut Context<'_>, _: Arguments<'_>) -> CommandResult {
    let name = context.session.user.name.clone();
    context.reply.bulk(name.as_bytes());
    Ok(Flow::Done)
}

pub(super) fn list(context: &mut Context<'_>, _: Arguments<'_>) -> CommandResult {
    let lines: Vec<String> = context.server.acl.users().iter().map(|user| user.line()).collect();
    append_texts(context.reply, &lines);
    Ok(Flow::Done)
}

pub(super) fn users(context: &mut Context<'_>, _: Arguments<'_>) -> CommandResult {
    let names: Vec<String> = context
        .server
        .acl
        .users()
        .iter()
        .map(|user| user.name.clone())
        .collect();
    append_texts(context.reply, &names);
    Ok(Flow::Done)
}

pub(super) fn getuser(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    let Some(user) = context.server.acl.user(&read::text(&words[2])) else {
        context.reply.null();
        return Ok(Flow::Done);
    };
    context.reply.map(6);
    context.reply.bulk(b"flags");
    let flags = user.flags();
    context.reply.set(flags.len());
    for flag in flags {
        context.reply.bulk(flag.as_bytes());
    }
    context.reply.bulk(b"passwords");
    append_texts(context.reply, &user.password_hashes());
    for (field, text) in [
        ("commands", user.command_text()),
        ("keys", user.key_text()),
        ("channels", user.channel_text()),
    ] {
        context.reply.bulk(field.as_bytes());
        context.reply.bulk(text.as_bytes());
    }
    context.reply.bulk(b"selectors");
    context.reply.array(0);
    Ok(Flow::Done)
}

pub(super) fn setuser(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    let name = std::str::from_utf8(&words[2])
        .ok()
        .filter(|name| !name.contains([' ', '\0']))
        .ok_or(CommandError::text(
            "ERR Usernames can't contain spaces or null characters",
        ))?;
    let rules: Vec<_> = words.from(3).iter().map(read::text).collect();
    context.server.acl.set(name, rules.iter().map(AsRef::as_ref))?;
    context.reply.ok();
    Ok(Flow::Done)
}

pub(super) fn deluser(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    let names: Vec<_> = words.from(2).iter().map(read::text).collect();
    if names.iter().any(|name| name == DEFAULT_USER) {
        return Err(CommandError::text("ERR The 'default' user cannot be removed"));
    }
    let mut count = 0;
    for name in names {
        if !context.server.acl.remove(&name) {
            continue;
        }
        count += 1;
        for client in context.server.clients.all() {
            if client.texts.lock().user == *name && client.id != context.session.client.id {
                client.kill();
            }
        }
    }
    context.reply.integer(count);
    Ok(Flow::Done)
}

pub(super) fn cat(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    match words.len() {
        2 => {
            let categories = CATEGORIES.iter().filter(|category| **category != "all");
            append_texts(context.reply, &categories.collect::<Vec<_>>());
        }
        3 => {
            let category = read::text(&words[2]).to_ascii_lowercase();
            if !CATEGORIES.contains(&category.as_str()) {
                return Err(CommandError(
                    format!("ERR Unknown category '{}'", read::text(&words[2])).into(),
                ));
            }
            let names: Vec<&str> = commands::all()
                .filter(|command| in_category(command, &category) == Some(true))
                .map(|command| command.name)
                .collect();
            append_texts(context.reply, &names);
        }
        _ => return Err(CommandError::arity(context.command.name)),
    }
    Ok(Flow::Done)
}

pub(super) fn genpass(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    let bits = match words.get(2) {
        None => 256,
        Some(word) => usize::try_from(read::integer(word)?).unwrap_or(0),
    };
    if !(1..=4096).contains(&bits) {
        return Err(CommandError::text(
            "ERR ACL GENPASS argument must be the number of bits for the output password, a positive number up to 4096",
        ));
    }
    let digits = bits.div_ceil(4);
    let bytes: Vec<u8> = (0..digits.div_ceil(2)).map(|_| rand::random()).collect();
    let password = hex(&bytes);
    context.reply.bulk(&password.as_bytes()[..digits]);
    Ok(Flow::Done)
}

pub(super) fn dryrun(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    let name = read::text(&words[2]);
    let user = context.server.acl.user(&name);
    let user = user.ok_or_else(|| CommandError(format!("ERR User '{name}' not found").into()))?;
    let inner = words.from(3);
    let command = commands::find(inner)
        .ok_or_else(|| CommandError(format!("ERR Command '{}' not found", read::text(&words[3])).into()))?;
    if !command.takes(inner.len()) {
        return Err(CommandError::arity(command.name));
    }
    match check_permission(context.server, &user, command, inner) {
        Ok(()) => context.reply.ok(),
        // As a text: the command itself did not fail.
        Err(error) => {
            let text = error.0.strip_prefix("NOPERM ").unwrap_or(&error.0).to_owned();
            context.reply.bulk(text.as_bytes());
        }
    }
    Ok(Flow::Done)
}

/// Refusals are counted, not written down.
pub(super) fn log(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    if words.is(2, "reset") {
        context.reply.ok();
    } else {
        context.reply.array(0);
    }
    Ok(Flow::Done)
}

pub(super) fn no_file(_: &mut Context<'_>, _: Arguments<'_>) -> CommandResult {
    Err(CommandError::text(
        "ERR This instance is not configured to use an ACL file. You may want to specify users via the ACL SETUSER command",
    ))
}
