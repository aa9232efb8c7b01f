//! CLIENT: this connection and the others.

use super::read;
use crate::client::{Client, Unblock};
use crate::context::{CommandError, CommandResult, Context, Flow};
use crate::protocol::Arguments;
use crate::session::ReplyMode;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

const NAME_REFUSED: CommandError =
    CommandError::text("ERR Client names cannot contain spaces, newlines or special characters.");

fn is_clean(word: &[u8]) -> bool {
    word.iter().all(|byte| (b'!'..=b'~').contains(byte))
}

pub(super) fn set_name(context: &mut Context<'_>, name: &[u8]) -> Result<(), CommandError> {
    if !is_clean(name) {
        return Err(NAME_REFUSED);
    }
    context.session.client.texts.lock().name = name.to_vec();
    Ok(())
}

pub(super) fn setname(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    set_name(context, &words[2])?;
    context.reply.ok();
    Ok(Flow::Done)
}

pub(super) fn getname(context: &mut Context<'_>, _: Arguments<'_>) -> CommandResult {
    let name = context.session.client.texts.lock().name.clone();
    context.reply.bulk_or_null((!name.is_empty()).then_some(&name[..]));
    Ok(Flow::Done)
}

pub(super) fn id(context: &mut Context<'_>, _: Arguments<'_>) -> CommandResult {
    context.reply.integer(context.session.client.id as i64);
    Ok(Flow::Done)
}

pub(super) fn info(context: &mut Context<'_>, _: Arguments<'_>) -> CommandResult {
    let mut text = String::new();
    context.session.client.append_line(&mut text);
    context.reply.verbatim(&text);
    Ok(Flow::Done)
}

pub(super) fn setinfo(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    let value = &words[3];
    if !is_clean(value) {
        return Err(CommandError(
            format!(
                "ERR {} cannot contain spaces, newlines or special characters.",
                read::text(&words[2])
            )
            .into(),
        ));
    }
    let mut texts = context.session.client.texts.lock();
    if words.is(2, "lib-name") {
        texts.library = value.to_vec();
    } else if words.is(2, "lib-ver") {
        texts.library_version = value.to_vec();
    } else {
        return Err(CommandError(
            format!("ERR Unrecognized option '{}'", read::text(&words[2])).into(),
        ));
    }
    drop(texts);
    context.reply.ok();
    Ok(Flow::Done)
}

pub(super) fn list(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    let all = context.server.clients.all();
    let chosen: Vec<Arc<Client>> = match words.len() {
        2 => all,
        4 if words.is(2, "type") => {
            let kind = read::text(&words[3]).to_ascii_lowercase();
            if !["normal", "master", "replica", "slave", "pubsub"].contains(&kind.as_str()) {
                return Err(CommandError(
                    format!("ERR Unknown client type '{}'", read::text(&words[3])).into(),
                ));
            }
            all.into_iter().filter(|client| client.kind() == kind).collect()
        }
        len if len > 3 && words.is(2, "id") => {
            let mut ids = Vec::new();
            for word in words.from(3).iter() {
                ids.push(read::strict_integer(word).ok_or(CommandError::text("ERR Invalid client ID"))?);
            }
            all.into_iter()
                .filter(|client| ids.contains(&(client.id as i64)))
                .collect()
        }
        _ => return Err(CommandError::SYNTAX),
    };
    let mut text = String::new();
    for client in chosen {
        client.append_line(&mut text);
    }
    context.reply.verbatim(&text);
    Ok(Flow::Done)
}

/// `on` or `off`.
fn switch(words: Arguments<'_>) -> Result<bool, CommandError> {
    match (words.is(2, "on"), words.is(2, "off")) {
        (true, _) => Ok(true),
        (_, true) => Ok(false),
        _ => Err(CommandError::SYNTAX),
    }
}

pub(super) fn no_evict(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    context.session.client.no_evict.store(switch(words)?, Ordering::Relaxed);
    context.reply.ok();
    Ok(Flow::Done)
}

pub(super) fn no_touch(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    context.session.client.no_touch.store(switch(words)?, Ordering::Relaxed);
    context.reply.ok();
    Ok(Flow::Done)
}

pub(super) fn reply(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    if words.is(2, "on") {
        context.session.reply_mode = ReplyMode::On;
        context.reply.ok();
    } else if words.is(2, "off") {
        context.session.reply_mode = ReplyMode::Off;
    } else if words.is(2, "skip") {
        context.session.reply_mode = ReplyMode::SkipNext;
    } else {
        return Err(CommandError::SYNTAX);
    }
    Ok(Flow::Done)
}

pub(super) fn tracking(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    if switch(words)? {
        return Err(CommandError::text(
            "ERR client tracking is not supported: this server keeps no record of what clients have read",
        ));
    }
    context.reply.ok();
    Ok(Flow::Done)
}

pub(super) fn getredir(context: &mut Context<'_>, _: Arguments<'_>) -> CommandResult {
    context.reply.integer(-1);
    Ok(Flow::Done)
}

