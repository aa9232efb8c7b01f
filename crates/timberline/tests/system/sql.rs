//! `sql` as a person uses it.

use crate::server::{Server, program};
use serde_json::json;
use std::io::Write;
use std::process::Stdio;

#[test]
fn statements_in_all_forms() {
    let place = tempfile::tempdir().unwrap();
    let server = Server::start(&place.path().join("data"), &[]);
    let line = |second: i64, text: &str| json!([(1_780_315_200 + second).to_string() + "000000000", text]);
    server.client().push(&json!([
        {"stream": {"app": "web"}, "values": [line(1, "one"), line(2, "two")]},
        {"stream": {"app": "api"}, "values": [line(3, "three, \"four\"")]},
    ]));
    let url = server.client().url().to_owned();
    let run = |arguments: &[&str], input: &str| {
        let mut command = program();
        command.arg("sql").args(arguments).args(["--url", &url]);
        let command = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // A program that does not read its input may have ended.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        let output = child.wait_with_output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    };
    let counts = "SELECT labels['app'] AS app, count(*) AS n FROM logs GROUP BY app ORDER BY app";
    let f = |arguments: &[&str], input: &str, code: i32, want: &str| {
        let (found, out, error) = run(arguments, input);
        assert_eq!((found, out.as_str()), (code, want), "{arguments:?}: {error}");
    };
    f(&[counts], "", 0, "app  n\napi  1\nweb  2\n");
    f(&["-", "-o", "csv"], counts, 0, "app,n\napi,1\nweb,2\n");
    let three = "SELECT line, timestamp FROM logs WHERE labels['app'] = 'api'";
    let row = "{\"line\":\"three, \\\"four\\\"\",\"timestamp\":\"2026-06-01T12:00:03Z\"}\n";
    f(&[three, "-o", "jsonl"], "", 0, row);
    f(&["SELECT line FROM logs WHERE labels['app'] = 'none'"], "", 1, "line\n");
    let (code, _, error) = run(&["SELECT lin FROM logs"], "");
    assert_eq!(code, 2);
    assert!(
        error.contains("SQL error at line 1, column 8: no field named lin"),
        "{error}"
    );
}
