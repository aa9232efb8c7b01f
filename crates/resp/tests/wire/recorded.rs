//! Recorded answers of RedisTimeSeries: 735 sequences of commands are sent to a server over sockets, and every reply is compared. What
//! the sequences are and how replies are compared stands in `conformance/timeseries/README.md`.

use crate::compare::{self, describe};
use crate::sequence::{Mode, Sequence, load};
use crate::server::TestServer;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Differing sequences that are printed in full.
const SHOWN: usize = 40;

pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/timeseries")
}

#[test]
fn recorded_sequences_agree() {
    let differing = replay(Mode::AsRecorded);
    check_exceptions(&differing);
}

#[test]
fn recorded_sequences_agree_after_a_reload() {
    let differing = replay(Mode::ReloadBeforeTheEnd);
    check_exceptions(&differing);
}

/// Replays all sequences; the names of those that differ, with the first difference.
fn replay(mode: Mode) -> BTreeMap<String, String> {
    let server = TestServer::start();
    let mut differing = BTreeMap::new();
    let mut agreed = 0;
    for (file, sequences) in load() {
        let mut of_file = 0;
        for sequence in &sequences {
            match run(&server, sequence, mode) {
                None => of_file += 1,
                Some(difference) => {
                    differing.insert(sequence.name.clone(), format!("{file} {}", difference));
                }
            }
        }
        println!("{file}: {of_file} of {} agree", sequences.len());
        agreed += of_file;
    }
    println!("{agreed} sequences agree, {} differ", differing.len());
    let floor: usize = std::fs::read_to_string(folder().join("agreed.txt"))
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    for (name, difference) in differing.iter().take(SHOWN) {
        println!("{name}: {difference}");
    }
    assert!(
        agreed >= floor,
        "{agreed} sequences agree, {floor} did before (conformance/timeseries/agreed.txt)"
    );
    if agreed > floor && mode == Mode::AsRecorded {
        println!("more than the {floor} of conformance/timeseries/agreed.txt: write {agreed} there");
    }
    differing
}

/// The first difference of a sequence.
fn run(server: &TestServer, sequence: &Sequence, mode: Mode) -> Option<String> {
    let replies = match sequence.run(server.address(), mode) {
        Ok(replies) => replies,
        Err(error) => return Some(format!("the connection failed: {error}")),
    };
    let steps = sequence.steps.iter().zip(&replies);
    steps
        .filter_map(|(step, reply)| Some((step, step.reply.as_ref()?, reply.as_ref()?)))
        .find(|(_, want, got)| !compare::matches(want, got))
        .map(|(step, want, got)| {
            let (want, got) = (describe(want), describe(got));
            format!("{}\n    want {want}\n    got  {got}", step.shown())
        })
}

/// Every difference is listed with a reason and the level of the sequence, and nothing is listed that agrees.
fn check_exceptions(differing: &BTreeMap<String, String>) {
    let levels: BTreeMap<String, String> = load()
        .into_values()
        .flatten()
        .map(|sequence| (sequence.name, sequence.level))
        .collect();
    let text = std::fs::read_to_string(folder().join("exceptions.json")).unwrap();
    let exceptions: Vec<serde_json::Value> = serde_json::from_str(&text).unwrap();
    let mut listed = BTreeSet::new();
    for exception in &exceptions {
        let field = |name: &str| exception[name].as_str().unwrap_or_default().to_owned();
        assert_eq!(levels.get(&field("name")), Some(&field("level")), "{exception}");
        assert!(!field("reason").is_empty(), "{exception}");
        listed.insert(field("name"));
    }
    let differing: BTreeSet<String> = differing.keys().cloned().collect();
    let unlisted: Vec<&String> = differing.difference(&listed).collect();
    assert!(
        unlisted.is_empty(),
        "differ, and are not in exceptions.json: {unlisted:?}"
    );
    let agreeing: Vec<&String> = listed.difference(&differing).collect();
    assert!(agreeing.is_empty(), "agree, and are in exceptions.json: {agreeing:?}");
}
