//! Conversations of several clients with a server: `cases.txt`, one paragraph each.
//!
//! ```text
//! # what it shows
//! 1> SET k v        client 1 sends a line; a client connects when it is first named
//! 1< +OK|           it receives exactly these bytes; `|` ends a line of the protocol
//! 1?                it waits
//! 1~                its command runs alone, for long
//! 1!                its connection ends
//! ```
//!
//! Every paragraph has a server of its own.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};
use timberline_resp::Server;
use timberline_series::engine::Engine;

/// Longer than any answer takes; a missing one fails the test.
const PATIENCE: Duration = Duration::from_secs(20);

struct Clients {
    server: Arc<Server>,
    address: SocketAddr,
    connections: BTreeMap<String, TcpStream>,
}

impl Clients {
    fn get(&mut self, name: &str) -> &mut TcpStream {
        let address = self.address;
        self.connections.entry(name.to_owned()).or_insert_with(|| {
            let stream = TcpStream::connect(address).expect("a connection");
            stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
            stream
        })
    }

    /// Does one line. Gives what was received, for one that expects something.
    fn step(&mut self, line: &str) -> Option<(String, String)> {
        let place = line
            .find(['>', '<', '!', '?', '~'])
            .unwrap_or_else(|| panic!("no step: {line}"));
        let (name, rest) = line.split_at(place);
        let stream = self.get(name);
        let text = rest[1..].trim_start();
        match &rest[..1] {
            ">" => {
                stream.write_all(format!("{text}\r\n").as_bytes()).expect("sent");
                None
            }
            "<" => {
                let want = text.replace('|', "\r\n");
                let mut found = vec![0; want.len()];
                let mut len = 0;
                while len < found.len() {
                    match stream.read(&mut found[len..]) {
                        Ok(0) | Err(_) => break,
                        Ok(more) => len += more,
                    }
                    // What differs already gets no better by waiting.
                    if !want.as_bytes().starts_with(&found[..len]) {
                        break;
                    }
                }
                let found = String::from_utf8_lossy(&found[..len]).replace("\r\n", "|");
                Some((found, text.to_owned()))
            }
            "?" => {
                let address = stream.local_addr().expect("an address");
                let waits = |client: &Arc<timberline_resp::Client>| client.address == address && client.is_blocked();
                until(|| self.server.clients.all().iter().any(waits));
                None
            }
            "~" => {
                until(|| self.server.is_busy());
                None
            }
            _ => {
                let ended = stream.read(&mut [0]).is_ok_and(|len| len == 0);
                Some((format!("ended: {ended}"), "ended: true".to_owned()))
            }
        }
    }
}

/// Waits until something is so.
fn until(is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < PATIENCE, "it never came to that");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn run(name: &str, lines: &[&str]) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    let server = Server::new(Arc::new(Engine::in_memory()));
    let listener = runtime
        .block_on(tokio::net::TcpListener::bind("127.0.0.1:0"))
        .expect("a port");
    let mut clients = Clients {
        server: Arc::clone(&server),
        address: listener.local_addr().expect("an address"),
        connections: BTreeMap::new(),
    };
    let serving = {
        let server = Arc::clone(&server);
        runtime.spawn(async move { server.serve(listener).await })
    };
    for line in lines {
        if let Some((found, want)) = clients.step(line) {
            assert_eq!(found, want, "{name}: {line}");
        }
    }
    server.shut_down();
    runtime.block_on(serving).expect("no panic").expect("no error");
}

#[test]
fn conversations() {
    let cases = include_str!("cases.txt").split("\n\n");
    for case in cases {
        let mut lines = case.lines().filter(|line| !line.is_empty());
        let name = lines.next().and_then(|line| line.strip_prefix("# ")).expect("a name");
        run(name, &lines.collect::<Vec<_>>());
    }
}
