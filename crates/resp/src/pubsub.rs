//! Messages: who listens to which channels.

use crate::client::Client;
use crate::glob;
use ahash::AHashMap;
use parking_lot::RwLock;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What a subscription names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// One channel.
    Channel,
    /// All channels that fit a pattern.
    Pattern,
    /// One channel of the names that SPUBLISH knows.
    Shard,
}

impl Kind {
    /// The words of replies: when it begins, and when it ends.
    pub(crate) fn words(self) -> (&'static str, &'static str) {
        match self {
            Kind::Channel => ("subscribe", "unsubscribe"),
            Kind::Pattern => ("psubscribe", "punsubscribe"),
            Kind::Shard => ("ssubscribe", "sunsubscribe"),
        }
    }
}

type Listeners = AHashMap<Box<[u8]>, Vec<Arc<Client>>>;

/// All subscriptions.
#[derive(Default)]
pub(crate) struct Hub {
    listeners: [RwLock<Listeners>; 3],
    /// How many names somebody listens to; publishers of events look here first.
    names: AtomicUsize,
}

impl Hub {
    pub(crate) fn is_silent(&self) -> bool {
        self.names.load(Ordering::Acquire) == 0
    }

    pub(crate) fn subscribe(&self, kind: Kind, name: &[u8], client: &Arc<Client>) {
        let mut listeners = self.listeners[kind as usize].write();
        let of_name = listeners.entry(name.into()).or_insert_with(|| {
            self.names.fetch_add(1, Ordering::AcqRel);
            Vec::new()
        });
        of_name.push(Arc::clone(client));
    }

    pub(crate) fn unsubscribe(&self, kind: Kind, name: &[u8], client: &Arc<Client>) {
        let mut listeners = self.listeners[kind as usize].write();
        if let Some(of_name) = listeners.get_mut(name) {
            of_name.retain(|other| other.id != client.id);
            if of_name.is_empty() {
                listeners.remove(name);
                self.names.fetch_sub(1, Ordering::AcqRel);
            }
        }
    }

    /// Sends a message to all who listen. Gives how many got it.
    pub(crate) fn publish(&self, channel: &[u8], message: &[u8]) -> usize {
        if self.is_silent() {
            return 0;
        }
        let mut count = self.publish_to_names(Kind::Channel, "message", channel, message);
        for (pattern, clients) in self.listeners[Kind::Pattern as usize].read().iter() {
            if !glob::matches(pattern, channel) {
                continue;
            }
            for client in clients {
                client.send(|reply| {
                    reply.push(4);
                    reply.bulk(b"pmessage");
                    reply.bulk(pattern);
                    reply.bulk(channel);
                    reply.bulk(message);
                });
                count += 1;
            }
        }
        count
    }

    /// Sends a message to those who listen to a shard channel.
    pub(crate) fn publish_to_shard(&self, channel: &[u8], message: &[u8]) -> usize {
        self.publish_to_names(Kind::Shard, "smessage", channel, message)
    }

    fn publish_to_names(&self, kind: Kind, word: &str, channel: &[u8], message: &[u8]) -> usize {
        let listeners = self.listeners[kind as usize].read();
        let clients = listeners.get(channel).map_or(&[][..], Vec::as_slice);
        for client in clients {
            client.send(|reply| {
                reply.push(3);
                reply.bulk(word.as_bytes());
                reply.bulk(channel);
                reply.bulk(message);
            });
        }
        clients.len()
    }

    /// Names that somebody listens to and that fit a pattern.
    pub(crate) fn names(&self, kind: Kind, pattern: Option<&[u8]>) -> Vec<Box<[u8]>> {
        let listeners = self.listeners[kind as usize].read();
        let mut names: Vec<Box<[u8]>> = listeners
            .keys()
            .filter(|name| pattern.is_none_or(|pattern| glob::matches(pattern, name)))
            .cloned()
            .collect();
        names.sort_unstable();
        names
    }

    /// How many listen to a name.
    pub(crate) fn listeners(&self, kind: Kind, name: &[u8]) -> usize {
        self.listeners[kind as usize].read().get(name).map_or(0, Vec::len)
    }

    /// How many names of a kind somebody listens to.
    pub(crate) fn count(&self, kind: Kind) -> usize {
        self.listeners[kind as usize].read().len()
    }
}
