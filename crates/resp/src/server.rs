//! The server: what all connections share, and the socket that they come through.

use crate::acl::Acl;
use crate::client::Clients;
use crate::config::Config;
use crate::connection;
use crate::events::{self, Events};
use crate::pubsub::Hub;
use crate::script::Scripts;
use crate::slowlog::SlowLog;
use crate::stats::Stats;
use crate::watch::WatchList;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use timberline_series::engine::{Engine, Interest, Listener};
use timberline_series::keyspace::DATABASES;
use tokio::net::TcpListener;
use tokio::sync::watch;

/// How often expired keys and used memory are looked after.
const HOUSEKEEPING: Duration = Duration::from_millis(100);

/// From the beginning of a snapshot that the length of the journal asked for to the next.
const SAVE_PAUSE: Duration = Duration::from_secs(10);

/// What all connections share.
pub struct Server {
    /// The engine that holds the keys.
    pub engine: Arc<Engine>,
    /// Counters.
    pub stats: Stats,
    /// All connections.
    pub clients: Clients,
    pub(crate) config: Config,
    pub(crate) hub: Hub,
    pub(crate) events: Events,
    pub(crate) watches: WatchList,
    pub(crate) acl: Acl,
    pub(crate) slow_log: SlowLog,
    pub(crate) scripts: Scripts,
    pub(crate) pause: Pause,
    pub(crate) started: Instant,
    pub(crate) started_ms: i64,
    pub(crate) run_id: String,
    /// Commands that run alone for long are at work: others wait without holding up a thread.
    pub(crate) closed: AtomicUsize,
    /// More memory is used than `maxmemory` allows.
    pub(crate) is_out_of_memory: AtomicBool,
    peak_memory: AtomicU64,
    ending: watch::Sender<bool>,
}

/// CLIENT PAUSE.
#[derive(Default)]
pub(crate) struct Pause {
    /// Whether there is one; looked at before its rest.
    is_on: AtomicBool,
    until: Mutex<Option<(Instant, bool)>>,
}

impl Pause {
    pub(crate) fn set(&self, until: Option<(Instant, bool)>) {
        let mut current = self.until.lock();
        *current = until;
        self.is_on.store(until.is_some(), Ordering::Release);
    }

    /// Until when commands wait: all of them, or those that write.
    pub(crate) fn until(&self, is_write: bool) -> Option<Instant> {
        if !self.is_on.load(Ordering::Acquire) {
            return None;
        }
        let (until, only_writes) = (*self.until.lock())?;
        if until <= Instant::now() {
            self.set(None);
            return None;
        }
        (is_write || !only_writes).then_some(until)
    }
}

impl Server {
    /// A server over an engine, which should have no other listener.
    pub fn new(engine: Arc<Engine>) -> Arc<Server> {
        let started_ms = engine.now_ms();
        let server = Arc::new(Server {
            engine,
            stats: Stats::default(),
            clients: Clients::default(),
            config: Config::default(),
            hub: Hub::default(),
            events: Events::default(),
            watches: WatchList::default(),
            acl: Acl::default(),
            slow_log: SlowLog::default(),
            scripts: Scripts::default(),
            pause: Pause::default(),
            started: Instant::now(),
            started_ms,
            run_id: crate::acl::hex(&rand::random::<[u8; 20]>()),
            closed: AtomicUsize::new(0),
            is_out_of_memory: AtomicBool::new(false),
            peak_memory: AtomicU64::new(0),
            ending: watch::Sender::new(false),
        });
        server.engine.interest().set(Interest::EXPIRED, true);
        // The engine tells the server, and the server holds the engine: the pointer back must not keep it alive.
        server
            .engine
            .set_listener(Box::new(ToldByEngine(Arc::downgrade(&server))));
        server
    }

    /// Changes a setting by its name in CONFIG SET, before the first connection or later.
    pub fn set_config(self: &Arc<Self>, name: &str, value: &str) -> Result<(), String> {
        crate::config::set(self, &[(name.as_bytes(), value.as_bytes())])
    }

