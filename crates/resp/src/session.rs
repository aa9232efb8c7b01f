//! The state of one connection that its commands read and change.

use crate::acl::{Permission, User};
use crate::client::Client;
use crate::commands::Command;
use crate::protocol::OwnedArguments;
use crate::pubsub::Kind;
use crate::server::Server;
use crate::watch::Watch;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Words of queued commands that one transaction may hold.
const MAX_QUEUE_BYTES: usize = 1 << 30;

/// The state of one connection.
pub struct Session {
    /// What others see of the connection.
    pub client: Arc<Client>,
    /// The database of SELECT.
    pub db: u8,
    /// Whom the client says to be.
    pub(crate) user: Arc<User>,
    /// The state of the access lists that `user` is of.
    pub(crate) user_version: u64,
    pub(crate) is_authenticated: bool,
    /// Commands between MULTI and EXEC.
    pub(crate) transaction: Option<Transaction>,
    pub(crate) watch: Watch,
    pub(crate) subscriptions: [BTreeSet<Box<[u8]>>; 3],
    pub(crate) reply_mode: ReplyMode,
    /// The key of the open writer.
    pub(crate) writer_key: Vec<u8>,
}

/// Commands that wait for EXEC.
#[derive(Default)]
pub(crate) struct Transaction {
    pub(crate) commands: Vec<(&'static Command, OwnedArguments)>,
    pub(crate) bytes: usize,
    /// A command was refused: EXEC is too.
    pub(crate) is_broken: bool,
}

/// What CLIENT REPLY asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReplyMode {
    On,
    Off,
    /// The reply to the next command is left out.
    SkipNext,
    /// The reply to this command is left out.
    Skip,
}

impl Session {
    pub(crate) fn new(client: Arc<Client>, server: &Server) -> Session {
        let (user, user_version) = server.acl.default_user();
        let is_authenticated = user.is_enabled && user.no_password;
        client.texts.lock().user.clone_from(&user.name);
        Session {
            client,
            db: 0,
            user,
            user_version,
            is_authenticated,
            transaction: None,
            watch: Watch::default(),
            subscriptions: Default::default(),
            reply_mode: ReplyMode::On,
            writer_key: Vec::new(),
        }
    }

    /// What wakes this connection while it waits ([`crate::context::Blocked`]); it may be called under locks.
    pub fn waker(&self) -> Arc<dyn Fn() + Send + Sync> {
        let client = Arc::clone(&self.client);
        Arc::new(move || client.notify.notify_one())
    }

    /// Whether the client may read all of these keys.
    pub fn may_read_all<'k>(&self, keys: impl IntoIterator<Item = &'k [u8]>) -> bool {
        self.user.all_keys || keys.into_iter().all(|key| self.user.may_use_key(key, Permission::READ))
    }

    pub(crate) fn log_in(&mut self, user: Arc<User>, version: u64) {
        self.client.texts.lock().user.clone_from(&user.name);
        self.user = user;
        self.user_version = version;
        self.is_authenticated = true;
    }

    /// Whether commands need no look at permissions and modes: nearly always.
    pub(crate) fn is_plain(&self) -> bool {
        self.is_authenticated && self.user.is_unrestricted && self.transaction.is_none() && !self.is_subscribed()
    }

    pub(crate) fn is_subscribed(&self) -> bool {
        self.subscriptions.iter().any(|names| !names.is_empty())
    }

    pub(crate) fn subscription_count(&self, kind: Kind) -> usize {
        match kind {
            // Channels and patterns are counted together.
            Kind::Channel | Kind::Pattern => self.subscriptions[0].len() + self.subscriptions[1].len(),
            Kind::Shard => self.subscriptions[2].len(),
        }
    }

    pub(crate) fn publish_counts(&self) {
        let relaxed = Ordering::Relaxed;
        self.client.channels.store(self.subscriptions[0].len(), relaxed);
        self.client.patterns.store(self.subscriptions[1].len(), relaxed);
        self.client.shard_channels.store(self.subscriptions[2].len(), relaxed);
        self.client.watched.store(self.watch.len(), relaxed);
        let queued = self.transaction.as_ref().map(|queue| queue.commands.len() as u32);
        self.client.queued.store(queued.unwrap_or(u32::MAX), relaxed);
    }

    /// Queues a command of a transaction. Says whether it fits.
    pub(crate) fn queue(&mut self, command: &'static Command, words: OwnedArguments) -> bool {
        let Some(transaction) = &mut self.transaction else {
            return false;
        };
        transaction.bytes += words.byte_len();
        if transaction.bytes > MAX_QUEUE_BYTES {
            transaction.is_broken = true;
            return false;
        }
        transaction.commands.push((command, words));
        true
    }

    pub(crate) fn break_transaction(&mut self) {
        if let Some(transaction) = &mut self.transaction {
            transaction.is_broken = true;
        }
    }

    /// Ends a transaction without running it, and the watching of keys.
    pub(crate) fn discard(&mut self, server: &Server) {
        self.transaction = None;
        server.watches.clear(&mut self.watch, server.engine.interest());
        self.publish_counts();
    }

    pub(crate) fn unsubscribe_all(&mut self, server: &Server) {
        for kind in [Kind::Channel, Kind::Pattern, Kind::Shard] {
            for name in std::mem::take(&mut self.subscriptions[kind as usize]) {
                server.hub.unsubscribe(kind, &name, &self.client);
            }
        }
        self.publish_counts();
    }
}
