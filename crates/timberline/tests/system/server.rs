//! A real server process and a client to talk to it.

use serde_json::Value;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// A hanging server fails a test after this long.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// A running `timberline serve`; killed when dropped.
pub(crate) struct Server {
    child: Child,
    client: Client,
    /// What it printed until it listened, one line each.
    pub(crate) greeting: Vec<String>,
    later_output: Receiver<String>,
    log: PathBuf,
}

/// Talks to a server; may be cloned into threads.
#[derive(Clone)]
pub(crate) struct Client {
    agent: ureq::Agent,
    url: String,
}

/// The program, with an environment that can't disturb a test.
pub(crate) fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_timberline"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("TIMBERLINE_") {
            command.env_remove(name);
        }
    }
    command.env_remove("NO_COLOR").env("TZ", "UTC");
    command
}

impl Server {
    /// Starts a server over `data` and waits until it listens.
    pub(crate) fn start(data: &Path, flags: &[&str]) -> Self {
        Self::try_start(data, flags).unwrap_or_else(|log| panic!("the server did not start:\n{log}"))
    }

    /// The same; gives the log if the server ends instead.
    pub(crate) fn try_start(data: &Path, flags: &[&str]) -> Result<Self, String> {
        let log = tempfile::Builder::new()
            .suffix(".log")
            .tempfile()
            .unwrap()
            .keep()
            .unwrap()
            .1;
        let mut command = program();
        command
            .args(["serve", "--http", "127.0.0.1:0", "--data"])
            .arg(data)
            .args(flags);
        if !flags.contains(&"--resp") {
            command.args(["--resp", "127.0.0.1:0"]);
        }
        let child = command
            .stdout(Stdio::piped())
            .stderr(File::create(&log).unwrap())
            .spawn();
        let mut child = child.unwrap();
        let (lines, later_output) = channel();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                let _ = lines.send(line);
            }
        });
        let mut greeting = Vec::new();
        loop {
            let Ok(line) = later_output.recv_timeout(PATIENCE) else {
                let _ = child.kill();
                let _ = child.wait();
                return Err(std::fs::read_to_string(&log).unwrap_or_default());
            };
            greeting.push(line.clone());
            if let Some(address) = line.strip_prefix("http listening on ") {
                let client = Client::new(format!("http://{address}"));
                return Ok(Self {
                    child,
                    client,
                    greeting,
                    later_output,
                    log,
                });
            }
        }
    }

    /// A client of this server.
    pub(crate) fn client(&self) -> Client {
        self.client.clone()
    }

    /// Where it takes time-series commands.
    pub(crate) fn resp_address(&self) -> Option<&str> {
        self.greeting
            .iter()
            .find_map(|line| line.strip_prefix("resp listening on "))
    }

    /// What the server has written to standard error.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }

    /// The number of the process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Ends it as `kill -9` does.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Sends a signal and waits for the end; gives exit status and what it printed since it listened.
    pub(crate) fn stop(mut self, signal: i32) -> (ExitStatus, Vec<String>) {
        let pid = libc::pid_t::try_from(self.child.id()).unwrap();
        // SAFETY: kill(2) takes two numbers; the process is our own child and has not been waited for.
        assert_eq!(unsafe { libc::kill(pid, signal) }, 0);
        let deadline = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(Instant::now() < deadline, "the server does not stop:\n{}", self.log());
            std::thread::sleep(Duration::from_millis(10));
        };
        (status, self.later_output.iter().collect())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let log = std::fs::read_to_string(&self.log).unwrap_or_default();
        let _ = std::fs::remove_file(&self.log);
        if std::thread::panicking() {
            eprintln!("log of the server:\n{log}");
        }
        let broken = log
            .lines()
            .find(|line| line.contains("panicked at") || line.contains("bug:"));
        if let Some(line) = broken.filter(|_| !std::thread::panicking()) {
            panic!("the server reports a bug: {line}\n{log}");
        }
    }
}

/// Status and body of an answer.
pub(crate) type Answer = (u16, Vec<u8>);

impl Client {
    fn new(url: String) -> Self {
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(PATIENCE))
            .build();
        Self {
            agent: ureq::Agent::new_with_config(config),
            url,
        }
    }

    /// Scheme, host and port.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Asks a path; an error if the connection fails.
    pub(crate) fn try_get(&self, path: &str, parameters: &[(&str, &str)]) -> Result<Answer, ureq::Error> {
        let request = self
            .agent
            .get(format!("{}{path}", self.url))
            .query_pairs(parameters.iter().copied());
        read(request.call()?)
    }

    /// Asks a path.
    pub(crate) fn get(&self, path: &str, parameters: &[(&str, &str)]) -> Answer {
        self.try_get(path, parameters)
            .unwrap_or_else(|e| panic!("GET {path} {parameters:?}: {e}"))
    }

    /// Asks a path; the answer must be a success in JSON.
    pub(crate) fn get_json(&self, path: &str, parameters: &[(&str, &str)]) -> Value {
        let (status, body) = self.get(path, parameters);
        assert_eq!(
            status,
            200,
            "GET {path} {parameters:?}: {}",
            String::from_utf8_lossy(&body)
        );
        serde_json::from_slice(&body).unwrap()
    }

    /// Sends streams in JSON; an error if the connection fails.
    pub(crate) fn try_push(&self, streams: &Value) -> Result<Answer, ureq::Error> {
        let body = serde_json::json!({ "streams": streams }).to_string();
        let request = self
            .agent
            .post(format!("{}/loki/api/v1/push", self.url))
            .header("content-type", "application/json");
        read(request.send(body.as_bytes())?)
    }

    /// Sends streams in JSON; they must be taken.
    pub(crate) fn push(&self, streams: &Value) {
        let (status, body) = self.try_push(streams).unwrap();
        assert_eq!(status, 204, "push: {}", String::from_utf8_lossy(&body));
    }

    /// Has everything written to data objects; an error if the connection fails.
    pub(crate) fn try_flush(&self) -> Result<Answer, ureq::Error> {
        read(self.agent.post(format!("{}/flush", self.url)).send_empty()?)
    }

    /// Has everything written to data objects.
    pub(crate) fn flush(&self) {
        let (status, body) = self.try_flush().unwrap();
        assert_eq!(status, 204, "flush: {}", String::from_utf8_lossy(&body));
    }

    /// The value of a metric without labels.
    pub(crate) fn metric(&self, name: &str) -> f64 {
        let (_, body) = self.get("/metrics", &[]);
        let text = String::from_utf8(body).unwrap();
        let line = text.lines().find_map(|l| l.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("no metric {name} in:\n{text}"))
            .trim()
            .parse()
            .unwrap()
    }
}

fn read(mut answer: ureq::http::Response<ureq::Body>) -> Result<Answer, ureq::Error> {
    let body = answer.body_mut().with_config().limit(1 << 30).read_to_vec()?;
    Ok((answer.status().as_u16(), body))
}
