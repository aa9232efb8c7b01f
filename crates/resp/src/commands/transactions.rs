//! MULTI, EXEC, DISCARD, WATCH, UNWATCH (specification, chapter 18).

use super::flags;
use crate::context::{CommandError, CommandResult, Context, Flow};
use crate::dispatch::{check_permission, invoke};
use crate::protocol::Arguments;

pub(super) fn multi(context: &mut Context<'_>, _: Arguments<'_>) -> CommandResult {
    if context.session.transaction.is_some() {
        return Err(CommandError::text("ERR MULTI calls can not be nested"));
    }
    context.session.transaction = Some(Default::default());
    context.session.publish_counts();
    context.reply.ok();
    Ok(Flow::Done)
}

/// Runs under an exclusive access: what it writes is one frame of the journal.
pub(super) fn exec(context: &mut Context<'_>, _: Arguments<'_>) -> CommandResult {
    let server = context.server;
    let Some(transaction) = context.session.transaction.take() else {
        return Err(CommandError::text("ERR EXEC without MULTI"));
    };
    let is_changed = context.session.watch.is_changed();
    context.session.discard(server);
    if transaction.is_broken {
        return Err(CommandError::text(
            "EXECABORT Transaction discarded because of previous errors.",
        ));
    }
    if is_changed {
        context.reply.null_array();
        return Ok(Flow::Done);
    }
    let own = context.command;
    let was_nested = std::mem::replace(&mut context.nested, true);
    context.reply.array(transaction.commands.len());
    for (command, words) in &transaction.commands {
        let words = words.borrow();
        let before = context.reply.len();
        context.command = command;
        // Permissions may have changed since it was queued.
        let result = check_permission(server, &context.session.user, command, words).and_then(|()| {
            let result = invoke(context, words);
            context.close_writer();
            result
        });
        server.stats.ran(super::place_of(command), 1, std::time::Duration::ZERO);
        match result {
            Ok(Flow::Done | Flow::Close) => {}
            Ok(Flow::Compute(_) | Flow::Block(_) | Flow::Exclusive) => {
                unreachable!("bug: {} waits within a transaction", command.name)
            }
            Err(error) => {
                context.reply.truncate(before);
                context.reply.error(&error.0);
                server.stats.error(&error.0);
            }
        }
    }
    context.nested = was_nested;
    context.command = own;
    Ok(Flow::Done)
}

pub(super) fn discard(context: &mut Context<'_>, _: Arguments<'_>) -> CommandResult {
    if context.session.transaction.is_none() {
        return Err(CommandError::text("ERR DISCARD without MULTI"));
    }
    context.session.discard(context.server);
    context.reply.ok();
    Ok(Flow::Done)
}

pub(super) fn watch(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    if context.session.transaction.is_some() {
        return Err(CommandError::text("ERR WATCH inside MULTI is not allowed"));
    }
    debug_assert!(context.command.has(flags::NEVER_QUEUED));
    let db = context.session.db;
    for key in words.from(1).iter() {
        // A key whose time is over is gone before, not while, it is watched.
        context.access.value(db, key);
        let interest = context.access.engine().interest();
        context
            .server
            .watches
            .add(&mut context.session.watch, db, key, interest);
    }
    context.session.publish_counts();
    context.reply.ok();
    Ok(Flow::Done)
}

pub(super) fn unwatch(context: &mut Context<'_>, _: Arguments<'_>) -> CommandResult {
    let interest = context.access.engine().interest();
    context.server.watches.clear(&mut context.session.watch, interest);
    context.session.publish_counts();
    context.reply.ok();
    Ok(Flow::Done)
}
