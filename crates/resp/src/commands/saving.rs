//! Snapshots and the journal (specification, chapter 18).

use crate::context::{CommandError, CommandResult, Context, Flow};
use crate::protocol::Arguments;
use crate::server::Server;
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::Ordering;

fn failed(error: &impl std::fmt::Display) -> CommandError {
    CommandError(format!("ERR {error}").into())
}

/// The error of a server that keeps nothing.
fn check_kept(context: &Context<'_>) -> Result<(), CommandError> {
    if context.engine().journal().is_kept() {
        Ok(())
    } else {
        Err(CommandError::text(
            "ERR nothing is kept: this server works in memory alone",
        ))
    }
}

pub(super) fn save(context: &mut Context<'_>, _: Arguments<'_>) -> CommandResult {
    check_kept(context)?;
    if context.engine().snapshots().is_running {
        return Err(CommandError::text("ERR Background save already in progress"));
    }
    let server = Arc::clone(context.server);
    Ok(Flow::Compute(Box::new(move |reply| {
        server.engine.save().map_err(|error| failed(&error))?;
        reply.ok();
        Ok(())
    })))
}

pub(super) fn bgsave(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    if words.len() > 2 || words.len() == 2 && !words.is(1, "schedule") {
        return Err(CommandError::SYNTAX);
    }
    check_kept(context)?;
    if context.engine().snapshots().is_running {
        return Err(CommandError::text("ERR Background save already in progress"));
    }
    begin(context.server)?;
    context.reply.simple("Background saving started");
    Ok(Flow::Done)
}

pub(super) fn bgrewriteaof(context: &mut Context<'_>, _: Arguments<'_>) -> CommandResult {
    check_kept(context)?;
    if context.engine().snapshots().is_running {
        return Err(CommandError::text(
            "ERR Background append only file rewriting already in progress",
        ));
    }
    begin(context.server)?;
    context.reply.simple("Background append only file rewriting started");
    Ok(Flow::Done)
}

/// Takes a snapshot beside everything else.
pub(crate) fn begin(server: &Arc<Server>) -> Result<(), CommandError> {
    let server = Arc::clone(server);
    let work = move || {
        if let Err(error) = server.engine.save() {
            tracing::error!(%error, "no snapshot was taken");
        }
    };
    std::thread::Builder::new()
        .name("resp-save".to_owned())
        .spawn(work)
        .map(|_| ())
        .map_err(|error| failed(&error))
}

pub(super) fn lastsave(context: &mut Context<'_>, _: Arguments<'_>) -> CommandResult {
    context.reply.integer(last_save_seconds(context.server));
    Ok(Flow::Done)
}

/// When the last snapshot was taken; before the first one, when the server began.
fn last_save_seconds(server: &Server) -> i64 {
    match server.engine.snapshots().last_ms {
        0 => server.started_ms / 1000,
        last_ms => last_ms / 1000,
    }
}

/// Waits for the end of other commands and lets none begin: it runs when this one has given its access back.
pub(super) fn reload(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    for word in words.from(2).iter() {
        if !["nosave", "noflush", "merge"]
            .iter()
            .any(|known| word.eq_ignore_ascii_case(known.as_bytes()))
        {
            return Err(CommandError::text(
                "ERR DEBUG RELOAD only supports the MERGE, NOFLUSH and NOSAVE options.",
            ));
        }
    }
    let server = Arc::clone(context.server);
    Ok(Flow::Compute(Box::new(move |reply| {
        server.closed.fetch_add(1, Ordering::AcqRel);
        let result = server.engine.reload();
        server.closed.fetch_sub(1, Ordering::AcqRel);
        result.map_err(|error| failed(&error))?;
        reply.ok();
        Ok(())
    })))
}

/// The section of INFO about the journal and snapshots.
pub(super) fn persistence(server: &Server, out: &mut String) {
    let journal = server.engine.journal();
    let log = journal.statistics();
    let snapshots = server.engine.snapshots();
    let status = |is_fine: bool| if is_fine { "ok" } else { "err" };
    let fields = [
        ("loading", "0".to_owned()),
        ("async_loading", "0".to_owned()),
        ("rdb_changes_since_last_save", log.bytes_since_snapshot.to_string()),
        ("rdb_bgsave_in_progress", u8::from(snapshots.is_running).to_string()),
        ("rdb_last_save_time", last_save_seconds(server).to_string()),
        (
            "rdb_last_bgsave_status",
            status(snapshots.last_error.is_none()).to_owned(),
        ),
        (
            "rdb_last_bgsave_time_sec",
            (snapshots.last_duration_ms / 1000).to_string(),
        ),
        ("rdb_saves", snapshots.taken.to_string()),
        ("rdb_last_size", snapshots.last_bytes.to_string()),
        ("aof_enabled", u8::from(journal.is_kept()).to_string()),
        ("aof_rewrite_in_progress", u8::from(snapshots.is_running).to_string()),
        ("aof_rewrite_scheduled", "0".to_owned()),
        (
            "aof_last_bgrewrite_status",
            status(snapshots.last_error.is_none()).to_owned(),
        ),
        ("aof_last_write_status", status(log.failing.is_none()).to_owned()),
        ("aof_current_size", log.bytes_since_snapshot.to_string()),
        ("aof_buffer_length", log.buffered_bytes.to_string()),
        ("aof_fsyncs", log.syncs.to_string()),
        ("aof_write_failures", log.failures.to_string()),
    ];
    for (name, value) in fields {
        // Writing into a string never fails.
        let _ = write!(out, "{name}:{value}\r\n");
    }
}
