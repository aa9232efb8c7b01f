//! `inspect`, over objects that Loki wrote.

use crate::server::program;
use serde_json::Value;
use std::path::{Path, PathBuf};

fn fixture(name: &str) -> PathBuf {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../dataobj/tests/fixtures");
    fixtures.join(format!("{name}.dataobj"))
}

fn inspect(objects: &[&Path], flags: &[&str]) -> (i32, String, String) {
    let output = program().arg("inspect").args(objects).args(flags).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (
        output.status.code().unwrap(),
        text(&output.stdout),
        text(&output.stderr),
    )
}

#[test]
fn objects_of_all_kinds_are_shown() {
    let check = |name: &str, parts: &[&str]| {
        let (code, out, said) = inspect(&[&fixture(name)], &["--pages", "--rows", "2"]);
        assert_eq!(code, 0, "{name}: {said}");
        for part in parts {
            assert!(out.contains(part), "{name}: {part} is missing in:\n{out}");
        }
    };
    check(
        "logs-one-record",
        &[
            "where the bytes are",
            "█",
            "section 1: logs v2, tenant \"t\"",
            "2023-11-14T22:13:20Z (1700000000000000000)",
            "message=\"hi\"",
            "sorted by stream_id ascending, timestamp descending",
        ],
    );
    check("logs-schema-sorted", &["logs v3", "sorted by label:service, label:env"]);
    check(
        "index-full",
        &[
            "pointers v2",
            "postings v2",
            "stats v2",
            " bits, ",
            " hashes)",
            " streams(",
        ],
    );
    check("toc-1", &["indexpointers v2", "min_timestamp/min_timestamp"]);
    check("edge-cases", &["of a kind that this version does not know", "snappy"]);
}

#[test]
fn sound_objects_verify() {
    let names = [
        "logs-stream-asc",
        "logs-schema-sorted",
        "index-full",
        "toc-1",
        "foreign-written",
    ];
    let paths: Vec<PathBuf> = names.iter().map(|name| fixture(name)).collect();
    let paths: Vec<&Path> = paths.iter().map(PathBuf::as_path).collect();
    let (code, out, said) = inspect(&paths, &["--verify"]);
    assert_eq!((code, out.lines().count()), (0, names.len()), "{out}{said}");
    assert!(
        out.lines().all(|line| line.contains("sound, 0 errors, 0 notes; ")),
        "{out}"
    );
    let (code, out, _) = inspect(&[&fixture("edge-cases")], &["--verify"]);
    assert!(
        code == 0 && out.contains("sound, 0 errors, 2 notes; 5 sections"),
        "{out}"
    );
}

#[test]
fn damage_is_named_and_does_not_hide_other_objects() {
    let place = tempfile::tempdir().unwrap();
    let damaged = place.path().join("damaged");
    let mut bytes = std::fs::read(fixture("logs-one-record")).unwrap();
    let last_of_pages = bytes.len() - 5;
    bytes[last_of_pages] ^= 1;
    std::fs::write(&damaged, &bytes).unwrap();
    let other = place.path().join("other");
    std::fs::write(&other, b"not an object").unwrap();

    let sound = fixture("logs-one-record");
    let (code, out, said) = inspect(&[&damaged, &other, &sound], &["--verify"]);
    assert_eq!(code, 3, "{out}{said}");
    let want = [
        "error page: section 1, column message, page 0, offset 1112: page checksum is ",
        "NOT SOUND, 1 error, 0 notes; 2 sections, 10 columns, 9 pages ",
        "error header: offset 0: starts with ",
        "NOT SOUND, 1 error, 0 notes; 0 sections",
        ": sound, 0 errors, 0 notes; ",
    ];
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines.len(), want.len(), "{out}");
    for (line, want) in lines.iter().zip(want) {
        assert!(line.contains(want), "{want} is missing in {line}");
    }

    let (code, out, _) = inspect(&[&damaged], &["--verify", "--json"]);
    let document: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        (code, &document["sound"], &document["errors"]),
        (3, &false.into(), &1.into())
    );
    assert_eq!(document["findings"][0]["check"], "page");
    assert_eq!(document["checked"]["pages"], 9);
    assert_eq!(inspect(&[&damaged], &["--rows", "1"]).0, 3);
    assert_eq!(inspect(&[&damaged], &["--verify", "--rows", "1"]).0, 2);
}
