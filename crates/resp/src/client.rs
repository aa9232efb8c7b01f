//! What other connections may know of a connection, and how they reach it; the list of all.

use crate::protocol::{Protocol, Reply};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;
use tokio::sync::Notify;

/// Bytes of messages that a subscriber may leave unread; beyond, its connection ends.
pub(crate) const MAX_OUTBOX_BYTES: usize = 32 << 20;

/// A connection, as others see it.
pub struct Client {
    /// Its number, never used twice.
    pub id: u64,
    /// Where it comes from.
    pub address: SocketAddr,
    /// What it was accepted at.
    pub local_address: SocketAddr,
    /// When it came.
    pub since: Instant,
    pub(crate) texts: Mutex<ClientTexts>,
    pub(crate) db: AtomicU8,
    pub(crate) protocol: AtomicU8,
    /// Milliseconds from `since` to the last command.
    pub(crate) active_at: AtomicU64,
    /// Place of the last command in the table.
    pub(crate) last_command: AtomicU32,
    pub(crate) commands: AtomicU64,
    pub(crate) channels: AtomicUsize,
    pub(crate) patterns: AtomicUsize,
    pub(crate) shard_channels: AtomicUsize,
    pub(crate) watched: AtomicUsize,
    /// Commands queued by MULTI; -1 outside, as two's complement.
    pub(crate) queued: AtomicU32,
    pub(crate) no_evict: AtomicBool,
    pub(crate) no_touch: AtomicBool,
    pub(crate) is_blocked: AtomicBool,
    pub(crate) received: AtomicU64,
    pub(crate) sent: AtomicU64,
    pub(crate) input_bytes: AtomicUsize,
    pub(crate) output_bytes: AtomicUsize,
    killed: AtomicBool,
    unblock: AtomicU8,
    outbox: Mutex<Vec<u8>>,
    /// Woken when there is a message, when it is to end, and when something it waits for happened.
    pub(crate) notify: Notify,
}

/// What a client says of itself.
#[derive(Debug, Default)]
pub(crate) struct ClientTexts {
    pub(crate) name: Vec<u8>,
    pub(crate) library: Vec<u8>,
    pub(crate) library_version: Vec<u8>,
    pub(crate) user: String,
}

/// How another client ends the waiting of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unblock {
    TimedOut = 1,
    Error = 2,
}

impl Client {
    pub(crate) fn new(id: u64, address: SocketAddr, local_address: SocketAddr) -> Client {
        Client {
            id,
            address,
            local_address,
            since: Instant::now(),
            texts: Mutex::default(),
            db: AtomicU8::new(0),
            protocol: AtomicU8::new(2),
            active_at: AtomicU64::new(0),
            last_command: AtomicU32::new(u32::MAX),
            commands: AtomicU64::new(0),
            channels: AtomicUsize::new(0),
            patterns: AtomicUsize::new(0),
            shard_channels: AtomicUsize::new(0),
            watched: AtomicUsize::new(0),
            queued: AtomicU32::new(u32::MAX),
            no_evict: AtomicBool::new(false),
            no_touch: AtomicBool::new(false),
            is_blocked: AtomicBool::new(false),
            received: AtomicU64::new(0),
            sent: AtomicU64::new(0),
            input_bytes: AtomicUsize::new(0),
            output_bytes: AtomicUsize::new(0),
            killed: AtomicBool::new(false),
            unblock: AtomicU8::new(0),
            outbox: Mutex::default(),
            notify: Notify::new(),
        }
    }

    /// The version of the protocol that messages to it are written in.
    pub(crate) fn protocol(&self) -> Protocol {
        if self.protocol.load(Ordering::Relaxed) == 3 {
            Protocol::Three
        } else {
            Protocol::Two
        }
    }

    /// Ends the connection.
    pub fn kill(&self) {
        self.killed.store(true, Ordering::Release);
        self.notify.notify_one();
    }

    pub(crate) fn is_killed(&self) -> bool {
        self.killed.load(Ordering::Acquire)
    }

    /// Ends its waiting. Says whether it waits, and nobody else ended it.
    pub(crate) fn unblock(&self, how: Unblock) -> bool {
        if !self.is_blocked.load(Ordering::Acquire) {
            return false;
        }
        // Who asks second ends nothing.
        let is_first = self
            .unblock
            .compare_exchange(0, how as u8, Ordering::AcqRel, Ordering::Acquire)
            .is_ok();
        if is_first {
            self.notify.notify_one();
        }
        is_first
    }

    /// Whether it waits for something.
    pub fn is_blocked(&self) -> bool {
        self.is_blocked.load(Ordering::Acquire)
    }

    pub(crate) fn take_unblock(&self) -> Option<Unblock> {
        match self.unblock.swap(0, Ordering::AcqRel) {
            1 => Some(Unblock::TimedOut),
            2 => Some(Unblock::Error),
            _ => None,
        }
    }

