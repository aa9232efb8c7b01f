//! The time-series store of `timberline serve`: its folder, its port, its background work.

use super::cold::SharedStore;
use super::say;
use crate::config::Config;
use anyhow::{Context, anyhow};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use timberline_resp::Server;
use timberline_series::cold::{ColdTier, Cooling};
use timberline_series::engine::Engine;
use timberline_series::journal::Fsync;
use timberline_series::snapshot::OpenOptions;
use timberline_store::Store;
use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

/// The folder of journal and snapshots, within the data folder.
const FOLDER: &str = "series";

/// How often old chunks are moved to the object store.
const COOLING_INTERVAL: Duration = Duration::from_secs(300);

/// A server that runs.
pub(super) struct Running {
    server: Arc<Server>,
    engine: Arc<Engine>,
    address: SocketAddr,
    task: JoinHandle<std::io::Result<()>>,
    cooling: JoinHandle<()>,
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
    let cooling = tokio::spawn(cool(Arc::clone(&engine), config.series_max_memory));
    Ok(Running {
        server,
        engine,
        address,
        task,
        cooling,
    })
}

/// Moves chunks of closed days to the object store now and then, and more of them where memory is short: writes are refused at the
/// limit, so chunks go before.
async fn cool(engine: Arc<Engine>, max_memory: u64) {
    let cooling = Cooling {
        memory_budget: (max_memory > 0).then_some(max_memory / 10 * 8),
        ..Cooling::default()
    };
    loop {
        tokio::time::sleep(COOLING_INTERVAL).await;
        let (engine, cooling) = (Arc::clone(&engine), cooling.clone());
        let pass = move || {
            engine.cool(&cooling)?;
            engine.delete_unused_objects()
        };
        match tokio::task::spawn_blocking(pass).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => {
                tracing::error!(%error, "old chunks of series could not be moved to the object store; tried again later");
            }
            Err(error) => tracing::error!(%error, "bug: moving old chunks of series panicked"),
        }
    }
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
        self.cooling.abort();
        self.server.shut_down();
        self.task.await??;
        let engine = self.engine;
        let sequence = engine.journal().next_sequence().saturating_sub(1);
        tokio::task::spawn_blocking(move || engine.journal().sync(sequence))
            .await?
            .context("the journal of series")
    }
}