pub(super) fn trackinginfo(context: &mut Context<'_>, _: Arguments<'_>) -> CommandResult {
    context.reply.map(3);
    context.reply.bulk(b"flags");
    context.reply.set(1);
    context.reply.bulk(b"off");
    context.reply.bulk(b"redirect");
    context.reply.integer(-1);
    context.reply.bulk(b"prefixes");
    context.reply.array(0);
    Ok(Flow::Done)
}

pub(super) fn pause(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    let milliseconds = read::integer(&words[2])
        .ok()
        .and_then(|number| u64::try_from(number).ok())
        .ok_or(CommandError::text("ERR timeout is not an integer or out of range"))?;
    let only_writes = match words.len() {
        3 => false,
        4 if words.is(3, "write") => true,
        4 if words.is(3, "all") => false,
        _ => return Err(CommandError::SYNTAX),
    };
    let until = Instant::now()
        .checked_add(Duration::from_millis(milliseconds))
        .ok_or(CommandError::text("ERR timeout is not an integer or out of range"))?;
    context.server.pause.set(Some((until, only_writes)));
    context.reply.ok();
    Ok(Flow::Done)
}

pub(super) fn unpause(context: &mut Context<'_>, _: Arguments<'_>) -> CommandResult {
    context.server.pause.set(None);
    context.reply.ok();
    Ok(Flow::Done)
}

pub(super) fn unblock(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    let how = match words.len() {
        3 => Unblock::TimedOut,
        4 if words.is(3, "timeout") => Unblock::TimedOut,
        4 if words.is(3, "error") => Unblock::Error,
        _ => {
            return Err(CommandError::text(
                "ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR",
            ));
        }
    };
    let id = read::integer(&words[2])?;
    let client = u64::try_from(id).ok().and_then(|id| context.server.clients.get(id));
    context
        .reply
        .integer(i64::from(client.is_some_and(|client| client.unblock(how))));
    Ok(Flow::Done)
}

/// What CLIENT KILL looks for.
#[derive(Default)]
struct Filter {
    id: Option<u64>,
    kind: Option<String>,
    user: Option<String>,
    address: Option<String>,
    local_address: Option<String>,
    min_age_seconds: Option<u64>,
    /// Whether the connection itself stays.
    skip_me: bool,
}

impl Filter {
    fn fits(&self, client: &Client) -> bool {
        self.id.is_none_or(|id| id == client.id)
            && self.kind.as_ref().is_none_or(|kind| kind == client.kind())
            && self.user.as_ref().is_none_or(|user| *user == client.texts.lock().user)
            && self
                .address
                .as_ref()
                .is_none_or(|address| *address == client.address.to_string())
            && self
                .local_address
                .as_ref()
                .is_none_or(|address| *address == client.local_address.to_string())
            && self
                .min_age_seconds
                .is_none_or(|age| client.since.elapsed().as_secs() >= age)
    }
}

pub(super) fn kill(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    let me = context.session.client.id;
    if words.len() == 3 {
        let address = read::text(&words[2]);
        let all = context.server.clients.all();
        let client = all.iter().find(|client| client.address.to_string() == address);
        let client = client.ok_or(CommandError::text("ERR No such client"))?;
        context.reply.ok();
        if client.id == me {
            return Ok(Flow::Close);
        }
        client.kill();
        return Ok(Flow::Done);
    }
    let filter = read_filter(words)?;
    let mut killed = 0;
    let mut flow = Flow::Done;
    for client in context.server.clients.all() {
        if !filter.fits(&client) || client.id == me && filter.skip_me {
            continue;
        }
        killed += 1;
        if client.id == me {
            // The reply goes out first.
            flow = Flow::Close;
        } else {
            client.kill();
        }
    }
    context.reply.integer(killed);
    Ok(flow)
}

fn read_filter(words: Arguments<'_>) -> Result<Filter, CommandError> {
    let mut filter = Filter {
        skip_me: true,
        ..Filter::default()
    };
    let mut at = 2;
    while at < words.len() {
        let value = read::text(words.get(at + 1).ok_or(CommandError::SYNTAX)?).into_owned();
        if words.is(at, "id") {
            let id = value.parse().ok().filter(|id| *id > 0);
            filter.id = Some(id.ok_or(CommandError::text("ERR client-id should be greater than 0"))?);
        } else if words.is(at, "type") {
            let kind = value.to_ascii_lowercase();
            if !["normal", "master", "replica", "slave", "pubsub"].contains(&kind.as_str()) {
                return Err(CommandError(format!("ERR Unknown client type '{value}'").into()));
            }
            filter.kind = Some(kind);
        } else if words.is(at, "user") {
            filter.user = Some(value);
        } else if words.is(at, "addr") {
            filter.address = Some(value);
        } else if words.is(at, "laddr") {
            filter.local_address = Some(value);
        } else if words.is(at, "skipme") {
            filter.skip_me = match value.to_ascii_lowercase().as_str() {
                "yes" => true,
                "no" => false,
                _ => return Err(CommandError::SYNTAX),
            };
        } else if words.is(at, "maxage") {
            let age = value
                .parse()
                .map_err(|_| CommandError::text("ERR maxage is not an integer or out of range"))?;
            filter.min_age_seconds = Some(age);
        } else {
            return Err(CommandError::SYNTAX);
        }
        at += 2;
    }
    Ok(filter)
}
