// hot path: no locks shared between cores, no logging above debug, no allocation per command.
//! What a command works with, and what it answers besides its reply.

use crate::commands::Command;
use crate::events::EventClass;
use crate::protocol::Reply;
use crate::server::Server;
use crate::session::Session;
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;
use timberline_series::engine::{Access, Engine, SeriesWriter};
use timberline_series::error::KeyError;
use timberline_series::view::ReadError;

/// What a command works with. The keyspace may be used until the command returns.
pub struct Context<'a> {
    /// The server: engine, configuration, other clients.
    pub server: &'a Arc<Server>,
    /// The connection's own state.
    pub session: &'a mut Session,
    /// Where the reply is written.
    pub reply: &'a mut Reply,
    /// The right to work on keys. Close an open writer first ([`Context::close_writer`]) unless the command is of the kind that shares
    /// it ([`crate::commands::flags::RUN`]): for others the dispatcher has closed it.
    pub access: &'a Access<'a>,
    /// The command that is run.
    pub command: &'static Command,
    /// Whether the command runs within EXEC or a script: it can't wait, and what it computes is computed at once.
    pub nested: bool,
    writer: Option<OpenWriter<'a>>,
}

/// The lock of the series that the commands before wrote to.
struct OpenWriter<'a> {
    db: u8,
    // Its key is in a buffer of the session, so that nothing is allocated.
    writer: SeriesWriter<'a>,
}

/// How a command went on.
pub enum Flow {
    /// The reply is written.
    Done,
    /// Nothing was done and nothing written: the command has to run alone. It is run again under an exclusive access.
    Exclusive,
    /// The reply is computed without the keyspace and written then; other connections go on.
    Compute(Compute),
    /// There is no reply yet: the client waits.
    Block(Blocked),
    /// The reply is written, and the connection ends when it is sent.
    Close,
}

/// Computes a reply out of what it has taken from the keyspace.
pub type Compute = Box<dyn FnOnce(&mut Reply) -> Result<(), CommandError> + Send>;

/// Looks whether the waiting of a client is over.
pub type Look = Box<dyn FnMut(&mut Context<'_>, Wake) -> Result<bool, CommandError> + Send>;

/// A client that waits.
pub struct Blocked {
    /// When the waiting ends by itself.
    pub deadline: Option<Instant>,
    /// Looks whether there is a reply now, and writes it. Says whether the waiting is over; at the deadline it must be. Called when the
    /// waker of the session ([`Session::waker`]) was called, and at the deadline.
    pub look: Look,
}

/// Why a client that waits is looked after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// Something happened.
    Event,
    /// The time is over, or another client ended the waiting (CLIENT UNBLOCK).
    TimedOut,
}

/// The text of an error reply, with its code (`ERR ...`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandError(pub Cow<'static, str>);

/// What a command gives.
pub type CommandResult = Result<Flow, CommandError>;

impl CommandError {
    /// `WRONGTYPE ...`
    pub const WRONG_TYPE: CommandError = CommandError(Cow::Borrowed(
        "WRONGTYPE Operation against a key holding the wrong kind of value",
    ));
    /// `ERR syntax error`
    pub const SYNTAX: CommandError = CommandError(Cow::Borrowed("ERR syntax error"));
    /// `ERR value is not an integer or out of range`
    pub const NOT_AN_INTEGER: CommandError = CommandError(Cow::Borrowed("ERR value is not an integer or out of range"));
    /// `ERR value is not a valid float`
    pub const NOT_A_FLOAT: CommandError = CommandError(Cow::Borrowed("ERR value is not a valid float"));
    /// `ERR no such key`
    pub const NO_SUCH_KEY: CommandError = CommandError(Cow::Borrowed("ERR no such key"));

    /// An error of a fixed text.
    pub const fn text(text: &'static str) -> CommandError {
        CommandError(Cow::Borrowed(text))
    }

    /// `ERR wrong number of arguments for '...' command`
    pub fn arity(command: &str) -> CommandError {
        CommandError(format!("ERR wrong number of arguments for '{command}' command").into())
    }
}

impl From<String> for CommandError {
    fn from(text: String) -> CommandError {
        CommandError(text.into())
    }
}

impl From<&'static str> for CommandError {
    fn from(text: &'static str) -> CommandError {
        CommandError(text.into())
    }
}

/// Data in the object store that can't be had is an error, never an empty answer.
impl From<ReadError> for CommandError {
    fn from(error: ReadError) -> CommandError {
        CommandError(format!("ERR {error}").into())
    }
}

impl<'a> Context<'a> {
    pub(crate) fn new(
        server: &'a Arc<Server>,
        session: &'a mut Session,
        reply: &'a mut Reply,
        access: &'a Access<'a>,
        command: &'static Command,
    ) -> Context<'a> {
        Context {
            server,
            session,
            reply,
            access,
            command,
            nested: false,
            writer: None,
        }
    }

    /// The engine.
    pub fn engine(&self) -> &'a Engine {
        self.access.engine()
    }

    /// The number of the database that the client chose.
    pub fn db(&self) -> u8 {
        self.session.db
    }

    /// The clock, in milliseconds since 1970.
    pub fn now_ms(&self) -> i64 {
        self.engine().now_ms()
    }

    /// The writer of a series, which stays open for the next commands of the pipeline that write to the same key: they share one lock
    /// and one frame of the journal.
    pub fn writer(&mut self, key: &[u8]) -> Result<Result<&mut SeriesWriter<'a>, KeyError>, ReadError> {
        let is_open = self
            .writer
            .as_ref()
            .is_some_and(|open| open.db == self.session.db && self.session.writer_key == key);
        if !is_open && let Err(error) = self.open_writer(key)? {
            return Ok(Err(error));
        }
        match &mut self.writer {
            Some(open) => Ok(Ok(&mut open.writer)),
            None => Ok(Err(KeyError::Missing)),
        }
    }

    fn open_writer(&mut self, key: &[u8]) -> Result<Result<(), KeyError>, ReadError> {
        self.close_writer();
        loop {
            let series = match self.access.series(self.session.db, key) {
                Ok(series) => series,
                Err(error) => return Ok(Err(error)),
            };
            // Nothing: the key was removed between the two; look again.
            if let Some(writer) = self.access.writer(series)? {
                self.session.writer_key.clear();
                self.session.writer_key.extend_from_slice(key);
                self.writer = Some(OpenWriter {
                    db: self.session.db,
                    writer,
                });
                return Ok(Ok(()));
            }
        }
    }

    /// Ends the run of writes to one series: its lock is given back, the journal has it.
    pub fn close_writer(&mut self) {
        self.writer = None;
    }

    /// Publishes an event of a key, if a client may listen (specification, chapter 17).
    pub fn notify(&self, class: EventClass, event: &str, key: &[u8]) {
        self.server
            .events
            .notify(self.server, class, event, self.session.db, key);
    }

    /// The error of a client that may not read all of the keys that a filter chose, else nothing.
    pub fn check_readable<'k>(&self, keys: impl IntoIterator<Item = &'k [u8]>) -> Result<(), CommandError> {
        if self.session.may_read_all(keys) {
            Ok(())
        } else {
            Err(CommandError::text(
                "NOPERM TSDB: current user doesn't have read permission to one or more keys that match the specified filter",
            ))
        }
    }
}
