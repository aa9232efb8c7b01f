//! Recorded sequences and how they are replayed.

use crate::client::{Connection, bulk_bytes};
use serde_json::Value;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

/// What is set before every sequence.
const DEFAULTS: [(&str, &str); 8] = [
    ("ts-retention-policy", "0"),
    ("ts-chunk-size-bytes", "4096"),
    ("ts-duplicate-policy", "block"),
    ("ts-encoding", "compressed"),
    ("ts-compaction-policy", ""),
    ("ts-ignore-max-time-diff", "0"),
    ("ts-ignore-max-val-diff", "0"),
    ("notify-keyspace-events", ""),
];

/// Commands that change nothing, so that a reload before them must not show.
const READERS: [&str; 11] = [
    "TS.RANGE",
    "TS.REVRANGE",
    "TS.MRANGE",
    "TS.MREVRANGE",
    "TS.NRANGE",
    "TS.NREVRANGE",
    "TS.GET",
    "TS.MGET",
    "TS.INFO",
    "TS.QUERYINDEX",
    "TS.QUERYLABELS",
];

/// How sequences are replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Step by step.
    AsRecorded,
    /// The server saves and loads everything before the last step, if that only reads.
    ReloadBeforeTheEnd,
}

pub(crate) struct Sequence {
    pub(crate) name: String,
    /// core, edge or internal.
    pub(crate) level: String,
    pub(crate) steps: Vec<Step>,
}

/// One step; which fields mean what stands in the README of the sequences.
pub(crate) struct Step {
    pub(crate) reply: Option<Value>,
    words: Vec<Word>,
    connection: u64,
    sleep: Duration,
    later: bool,
    awaits: bool,
    drain: Option<Duration>,
    store: Option<String>,
}

enum Word {
    Text(Vec<u8>),
    Stored(String),
}

/// All sequences, by file.
pub(crate) fn load() -> BTreeMap<String, Vec<Sequence>> {
    let packed = std::fs::read(crate::recorded::folder().join("sequences.json.zst")).unwrap();
    let text = zstd::decode_all(&packed[..]).unwrap();
    let files: BTreeMap<String, Vec<Value>> = serde_json::from_slice(&text).unwrap();
    let read = |sequences: Vec<Value>| sequences.iter().map(Sequence::read).collect();
    files
        .into_iter()
        .map(|(file, sequences)| (file, read(sequences)))
        .collect()
}

impl Sequence {
    fn read(value: &Value) -> Sequence {
        Sequence {
            name: value["name"].as_str().unwrap().to_owned(),
            level: value["level"].as_str().unwrap().to_owned(),
            steps: value["steps"].as_array().unwrap().iter().map(Step::read).collect(),
        }
    }

    /// Sends the steps; a reply per step that has one.
    pub(crate) fn run(&self, address: SocketAddr, mode: Mode) -> io::Result<Vec<Option<Value>>> {
        reset(address)?;
        let mut connections: HashMap<u64, Connection> = HashMap::new();
        let mut stored = HashMap::new();
        let mut replies = Vec::new();
        for (number, step) in self.steps.iter().enumerate() {
            std::thread::sleep(step.sleep);
            if mode == Mode::ReloadBeforeTheEnd && number + 1 == self.steps.len() && step.only_reads() {
                let reply = Connection::open(address)?.call(&["DEBUG", "RELOAD"])?;
                if reply != serde_json::json!({ "simple": "OK" }) {
                    return Err(io::Error::other(format!("DEBUG RELOAD: {reply}")));
                }
            }
            let connection = match connections.entry(step.connection) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(place) => place.insert(Connection::open(address)?),
            };
            if let Some(time) = step.drain {
                replies.push(Some(connection.drain(time)?));
                continue;
            }
            if !step.awaits {
                let word = |word: &Word| match word {
                    Word::Text(text) => text.clone(),
                    Word::Stored(name) => Vec::clone(&stored[name]),
                };
                let words: Vec<Vec<u8>> = step.words.iter().map(word).collect();
                connection.send(&words)?;
                if step.later {
                    replies.push(None);
                    continue;
                }
            }
            let reply = connection.read()?;
            if let Some(name) = &step.store {
                stored.insert(name.clone(), bulk_bytes(&reply).unwrap_or_default());
            }
            replies.push(Some(reply));
        }
        Ok(replies)
    }
}

fn reset(address: SocketAddr) -> io::Result<()> {
    let mut connection = Connection::open(address)?;
    for (name, value) in DEFAULTS {
        connection.call(&["CONFIG", "SET", name, value])?;
    }
    connection.call(&["FLUSHALL"])?;
    Ok(())
}

impl Step {
    fn read(value: &Value) -> Step {
        let milliseconds = |field: &str| value[field].as_u64().map(Duration::from_millis);
        let words = value["cmd"].as_array().into_iter().flatten();
        Step {
            reply: value.get("reply").cloned(),
            words: words.map(Word::read).collect(),
            connection: value["conn"].as_u64().unwrap_or(1),
            sleep: milliseconds("sleep").unwrap_or_default(),
            later: value["later"].as_bool().unwrap_or(false),
            awaits: value["await"].as_bool().unwrap_or(false),
            drain: milliseconds("drain"),
            store: value["store"].as_str().map(str::to_owned),
        }
    }

    fn only_reads(&self) -> bool {
        let Some(Word::Text(command)) = self.words.first() else {
            return false;
        };
        READERS
            .iter()
            .any(|reader| command.eq_ignore_ascii_case(reader.as_bytes()))
    }

    /// The command for people.
    pub(crate) fn shown(&self) -> String {
        if self.words.is_empty() {
            return "(a reply that comes later)".to_owned();
        }
        let words = self.words.iter().map(|word| match word {
            Word::Text(text) => String::from_utf8_lossy(text).into_owned(),
            Word::Stored(name) => format!("{{{name}}}"),
        });
        let line: Vec<String> = words.collect();
        line.join(" ").chars().take(200).collect()
    }
}

impl Word {
    fn read(value: &Value) -> Word {
        match value.as_str() {
            Some(text) => Word::Text(text.as_bytes().to_vec()),
            None => Word::Stored(value["var"].as_str().unwrap().to_owned()),
        }
    }
}
