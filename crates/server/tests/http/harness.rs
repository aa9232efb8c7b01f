//! A server on a port of its own, and a client that sends exactly what it is told.

use async_trait::async_trait;
use serde_json::Value;
use std::net::SocketAddr;
use std::sync::Arc;
use timberline_ingest::{Engine, EngineOptions};
use timberline_query::{QueryEngine, QueryLimits};
use timberline_server::{AppState, ServerOptions, serve};
use timberline_store::source::{RowSource, SourceProvider, TimeSpan};
use timberline_store::{Catalog, Store, TenantId};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

/// The time of the first entry, nanoseconds.
pub(crate) const T0: i64 = 1_780_315_200_000_000_000;
/// A minute later.
pub(crate) const T1: i64 = T0 + 60_000_000_000;

/// A running server; ends with the test.
pub(crate) struct Server {
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    task: JoinHandle<Result<(), timberline_server::Error>>,
    _data: tempfile::TempDir,
}

/// An answer.
pub(crate) struct Reply {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: Vec<u8>,
}

impl Server {
    /// A server with nothing stored.
    pub(crate) async fn start(options: ServerOptions) -> Self {
        Self::build(None, options, QueryLimits::default()).await
    }

    /// A server whose queries are held to these limits.
    pub(crate) async fn limited(limits: QueryLimits) -> Self {
        Self::build(None, ServerOptions::default(), limits).await
    }

    /// A server whose queries read from elsewhere.
    pub(crate) async fn over(provider: Arc<dyn SourceProvider>, options: ServerOptions) -> Self {
        Self::build(Some(provider), options, QueryLimits::default()).await
    }

    async fn build(provider: Option<Arc<dyn SourceProvider>>, options: ServerOptions, limits: QueryLimits) -> Self {
        let data = tempfile::tempdir().unwrap();
        let store = Store::in_memory();
        let catalog = Catalog::open(store.clone()).await.unwrap();
        let engine = Engine::open(EngineOptions::new(data.path()), store, catalog)
            .await
            .unwrap();
        let provider = provider.unwrap_or_else(|| Arc::new(engine.clone()));
        let query = QueryEngine::new(provider, QueryLimits { threads: 1, ..limits }).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel();
        let shutdown = async {
            let _ = stopped.await;
        };
        let task = tokio::spawn(serve(listener, AppState::new(engine, query, options), shutdown));
        Self {
            address,
            stop,
            task,
            _data: data,
        }
    }

    /// Stops the server and waits until it has ended.
    pub(crate) async fn stop(self) {
        self.stop.send(()).unwrap();
        self.task.await.unwrap().unwrap();
    }

    pub(crate) async fn get(&self, target: &str) -> Reply {
        self.request("GET", target, &[], b"").await
    }

    pub(crate) async fn post(&self, target: &str, headers: &[(&str, &str)], body: &[u8]) -> Reply {
        self.request("POST", target, headers, body).await
    }

    /// A request with its length.
    pub(crate) async fn request(&self, method: &str, target: &str, headers: &[(&str, &str)], body: &[u8]) -> Reply {
        let length = body.len().to_string();
        let headers = [headers, &[("content-length", length.as_str())]].concat();
        self.request_as_is(method, target, &headers, body).await
    }

    /// A request without headers of our own, except those that say where it goes and that it is the only one.
    pub(crate) async fn request_as_is(
        &self,
        method: &str,
        target: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Reply {
        let mut connection = self.send(method, target, headers, body).await;
        let mut bytes = Vec::new();
        // A server that refuses a body without reading it may reset the connection after its answer.
        let _ = connection.read_to_end(&mut bytes).await;
        Reply::parse(&bytes)
    }

    /// Sends a request and leaves the answer to the caller.
    pub(crate) async fn send(&self, method: &str, target: &str, headers: &[(&str, &str)], body: &[u8]) -> TcpStream {
        let target = target
            .replace('"', "%22")
            .replace('{', "%7B")
            .replace('}', "%7D")
            .replace('|', "%7C");
        let mut head = format!(
            "{method} {target} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n",
            self.address
        );
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        let mut connection = TcpStream::connect(self.address).await.unwrap();
        connection.write_all(&[head.as_bytes(), body].concat()).await.unwrap();
        connection
    }
}

impl Reply {
    fn parse(bytes: &[u8]) -> Self {
        let end = bytes
            .windows(4)
            .position(|w| w == b"\r\n\r\n")
            .expect("an answer with a head");
        let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let mut body = bytes[end + 4..].to_vec();
        if head.to_lowercase().contains("transfer-encoding: chunked") {
            body = unchunk(&body);
        }
        Self { status, head, body }
    }

    /// The value of a header, whatever the case of its name.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines
            .filter(|(n, _)| n.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
            .next()
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|e| panic!("{e}: {} {}", self.status, self.text()))
    }
}

fn unchunk(mut bytes: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    loop {
        let end = bytes.windows(2).position(|w| w == b"\r\n").unwrap();
        let length = usize::from_str_radix(std::str::from_utf8(&bytes[..end]).unwrap(), 16).unwrap();
        if length == 0 {
            return body;
        }
        body.extend_from_slice(&bytes[end + 2..end + 2 + length]);
        bytes = &bytes[end + 2 + length + 2..];
    }
}

/// Sources that never come. Tells `started` when somebody asks for them, `dropped` when nobody waits any more.
pub(crate) fn pending_provider() -> (Arc<dyn SourceProvider>, mpsc::UnboundedReceiver<&'static str>) {
    let (events, receiver) = mpsc::unbounded_channel();
    (Arc::new(PendingProvider(events)), receiver)
}

#[derive(Debug)]
struct PendingProvider(mpsc::UnboundedSender<&'static str>);

struct TellDrop(mpsc::UnboundedSender<&'static str>);

impl Drop for TellDrop {
    fn drop(&mut self) {
        let _ = self.0.send("dropped");
    }
}

#[async_trait]
impl SourceProvider for PendingProvider {
    async fn sources(&self, _: &TenantId, _: TimeSpan) -> Result<Vec<Arc<dyn RowSource>>, timberline_store::Error> {
        let _tell = TellDrop(self.0.clone());
        let _ = self.0.send("started");
        std::future::pending().await
    }
}
