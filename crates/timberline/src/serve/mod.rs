//! `timberline serve`: opens the data folder, listens, and stops cleanly when told to.

mod cold;
mod rules;
mod series;

use crate::config::{self, Config, Loaded};
use crate::{Failure, folder};
use anyhow::{Context, anyhow};
use clap::{ArgMatches, Command};
use std::io::{self, IsTerminal, Write};
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;
use timberline_ingest::{DirectoryLock, Engine, EngineOptions, Limits};
use timberline_query::{QueryEngine, QueryLimits};
use timberline_server::{AppState, QueryPolicy, ServerOptions};
use timberline_store::{Catalog, Store};
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tracing_subscriber::EnvFilter;

/// Describes `timberline serve`.
pub(crate) fn command() -> Command {
    let command = Command::new("serve").about("Run the server: the Loki API and the time-series commands over a data folder").after_help(
        "\
Everything works without configuration. Order, the later winning: default, YAML file, environment, flags; see
`timberline config`. SIGTERM and SIGINT end the server: open requests are finished, entries that are in no data object yet
stay in the write-ahead log and are there again at the next start.

Exit codes: 0 stopped by a signal; 2 usage or configuration; 3 the address or the data folder can't be used.

Examples:
  timberline serve
  timberline serve --http 127.0.0.1:0 --data /var/lib/timberline
  TIMBERLINE_HTTP=0.0.0.0:3100 timberline serve --auth-required
  timberline serve --resp 0.0.0.0:6379 --resp-fsync always
  timberline serve --resp off
  timberline serve --config timberline.yaml",
    );
    config::add_flags(command)
}

/// Does `timberline serve`.
pub(crate) fn run(arguments: &ArgMatches) -> Result<ExitCode, Failure> {
    let loaded = config::load(arguments, |name| std::env::var(name).ok()).map_err(Failure::usage)?;
    start_log(&loaded.config.log_level)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(serve(&loaded))?;
    Ok(ExitCode::SUCCESS)
}

/// The log goes to standard error; of other libraries only what is alarming, unless everything is wanted.
fn start_log(level: &str) -> anyhow::Result<()> {
    let others = if level == "trace" || level == "debug" {
        "info"
    } else {
        "warn"
    };
    let filter = EnvFilter::try_new(format!("{others},timberline={level}")).context("log level")?;
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal())
        .try_init()
        .map_err(|error| anyhow!(error))
}

async fn serve(loaded: &Loaded) -> anyhow::Result<()> {
    let config = &loaded.config;
    let mut signals = Signals::listen()?;
    let listener = TcpListener::bind(&config.http).await;
    let listener = listener.with_context(|| format!("listening on {}", config.http))?;
    let address = listener.local_addr()?;

    // Both ports are taken before anything is opened, so that a start that fails has touched nothing.
    let resp_listener = series::listen(config).await?;

    let (engine, store) = open_engine(config).await?;
    let series = match resp_listener {
        Some(listener) => Some(series::start(config, listener, store)?),
        None => None,
    };
    let limits = QueryLimits {
        max_entries: size(config.max_entries_per_query),
        max_series: size(config.max_series_per_query),
        max_query_memory_bytes: size(config.max_query_memory_bytes),
        ..QueryLimits::default()
    };
    let mut query = QueryEngine::new(Arc::new(engine.clone()), limits)?;
    let mut rules = None;
    if let Some(series) = &series {
        query = query.with_series(series.engine());
        rules = rules::start(config, &query, series.engine())?;
    } else if config.rules.is_some() {
        return Err(anyhow!(
            "rules are set, but their answers have nowhere to go: resp is off"
        ));
    }
    let state = AppState::new(engine.clone(), query, server_options(loaded));

    greet(loaded, address, series.as_ref().map(series::Running::address))?;
    let (told, stopping) = tokio::sync::oneshot::channel();
    let shutdown = async move {
        let name = signals.next().await;
        say(&format!("stopping on {name}: finishing open requests"));
        let _ = told.send((name, Instant::now())); // The other end is gone only if serving has failed.
    };
    timberline_server::serve(listener, state, shutdown).await?;
    engine.shutdown().await;
    if let Some(rules) = rules {
        rules.abort();
    }
    if let Some(series) = series {
        series.stop().await?;
    }
    if let Ok((name, since)) = stopping.await {
        let waited = since.elapsed().as_secs_f64();
        let rows = engine.stats().head_rows;
        say(&format!(
            "stopped: on {name}, waited {waited:.2} s for open requests and the write-ahead log; \
             {rows} entries wait in the log for the next start"
        ));
    }
    Ok(())
}

