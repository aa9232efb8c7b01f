//! Cases of our own, beside the recorded ones: files under `cases/` with commands and replies, in the notation of [`shown`].
//!
//! A line `> words` is a command, the line behind it its reply; words with blanks stand in single quotes. `& words` sends a command on a
//! second connection, `&` alone reads its reply. A line that begins with `#` says what the commands up to the next such line show; they
//! start with no keys.

use crate::client::Connection;
use crate::server::TestServer;
use serde_json::Value;
use std::path::Path;

#[test]
fn cases_are_answered_as_written() {
    let server = TestServer::start();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/wire/cases");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort_unstable();
    assert!(!files.is_empty());
    let mut differences = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let mut connections = connect(&server);
        let mut lines = text.lines().enumerate();
        while let Some((number, line)) = lines.next() {
            let reply = match (line.get(..1), line.get(1..)) {
                (None, _) => continue,
                (Some("#"), _) => {
                    connections = connect(&server);
                    connections[0].call(&["FLUSHALL"]).unwrap();
                    continue;
                }
                (Some(">"), Some(command)) => {
                    connections[0].send(&words(command)).unwrap();
                    connections[0].read()
                }
                (Some("&"), Some("")) => connections[1].read(),
                (Some("&"), Some(command)) => {
                    connections[1].send(&words(command)).unwrap();
                    continue;
                }
                _ => panic!("{}:{}: a reply without a command", file.display(), number + 1),
            };
            let got = shown(&reply.unwrap());
            let want = lines.next().map_or("", |(_, want)| want);
            if got != want {
                let place = format!("{}:{}", file.display(), number + 1);
                differences.push(format!("{place}: {line}\n  want {want}\n  got  {got}"));
            }
        }
    }
    assert!(differences.is_empty(), "\n{}", differences.join("\n"));
}

fn connect(server: &TestServer) -> [Connection; 2] {
    [(); 2].map(|()| Connection::open(server.address()).unwrap())
}

fn words(line: &str) -> Vec<Vec<u8>> {
    let mut words = Vec::new();
    for (place, part) in line.split('\'').enumerate() {
        if place % 2 == 1 {
            words.push(part.as_bytes().to_vec());
        } else {
            words.extend(part.split_whitespace().map(|word| word.as_bytes().to_vec()));
        }
    }
    words
}

/// A reply on one line: `OK`, `!ERR text`, `5`, `'bulk'`, `nil`, `[a b]`, `~[set]`, `{key: value}`, doubles with a `,` in front.
fn shown(reply: &Value) -> String {
    let (tag, value) = reply.as_object().and_then(|object| object.iter().next()).unwrap();
    let text = || value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let list = || {
        let items: Vec<String> = value.as_array().unwrap().iter().map(shown).collect();
        items.join(" ")
    };
    match tag.as_str() {
        "simple" => text(),
        "error" => format!("!{}", text()),
        "bulk" => format!("'{}'", text()),
        "double" => format!(",{}", text()),
        "nil" | "null" => "nil".to_owned(),
        "array" => format!("[{}]", list()),
        "set" => format!("~[{}]", list()),
        "push" => format!(">[{}]", list()),
        "map" => {
            let pairs = value.as_array().unwrap().iter();
            let pairs: Vec<String> = pairs
                .map(|pair| format!("{}: {}", shown(&pair[0]), shown(&pair[1])))
                .collect();
            format!("{{{}}}", pairs.join(", "))
        }
        _ => text(),
    }
}
