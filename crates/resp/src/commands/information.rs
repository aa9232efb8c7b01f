//! INFO, MODULE, ROLE: what the server says of itself.

use crate::commands;
use crate::context::{CommandResult, Context, Flow};
use crate::protocol::{Arguments, Reply};
use crate::server::Server;
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use timberline_series::keyspace::DATABASES;

/// The version of the peer whose answers this server gives; clients choose what to send by it.
pub(super) const COMPATIBLE_VERSION: &str = "8.2.0";
/// The version of the time-series commands, in the peer's numbering.
const MODULE_VERSION: i64 = 81_000;

/// The module that clients look for.
pub(super) fn module(reply: &mut Reply) {
    reply.map(4);
    reply.bulk(b"name");
    reply.bulk(b"timeseries");
    reply.bulk(b"ver");
    reply.integer(MODULE_VERSION);
    reply.bulk(b"path");
    reply.bulk(b"");
    reply.bulk(b"args");
    reply.array(0);
}

pub(super) fn module_list(context: &mut Context<'_>, _: Arguments<'_>) -> CommandResult {
    context.reply.array(1);
    module(context.reply);
    Ok(Flow::Done)
}

pub(super) fn role(context: &mut Context<'_>, _: Arguments<'_>) -> CommandResult {
    context.reply.array(3);
    context.reply.bulk(b"master");
    context.reply.integer(0);
    context.reply.array(0);
    Ok(Flow::Done)
}

