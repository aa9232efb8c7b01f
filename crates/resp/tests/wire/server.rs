//! A server in this process on a port of its own.

use std::net::SocketAddr;
use std::sync::Arc;
use timberline_resp::Server;
use timberline_series::engine::Engine;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

/// Serves until it is dropped.
pub(crate) struct TestServer {
    address: SocketAddr,
    server: Arc<Server>,
    runtime: Option<Runtime>,
}

impl TestServer {
    pub(crate) fn start() -> TestServer {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        let server = Server::new(Arc::new(Engine::in_memory()));
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let serving = Arc::clone(&server);
        runtime.spawn(async move { serving.serve(listener).await });
        TestServer {
            address,
            server,
            runtime: Some(runtime),
        }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.server.shut_down();
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