    /// Serves connections until [`Server::shut_down`], then waits until they have ended. Runs on a runtime of several threads.
    pub async fn serve(self: &Arc<Self>, listener: TcpListener) -> std::io::Result<()> {
        let local_address = listener.local_addr()?;
        self.config.set_port(local_address.port());
        let mut ending = self.ending.subscribe();
        let housekeeping = tokio::spawn(housekeeping(Arc::clone(self)));
        let mut connections = tokio::task::JoinSet::new();
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                _ = ending.wait_for(|ending| *ending) => break,
            };
            while connections.try_join_next().is_some() {}
            match accepted {
                Ok((stream, _)) => {
                    let server = Arc::clone(self);
                    connections.spawn(connection::serve(server, stream));
                }
                Err(error) => {
                    // Out of file descriptors, most likely: connections that end will free some.
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
        drop(listener);
        housekeeping.abort();
        self.clients.close();
        while connections.join_next().await.is_some() {}
        Ok(())
    }

    /// Whether something that runs alone for long is at work: a script, a transaction, DEBUG RELOAD.
    pub fn is_busy(&self) -> bool {
        self.closed.load(Ordering::Acquire) > 0
    }

    /// Ends [`Server::serve`]: commands in progress end, replies are sent, connections are closed.
    pub fn shut_down(&self) {
        self.ending.send_replace(true);
    }

    pub(crate) fn peak_memory(&self) -> u64 {
        self.peak_memory.load(Ordering::Relaxed)
    }

    /// Counts the memory that all keys take.
    pub(crate) fn measure_memory(&self) -> u64 {
        let used = self.engine.memory_bytes();
        self.peak_memory.fetch_max(used, Ordering::Relaxed);
        let limit = self.config.max_memory();
        self.is_out_of_memory
            .store(limit > 0 && used > limit, Ordering::Relaxed);
        used
    }
}

/// Removes expired keys, and looks at the memory where it is limited, now and then.
async fn housekeeping(server: Arc<Server>) {
    let mut saved_at: Option<Instant> = None;
    loop {
        tokio::time::sleep(HOUSEKEEPING).await;
        // One that failed is tried again, with patience.
        let may_save = saved_at.is_none_or(|at| at.elapsed() > SAVE_PAUSE);
        if may_save && server.engine.snapshot_is_due() {
            saved_at = Some(Instant::now());
            if let Err(error) = crate::commands::begin_saving(&server) {
                tracing::error!(error = %error.0, "no snapshot can be taken");
            }
        }
        let server = Arc::clone(&server);
        let work = tokio::task::spawn_blocking(move || {
            for db in 0..DATABASES as u8 {
                server.engine.shared().expire_some(db);
            }
            for warning in server.engine.journal().take_warnings() {
                tracing::warn!(warning, "the engine warns");
            }
            if server.config.max_memory() > 0 {
                server.measure_memory();
            } else {
                server.is_out_of_memory.store(false, Ordering::Relaxed);
            }
        });
        // Only a runtime that ends drops the work.
        let _ = work.await;
    }
}

/// What the engine tells: notes for transactions and events for subscribers.
struct ToldByEngine(std::sync::Weak<Server>);

impl Listener for ToldByEngine {
    fn changed(&self, db: u8, key: &[u8]) {
        if let Some(server) = self.0.upgrade() {
            server.watches.changed(db, key);
        }
    }

    fn bucket_closed(&self, db: u8, key: &[u8]) {
        if let Some(server) = self.0.upgrade() {
            server.events.notify(&server, events::MODULE, "ts.add:dest", db, key);
        }
    }

    fn expired(&self, db: u8, key: &[u8]) {
        if let Some(server) = self.0.upgrade() {
            server.stats.expired_keys.add(1);
            server.events.notify(&server, events::EXPIRED, "expired", db, key);
        }
    }
}
