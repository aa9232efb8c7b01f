//! Whole runs against servers in this process.

use super::copy::{Copy, Outcome};
use super::link::{Address, Link};
use super::selection::Selection;
use super::writer::{Fate, Write, write};
use crate::Failure;
use clap::ArgMatches;
use indicatif::ProgressBar;
use redis::{Value, cmd};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use timberline_resp::Server;
use timberline_series::engine::Engine;

/// A server in this process, which ends when this is dropped.
struct TestServer {
    url: String,
    _runtime: tokio::runtime::Runtime,
}

impl TestServer {
    fn start() -> Self {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let url = format!("redis://{}", listener.local_addr().unwrap());
        let server = Server::new(Arc::new(Engine::in_memory()));
        runtime.spawn(async move { server.serve(listener).await });
        Self { url, _runtime: runtime }
    }

    fn link(&self) -> Link {
        Link::open(&Address::parse(&self.url).unwrap()).unwrap()
    }

    /// Sends commands, each a line of words, and shows the last answer.
    fn tell(&self, lines: &str) -> String {
        let mut link = self.link();
        let mut answer = Value::Nil;
        for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let mut words = line.split(' ');
            let mut command = cmd(words.next().unwrap());
            words.for_each(|word| {
                command.arg(word);
            });
            answer = link
                .ask(&command)
                .unwrap_or_else(|trouble| panic!("{line}: {trouble:?}"));
        }
        format!("{answer:?}")
    }

    /// Adds samples of a series that is there: every 10 ms.
    fn fill(&self, key: &str, timestamps: std::ops::Range<i64>) {
        let writes: Vec<Write> = timestamps
            .map(|i| Write {
                key: key.as_bytes(),
                timestamp: i * 10,
                value: (i * 37 % 1000) as f64 / 8.0,
            })
            .collect();
        let fates = write(&mut self.link(), &writes, None).unwrap();
        assert!(fates.iter().all(|fate| *fate == Fate::Taken));
    }

    /// Everything that can be asked about series, but for how chunks lie.
    fn everything(&self) -> Vec<String> {
        let keys = Selection::Patterns(vec!["*".to_owned()])
            .keys(&mut self.link())
            .unwrap();
        let mut all = Vec::new();
        for key in keys {
            let mut link = self.link();
            let mut ask = |words: &[&str]| {
                let mut command = cmd(words[0]);
                command.arg(&key).arg(&words[1..]);
                let Ok(mut answer) = link.ask(&command) else {
                    panic!("{words:?} {key:?}");
                };
                if let Value::Array(fields) = &mut answer
                    && words[0] == "TS.INFO"
                {
                    // Rules stand in the order of their making; memoryUsage and chunkCount are the layout's.
                    if let Value::Array(rules) = &mut fields[23] {
                        rules.sort_by_key(|rule| format!("{rule:?}"));
                    }
                    fields.drain(10..12);
                    fields.drain(2..4);
                }
                all.push(format!("{words:?} {}: {answer:?}", key.escape_ascii()));
            };
            ask(&["TS.RANGE", "-", "+"]);
            ask(&["TS.INFO"]);
            ask(&["TS.GET", "LATEST"]);
        }
        all
    }
}

/// Shows only the first difference.
fn assert_same(left: &[String], right: &[String], context: &str) {
    for (left, right) in left.iter().zip(right) {
        if let Some(at) = left.bytes().zip(right.bytes()).position(|(a, b)| a != b) {
            let shown = |text: &str| text.chars().skip(at.saturating_sub(100)).take(300).collect::<String>();
            panic!("{context}, {}:\n{}\n{}", &left[..30], shown(left), shown(right));
        }
        assert_eq!(left.len(), right.len(), "{context}: {}", &left[..30]);
    }
    assert_eq!(left.len(), right.len(), "{context}");
}

fn copy(from: &TestServer, to: &TestServer) -> Outcome {
    let copy = Copy {
        from: Address::parse(&from.url).unwrap(),
        to: Address::parse(&to.url).unwrap(),
        selection: Selection::Patterns(vec!["*".to_owned()]),
        jobs: 2,
    };
    copy.run(&ProgressBar::hidden())
        .unwrap_or_else(|failure| panic!("{:#}", failure.error))
}

/// Series of all kinds, with rules whose buckets in progress hold samples.
fn varied() -> TestServer {
    let server = TestServer::start();
    server.tell(
        "TS.CREATE empty LABELS kind empty
         TS.CREATE plain LABELS site north kind gauge
         TS.CREATE small CHUNK_SIZE 64 ENCODING UNCOMPRESSED DUPLICATE_POLICY MAX RETENTION 10000
         TS.CREATE ignoring DUPLICATE_POLICY LAST LABELS z 1 a 2
         TS.CREATE by:avg
         TS.CREATE by:count RETENTION 1000000 LABELS kind rule
         TS.CREATE by:twa
         TS.CREATE source LABELS site south
         TS.CREATERULE source by:avg AGGREGATION avg 7000
         TS.CREATERULE source by:count AGGREGATION count 30000 123
         TS.CREATERULE source by:twa AGGREGATION twa 1000
         TS.ADD odd 5 nan ON_DUPLICATE LAST
         TS.ADD odd 6 -0.0
         TS.ADD odd 7 1.7976931348623157e308
         TS.ADD odd 7 1.7976931348623157e308 ON_DUPLICATE SUM
         TS.ADD odd 9223372036854775807 5e-324",
    );
    server.fill("plain", 0..12_345);
    server.fill("small", 0..3_000);
    server.fill("ignoring", 0..1000);
    server.fill("source", 0..2_501);
    server.tell("TS.ALTER ignoring IGNORE 1000 1000");
    server
}

