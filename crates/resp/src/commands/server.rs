//! Commands for whoever runs the server: saving, shutting down, slow commands, time.

use super::read;
use crate::context::{CommandError, CommandResult, Context, Flow};
use crate::protocol::Arguments;
use crate::slowlog::SlowCommand;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

pub(super) fn time(context: &mut Context<'_>, _: Arguments<'_>) -> CommandResult {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    context.reply.array(2);
    context.reply.bulk(since.as_secs().to_string().as_bytes());
    context.reply.bulk(since.subsec_micros().to_string().as_bytes());
    Ok(Flow::Done)
}

pub(super) fn ok(context: &mut Context<'_>, _: Arguments<'_>) -> CommandResult {
    context.reply.ok();
    Ok(Flow::Done)
}

/// There are no replicas: none has everything.
pub(super) fn wait(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    read::integer(&words[1])?;
    let timeout =
        read::strict_integer(&words[2]).ok_or(CommandError::text("ERR timeout is not an integer or out of range"))?;
    if timeout < 0 {
        return Err(CommandError::text("ERR timeout is negative"));
    }
    context.reply.integer(0);
    Ok(Flow::Done)
}

pub(super) fn waitaof(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    let local = read::integer(&words[1])?;
    if !(0..=1).contains(&local) {
        return Err(CommandError::text("ERR value is out of range, must be positive"));
    }
    read::count(&words[2])?;
    read::count(&words[3])?;
    let journal = context.engine().journal();
    if local == 1 && !journal.is_kept() {
        return Err(CommandError::text(
            "ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled.",
        ));
    }
    // What this connection wrote is older than the newest frame.
    let newest = journal.next_sequence().saturating_sub(1);
    journal
        .sync(newest)
        .map_err(|error| CommandError(format!("ERR {error}").into()))?;
    context.reply.array(2);
    context.reply.integer(i64::from(journal.is_kept()));
    context.reply.integer(0);
    Ok(Flow::Done)
}

pub(super) fn shutdown(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    for word in words.from(1).iter() {
        if !["nosave", "save", "now", "force", "abort"]
            .iter()
            .any(|known| word.eq_ignore_ascii_case(known.as_bytes()))
        {
            return Err(CommandError::SYNTAX);
        }
    }
    if words.is(1, "abort") {
        return Err(CommandError::text("ERR No shutdown in progress."));
    }
    tracing::info!("a client asked for the end of the server");
    context.server.shut_down();
    // The connection ends without a reply.
    Ok(Flow::Close)
}

pub(super) fn slowlog_get(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    let count = match words.get(2) {
        None => 10,
        Some(word) => match read::integer(word)? {
            -1 => usize::MAX,
            count => usize::try_from(count)
                .map_err(|_| CommandError::text("ERR count should be greater than or equal to -1"))?,
        },
    };
    let commands = context.server.slow_log.newest(count);
    context.reply.array(commands.len());
    for command in commands {
        append_slow(context, &command);
    }
    Ok(Flow::Done)
}

fn append_slow(context: &mut Context<'_>, command: &SlowCommand) {
    context.reply.array(6);
    context.reply.integer(command.number as i64);
    context.reply.integer(command.at_seconds);
    context.reply.integer(command.took.as_micros() as i64);
    context.reply.array(command.words.len());
    for word in &command.words {
        context.reply.bulk(word);
    }
    context.reply.bulk(command.address.as_bytes());
    context.reply.bulk(&command.client_name);
}

pub(super) fn slowlog_len(context: &mut Context<'_>, _: Arguments<'_>) -> CommandResult {
    context.reply.integer(context.server.slow_log.len() as i64);
    Ok(Flow::Done)
}

pub(super) fn slowlog_reset(context: &mut Context<'_>, _: Arguments<'_>) -> CommandResult {
    context.server.slow_log.clear();
    context.reply.ok();
    Ok(Flow::Done)
}

/// Latencies are not recorded event by event: there is nothing to tell.
pub(super) fn latency_nothing(context: &mut Context<'_>, _: Arguments<'_>) -> CommandResult {
    context.reply.array(0);
    Ok(Flow::Done)
}

pub(super) fn latency_reset(context: &mut Context<'_>, _: Arguments<'_>) -> CommandResult {
    context.reply.integer(0);
    Ok(Flow::Done)
}

pub(super) fn latency_doctor(context: &mut Context<'_>, _: Arguments<'_>) -> CommandResult {
    context
        .reply
        .verbatim("Latencies are not recorded event by event. See SLOWLOG, and INFO commandstats.\n");
    Ok(Flow::Done)
}

pub(super) fn sleep(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    let seconds = read::float(&words[2])
        .filter(|seconds| (0.0..=1e6).contains(seconds))
        .ok_or(CommandError::NOT_A_FLOAT)?;
    let end = Instant::now() + Duration::from_secs_f64(seconds);
    // In pieces, so that the end of the server is not held up.
    while let Some(left) = end
        .checked_duration_since(Instant::now())
        .filter(|left| !left.is_zero())
    {
        if context.session.client.is_killed() {
            break;
        }
        std::thread::sleep(left.min(Duration::from_millis(50)));
    }
    context.reply.ok();
    Ok(Flow::Done)
}
