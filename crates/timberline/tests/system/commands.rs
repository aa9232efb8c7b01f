//! `push`, `query`, `inspect` and `config` as a person uses them.

use crate::decoder::objects;
use crate::server::{Server, program};
use std::io::Write;
use std::path::Path;
use std::process::{Output, Stdio};

const DPKG: &str = "\
2026-06-01 12:00:00 startup archives unpack
2026-06-01 12:00:00 install libfoo:amd64 <none> 1.0
2026-06-01 12:00:00 status half-installed libfoo:amd64 1.0
2026-06-01 12:30:00 status installed libfoo:amd64 1.0
2026-06-01 13:10:00 install bar:all <none> 2.0
2026-06-01 13:10:00 status installed bar:all 2.0
2026-06-01 13:10:00 status installed bar:all 2.0
";

const APT: &str = "
Start-Date: 2026-06-01  12:00:00
Commandline: apt-get install libfoo
Install: libfoo:amd64 (1.0)
End-Date: 2026-06-01  12:30:00
";

const DAY: [&str; 4] = ["--from", "2026-06-01T00:00:00Z", "--to", "2026-06-02T00:00:00Z"];

fn run(arguments: &[&str]) -> (i32, String, String) {
    finished(&program().args(arguments).stdin(Stdio::null()).output().unwrap())
}

fn finished(output: &Output) -> (i32, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (
        output.status.code().unwrap(),
        text(&output.stdout),
        text(&output.stderr),
    )
}

/// Runs a query over the day of the files.
fn query(place: &[&str], query: &str, more: &[&str]) -> (i32, String, String) {
    run(&[&["query", query], DAY.as_slice(), place, more].concat())
}