/// One section of INFO.
struct Section {
    name: &'static str,
    title: &'static str,
    /// Whether it is shown without being asked for.
    is_default: bool,
    write: fn(&Context<'_>, &mut String),
}

const fn section(
    name: &'static str,
    title: &'static str,
    is_default: bool,
    write: fn(&Context<'_>, &mut String),
) -> Section {
    Section {
        name,
        title,
        is_default,
        write,
    }
}

const SECTIONS: [Section; 13] = [
    section("server", "Server", true, server),
    section("clients", "Clients", true, clients),
    section("memory", "Memory", true, memory),
    section("persistence", "Persistence", true, persistence),
    section("stats", "Stats", true, stats),
    section("replication", "Replication", true, replication),
    section("cpu", "CPU", true, cpu),
    section("modules", "Modules", true, modules),
    section("commandstats", "Commandstats", false, command_stats),
    section("latencystats", "Latencystats", false, |_, _| {}),
    section("errorstats", "Errorstats", true, error_stats),
    section("cluster", "Cluster", true, |_, out| line(out, "cluster_enabled", 0)),
    section("keyspace", "Keyspace", true, keyspace),
];

pub(super) fn info(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    let asked: Vec<String> = words
        .from(1)
        .iter()
        .map(|word| String::from_utf8_lossy(word).to_ascii_lowercase())
        .collect();
    let everything = asked.iter().any(|name| name == "all" || name == "everything");
    let defaults = asked.is_empty() || asked.iter().any(|name| name == "default");
    let mut text = String::new();
    for section in &SECTIONS {
        let chosen = everything || defaults && section.is_default || asked.iter().any(|name| name == section.name);
        if !chosen {
            continue;
        }
        if !text.is_empty() {
            text.push_str("\r\n");
        }
        text.push_str("# ");
        text.push_str(section.title);
        text.push_str("\r\n");
        (section.write)(context, &mut text);
    }
    context.reply.verbatim(&text);
    Ok(Flow::Done)
}

fn line(out: &mut String, name: &str, value: impl std::fmt::Display) {
    // Writing into a string never fails.
    let _ = write!(out, "{name}:{value}\r\n");
}

fn server(context: &Context<'_>, out: &mut String) {
    let server = context.server;
    let uptime = server.started.elapsed().as_secs();
    line(out, "redis_version", COMPATIBLE_VERSION);
    line(out, "redis_mode", "standalone");
    line(out, "server_name", "timberline");
    line(out, "timberline_version", env!("CARGO_PKG_VERSION"));
    line(
        out,
        "os",
        format_args!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
    );
    line(out, "arch_bits", usize::BITS);
    line(out, "process_id", std::process::id());
    line(out, "run_id", &server.run_id);
    line(out, "tcp_port", server.config.port());
    line(out, "server_time_usec", context.now_ms().saturating_mul(1000));
    line(out, "uptime_in_seconds", uptime);
    line(out, "uptime_in_days", uptime / 86_400);
    line(out, "hz", 10);
    line(out, "configured_hz", 10);
    line(out, "executable", "");
    line(out, "config_file", "");
}

fn clients(context: &Context<'_>, out: &mut String) {
    let all = context.server.clients.all();
    let blocked = all
        .iter()
        .filter(|client| client.is_blocked.load(Ordering::Relaxed))
        .count();
    let subscribed = all.iter().filter(|client| client.kind() == "pubsub").count();
    let watching = all
        .iter()
        .filter(|client| client.watched.load(Ordering::Relaxed) > 0)
        .count();
    let largest = |size: fn(&crate::client::Client) -> usize| all.iter().map(|client| size(client)).max().unwrap_or(0);
    line(out, "connected_clients", all.len());
    line(out, "cluster_connections", 0);
    line(out, "maxclients", context.server.config.max_clients());
    line(
        out,
        "client_recent_max_input_buffer",
        largest(|client| client.input_bytes.load(Ordering::Relaxed)),
    );
    line(
        out,
        "client_recent_max_output_buffer",
        largest(|client| client.output_bytes.load(Ordering::Relaxed)),
    );
    line(out, "blocked_clients", blocked);
    line(out, "tracking_clients", 0);
    line(out, "pubsub_clients", subscribed);
    line(out, "watching_clients", watching);
}

/// Bytes as people read them.
fn human(bytes: u64) -> String {
    let units = ["B", "K", "M", "G", "T"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < units.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 {
        format!("{bytes}B")
    } else {
        format!("{value:.2}{}", units[unit])
    }
}

/// Resident memory of the process, where the system tells.
fn resident_bytes() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm")
        .ok()
        .and_then(|text| text.split(' ').nth(1)?.parse::<u64>().ok());
    pages.unwrap_or(0) * 4096
}

fn memory(context: &Context<'_>, out: &mut String) {
    let used = context.server.measure_memory();
    let resident = resident_bytes();
    line(out, "used_memory", used);
    line(out, "used_memory_human", human(used));
    line(out, "used_memory_rss", resident);
    line(out, "used_memory_rss_human", human(resident));
    line(out, "used_memory_peak", context.server.peak_memory());
    line(out, "used_memory_peak_human", human(context.server.peak_memory()));
    line(out, "used_memory_dataset", used);
    line(out, "maxmemory", context.server.config.max_memory());
    line(out, "maxmemory_human", human(context.server.config.max_memory()));
    line(out, "maxmemory_policy", "noeviction");
    line(out, "mem_allocator", "system");
}

fn persistence(context: &Context<'_>, out: &mut String) {
    super::saving::persistence(context.server, out);
}

fn stats(context: &Context<'_>, out: &mut String) {
    let stats = &context.server.stats;
    line(out, "total_connections_received", stats.connections.get());
    line(out, "total_commands_processed", stats.commands.get());
    line(out, "total_net_input_bytes", stats.input_bytes.get());
    line(out, "total_net_output_bytes", stats.output_bytes.get());
    line(out, "rejected_connections", stats.rejected_connections.get());
    line(out, "expired_keys", stats.expired_keys.get());
    line(out, "evicted_keys", 0);
    line(out, "keyspace_hits", stats.hits.get());
    line(out, "keyspace_misses", stats.misses.get());
    let hub = &context.server.hub;
    line(out, "pubsub_channels", hub.count(crate::pubsub::Kind::Channel));
    line(out, "pubsub_patterns", hub.count(crate::pubsub::Kind::Pattern));
    line(out, "pubsubshard_channels", hub.count(crate::pubsub::Kind::Shard));
    line(out, "latest_fork_usec", 0);
    line(out, "total_error_replies", stats.errors.get());
    line(out, "acl_access_denied_auth", stats.denied.get());
}

fn replication(context: &Context<'_>, out: &mut String) {
    line(out, "role", "master");
    line(out, "connected_slaves", 0);
    line(out, "master_failover_state", "no-failover");
    line(out, "master_replid", &context.server.run_id);
    line(out, "master_repl_offset", 0);
    line(out, "repl_backlog_active", 0);
}

fn cpu(_: &Context<'_>, out: &mut String) {
    // Ticks of a hundredth of a second on every system that has this file.
    let ticks = std::fs::read_to_string("/proc/self/stat").ok().and_then(|text| {
        let fields: Vec<u64> = text
            .rsplit(')')
            .next()?
            .split_ascii_whitespace()
            .map(|field| field.parse().unwrap_or(0))
            .collect();
        Some((*fields.get(11)?, *fields.get(12)?))
    });
    let (user, system) = ticks.unwrap_or((0, 0));
    line(
        out,
        "used_cpu_sys",
        format_args!("{}.{:02}0000", system / 100, system % 100),
    );
    line(
        out,
        "used_cpu_user",
        format_args!("{}.{:02}0000", user / 100, user % 100),
    );
}

fn modules(_: &Context<'_>, out: &mut String) {
    let _ = write!(
        out,
        "module:name=timeseries,ver={MODULE_VERSION},api=1,filters=0,usedby=[],using=[],options=[]\r\n"
    );
}

fn command_stats(context: &Context<'_>, out: &mut String) {
    for (place, command) in commands::all().enumerate() {
        let stats = context.server.stats.of_command(place);
        let (calls, rejected, failed) = (stats.calls.get(), stats.rejected.get(), stats.failed.get());
        if calls + rejected + failed == 0 {
            continue;
        }
        let microseconds = stats.nanoseconds.get() / 1000;
        let per_call = stats.nanoseconds.get() as f64 / 1000.0 / calls.max(1) as f64;
        let _ = write!(
            out,
            "cmdstat_{}:calls={calls},usec={microseconds},usec_per_call={per_call:.2},rejected_calls={rejected},failed_calls={failed}\r\n",
            command.name
        );
    }
}

fn error_stats(context: &Context<'_>, out: &mut String) {
    for (code, count) in context.server.stats.errors_by_code() {
        let _ = write!(out, "errorstat_{code}:count={count}\r\n");
    }
}

fn keyspace(context: &Context<'_>, out: &mut String) {
    for db in 0..DATABASES as u8 {
        let keys = context.access.len(db);
        if keys > 0 {
            let expiring = context.access.expiring(db);
            let _ = write!(out, "db{db}:keys={keys},expires={expiring},avg_ttl=0,subexpiry=0\r\n");
        }
    }
}

/// MEMORY USAGE.
pub(super) fn usage(context: &mut Context<'_>, words: Arguments<'_>) -> CommandResult {
    match words.len() {
        3 => {}
        5 if words.is(3, "samples") => {
            super::read::integer(&words[4])?;
        }
        _ => return Err(crate::context::CommandError::SYNTAX),
    }
    match context.access.memory_usage(context.db(), &words[2]).transpose()? {
        Some(bytes) => context.reply.integer(bytes as i64),
        None => context.reply.null(),
    }
    Ok(Flow::Done)
}

pub(super) fn memory_stats(context: &mut Context<'_>, _: Arguments<'_>) -> CommandResult {
    let used = context.server.measure_memory() as i64;
    let keys: usize = (0..DATABASES as u8).map(|db| context.access.len(db)).sum();
    let server: &Arc<Server> = context.server;
    let figures = [
        ("peak.allocated", server.peak_memory() as i64),
        ("total.allocated", used),
        ("keys.count", keys as i64),
        ("keys.bytes-per-key", used / (keys.max(1) as i64)),
        ("dataset.bytes", used),
    ];
    context.reply.map(figures.len());
    for (name, value) in figures {
        context.reply.bulk(name.as_bytes());
        context.reply.integer(value);
    }
    Ok(Flow::Done)
}

pub(super) fn memory_doctor(context: &mut Context<'_>, _: Arguments<'_>) -> CommandResult {
    context
        .reply
        .verbatim("No memory issue was found. Of each series, TS.INFO tells what it takes.\n");
    Ok(Flow::Done)
}