#[test]
fn a_copy_is_the_same() {
    let (from, to) = (varied(), TestServer::start());
    let before = from.everything();
    let outcome = copy(&from, &to);
    assert_eq!(outcome.differences, []);
    assert_eq!((outcome.series, outcome.rules), (9, 3));
    assert_same(&to.everything(), &before, "copied");
    assert_same(&from.everything(), &before, "the source is only read");

    // Rules go on alike: the bucket in progress has all its samples.
    for server in [&from, &to] {
        server.fill("source", 2_501..6_000);
        server.tell("TS.ALTER ignoring IGNORE 0 0");
        server.fill("ignoring", 1000..1100);
    }
    assert_same(&to.everything(), &from.everything(), "afterwards");
}

#[test]
fn a_copy_is_brought_up_to_date() {
    let (from, to) = (varied(), TestServer::start());
    copy(&from, &to);
    let again = copy(&from, &to);
    assert_eq!((again.written, again.rules, again.differences), (0, 0, Vec::new()));
    from.fill("source", 2_501..9_000);
    from.tell("TS.ALTER plain LABELS new 1\nTS.CREATE more\nTS.CREATERULE plain more AGGREGATION sum 1000\nTS.ALTER ignoring IGNORE 0 0");
    from.fill("plain", 12_345..15_000);
    from.fill("ignoring", 1000..1100);
    from.tell("TS.ALTER ignoring IGNORE 5 5");
    let outcome = copy(&from, &to);
    assert_eq!(outcome.differences, []);
    assert_eq!(outcome.rules, 1);
    assert_same(&to.everything(), &from.everything(), "afterwards");
}

#[test]
fn an_interrupted_copy_is_continued() {
    // Whatever had been done when it was interrupted: samples up to anywhere, rules made or not.
    let cuts: [(&str, i64, &str); 5] = [
        ("TS.CREATE plain", 0, ""),
        ("TS.CREATE plain IGNORE 0 0 LABELS site north kind gauge", 10_000, ""),
        ("TS.CREATE source", 2_500, "TS.CREATE by:avg"),
        ("TS.CREATE source", 2_000, "TS.CREATE by:count\nTS.CREATE by:avg"),
        (
            "TS.CREATE source LABELS site south",
            2_499,
            "TS.CREATE by:avg\nTS.CREATE by:count RETENTION 1000000\nTS.DEL source 0 +\nTS.CREATERULE source by:count AGGREGATION count 30000 123",
        ),
    ];
    let from = varied();
    for (create, samples, rest) in cuts {
        let to = TestServer::start();
        to.tell(create);
        to.fill(create.split(' ').nth(1).unwrap(), 0..samples);
        to.tell(rest);
        assert_eq!(copy(&from, &to).differences, [], "{create} {samples} {rest}");
        assert_same(&to.everything(), &from.everything(), create);
    }
}

#[test]
fn what_is_not_the_same_is_told() {
    let (from, to) = (varied(), TestServer::start());
    copy(&from, &to);
    from.tell("TS.ADD plain 15 1");
    to.tell("DEL small\nSET small text\nTS.CREATE alone");
    let outcome = copy(&from, &to);
    let told: Vec<String> = outcome
        .differences
        .iter()
        .map(|(key, difference)| format!("{} {difference}", key.escape_ascii()))
        .collect();
    assert_eq!(
        told.iter().filter(|line| line.starts_with("plain ")).count(),
        1,
        "{told:?}"
    );
    assert!(
        told.contains(&"plain samples: 12346, copied 12345".to_owned()),
        "{told:?}"
    );
    assert!(
        told.iter()
            .any(|line| line.starts_with("small ") && line.contains("WRONGTYPE")),
        "{told:?}"
    );
    assert!(!told.iter().any(|line| line.starts_with("alone")), "{told:?}");
}

/// Runs a command as it is typed.
fn run(words: &[&str]) -> ExitCode {
    run_with(words).unwrap_or_else(|failure| panic!("{words:?}: {:#}", failure.error))
}

fn run_with(words: &[&str]) -> Result<ExitCode, Failure> {
    let matches: ArgMatches = super::command()
        .try_get_matches_from(std::iter::once(&"ts").chain(words))
        .unwrap();
    super::run(&matches)
}

fn file(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path
}

