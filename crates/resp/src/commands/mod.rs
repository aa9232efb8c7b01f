//! All commands: one table, and one file for each family of handlers.

mod absent;
mod access;
mod clients;
mod configuration;
mod connection;
mod documentation;
mod expiry;
pub mod flags;
mod information;
mod keys;
mod lists;
mod messages;
pub(crate) mod read;
mod saving;
mod scripts;
mod server;
mod strings;
mod table;
#[cfg(test)]
mod tests;
mod transactions;
mod transfer;
pub mod ts;

pub(crate) use saving::begin as begin_saving;

use crate::context::{CommandResult, Context, Flow};
use crate::protocol::Arguments;
use ahash::AHashMap;
use flags::Flags;
use std::sync::LazyLock;

/// Runs a command: writes one reply, or gives an error, which is written then. The number of words fits the arity.
pub type Handler = fn(&mut Context<'_>, Arguments<'_>) -> CommandResult;

/// One row of the table of commands.
#[derive(Clone, Copy, Debug)]
pub struct Command {
    /// The name in small letters; of a subcommand with its container: `config|get`.
    pub name: &'static str,
    /// How many words, the name included; negative: at least so many.
    pub arity: i32,
    /// What it does, as bits of [`flags`].
    pub flags: Flags,
    /// Where its keys stand.
    pub keys: Keys,
    /// What family it belongs to.
    pub group: Group,
    /// What it does, in a sentence.
    pub summary: &'static str,
    /// Runs it.
    pub handler: Handler,
}

impl Command {
    /// A row of the table.
    pub const fn new(
        name: &'static str,
        arity: i32,
        flags: Flags,
        keys: Keys,
        group: Group,
        summary: &'static str,
        handler: Handler,
    ) -> Command {
        Command {
            name,
            arity,
            flags,
            keys,
            group,
            summary,
            handler,
        }
    }

    /// Whether all of these flags are set.
    pub fn has(&self, flags: Flags) -> bool {
        self.flags & flags == flags
    }

    /// Whether the command can have so many words.
    pub fn takes(&self, words: usize) -> bool {
        let arity = self.arity.unsigned_abs() as usize;
        if self.arity < 0 { words >= arity } else { words == arity }
    }
}

/// Where the keys of a command stand among its words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keys {
    /// It names none.
    None,
    /// From the first to the last place, every so many words; a negative last place counts from the end.
    Places {
        /// Place of the first key.
        first: usize,
        /// Place of the last key; -1 is the last word.
        last: isize,
        /// From key to key.
        step: usize,
    },
    /// Their number stands at this place, and they follow it.
    Counted(usize),
}

impl Keys {
    /// One key behind the name.
    pub const FIRST: Keys = Keys::Places {
        first: 1,
        last: 1,
        step: 1,
    };
    /// Two keys behind the name.
    pub const FIRST_TWO: Keys = Keys::Places {
        first: 1,
        last: 2,
        step: 1,
    };
    /// All words behind the name.
    pub const ALL: Keys = Keys::Places {
        first: 1,
        last: -1,
        step: 1,
    };

    /// The places of the keys among these words; empty if there are none or their number is no number.
    pub fn places(self, words: Arguments<'_>) -> std::iter::StepBy<std::ops::Range<usize>> {
        let len = words.len();
        let (first, end, step) = match self {
            Keys::None => (0, 0, 1),
            Keys::Places { first, last, step } => {
                let last = if last < 0 {
                    len.checked_add_signed(last)
                } else {
                    Some(last as usize)
                };
                (first, last.map_or(0, |last| (last + 1).min(len)), step)
            }
            Keys::Counted(place) => {
                let count = words
                    .get(place)
                    .and_then(crate::protocol::strict_integer)
                    .and_then(|count| usize::try_from(count).ok())
                    .filter(|count| *count < len - place)
                    .unwrap_or(0);
                (place + 1, place + 1 + count, 1)
            }
        };
        (first..end.max(first)).step_by(step)
    }
}

