//! A client that goes away takes its query with it: what the threads for queries still compute is measured in time of the processor.

#![cfg(target_os = "linux")]

use crate::server::{PATIENCE, Server};
use serde_json::{Value, json};
use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Most work after the client is gone.
const MOST_WORK: Duration = Duration::from_millis(200);
/// Work before it goes.
const WORK: Duration = Duration::from_millis(300);
/// How long the server is watched after that: a query that goes on works at least as long.
const WATCHED: Duration = Duration::from_millis(600);

/// What the server's threads for queries have computed so far.
fn worked(pid: u32) -> Duration {
    let mut nanoseconds = 0;
    for task in std::fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten() {
        let read = |name: &str| std::fs::read_to_string(task.path().join(name)).unwrap_or_default();
        if read("comm").trim() == "query" {
            nanoseconds += read("schedstat").split(' ').next().unwrap().parse::<u64>().unwrap();
        }
    }
    Duration::from_nanos(nanoseconds)
}

/// Sends a query and reads no answer.
fn ask(server: &Server, query: &str) -> TcpStream {
    let address = server.client().url().strip_prefix("http://").unwrap().to_owned();
    let body = format!("start=0&end=3000&step=1&limit=5000&query={query}");
    let mut connection = TcpStream::connect(&address).unwrap();
    write!(
        connection,
        "POST /loki/api/v1/query_range HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/x-www-form-urlencoded\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    connection
}

fn wait(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "{what}: not seen");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn work_ends_when_the_client_goes_away() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &["--query-timeout", "1h"]);
    let client = server.client();
    for part in 0..10 {
        let line = |at: i64| json!([(at * 1_000_000_000 + 1).to_string(), "ab ".repeat(10_000)]);
        let lines: Vec<Value> = (part * 100..(part + 1) * 100).map(line).collect();
        client.push(&json!([{"stream": {"app": "a"}, "values": lines}]));
    }
    // Each line takes long, and there are many of them.
    let filters: String = (20..60).map(|n| format!("!~`[ab ]{{{n}}}[c-z]`")).collect();
    let parsers: String = (20..60).map(|n| format!("|regexp`(?P<x>[ab ]{{{n}}}[c-z])`")).collect();
    let loops = "|line_format`{{range $i:=300}}{{range $k:=300}}{{if $k}}{{end}}{{end}}{{end}}`";
    for state in ["in the head", "flushed"] {
        for stages in [filters.as_str(), &parsers, loops] {
            let query = format!("count_over_time({{app=\"a\"}}{stages}[5m])");
            let before = worked(server.pid());
            let connection = ask(&server, &query);
            wait("a query that works", || worked(server.pid()) - before > WORK);
            assert_eq!(client.metric("timberline_queries_running"), 1.0, "{state}: {query}");
            drop(connection);
            let gone = worked(server.pid());
            wait("the end of the query", || {
                client.metric("timberline_queries_running") == 0.0
            });
            std::thread::sleep(WATCHED);
            let after = worked(server.pid()) - gone;
            assert!(
                after < MOST_WORK,
                "{state}: {query}: {after:?} of work after the client went"
            );
        }
        client.flush();
    }
}
