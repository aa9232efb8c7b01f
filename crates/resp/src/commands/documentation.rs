//! COMMAND: the table of commands, told to clients.

use super::{Command, Group, Keys, flags};
use crate::acl::{CATEGORIES, in_category};
use crate::commands;
use crate::context::{CommandError, CommandResult, Context, Flow};
use crate::glob;
use crate::protocol::{Arguments, Reply};

/// Commands that are not parts of others.
fn top() -> impl Iterator<Item = &'static Command> {
    commands::all().filter(|command| !command.name.contains('|'))
}

fn subcommands(container: &'static Command) -> impl Iterator<Item = &'static Command> + Clone {
    commands::all().filter(move |command| {
        container.has(flags::CONTAINER)
            && command
                .name
                .strip_prefix(container.name)
                .is_some_and(|rest| rest.starts_with('|'))
    })
}

/// COMMAND without a subcommand, and HELP of it.
pub(super) fn command(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    if words.len() > 1 {
        return help(context, words);
    }
    context.reply.array(top().count());
    for command in top() {
        append_info(context.reply, command);
    }
    Ok(Flow::Done)
}

pub(super) fn count(context: &mut Context<'_>, _: Arguments<'_>) -> CommandResult {
    context.reply.integer(top().count() as i64);
    Ok(Flow::Done)
}

pub(super) fn info(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    if words.len() == 2 {
        return command(context, words.from(1));
    }
    context.reply.array(words.len() - 2);
    for name in words.from(2).iter() {
        match commands::by_name(name) {
            Some(command) => append_info(context.reply, command),
            None => context.reply.null_array(),
        }
    }
    Ok(Flow::Done)
}

/// The flags that clients know.
const FLAG_NAMES: [(flags::Flags, &str); 10] = [
    (flags::WRITE, "write"),
    (flags::READONLY, "readonly"),
    (flags::DENYOOM, "denyoom"),
    (flags::ADMIN, "admin"),
    (flags::PUBSUB, "pubsub"),
    (flags::NOSCRIPT, "noscript"),
    (flags::BLOCKING, "blocking"),
    (flags::FAST, "fast"),
    (flags::NO_AUTH, "no_auth"),
    (flags::NO_MULTI, "no_multi"),
];

fn append_info(reply: &mut Reply, command: &'static Command) {
    reply.array(10);
    reply.bulk(command.name.as_bytes());
    reply.integer(i64::from(command.arity));
    let mut names: Vec<&str> = FLAG_NAMES
        .iter()
        .filter(|(flag, _)| command.has(*flag))
        .map(|(_, name)| *name)
        .collect();
    if matches!(command.keys, Keys::Counted(_)) {
        names.push("movablekeys");
    }
    reply.set(names.len());
    for name in names {
        reply.simple(name);
    }
    let (first, last, step) = match command.keys {
        Keys::Places { first, last, step } => (first as i64, last as i64, step as i64),
        Keys::None | Keys::Counted(_) => (0, 0, 0),
    };
    reply.integer(first);
    reply.integer(last);
    reply.integer(step);
    let categories: Vec<&str> = CATEGORIES
        .into_iter()
        .filter(|category| *category != "all" && in_category(command, category) == Some(true))
        .collect();
    reply.set(categories.len());
    for category in categories {
        reply.simple(&format!("@{category}"));
    }
    // Hints.
    reply.array(0);
    append_key_specification(reply, command);
    let parts = subcommands(command);
    reply.array(parts.clone().count());
    for part in parts {
        append_info(reply, part);
    }
}

fn append_key_specification(reply: &mut Reply, command: &Command) {
    let (kind, begin, fields): (&str, usize, [(&str, i64); 3]) = match command.keys {
        Keys::None => {
            reply.array(0);
            return;
        }
        Keys::Places { first, last, step } => {
            // The last place counts from the first one here.
            let last = if last < 0 {
                last as i64
            } else {
                last as i64 - first as i64
            };
            (
                "range",
                first,
                [("lastkey", last), ("keystep", step as i64), ("limit", 0)],
            )
        }
        Keys::Counted(place) => ("keynum", place, [("keynumidx", 0), ("firstkey", 1), ("keystep", 1)]),
    };
    reply.array(1);
    reply.map(3);
    reply.bulk(b"flags");
    reply.set(1);
    reply.simple(if command.has(flags::WRITE) { "RW" } else { "RO" });
    reply.bulk(b"begin_search");
    reply.map(2);
    reply.bulk(b"type");
    reply.bulk(b"index");
    reply.bulk(b"spec");
    reply.map(1);
    reply.bulk(b"index");
    reply.integer(begin as i64);
    reply.bulk(b"find_keys");
    reply.map(2);
    reply.bulk(b"type");
    reply.bulk(kind.as_bytes());
    reply.bulk(b"spec");
    reply.map(3);
    for (name, value) in fields {
        reply.bulk(name.as_bytes());
        reply.integer(value);
    }
}

fn group_name(group: Group) -> &'static str {
    match group {
        Group::Connection => "connection",
        Group::Generic | Group::Absent => "generic",
        Group::String => "string",
        Group::List => "list",
        Group::PubSub => "pubsub",
        Group::Transactions => "transactions",
        Group::Scripting => "scripting",
        Group::Server => "server",
        Group::TimeSeries => "module",
    }
}

