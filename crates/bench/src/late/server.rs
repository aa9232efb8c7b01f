//! A server that is measured, and the connection that prepares it.

use super::LateError;
use super::command::append_command;
use super::cpu::cpu_seconds;
use redis::{
    Client, Connection, ConnectionAddr, ConnectionInfo, ConnectionLike, IntoConnectionInfo, ProtocolVersion, Value,
};
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

/// A server is waited for so long before it counts as hung.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// A server to measure.
pub struct Server {
    /// What it is called in tables.
    name: String,
    address: ConnectionInfo,
    /// Its process, if it runs on this machine.
    pid: Option<u32>,
}

impl Server {
    /// The server at an address like `redis://[user:password@]host:port[/database][#PID]`. Without a process id the server is asked for it, if its
    /// address is one of this machine.
    ///
    /// # Errors
    /// What is wrong with the address, or that nothing answers there.
    pub fn connect(name: Option<&str>, url: &str) -> Result<Self, LateError> {
        let bad = |reason: String| LateError::Address {
            url: url.to_owned(),
            reason,
        };
        let (address, pid) = match url.split_once('#') {
            None => (url, None),
            Some((address, pid)) => {
                let pid = pid
                    .parse::<u32>()
                    .map_err(|_| bad(format!("{pid:?} is not a process id")))?;
                (address, Some(pid))
            }
        };
        let mut address = address.into_connection_info().map_err(|error| bad(error.to_string()))?;
        address.redis.protocol = ProtocolVersion::RESP2;
        let ConnectionAddr::Tcp(host, port) = &address.addr else {
            return Err(bad("only redis:// is measured, neither TLS nor Unix sockets".to_owned()));
        };
        let mut server = Self {
            name: name.map_or_else(|| format!("{host}:{port}"), str::to_owned),
            address: address.clone(),
            pid,
        };
        let mut control = server.control()?;
        if let Some(pid) = pid {
            cpu_seconds(pid).map_err(|error| bad(error.to_string()))?;
        } else {
            server.pid = control
                .process_id()?
                .filter(|pid| server.is_local() && cpu_seconds(*pid).is_ok());
        }
        Ok(server)
    }

    /// What it is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether its processor time can be told.
    pub fn has_process(&self) -> bool {
        self.pid.is_some()
    }

    /// Processor time so far.
    pub(super) fn cpu_seconds(&self) -> Option<Result<f64, LateError>> {
        self.pid.map(|pid| cpu_seconds(pid).map_err(|error| self.lost(error)))
    }

    /// An error of the connection to it.
    pub(super) fn lost(&self, source: io::Error) -> LateError {
        LateError::Connection {
            server: self.name.clone(),
            source,
        }
    }

    fn is_local(&self) -> bool {
        self.socket_addresses()
            .is_ok_and(|mut addresses| addresses.all(|address| address.ip().is_loopback()))
    }

