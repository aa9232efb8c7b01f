//! A connection to a server of the RedisTimeSeries commands.

use super::reply;
use anyhow::anyhow;
use redis::{
    Client, Cmd, Connection, ConnectionAddr, ConnectionInfo, ConnectionLike, IntoConnectionInfo, ProtocolVersion,
    RedisError, Value,
};
use std::time::Duration;

/// Longest wait for an answer: a page of samples or a listing of keys on a busy server.
const PATIENCE: Duration = Duration::from_secs(120);

/// The address of a server. Passwords are never shown.
#[derive(Clone)]
pub(super) struct Address(ConnectionInfo);

impl Address {
    /// Reads `redis://[user:password@]host:port[/database]`.
    pub(super) fn parse(url: &str) -> Result<Self, String> {
        let mut info = url.into_connection_info().map_err(|error| error.to_string())?;
        if matches!(info.addr, ConnectionAddr::TcpTls { .. }) {
            return Err("TLS is not spoken; put a tunnel in front".to_owned());
        }
        // The older protocol writes every value as shortest text, which is exact.
        info.redis.protocol = ProtocolVersion::RESP2;
        Ok(Self(info))
    }

    /// Whether both are the same database of the same server, as far as addresses tell.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.0.addr == other.0.addr && self.0.redis.db == other.0.redis.db
    }
}

/// Why a command gave no result.
#[derive(Debug)]
pub(super) enum Trouble {
    /// The server can't be reached, or has gone: nothing further can be done.
    Lost(anyhow::Error),
    /// The server said no; the text is its own.
    Refused(String),
}

impl Trouble {
    /// What the server said, or the error that ends everything.
    pub(super) fn refusal(self) -> anyhow::Result<String> {
        match self {
            Self::Lost(error) => Err(error),
            Self::Refused(text) => Ok(text),
        }
    }
}

/// For commands without which nothing can be done.
impl From<Trouble> for crate::Failure {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Lost(error) => Self::failed(error),
            Trouble::Refused(text) => Self::failed(anyhow!("the server answers: {text}")),
        }
    }
}

/// A connection to a server.
pub(super) struct Link {
    connection: Connection,
    address: String,
}

impl Link {
    /// Connects, signs in and chooses the database.
    pub(super) fn open(address: &Address) -> Result<Self, Trouble> {
        let name = address.0.addr.to_string();
        let connect = || {
            let connection = Client::open(address.0.clone())?.get_connection_with_timeout(PATIENCE)?;
            connection.set_read_timeout(Some(PATIENCE))?;
            connection.set_write_timeout(Some(PATIENCE))?;
            Ok(connection)
        };
        match connect() {
            Ok(connection) => Ok(Self {
                connection,
                address: name,
            }),
            Err(error) => Err(lost(&name, error)),
        }
    }

    /// Sends a command; what the server refuses is an error.
    pub(super) fn ask(&mut self, command: &Cmd) -> Result<Value, Trouble> {
        let mut answers = self.ask_all(std::slice::from_ref(command)).map_err(Trouble::Lost)?;
        reply::accepted(answers.pop().unwrap_or(Value::Nil))
    }

    /// Sends commands together; what the server refuses is among the answers.
    pub(super) fn ask_all(&mut self, commands: &[Cmd]) -> anyhow::Result<Vec<Value>> {
        let mut bytes = Vec::new();
        for command in commands {
            bytes.extend_from_slice(&command.get_packed_command());
        }
        let answers = self.connection.req_packed_commands(&bytes, 0, commands.len());
        answers.map_err(|error| match lost(&self.address, error) {
            Trouble::Lost(error) => error,
            Trouble::Refused(text) => anyhow!("server {}: {text}", self.address),
        })
    }
}

fn lost(address: &str, error: RedisError) -> Trouble {
    let hint = if error.is_connection_refusal() {
        " (is it running?)"
    } else {
        ""
    };
    Trouble::Lost(anyhow!(error).context(format!("server {address}{hint}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        let f = |url: &str, good: bool| assert_eq!(Address::parse(url).is_ok(), good, "{url}");
        f("redis://127.0.0.1:6379", true);
        f("redis://user:secret@localhost:6380/3", true);
        f("redis://localhost", true);
        f("rediss://localhost", false);
        f("http://localhost", false);
        f("localhost:6379", false);
        f("", false);
    }

    #[test]
    fn the_same_database_is_noticed() {
        let f = |a: &str, b: &str, same: bool| {
            let same_address = Address::parse(a).unwrap().is_same(&Address::parse(b).unwrap());
            assert_eq!(same_address, same, "{a} {b}");
        };
        f("redis://localhost", "redis://localhost:6379/0", true);
        f("redis://localhost", "redis://x:y@localhost", true);
        f("redis://localhost/1", "redis://localhost/2", false);
        f("redis://localhost:1", "redis://localhost:2", false);
    }
}
