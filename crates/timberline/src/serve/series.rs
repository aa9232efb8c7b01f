//! The time-series store of `timberline serve`: its folder, its port, its background work.

use super::cold::SharedStore;
use super::say;
use crate::config::Config;
use anyhow::{Context, anyhow};
use std::net::SocketAddr;
use std::sync::Arc;
use timberline_resp::Server;
use timberline_series::cold::ColdTier;
use timberline_series::engine::Engine;
use timberline_series::journal::Fsync;
use timberline_series::snapshot::OpenOptions;
use timberline_store::Store;
use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

/// The folder of journal and snapshots, within the data folder.
const FOLDER: &str = "series";

/// A server that runs.
pub(super) struct Running {
    server: Arc<Server>,
    engine: Arc<Engine>,
    address: SocketAddr,
    task: JoinHandle<std::io::Result<()>>,
}

/// Takes the port, if one is wanted.
pub(super) async fn listen(config: &Config) -> anyhow::Result<Option<TcpListener>> {
    let Some(address) = &config.resp else { return Ok(None) };
    let listener = TcpListener::bind(address).await;
    let how = || {
        format!(
            "listening on {address} for time-series commands (--resp ADDR takes another address, --resp off does without)"
        )
    };
    Ok(Some(listener.with_context(how)?))
}

/// Opens the folder and serves.
pub(super) fn start(config: &Config, listener: TcpListener, store: Store) -> anyhow::Result<Running> {
    let folder = config.data.join(FOLDER);
    let mut options = OpenOptions::new(&folder);
    options.fsync =
        Fsync::parse(config.resp_fsync.as_bytes()).ok_or_else(|| anyhow!("resp_fsync {:?}", config.resp_fsync))?;
    options.tier = Some(ColdTier::new(Box::new(SharedStore::new(store, Handle::current()))));
    let (engine, opened) = Engine::open(options).with_context(|| format!("series in {}", folder.display()))?;
    for warning in &opened.warnings {
        say(&format!("warning: {warning}"));
    }
    let engine = Arc::new(engine);
    let server = Server::new(Arc::clone(&engine));
    let set = |name, value: &str| server.set_config(name, value).map_err(|why| anyhow!("{name}: {why}"));
    if !config.resp_password.is_empty() {
        set("requirepass", &config.resp_password)?;
    }
    set("maxmemory", &config.series_max_memory.to_string())?;
    let address = listener.local_addr()?;
    let serving = Arc::clone(&server);
    let task = tokio::spawn(async move { serving.serve(listener).await });
    Ok(Running {
        server,
        engine,
        address,
        task,
    })
}

impl Running {
    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(super) fn engine(&self) -> Arc<Engine> {
        Arc::clone(&self.engine)
    }

    /// Ends connections, and waits until what they wrote is on disk.
    pub(super) async fn stop(self) -> anyhow::Result<()> {
        self.server.shut_down();
        self.task.await??;
        let engine = self.engine;
        let sequence = engine.journal().next_sequence().saturating_sub(1);
        tokio::task::spawn_blocking(move || engine.journal().sync(sequence))
            .await?
            .context("the journal of series")
    }
}
