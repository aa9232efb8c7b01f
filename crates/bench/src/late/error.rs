//! Why a measurement could not be made.

use std::io;
use std::time::Duration;

/// Why a measurement could not be made.
#[derive(Debug, thiserror::Error)]
pub enum LateError {
    /// What was given is no address.
    #[error("{url:?} is not the address of a server, such as redis://127.0.0.1:6379: {reason}")]
    Address {
        /// What was given.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The server can't be reached, or has gone.
    #[error("server {server}: {source}")]
    Connection {
        /// The server's address.
        server: String,
        /// What the system says.
        source: io::Error,
    },
    /// The server did not take what has to be done before measuring.
    #[error("server {server} answers {answer:?} to {command}")]
    Refused {
        /// The server's address.
        server: String,
        /// The first words of the command.
        command: String,
        /// The answer.
        answer: String,
    },
    /// No answer for a long time.
    #[error("server {server} has answered nothing for {} s", waited.as_secs())]
    Silent {
        /// The server's address.
        server: String,
        /// How long it was waited for.
        waited: Duration,
    },
}