/// The family of a command; also its category of access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Connections.
    Connection,
    /// Keys of any kind.
    Generic,
    /// Keys that hold texts.
    String,
    /// Lists.
    List,
    /// Messages.
    PubSub,
    /// Transactions.
    Transactions,
    /// Scripts.
    Scripting,
    /// The server.
    Server,
    /// Time series.
    TimeSeries,
    /// Data types that this server does not have.
    Absent,
}

/// Stands for a command before it is known which one it is.
pub(crate) static UNKNOWN: Command = Command::new("", 0, 0, Keys::None, Group::Server, "", |_, _| Ok(Flow::Done));

/// All rows in one piece, and their places by name.
struct Index {
    rows: &'static [Command],
    by_name: AHashMap<&'static str, usize>,
}

static INDEX: LazyLock<Index> = LazyLock::new(|| {
    let rows: Vec<Command> = table::GROUPS.iter().flat_map(|rows| rows.iter().copied()).collect();
    // Made once and used to the end of the program.
    let rows: &'static [Command] = Vec::leak(rows);
    let by_name = rows.iter().enumerate().map(|(place, row)| (row.name, place)).collect();
    Index { rows, by_name }
});

/// Longer words are no names.
const MAX_NAME_BYTES: usize = 64;

/// All commands in the order of the table, subcommands among them.
pub fn all() -> std::slice::Iter<'static, Command> {
    INDEX.rows.iter()
}

/// The place of a command in the table.
pub(crate) fn place_of(command: &'static Command) -> usize {
    let offset = std::ptr::from_ref(command) as usize - INDEX.rows.as_ptr() as usize;
    offset / size_of::<Command>()
}

/// The command at a place of the table.
pub(crate) fn by_place(place: u32) -> Option<&'static Command> {
    INDEX.rows.get(place as usize)
}

/// The row of a name in any case; of a subcommand the name is `container|subcommand`.
pub(crate) fn by_name(name: &[u8]) -> Option<&'static Command> {
    let mut small = [0u8; MAX_NAME_BYTES];
    let small = small.get_mut(..name.len())?;
    small.copy_from_slice(name);
    small.make_ascii_lowercase();
    let place = INDEX.by_name.get(std::str::from_utf8(small).ok()?)?;
    Some(&INDEX.rows[*place])
}

/// The row of a command that is made of subcommands.
pub(crate) fn container(name: &[u8]) -> Option<&'static Command> {
    by_name(name).filter(|command| command.has(flags::CONTAINER))
}

/// The command that these words are. A container without a subcommand is itself.
pub(crate) fn find(words: Arguments<'_>) -> Option<&'static Command> {
    let command = by_name(words.get(0)?)?;
    let Some(sub) = words.get(1).filter(|_| command.has(flags::CONTAINER)) else {
        return Some(command);
    };
    if sub.eq_ignore_ascii_case(b"help") {
        return Some(command);
    }
    let mut name = command.name.as_bytes().to_vec();
    name.push(b'|');
    name.extend_from_slice(sub);
    by_name(&name)
}

/// As [`find`], for words that are often those of the command before.
pub(crate) fn find_again(previous: Option<&'static Command>, words: Arguments<'_>) -> Option<&'static Command> {
    match (previous, words.get(0)) {
        (Some(command), Some(name))
            if command.name.as_bytes().eq_ignore_ascii_case(name) && !command.has(flags::CONTAINER) =>
        {
            previous
        }
        _ => find(words),
    }
}

/// The channels that a command over messages names, and whether they are patterns.
pub(crate) fn channels<'a>(command: &Command, words: Arguments<'a>) -> Option<(Vec<&'a [u8]>, bool)> {
    match command.name {
        "publish" | "spublish" => Some((words.iter().skip(1).take(1).collect(), false)),
        "subscribe" | "ssubscribe" => Some((words.iter().skip(1).collect(), false)),
        "psubscribe" => Some((words.iter().skip(1).collect(), true)),
        _ => None,
    }
}