pub(super) fn docs(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    let chosen: Vec<&'static Command> = if words.len() == 2 {
        top().collect()
    } else {
        words.from(2).iter().filter_map(commands::by_name).collect()
    };
    context.reply.map(chosen.len());
    for command in chosen {
        append_docs(context.reply, command);
    }
    Ok(Flow::Done)
}

fn append_docs(reply: &mut Reply, command: &'static Command) {
    let parts = subcommands(command);
    let has_parts = parts.clone().next().is_some();
    reply.bulk(command.name.as_bytes());
    reply.map(if has_parts { 3 } else { 2 });
    reply.bulk(b"summary");
    reply.bulk(command.summary.as_bytes());
    reply.bulk(b"group");
    reply.bulk(group_name(command.group).as_bytes());
    if has_parts {
        reply.bulk(b"subcommands");
        reply.map(parts.clone().count());
        for part in parts {
            append_docs(reply, part);
        }
    }
}

pub(super) fn list(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    let names: Vec<&str> = match (words.len(), words.get(4)) {
        (2, _) => top().map(|command| command.name).collect(),
        (5, Some(argument)) if words.is(2, "filterby") => {
            let argument_text = String::from_utf8_lossy(argument).to_ascii_lowercase();
            let fits = |command: &&'static Command| match () {
                () if words.is(3, "module") => argument_text == "timeseries" && command.group == Group::TimeSeries,
                () if words.is(3, "aclcat") => in_category(command, &argument_text) == Some(true),
                () => glob::matches_any_case(argument, command.name.as_bytes()),
            };
            if !["module", "aclcat", "pattern"].iter().any(|kind| words.is(3, kind)) {
                return Err(CommandError::SYNTAX);
            }
            commands::all().filter(fits).map(|command| command.name).collect()
        }
        _ => return Err(CommandError::SYNTAX),
    };
    context.reply.array(names.len());
    for name in names {
        context.reply.bulk(name.as_bytes());
    }
    Ok(Flow::Done)
}

/// The command whose words stand behind COMMAND GETKEYS, if they may be its words.
fn inner(words: Arguments<'_>) -> Result<(&'static Command, Arguments<'_>), CommandError> {
    let inner = words.from(2);
    let command = commands::find(inner).ok_or(CommandError::text("ERR Invalid command specified"))?;
    if command.keys == Keys::None {
        return Err(CommandError::text("ERR The command has no key arguments"));
    }
    if !command.takes(inner.len()) {
        return Err(CommandError::text(
            "ERR Invalid number of arguments specified for command",
        ));
    }
    Ok((command, inner))
}

pub(super) fn getkeys(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    let (command, inner) = inner(words)?;
    let places = command.keys.places(inner);
    if places.len() == 0 {
        return Err(CommandError::text("ERR Invalid arguments specified for command"));
    }
    context.reply.array(places.len());
    for place in places {
        context.reply.bulk(&inner[place]);
    }
    Ok(Flow::Done)
}

pub(super) fn getkeysandflags(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    let (command, inner) = inner(words)?;
    let places = command.keys.places(inner);
    let key_flags: &[&str] = if command.has(flags::WRITE) {
        &["RW", "access", "update"]
    } else {
        &["RO", "access"]
    };
    context.reply.array(places.len());
    for place in places {
        context.reply.array(2);
        context.reply.bulk(&inner[place]);
        context.reply.set(key_flags.len());
        for flag in key_flags {
            context.reply.simple(flag);
        }
    }
    Ok(Flow::Done)
}

/// `X HELP`: the subcommands of a command, from the table.
pub(super) fn help(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    let container = context.command;
    if words.len() != 2 {
        return Err(CommandError::arity(&format!("{}|help", container.name)));
    }
    let parts: Vec<&'static Command> = subcommands(container).collect();
    context.reply.array(1 + 2 * parts.len());
    let name = container.name.to_ascii_uppercase();
    context.reply.simple(&format!(
        "{name} <subcommand> [<arg> [value] [opt] ...]. Subcommands are:"
    ));
    for part in parts {
        let sub = part.name.split('|').next_back().unwrap_or_default();
        context.reply.simple(&sub.to_ascii_uppercase());
        context.reply.simple(&format!("    {}", part.summary));
    }
    Ok(Flow::Done)
}