#[test]
fn what_stands_before_damage_in_a_file_is_sent() {
    let place = tempfile::tempdir().unwrap();
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(DPKG.as_bytes()).unwrap();
    let packed = packer.finish().unwrap();
    let file = place.path().join("dpkg.log.1.gz");
    std::fs::write(&file, &packed[..packed.len() - 4]).unwrap();
    let server = Server::start(&place.path().join("data"), &[]);
    let url = server.client().url().to_owned();
    let (code, _, said) = run(&["push", file.to_str().unwrap(), "--url", &url]);
    assert!(
        code == 2 && said.contains("sent 7 lines") && said.contains("dpkg.log.1.gz"),
        "{code} {said}"
    );
    let (_, lines, _) = query(&["--url", &url], r#"{service_name="dpkg"}"#, &["-o", "raw"]);
    assert_eq!(lines.lines().count(), 7, "{lines}");
}

/// `tail -f .. | timberline push -`: a line is there before the next one is written.
#[test]
fn lines_of_standard_input_are_sent_as_they_come() {
    let place = tempfile::tempdir().unwrap();
    let server = Server::start(&place.path().join("data"), &[]);
    let url = server.client().url().to_owned();
    let mut push = program()
        .args(["push", "-", "--url", &url, "--label", "job=live"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = push.stdin.take().unwrap();
    for number in 1..=3 {
        input
            .write_all(format!("2026-06-01T12:00:0{number}Z line {number}\n").as_bytes())
            .unwrap();
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
        loop {
            let (_, out, _) = query(&["--url", &url], r#"{job="live"}"#, &["-o", "raw"]);
            if out.lines().count() == number {
                break;
            }
            assert!(
                std::time::Instant::now() < deadline,
                "line {number} was not sent: {out}"
            );
        }
    }
    drop(input);
    assert_eq!(finished(&push.wait_with_output().unwrap()).0, 0);
}

#[test]
fn files_go_in_and_answers_come_out() {
    let place = tempfile::tempdir().unwrap();
    let (dpkg, apt) = (place.path().join("dpkg.log"), place.path().join("history.log"));
    std::fs::write(&dpkg, DPKG).unwrap();
    std::fs::write(&apt, APT).unwrap();
    let data = place.path().join("data");
    let server = Server::start(&data, &[]);
    let url = server.client().url().to_owned();
    let at = ["--url", url.as_str()];
    let push = |file: &Path| run(&["push", file.to_str().unwrap(), "--url", &url, "--label", "job=dpkg"]);

    let (code, _, said) = push(&dpkg);
    assert!(code == 0 && said.contains("sent 7 lines"), "{code} {said}");
    let (code, _, said) = push(&dpkg);
    assert!(code == 0 && said.contains("sent 7 lines"), "{code} {said}");
    assert_eq!(push(&apt).0, 0);
    let mut child = program();
    let mut child = child
        .args(["push", "-", "--url", &url])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(b"2026-06-01T12:00:00Z from \xff stdin\n")
        .unwrap();
    assert_eq!(finished(&child.wait_with_output().unwrap()).0, 0);

    let check = |place: &[&str], offline: bool| {
        let (code, out, said) = query(place, r#"{job="dpkg"} |= "installed""#, &["--explain"]);
        assert!(
            code == 0
                && out.contains("scan of {job=\"dpkg\"}")
                && out.contains("asks filters  for lines with \"installed\""),
            "{code} {out} {said}"
        );
        let (code, out, _) = query(
            place,
            "{job=\"dpkg\", filename=~\".*dpkg.log\"}",
            &["-o", "raw", "--direction=forward"],
        );
        assert_eq!((code, out.as_str()), (0, DPKG), "sent twice, there once");
        let (_, out, _) = query(
            place,
            "{filename=~\".*history.log\"}",
            &["-o", "raw", "--direction=forward"],
        );
        assert_eq!(out, APT.trim_start());
        let (_, out, _) = query(place, "{filename=~\".*dpkg.log\"} |= \" install \"", &["-o", "raw"]);
        assert_eq!(
            out,
            "2026-06-01 13:10:00 install bar:all <none> 2.0\n2026-06-01 12:00:00 install libfoo:amd64 <none> 1.0\n"
        );
        let (_, out, said) = query(place, "{job=\"dpkg\"} |= \"13:10:00 install\"", &["--utc"]);
        assert!(
            out.starts_with("2026-06-01T13:10:00Z 2026-06-01 13:10:00 install bar"),
            "{out}"
        );
        assert!(
            said.contains("Common labels: {") && said.contains("job=\"dpkg\""),
            "{said}"
        );
        let (_, out, _) = query(place, "{job=\"dpkg\"} |= \"13:10:00 install\"", &["--color=always"]);
        assert!(out.contains("\x1b["), "{out}");
        let (_, out, _) = query(place, "{job=\"dpkg\"} |= \"13:10:00 install\"", &["-o", "jsonl"]);
        let object: serde_json::Value = serde_json::from_str(out.trim()).unwrap();
        assert_eq!(
            (&object["labels"]["job"], &object["timestamp"]),
            (&"dpkg".into(), &"2026-06-01T13:10:00Z".into())
        );
        let count = "sum(count_over_time({job=\"dpkg\", filename=~\".*dpkg.log\"} |= \"status\"[1h]))";
        let (_, out, _) = query(place, count, &["--step", "1h", "--utc"]);
        let rows: Vec<Vec<&str>> = out.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(rows[0], ["time", "value"], "{out}");
        assert!(rows.contains(&vec!["2026-06-01T13:00:00Z", "2"]), "{out}");
        assert!(rows.contains(&vec!["2026-06-01T14:00:00Z", "2"]), "{out}");
        let (code, out, _) = query(
            place,
            "sum(count_over_time({job=\"dpkg\"}[1d]))",
            &["--instant", "-o", "json"],
        );
        assert!(code == 0 && out.contains("\"resultType\": \"vector\""), "{out}");
        let (code, out, _) = query(place, "{service_name=\"stdin\"}", &["-o", "raw"]);
        // Over HTTP the answer is JSON, which has no room for other bytes than UTF-8.
        assert!(code == 0 && out.contains("from \u{fffd} stdin"), "{out}");
        let bytes = program()
            .args(["query", "{service_name=\"stdin\"}", "-o", "raw"])
            .args(DAY)
            .args(place)
            .output()
            .unwrap();
        assert_eq!(bytes.stdout.contains(&0xff), offline);
        let (code, out, _) = query(place, "{job=\"none\"}", &[]);
        assert_eq!((code, out.as_str()), (1, ""));
        let (code, _, said) = query(place, "{job=", &[]);
        assert!(code == 2 && said.contains("parse error"), "{code} {said}");
    };
    check(&at, false);
    server.client().flush();
    check(&at, false);
    let late = place.path().join("late.log");
    std::fs::write(&late, "2026-06-01 12:00:00 late\n").unwrap();
    assert_eq!(push(&late).0, 0);
    server.kill();
    let folder = ["--data", data.to_str().unwrap()];
    check(&folder, true);
    let (_, out, _) = query(&folder, "{filename=~\".*late.log\"}", &["-o", "raw"]);
    assert_eq!(
        out, "2026-06-01 12:00:00 late\n",
        "what only the log holds is found too"
    );

    let object = objects(&data).remove(0);
    let (code, out, said) = run(&["inspect", object.to_str().unwrap(), "--pages", "--rows", "30"]);
    assert_eq!(code, 0, "{said}");
    for word in [
        "streams",
        "logs",
        "timestamp",
        "message",
        "delta",
        "plain",
        "zstd",
        "libfoo",
    ] {
        assert!(out.contains(word), "{word} is missing in:\n{out}");
    }
    let (code, out, _) = run(&["inspect", object.to_str().unwrap(), "--json"]);
    let document: serde_json::Value = serde_json::from_str(&out).unwrap();
    let sections = document["sections"].as_array().unwrap();
    let kinds: Vec<&str> = sections
        .iter()
        .map(|section| section["kind"].as_str().unwrap())
        .collect();
    assert_eq!((code, &kinds[..2]), (0, &["streams", "logs"][..]), "{out}");
}

#[test]
fn exit_codes_tell_what_went_wrong() {
    let place = tempfile::tempdir().unwrap();
    let nowhere = "http://127.0.0.1:1";
    assert_eq!(run(&["query", "{a=\"b\"}", "--url", nowhere]).0, 3);
    assert_eq!(run(&["query", "{a=\"b\"}", "--url", "nonsense"]).0, 2);
    assert_eq!(run(&["query", "{a=\"b\"}", "--since", "x"]).0, 2);
    assert_eq!(run(&["query"]).0, 2);
    let missing = place.path().join("missing");
    assert_eq!(run(&["query", "{a=\"b\"}", "--data", missing.to_str().unwrap()]).0, 3);
    assert!(!missing.exists(), "asking makes no folder");
    assert_eq!(run(&["push", missing.to_str().unwrap()]).0, 2);
    assert_eq!(run(&["push", place.path().to_str().unwrap()]).0, 2);
    assert_eq!(run(&["inspect", missing.to_str().unwrap()]).0, 2);
    let other = place.path().join("other");
    std::fs::write(&other, b"not an object").unwrap();
    let (code, _, said) = run(&["inspect", other.to_str().unwrap()]);
    assert!(code == 3 && said.contains("other"), "{code} {said}");
    assert_eq!(run(&["config"]).0, 0);
    assert_eq!(run(&["nonsense"]).0, 2);
}

#[test]
fn benchmarks_run() {
    let check = |arguments: &[&str], wanted_code: i32, parts: &[&str], absent: &[&str]| {
        let (code, out, said) = run(&[&["bench"], arguments].concat());
        assert_eq!(code, wanted_code, "{arguments:?}: {said}");
        for part in parts {
            assert!(
                out.contains(part) || said.contains(part),
                "{part} is missing in:\n{out}{said}"
            );
        }
        assert!(!absent.iter().any(|part| out.contains(part)), "{out}");
    };
    check(
        &["decode", "--smoke"],
        0,
        &[
            "workload", "ours", "median", "peer", "ratio", "goal", "\nA1", "\nA2", "\nA3", "\nA4", "\nA5",
        ],
        &[],
    );
    check(
        &["decode", "--smoke", "A3"],
        0,
        &["\nA3"],
        &["\nA1", "\nA2", "\nA4", "\nA5"],
    );
    check(&["decode", "--smoke", "A9"], 2, &["A9"], &["workload"]);
    check(
        &["pipeline", "--smoke"],
        0,
        &["workload", "ns/line", "\nP1", "\nP2", "\nP3", "\nP4"],
        &["\nA1"],
    );
    check(&["pipeline", "--smoke", "A1"], 2, &["A1"], &["workload"]);
    check(&[], 2, &["decode"], &["workload"]);
}

#[test]
fn help_has_examples() {
    for command in ["serve", "push", "query", "inspect", "bench", "config"] {
        let (code, out, _) = run(&[command, "--help"]);
        assert!(
            code == 0 && out.contains("Examples:") && out.contains(&format!("timberline {command}")),
            "{out}"
        );
    }
}
