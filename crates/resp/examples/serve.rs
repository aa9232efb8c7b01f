//! A server over an engine in memory, for tests and measurements: `serve [PORT]` listens on 127.0.0.1 and prints the port.

use std::sync::Arc;
use timberline_resp::Server;
use timberline_series::engine::Engine;

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let port: u16 = std::env::args().nth(1).and_then(|port| port.parse().ok()).unwrap_or(0);
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", port)).await?;
    println!("{}", listener.local_addr()?.port());
    Server::new(Arc::new(Engine::in_memory())).serve(listener).await
}
