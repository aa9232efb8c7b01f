//! Start and stop: what is printed, which signals end it, what a second server says.

use crate::server::{Server, program};

#[test]
fn the_start_says_what_runs_where() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &["--head-max-age=30m"]);
    let greeting = server.greeting.join("\n");
    let version = format!("timberline {}", env!("CARGO_PKG_VERSION"));
    for part in [
        &version,
        &format!("data in {}", data.path().display()),
        "head_max_age=30m (from --head-max-age)",
    ] {
        assert!(greeting.contains(part), "{part} is missing in:\n{greeting}");
    }
    assert_eq!(
        server
            .greeting
            .iter()
            .filter(|line| line.contains("listening on"))
            .count(),
        2
    );
    let client = server.client();
    assert_eq!(client.get("/ready", &[]).0, 200);
    let version = client.get_json("/loki/api/v1/status/buildinfo", &[])["version"].to_string();
    assert!(version.contains(env!("CARGO_PKG_VERSION")), "{version}");
    let (status, metrics) = client.get("/metrics", &[]);
    assert!(status == 200 && String::from_utf8_lossy(&metrics).contains("timberline_"));
    let (status, config) = client.get("/config", &[]);
    assert!(status == 200 && String::from_utf8_lossy(&config).contains("head_max_age: 30m"));
}

#[test]
fn signals_end_it_cleanly_and_nothing_is_lost() {
    let data = tempfile::tempdir().unwrap();
    for (round, signal) in [libc::SIGTERM, libc::SIGINT].into_iter().enumerate() {
        let server = Server::start(data.path(), &[]);
        let time = format!("178031520{round}000000000");
        server
            .client()
            .push(&serde_json::json!([{"stream": {"job": "stop"}, "values": [[time, "x"]]}]));
        let (status, output) = server.stop(signal);
        assert_eq!(status.code(), Some(0));
        assert!(output.iter().any(|line| line.starts_with("stopped: ")), "{output:?}");
    }
    let server = Server::start(data.path(), &[]);
    let parameters = [
        ("query", "{job=\"stop\"}"),
        ("start", "1780315200"),
        ("end", "1780315300"),
    ];
    let answer = server.client().get_json("/loki/api/v1/query_range", &parameters);
    let values = answer["data"]["result"][0]["values"].as_array().unwrap().len();
    assert_eq!(values, 2);
}

#[test]
fn mistakes_end_it_with_a_message() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let second = Server::try_start(data.path(), &[])
        .err()
        .expect("a second server over the same folder");
    assert!(second.contains("lock") || second.contains("in use"), "{second}");

    let run = |arguments: &[&str]| {
        let output = program().arg("serve").args(arguments).output().unwrap();
        (
            output.status.code(),
            String::from_utf8_lossy(&output.stderr).into_owned(),
        )
    };
    let other = tempfile::tempdir().unwrap();
    let other = format!("--data={}", other.path().display());
    let taken = server.client().url().trim_start_matches("http://").to_owned();
    let (code, text) = run(&["--http", &taken, &other]);
    assert!(code == Some(3) && text.contains(&taken), "{code:?} {text}");
    let (code, text) = run(&["--http", "nowhere", &other]);
    assert!(code == Some(3) && text.contains("nowhere"), "{code:?} {text}");
    let (code, text) = run(&["--head-max-bytes", "many", &other]);
    assert!(code == Some(2) && text.contains("head_max_bytes"), "{code:?} {text}");
    let (code, _) = run(&["--no-such-flag"]);
    assert_eq!(code, Some(2));
}