async fn open_engine(config: &Config) -> anyhow::Result<(Engine, Store)> {
    let folder = || format!("data folder {}", config.data.display());
    // Opening the store removes unfinished files, so a second server must be turned away first.
    let lock = DirectoryLock::acquire(&config.data).with_context(folder)?;
    let store = Store::open_local(&folder::objects(&config.data)).with_context(folder)?;
    let catalog = Catalog::open(store.clone()).await.with_context(folder)?;
    let limits = Limits {
        max_line_bytes: size(config.max_line_bytes),
        max_streams: size(config.max_streams_per_tenant),
        ..Limits::default()
    };
    let options = EngineOptions {
        limits,
        head_max_bytes: size(config.head_max_bytes),
        head_max_age: config.head_max_age,
        max_unflushed_bytes: size(config.max_unflushed_bytes),
        max_request_bytes: size(config.max_request_bytes),
        lock: Some(lock),
        ..EngineOptions::new(&config.data)
    };
    let engine = Engine::open(options, store.clone(), catalog)
        .await
        .with_context(folder)?;
    Ok((engine, store))
}

fn server_options(loaded: &Loaded) -> ServerOptions {
    let config = &loaded.config;
    ServerOptions {
        auth_required: config.auth_required,
        max_push_bytes: size(config.max_request_bytes),
        max_push_unpacked_bytes: size(config.max_request_bytes),
        max_concurrent_queries: size(config.max_concurrent_queries),
        query_timeout: config.query_timeout,
        query_policy: QueryPolicy {
            max_query_length: config.max_query_length,
            max_query_range: config.max_query_range,
            max_query_lookback: config.max_query_lookback,
            max_streams_matchers_per_query: size(config.max_streams_matchers_per_query),
            required_labels: config.required_labels.clone(),
            minimum_labels_number: size(config.minimum_labels_number),
            max_query_bytes_read: config.max_query_bytes_read,
        },
        config_yaml: loaded.to_yaml(),
        log_level: config.log_level.clone(),
        ..ServerOptions::default()
    }
}

fn size(value: u64) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}

/// Says what runs where. The line with the HTTP address is the last one: whoever waits for it finds a server that answers.
fn greet(loaded: &Loaded, address: SocketAddr, resp: Option<SocketAddr>) -> io::Result<()> {
    let config = &loaded.config;
    let data = std::fs::canonicalize(&config.data)?;
    let mut out = io::stdout().lock();
    writeln!(out, "timberline {}", env!("CARGO_PKG_VERSION"))?;
    writeln!(out, "data in {}", data.display())?;
    for setting in loaded.changed() {
        writeln!(out, "configuration: {setting}")?;
    }
    if !address.ip().is_loopback() {
        let tenants = if config.auth_required {
            "tenants are told apart by a header that anyone can set"
        } else {
            "tenants are not required"
        };
        writeln!(
            out,
            "note: {address} can be reached from other machines and {tenants}; put a proxy that checks who asks in front"
        )?;
    }
    if let Some(resp) = resp {
        if !resp.ip().is_loopback() && config.resp_password.is_empty() {
            writeln!(
                out,
                "note: {resp} can be reached from other machines and asks for no password; set TIMBERLINE_RESP_PASSWORD"
            )?;
        }
        writeln!(out, "resp listening on {resp}")?;
    }
    writeln!(out, "http listening on {address}")?;
    out.flush()
}

/// Says something to whoever started the server; nobody may be there any more.
fn say(text: &str) {
    let mut out = io::stdout().lock();
    let _ = writeln!(out, "{text}").and_then(|()| out.flush());
}

/// The signals that end the server.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
    _file_size: Signal,
}

impl Signals {
    fn listen() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            // A limit on file sizes is like a full disk: the write fails and is answered with 503. Without a listener the
            // signal would end the process.
            _file_size: signal(SignalKind::from_raw(libc::SIGXFSZ))?,
        })
    }

    async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }
}