    fn socket_addresses(&self) -> io::Result<impl Iterator<Item = std::net::SocketAddr> + use<>> {
        match &self.address.addr {
            ConnectionAddr::Tcp(host, port) => (host.as_str(), *port).to_socket_addrs(),
            _ => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// A connection for commands that are not measured.
    pub(super) fn control(&self) -> Result<Control, LateError> {
        let connect = || {
            let client = Client::open(self.address.clone())?;
            let connection = client.get_connection_with_timeout(PATIENCE)?;
            connection.set_read_timeout(Some(PATIENCE))?;
            Ok(connection)
        };
        let connection = connect().map_err(|error: redis::RedisError| self.lost(io::Error::other(error)))?;
        Ok(Control {
            connection,
            server: self.name.clone(),
        })
    }

    /// A connection of bytes, signed in and in the right database.
    pub(super) fn raw_connection(&self) -> Result<TcpStream, LateError> {
        let connect = || -> io::Result<TcpStream> {
            let addresses: Vec<_> = self.socket_addresses()?.collect();
            let mut stream = TcpStream::connect(addresses.as_slice())?;
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(PATIENCE))?;
            let redis = &self.address.redis;
            if let Some(password) = &redis.password {
                let mut words: Vec<&[u8]> = vec![b"AUTH"];
                words.extend(redis.username.as_deref().map(str::as_bytes));
                words.push(password.as_bytes());
                must_be_ok(&mut stream, &words)?;
            }
            if redis.db != 0 {
                must_be_ok(&mut stream, &[b"SELECT", redis.db.to_string().as_bytes()])?;
            }
            Ok(stream)
        };
        connect().map_err(|error| self.lost(error))
    }
}

/// Sends a command that is answered with OK.
fn must_be_ok(stream: &mut TcpStream, words: &[&[u8]]) -> io::Result<()> {
    let mut command = Vec::new();
    append_command(&mut command, words);
    stream.write_all(&command)?;
    let mut answer = Vec::new();
    while !answer.ends_with(b"\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte)?;
        answer.push(byte[0]);
    }
    if answer == b"+OK\r\n" {
        Ok(())
    } else {
        let answer = String::from_utf8_lossy(&answer).trim().to_owned();
        Err(io::Error::other(answer))
    }
}

/// A connection for commands that are not measured.
pub(super) struct Control {
    connection: Connection,
    server: String,
}

impl Control {
    /// Sends a command; errors of the server are values.
    pub(super) fn ask(&mut self, words: &[&[u8]]) -> Result<Value, LateError> {
        let mut command = Vec::new();
        append_command(&mut command, words);
        let answers = self.connection.req_packed_commands(&command, 0, 1);
        let answers = answers.map_err(|error| LateError::Connection {
            server: self.server.clone(),
            source: io::Error::other(error),
        })?;
        Ok(answers.into_iter().next().unwrap_or(Value::Nil))
    }

    /// Sends a command that must be answered by an integer or OK.
    pub(super) fn must(&mut self, words: &[&[u8]]) -> Result<u64, LateError> {
        match self.ask(words)? {
            Value::Okay => Ok(0),
            Value::Int(number) if number >= 0 => Ok(number.unsigned_abs()),
            other => Err(self.refused(words, &other)),
        }
    }

    /// Sends a command of which every part must be done.
    pub(super) fn must_all(&mut self, words: &[&[u8]]) -> Result<(), LateError> {
        let answer = self.ask(words)?;
        let refused = match &answer {
            Value::Array(parts) => parts.iter().find(|part| !matches!(part, Value::Int(_))),
            other => Some(other),
        };
        refused.map_or(Ok(()), |refused| Err(self.refused(words, refused)))
    }

    fn refused(&self, words: &[&[u8]], answer: &Value) -> LateError {
        let shown: Vec<_> = words.iter().take(4).map(|word| String::from_utf8_lossy(word)).collect();
        LateError::Refused {
            server: self.server.clone(),
            command: shown.join(" "),
            answer: match answer {
                Value::ServerError(error) => format!("{} {}", error.code(), error.details().unwrap_or("")),
                other => format!("{other:?}"),
            },
        }
    }

    /// Bytes that a key takes.
    pub(super) fn memory_usage(&mut self, key: &[u8]) -> Result<u64, LateError> {
        self.must(&[b"MEMORY", b"USAGE", key, b"SAMPLES", b"0"])
    }

    /// Samples that a series has.
    pub(super) fn sample_count(&mut self, key: &[u8]) -> Result<u64, LateError> {
        let words: [&[u8]; 2] = [b"TS.INFO", key];
        let answer = self.ask(&words)?;
        if let Value::Array(fields) = &answer {
            for pair in fields.chunks_exact(2) {
                if let (Value::SimpleString(name), Value::Int(count)) = (&pair[0], &pair[1])
                    && name == "totalSamples"
                {
                    return Ok(count.unsigned_abs());
                }
            }
        }
        Err(self.refused(&words, &answer))
    }

    /// The server's process, if it says so.
    fn process_id(&mut self) -> Result<Option<u32>, LateError> {
        let Value::BulkString(text) = self.ask(&[b"INFO", b"server"])? else {
            return Ok(None);
        };
        let text = String::from_utf8_lossy(&text);
        let line = text.lines().find_map(|line| line.strip_prefix("process_id:"));
        Ok(line.and_then(|pid| pid.trim().parse().ok()))
    }
}
