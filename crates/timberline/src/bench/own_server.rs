//! This program, started again as a server to be measured.

use anyhow::{Context, anyhow};
use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};
use tempfile::TempDir;

/// How the server says where it listens for time-series commands.
const LISTENING: &str = "resp listening on ";

/// A server on free ports, with a data folder of its own. It ends, and the folder goes, when this is dropped.
pub(super) struct OwnServer {
    child: Child,
    /// Keeps the pipe open: a server that says goodbye must not find it broken.
    output: BufReader<ChildStdout>,
    /// Removed after the server has ended.
    _data: TempDir,
    pub(super) address: String,
}

impl OwnServer {
    /// Starts the server and waits until it listens.
    pub(super) fn start() -> anyhow::Result<Self> {
        let program = std::env::current_exe().context("where this program is")?;
        let data = tempfile::tempdir().context("a folder for the server's data")?;
        let mut child = Command::new(&program)
            .args(["serve", "--http", "127.0.0.1:0", "--resp", "127.0.0.1:0", "--data"])
            .arg(data.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("starting {}", program.display()))?;
        let Some(output) = child.stdout.take() else {
            return Err(anyhow!("bug: the server's output is not piped"));
        };
        let mut server = Self {
            child,
            output: BufReader::new(output),
            _data: data,
            address: String::new(),
        };
        let mut line = String::new();
        while server
            .output
            .read_line(&mut line)
            .context("reading what the server says")?
            > 0
        {
            if let Some(address) = line.trim().strip_prefix(LISTENING) {
                server.address = address.to_owned();
                return Ok(server);
            }
            line.clear();
        }
        let status = server.child.wait().context("waiting for the server")?;
        Err(anyhow!("the server did not start: {status}"))
    }

    /// The server's process.
    pub(super) fn process_id(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for OwnServer {
    fn drop(&mut self) {
        // Nothing of what it holds is wanted any more. It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