    /// Leaves a message for it. A subscriber that does not read is disconnected rather than remembered for.
    pub(crate) fn send(&self, write: impl FnOnce(&mut Reply)) {
        let mut outbox = self.outbox.lock();
        let mut reply = Reply::appending(std::mem::take(&mut *outbox), self.protocol());
        write(&mut reply);
        *outbox = reply.into_bytes();
        let too_long = outbox.len() > MAX_OUTBOX_BYTES;
        if too_long {
            *outbox = Vec::new();
        }
        drop(outbox);
        if too_long {
            self.kill();
        } else {
            self.notify.notify_one();
        }
    }

    /// Takes the messages for it.
    pub(crate) fn drain(&self, out: &mut Vec<u8>) {
        let mut outbox = self.outbox.lock();
        if !outbox.is_empty() {
            out.extend_from_slice(&outbox);
            *outbox = Vec::new();
        }
    }

    /// One of the kinds that CLIENT LIST and CLIENT KILL know.
    pub(crate) fn kind(&self) -> &'static str {
        if self.subscriptions() > 0 { "pubsub" } else { "normal" }
    }

    fn subscriptions(&self) -> usize {
        self.channels.load(Ordering::Relaxed)
            + self.patterns.load(Ordering::Relaxed)
            + self.shard_channels.load(Ordering::Relaxed)
    }

    /// Its line in CLIENT LIST.
    pub(crate) fn append_line(&self, out: &mut String) {
        let texts = self.texts.lock();
        let age = self.since.elapsed();
        let active = self.active_at.load(Ordering::Relaxed);
        let idle = (age.as_millis() as u64).saturating_sub(active) / 1000;
        let mut flags = String::new();
        let queued = self.queued.load(Ordering::Relaxed);
        for (is_set, flag) in [
            (self.subscriptions() > 0, 'P'),
            (queued != u32::MAX, 'x'),
            (self.is_blocked.load(Ordering::Relaxed), 'b'),
            (self.no_evict.load(Ordering::Relaxed), 'e'),
            (self.no_touch.load(Ordering::Relaxed), 'T'),
        ] {
            if is_set {
                flags.push(flag);
            }
        }
        if flags.is_empty() {
            flags.push('N');
        }
        let relaxed = Ordering::Relaxed;
        let command = crate::commands::by_place(self.last_command.load(relaxed)).map_or("NULL", |command| command.name);
        // Writing into a string never fails.
        let _ = writeln!(
            out,
            "id={} addr={} laddr={} fd=0 name={} age={} idle={idle} flags={flags} db={} sub={} psub={} ssub={} multi={} watch={} \
             qbuf={} qbuf-free=0 argv-mem=0 multi-mem=0 rbs=0 rbp=0 obl=0 oll=0 omem={} tot-mem={} events=r cmd={command} user={} \
             redir=-1 resp={} lib-name={} lib-ver={} io-thread=0 tot-net-in={} tot-net-out={} tot-cmds={}",
            self.id,
            self.address,
            self.local_address,
            String::from_utf8_lossy(&texts.name),
            age.as_secs(),
            self.db.load(relaxed),
            self.channels.load(relaxed),
            self.patterns.load(relaxed),
            self.shard_channels.load(relaxed),
            queued as i32,
            self.watched.load(relaxed),
            self.input_bytes.load(relaxed),
            self.output_bytes.load(relaxed),
            self.input_bytes.load(relaxed) + self.output_bytes.load(relaxed) + size_of::<Client>(),
            texts.user,
            self.protocol.load(relaxed),
            String::from_utf8_lossy(&texts.library),
            String::from_utf8_lossy(&texts.library_version),
            self.received.load(relaxed),
            self.sent.load(relaxed),
            self.commands.load(relaxed),
        );
    }
}

/// All connections.
#[derive(Default)]
pub struct Clients {
    next_id: AtomicU64,
    by_id: Mutex<BTreeMap<u64, Arc<Client>>>,
    /// The server ends: nobody enters any more.
    is_closed: AtomicBool,
}

impl Clients {
    pub(crate) fn enter(&self, address: SocketAddr, local_address: SocketAddr, at_most: usize) -> Option<Arc<Client>> {
        let mut by_id = self.by_id.lock();
        if by_id.len() >= at_most || self.is_closed.load(Ordering::Acquire) {
            return None;
        }
        let id = self.next_id.fetch_add(1, Ordering::Relaxed) + 1;
        let client = Arc::new(Client::new(id, address, local_address));
        by_id.insert(id, Arc::clone(&client));
        Some(client)
    }

    /// Ends all connections, and lets no new ones in.
    pub(crate) fn close(&self) {
        let by_id = self.by_id.lock();
        self.is_closed.store(true, Ordering::Release);
        by_id.values().for_each(|client| client.kill());
    }

    pub(crate) fn leave(&self, id: u64) {
        self.by_id.lock().remove(&id);
    }

    /// The connection of a number.
    pub fn get(&self, id: u64) -> Option<Arc<Client>> {
        self.by_id.lock().get(&id).cloned()
    }

    /// All connections, in the order in which they came.
    pub fn all(&self) -> Vec<Arc<Client>> {
        self.by_id.lock().values().cloned().collect()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.by_id.lock().len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
