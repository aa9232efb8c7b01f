//! `tests/decode_dataobj.py`, a decoder written from the format's specification alone, reads what the server wrote.

use crate::conformance::{pushes, read_gz};
use crate::server::Server;
use serde::Deserialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Prints each log row of the objects named on standard input as a line of JSON.
const SCRIPT: &str = r#"
import sys, json
sys.path.insert(0, sys.argv[1])
import decode_dataobj as d
text = lambda b: b.decode("utf-8", "surrogateescape").encode("utf-8", "replace").decode()
for path in sys.stdin.read().splitlines():
    o = d.Obj(open(path, "rb").read())
    streams = {}
    for kind in ("streams", "logs"):
        for s in o.sections:
            if s.kind != kind:
                continue
            for row in s.table():
                cells = [(c.logical, c.tag, v) for c, v in zip(s.columns, row) if v is not None]
                one = {logical: v for logical, tag, v in cells if not tag}
                tagged = {tag: text(v) for _, tag, v in cells if tag}
                if kind == "streams":
                    streams[s.tenant, one["stream_id"]] = tagged
                else:
                    print(json.dumps(dict(tenant=s.tenant, labels=streams[s.tenant, one["stream_id"]],
                        timestamp_ns=one["timestamp"], line=text(one.get("message", b"")), metadata=tagged)))
"#;

/// A log record as an object holds it.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Row {
    pub(crate) tenant: String,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) timestamp_ns: i64,
    pub(crate) line: String,
    pub(crate) metadata: BTreeMap<String, String>,
}

/// The data objects below a folder.
pub(crate) fn objects(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(objects(&path));
        } else if std::fs::read(&path).unwrap().starts_with(b"DOBJ") {
            found.push(path);
        }
    }
    found
}

/// The log records of these objects; fails if the decoder finds fault with one.
pub(crate) fn read(objects: &[PathBuf]) -> Vec<Row> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests");
    let mut command = Command::new("python3");
    command
        .args(["-B", "-c", SCRIPT])
        .arg(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut python = command
        .spawn()
        .expect("python3 is needed to run the independent decoder");
    let mut names = python.stdin.take().unwrap();
    let list: Vec<String> = objects.iter().map(|path| path.display().to_string()).collect();
    let writer = std::thread::spawn(move || names.write_all(list.join("\n").as_bytes()));
    let output = python.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(
        output.status.success(),
        "the independent decoder finds fault with an object"
    );
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn the_independent_decoder_finds_the_corpus() {
    let corpus = read_gz("corpus.json.gz");
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    for (number, streams) in pushes(&corpus).iter().enumerate() {
        server.client().push(streams);
        if number % 7 == 6 {
            server.client().flush();
        }
    }
    server.client().flush();
    let objects = objects(data.path());
    let mut found = read(&objects);
    let mut labels_added = 0;
    for row in &mut found {
        row.metadata.remove("detected_level");
        labels_added += usize::from(row.labels.contains_key("service_name"));
    }
    assert_eq!(labels_added, found.len(), "each stream has a service_name");
    let rows = found.len();
    let found: BTreeSet<Row> = found.into_iter().collect();
    assert_eq!(found.len(), rows, "no row twice");

    let mut wanted = BTreeSet::new();
    for stream in corpus["streams"].as_array().unwrap() {
        let mut labels: BTreeMap<String, String> = serde_json::from_value(stream["labels"].clone()).unwrap();
        let entries = stream["entries"].as_array().unwrap();
        let of_stream = |row: &&Row| labels.iter().all(|(name, value)| row.labels.get(name) == Some(value));
        let any = found
            .iter()
            .filter(of_stream)
            .find(|row| row.labels.len() <= labels.len() + 1);
        let service = any.map(|row| row.labels["service_name"].clone()).unwrap_or_default();
        labels.entry("service_name".to_owned()).or_insert(service);
        for entry in entries {
            wanted.insert(Row {
                tenant: "fake".to_owned(),
                labels: labels.clone(),
                timestamp_ns: entry[0].as_i64().unwrap(),
                line: entry[1].as_str().unwrap().to_owned(),
                metadata: metadata(&entry[2]),
            });
        }
    }
    let missing: Vec<&Row> = wanted.difference(&found).take(5).collect();
    let surplus: Vec<&Row> = found.difference(&wanted).take(5).collect();
    assert!(
        missing.is_empty() && surplus.is_empty(),
        "missing: {missing:#?}\nsurplus: {surplus:#?}"
    );
    println!(
        "independent decoder: {} objects, {rows} rows, those of the corpus",
        objects.len()
    );
}

fn metadata(value: &Value) -> BTreeMap<String, String> {
    serde_json::from_value(value.clone()).unwrap_or_default()
}
