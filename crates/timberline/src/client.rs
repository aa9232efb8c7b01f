//! Talks to a server of the Loki API over HTTP.

use anyhow::{Context, anyhow};
use clap::{Arg, ArgMatches, Command};
use std::time::Duration;

/// Longest wait for an answer: above the server's own default time-out for queries.
const TIMEOUT: Duration = Duration::from_secs(330);
/// Largest answer that is read, so that a wrong URL can't fill the memory.
const MAX_ANSWER_BYTES: u64 = 4 << 30;

/// A server and the tenant to speak for.
#[derive(Clone)]
pub(crate) struct Client {
    agent: ureq::Agent,
    url: String,
    tenant: Option<String>,
}

/// An answer of the server.
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
    /// How long the server asks to wait before the next attempt.
    pub(crate) retry_after: Option<Duration>,
}

impl Reply {
    /// The body as one line of text.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).trim().to_owned()
    }
}

/// Adds `--url` and `--tenant`.
pub(crate) fn add_flags(command: Command) -> Command {
    command
        .arg(
            Arg::new("url")
                .long("url")
                .env("TIMBERLINE_URL")
                .value_name("URL")
                .default_value("http://127.0.0.1:3100")
                .help("The server"),
        )
        .arg(
            Arg::new("tenant")
                .long("tenant")
                .env("TIMBERLINE_TENANT")
                .value_name("ID")
                .help("Tenant, sent as X-Scope-OrgID; without it the server's default tenant"),
        )
}

impl Client {
    /// The client that `--url` and `--tenant` name.
    pub(crate) fn from_flags(arguments: &ArgMatches) -> anyhow::Result<Self> {
        let url = arguments
            .get_one::<String>("url")
            .map_or("", |u| u.trim_end_matches('/'));
        if !url.starts_with("http://") && !url.starts_with("https://") {
            return Err(anyhow!("--url {url:?} does not start with http:// or https://"));
        }
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(TIMEOUT))
            .user_agent(concat!("timberline/", env!("CARGO_PKG_VERSION")))
            .build();
        Ok(Self {
            agent: ureq::Agent::new_with_config(config),
            url: url.to_owned(),
            tenant: arguments.get_one::<String>("tenant").cloned(),
        })
    }

    /// Sends a snappy-packed protobuf push request.
    pub(crate) fn push(&self, body: &[u8]) -> anyhow::Result<Reply> {
        let mut request = self
            .agent
            .post(format!("{}/loki/api/v1/push", self.url))
            .header("content-type", "application/x-protobuf")
            .header("content-encoding", "snappy");
        if let Some(tenant) = &self.tenant {
            request = request.header("x-scope-orgid", tenant);
        }
        self.reply(request.send(body))
    }

    /// Asks `path`, with the parameters as a form so that long queries fit.
    pub(crate) fn ask(&self, path: &str, parameters: &[(&str, String)]) -> anyhow::Result<Reply> {
        let mut request = self.agent.post(format!("{}{path}", self.url));
        if let Some(tenant) = &self.tenant {
            request = request.header("x-scope-orgid", tenant);
        }
        self.reply(request.send_form(parameters.iter().map(|(name, value)| (*name, value.as_str()))))
    }

    fn reply(&self, outcome: Result<ureq::http::Response<ureq::Body>, ureq::Error>) -> anyhow::Result<Reply> {
        let server = || format!("server {} (is it running? start it with `timberline serve`)", self.url);
        let mut answer = outcome.with_context(server)?;
        let retry_after = answer
            .headers()
            .get("retry-after")
            .and_then(|v| v.to_str().ok()?.parse().ok());
        let body = answer.body_mut().with_config().limit(MAX_ANSWER_BYTES).read_to_vec();
        let body = body.with_context(|| format!("reading the answer of {}", self.url))?;
        Ok(Reply {
            status: answer.status().as_u16(),
            body,
            retry_after: retry_after.map(Duration::from_secs),
        })
    }
}
