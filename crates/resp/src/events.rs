//! Keyspace events: what happens to keys, as messages (`notify-keyspace-events`; specification, chapter 17).

use crate::server::Server;
use std::sync::atomic::{AtomicU32, Ordering};
use timberline_series::engine::Interest;

/// Classes of events, as bits, with the letters of the configuration.
pub type EventClass = u32;

/// Channel `__keyspace@<db>__:<key>`, message is the event: `K`.
const KEYSPACE: EventClass = 1;
/// Channel `__keyevent@<db>__:<event>`, message is the key: `E`.
const KEYEVENT: EventClass = 1 << 1;
/// Commands over keys of any kind: `g`.
pub const GENERIC: EventClass = 1 << 2;
/// Commands over strings: `$`.
pub const STRING: EventClass = 1 << 3;
/// Keys whose time was over: `x`.
pub const EXPIRED: EventClass = 1 << 4;
/// Commands over series: `d`, the class of modules.
pub const MODULE: EventClass = 1 << 5;
/// New keys: `n`.
pub const NEW: EventClass = 1 << 6;
/// Commands over lists: `l`.
pub const LIST: EventClass = 1 << 7;
/// Classes of data that this server hardly has or not at all, known so that the configuration reads back: lists, sets, hashes, sorted sets,
/// streams, evictions, misses, overwritten keys, changes of type.
const OTHERS: [(char, EventClass); 9] = [
    ('l', LIST),
    ('s', 1 << 8),
    ('h', 1 << 9),
    ('z', 1 << 10),
    ('e', 1 << 11),
    ('t', 1 << 12),
    ('m', 1 << 13),
    ('o', 1 << 14),
    ('c', 1 << 15),
];

/// In the order in which the configuration shows them; `A` stands for those up to `d`.
const ALL: [(char, EventClass); 9] = [
    ('g', GENERIC),
    ('$', STRING),
    ('l', LIST),
    ('s', 1 << 8),
    ('h', 1 << 9),
    ('z', 1 << 10),
    ('x', EXPIRED),
    ('e', 1 << 11),
    ('t', 1 << 12),
];

/// Which events are published.
#[derive(Debug, Default)]
pub struct Events(AtomicU32);

impl Events {
    /// Reads the letters of the configuration; nothing if one is unknown.
    pub(crate) fn parse(letters: &str) -> Option<EventClass> {
        let mut classes = 0;
        for letter in letters.chars() {
            classes |= match letter {
                'K' => KEYSPACE,
                'E' => KEYEVENT,
                'd' => MODULE,
                'n' => NEW,
                'A' => all(),
                'g' => GENERIC,
                '$' => STRING,
                'x' => EXPIRED,
                other => OTHERS.iter().find(|(known, _)| *known == other)?.1,
            };
        }
        Some(classes)
    }

    /// The letters of the configuration.
    pub(crate) fn letters(&self) -> String {
        let classes = self.0.load(Ordering::Relaxed);
        let mut letters = String::new();
        if classes & all() == all() {
            letters.push('A');
        } else {
            letters.extend(
                ALL.iter()
                    .filter(|(_, class)| classes & class != 0)
                    .map(|(letter, _)| letter),
            );
            if classes & MODULE != 0 {
                letters.push('d');
            }
        }
        for (letter, class) in [
            ('K', KEYSPACE),
            ('E', KEYEVENT),
            ('m', 1 << 13),
            ('n', NEW),
            ('o', 1 << 14),
            ('c', 1 << 15),
        ] {
            if classes & class != 0 {
                letters.push(letter);
            }
        }
        letters
    }

    pub(crate) fn set(&self, classes: EventClass, interest: &Interest) {
        self.0.store(classes, Ordering::Release);
        let on = classes & (KEYSPACE | KEYEVENT) != 0;
        interest.set(Interest::BUCKET_CLOSED, on && classes & MODULE != 0);
        interest.set(Interest::EXPIRED, true);
    }

    /// Publishes an event, if it is wanted and somebody listens.
    pub(crate) fn notify(&self, server: &Server, class: EventClass, event: &str, db: u8, key: &[u8]) {
        let classes = self.0.load(Ordering::Relaxed);
        if classes & class == 0 || server.hub.is_silent() {
            return;
        }
        if classes & KEYSPACE != 0 {
            let mut channel = format!("__keyspace@{db}__:").into_bytes();
            channel.extend_from_slice(key);
            server.hub.publish(&channel, event.as_bytes());
        }
        if classes & KEYEVENT != 0 {
            server.hub.publish(format!("__keyevent@{db}__:{event}").as_bytes(), key);
        }
    }
}

fn all() -> EventClass {
    ALL.iter().fold(MODULE, |classes, (_, class)| classes | class)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_read_back() {
        let check = |letters: &str, want: Option<&str>| {
            let shown = Events::parse(letters).map(|classes| {
                let events = Events::default();
                events.set(classes, &Interest::default());
                events.letters()
            });
            assert_eq!(shown.as_deref(), want, "{letters}");
        };
        check("", Some(""));
        check("KEA", Some("AKE"));
        check("Kg$lshzxetd", Some("AK"));
        check("Ex", Some("xE"));
        check("Kdn", Some("dKn"));
        check("KEAm", Some("AKEm"));
        check("Q", None);
    }
}