#[test]
fn what_is_exported_is_imported() {
    let from = varied();
    // Rules and attributes are not in files.
    from.tell("DEL by:avg by:count by:twa small ignoring");
    let folder = tempfile::tempdir().unwrap();
    for name in ["all.jsonl", "all.csv"] {
        let to = TestServer::start();
        let path = folder.path().join(name);
        let path = path.to_str().unwrap();
        let all = ["export", "--quiet", "--from", &from.url, "--output", path];
        assert_eq!(run(&all), ExitCode::SUCCESS);
        if name == "all.csv" {
            from.tell("DEL empty\nTS.ALTER plain LABELS\nTS.ALTER source LABELS");
        }
        let import = ["import", "--quiet", "--to", &to.url, path];
        assert_eq!(run(&import), ExitCode::SUCCESS);
        assert_same(&to.everything(), &from.everything(), name);
        // Again: everything is there.
        assert_eq!(run(&import), ExitCode::from(1), "{name}: duplicates are blocked");
        assert_eq!(
            run(&[&import[..], &["--on-duplicate", "last"]].concat()),
            ExitCode::SUCCESS
        );
        assert_same(&to.everything(), &from.everything(), "imported twice");
    }
}

#[test]
fn an_export_is_what_was_selected() {
    let from = varied();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("some.csv");
    let f = |flags: &[&str], want: &[&str]| {
        let all = [
            &["export", "--quiet", "--from", &from.url, "-o", path.to_str().unwrap()],
            flags,
        ]
        .concat();
        assert_eq!(run(&all), ExitCode::SUCCESS);
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().skip(1).collect::<Vec<_>>(), want, "{flags:?}");
    };
    f(
        &["plain", "--start", "20", "--end", "40"],
        &["plain,20,9.25", "plain,30,13.875", "plain,40,18.5"],
    );
    f(
        &["--filter", "site=north", "--start", "20", "--end", "25"],
        &["plain,20,9.25"],
    );
    f(
        &["--filter", "site=(north,south)", "kind!=gauge", "--end", "0"],
        &["source,0,0"],
    );
    f(
        &["od*", "nothing"],
        &[
            "odd,5,NaN",
            "odd,6,-0",
            "odd,7,Infinity",
            "odd,9223372036854775807,5e-324",
        ],
    );
    f(&["nothing"], &[]);
}

#[test]
fn mistakes_in_a_file_are_counted_and_the_rest_is_imported() {
    let to = TestServer::start();
    to.tell("SET text x\nTS.ADD old 1000000 1 RETENTION 10\nTS.ADD blocked 5 5");
    let folder = tempfile::tempdir().unwrap();
    let rows = "key,timestamp,value\na,1,1\na,x,2\na,2,2\ntext,1,1\nold,5,5\nblocked,5,Infinity\nblocked,5,6\nblocked,6,6\na,y,2\n";
    let path = file(folder.path(), "bad.csv", rows);
    let address = Address::parse(&to.url).unwrap();
    let labels = vec![(b"site".to_vec(), b"north".to_vec())];
    let mut import = super::import::Import::new(Link::open(&address).unwrap(), labels, None, ProgressBar::hidden());
    import.file(&path, None).unwrap();
    let name = path.display();
    let mut lines = import.mistakes.lines();
    lines.sort();
    let starts = [
        format!("1 refused, first at {name}:5: "),
        format!("1 refused, first at {name}:6: "),
        format!("1 refused, first at {name}:7: an infinite value over"),
        format!("1 refused, first at {name}:8: "),
        format!("2 refused, first at {name}:3: not a timestamp"),
    ];
    assert_eq!(lines.len(), starts.len(), "{lines:#?}");
    for (line, start) in lines.iter().zip(&starts) {
        assert!(line.starts_with(start), "{line} {start}");
    }
    assert_eq!((import.taken, import.created), (3, 1));
    let labelled = to.tell("TS.QUERYINDEX site=north");
    assert_eq!(
        labelled,
        format!("{:?}", Value::Array(vec![Value::BulkString(b"a".to_vec())]))
    );
}

#[test]
fn exit_codes() {
    let server = TestServer::start();
    let folder = tempfile::tempdir().unwrap();
    let f = |words: &[&str], want: u8| {
        let got = run_with(words).unwrap_or_else(|failure| ExitCode::from(failure.exit_code));
        assert_eq!(got, ExitCode::from(want), "{words:?}");
    };
    let no_headings = file(folder.path(), "none.csv", "a,1,1\n");
    let no_headings = no_headings.to_str().unwrap();
    // Nothing listens on port 1.
    f(&["export", "--quiet", "--from", "redis://127.0.0.1:1"], 3);
    f(
        &[
            "export",
            "--quiet",
            "--from",
            &server.url,
            "-o",
            "/no/such/folder/x.csv",
        ],
        2,
    );
    f(&["import", "--quiet", "--to", &server.url, "/no/such/file"], 2);
    f(&["import", "--quiet", "--to", &server.url, no_headings], 2);
    f(&["copy", "--quiet", "--from", &server.url, "--to", &server.url], 2);
    f(
        &["copy", "--quiet", "--from", &server.url, "--to", "redis://127.0.0.1:1"],
        3,
    );
}
