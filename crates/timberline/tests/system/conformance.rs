//! Loki's recorded answers: a corpus is pushed over HTTP, 730 recorded requests are asked, the answers compared, in every
//! state that the data can be in. How answers are compared stands in `conformance/logql/README.md`.

use crate::server::{Client, Server};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Entries in one push.
const PUSH_ENTRIES: usize = 500;
/// Requests at once.
const THREADS: usize = 2;
/// Differing cases that are printed; all are written to a file.
const SHOWN: usize = 20;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/logql")
}

/// Reads `conformance/logql/NAME.json.gz`.
pub(crate) fn read_gz(name: &str) -> Value {
    let file = std::fs::File::open(folder().join(name)).unwrap();
    let mut text = String::new();
    flate2::read::GzDecoder::new(file).read_to_string(&mut text).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// The corpus as push requests of up to 500 entries of one stream.
pub(crate) fn pushes(corpus: &Value) -> Vec<Value> {
    let mut requests = Vec::new();
    for stream in corpus["streams"].as_array().unwrap() {
        for entries in stream["entries"].as_array().unwrap().chunks(PUSH_ENTRIES) {
            let values: Vec<Value> = entries.iter().map(value).collect();
            requests.push(json!([{"stream": stream["labels"], "values": values}]));
        }
    }
    requests
}

fn value(entry: &Value) -> Value {
    let time = entry[0].as_i64().unwrap().to_string();
    match entry[2].as_object() {
        Some(metadata) if !metadata.is_empty() => json!([time, entry[1], metadata]),
        _ => json!([time, entry[1]]),
    }
}

#[test]
fn recorded_answers_agree_in_every_state() {
    let golden = read_gz("golden.json.gz");
    let cases = golden.as_array().unwrap();
    let pushes = pushes(&read_gz("corpus.json.gz"));
    let mut states: Vec<(&str, Outcome)> = Vec::new();
    let mut ask = |state, server: &Server| states.push((state, compare_all(&server.client(), cases)));

    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    for streams in &pushes {
        server.client().push(streams);
    }
    ask("in the head", &server);
    server.kill();
    let server = Server::start(data.path(), &[]);
    ask("killed and restarted", &server);
    server.client().flush();
    ask("flushed", &server);
    drop(server);

    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let (first, second) = pushes.split_at(pushes.len() / 2);
    for streams in first {
        server.client().push(streams);
    }
    server.client().flush();
    for streams in second {
        server.client().push(streams);
    }
    server.kill();
    let server = Server::start(data.path(), &[]);
    ask("half flushed, half in the head, killed and restarted", &server);
    drop(server);

    report(&states, cases);
}

struct Outcome {
    agree: BTreeSet<usize>,
    /// What differs, by number of the case.
    differ: BTreeMap<usize, String>,
}

fn compare_all(client: &Client, cases: &[Value]) -> Outcome {
    let next = AtomicUsize::new(0);
    let worker = || {
        let mut found = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(case) = cases.get(index) else { return found };
            found.push((index, differs(client, case)));
        }
    };
    let mut outcome = Outcome {
        agree: BTreeSet::new(),
        differ: BTreeMap::new(),
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(worker)).collect();
        for (index, difference) in threads.into_iter().flat_map(|t| t.join().unwrap()) {
            match difference {
                None => _ = outcome.agree.insert(index),
                Some(text) => _ = outcome.differ.insert(index, text),
            }
        }
    });
    outcome
}

fn report(states: &[(&str, Outcome)], cases: &[Value]) {
    let name = |index: usize| cases[index]["name"].as_str().unwrap();
    let query = |index: usize| {
        cases[index]["params"]["query"]
            .as_str()
            .unwrap_or(cases[index]["path"].as_str().unwrap())
    };
    let exceptions: Value =
        serde_json::from_str(&std::fs::read_to_string(folder().join("exceptions.json")).unwrap()).unwrap();
    let excepted: BTreeSet<&str> = exceptions
        .as_array()
        .unwrap()
        .iter()
        .map(|e| e["name"].as_str().unwrap())
        .collect();
    for exception in exceptions.as_array().unwrap() {
        assert!(
            exception["reason"].as_str().is_some_and(|r| !r.is_empty()),
            "an exception needs a reason: {exception}"
        );
    }

    let (_, first) = &states[0];
    let list: Vec<String> = first
        .differ
        .iter()
        .filter(|(index, _)| !excepted.contains(name(**index)))
        .map(|(index, text)| format!("DIFFERS {} | {} | {text}", name(*index), query(*index)))
        .collect();
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("conformance-differs.txt");
    std::fs::write(&file, list.join("\n") + "\n").unwrap();
    for line in list.iter().take(SHOWN) {
        println!("{}", line.chars().take(400).collect::<String>());
    }
    println!("all {} differing cases: {}", list.len(), file.display());
    for (state, outcome) in states {
        println!("{state}: {} of {} agree", outcome.agree.len(), cases.len());
    }

    for (state, outcome) in &states[1..] {
        let moved: Vec<_> = first.agree.symmetric_difference(&outcome.agree).collect();
        let line = |index: &&usize| {
            let text = outcome.differ.get(index).or_else(|| first.differ.get(index));
            format!(
                "{} | {} | {}",
                name(**index),
                query(**index),
                text.map_or("", String::as_str)
            )
        };
        let lines: Vec<String> = moved.iter().map(line).collect();
        assert!(
            moved.is_empty(),
            "other cases agree {state} than in the head:\n{}",
            lines.join("\n")
        );
    }
    let floor: usize = std::fs::read_to_string(folder().join("agreed.txt"))
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    let reached = first.agree.len();
    assert!(
        reached >= floor,
        "{reached} cases agree, {floor} did before (conformance/logql/agreed.txt)"
    );
    if reached > floor {
        println!("more than the {floor} of conformance/logql/agreed.txt: write {reached} there");
    }
}

/// Asks one recorded request; `None` if the answer agrees, else what differs.
fn differs(client: &Client, case: &Value) -> Option<String> {
    let path = case["path"].as_str().unwrap();
    let parameters: Vec<(&str, &str)> = case["params"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str().unwrap()))
        .collect();
    let wanted = case["status"].as_u64().unwrap();
    let (status, raw) = match client.try_get(path, &parameters) {
        Ok((status, raw)) => (u64::from(status), raw),
        Err(error) => (0, error.to_string().into_bytes()),
    };
    let users_mistake = wanted == 500 && matches!(status, 400 | 422);
    if status != wanted && !users_mistake {
        let text: String = String::from_utf8_lossy(&raw).trim().chars().take(160).collect();
        return Some(format!("status {wanted} wanted, {status} found: {text}"));
    }
    if status != 200 {
        return None;
    }
    let what = match path.ends_with("/index/stats") {
        true => path.to_owned(),
        false => format!("{path}{}", case["params"]["query"].as_str().unwrap_or("")),
    };
    let found = match serde_json::from_slice(&raw) {
        Ok(body) => normal_form(&what, body),
        Err(_) => json!({"text": String::from_utf8_lossy(&raw).trim()}),
    };
    same(&normal_form(&what, case["body"].clone()), &found, "$")
}

/// Brings an answer into the form in which it is compared: statistics and warnings dropped, series ordered by labels.
fn normal_form(what: &str, mut body: Value) -> Value {
    let Some(members) = body.as_object_mut() else {
        return body;
    };
    let is_result = members.get("data").is_some_and(|d| d.get("resultType").is_some());
    if is_result {
        members.remove("warnings");
        let data = members["data"].as_object_mut().unwrap();
        data.remove("stats");
        let kind = data["resultType"].as_str().unwrap_or("").to_owned();
        let result = data["result"].take();
        data["result"] = match (kind.as_str(), result) {
            ("streams", Value::Array(streams)) => ordered_by(details_apart(streams), "stream"),
            ("vector", Value::Array(series)) if what.contains("sort") => series.into(),
            ("matrix" | "vector", Value::Array(series)) => ordered_by(series, "metric"),
            (_, other) => other,
        };
        return body;
    }
    if let Some(Value::Array(items)) = members.get_mut("data") {
        items.sort_by_cached_key(canonical);
    }
    for member in ["fields", "detectedLabels"] {
        if let Some(Value::Array(items)) = members.get_mut(member) {
            items.sort_by_cached_key(|item| item["label"].as_str().unwrap_or("").to_owned());
        }
    }
    if what.ends_with("/index/stats") {
        members.retain(|name, _| matches!(name.as_str(), "streams" | "entries"));
    }
    if let Some(Value::Array(items)) = members.get_mut("values") {
        items.sort_by_cached_key(canonical);
    }
    body
}

fn ordered_by(mut series: Vec<Value>, labels: &str) -> Value {
    series.sort_by_cached_key(|one| canonical(&one[labels]));
    series.into()
}

/// Text that is equal for equal values, whatever the order of members.
fn canonical(value: &Value) -> String {
    match value.as_object() {
        Some(members) => {
            let sorted: BTreeMap<&String, String> = members.iter().map(|(name, v)| (name, canonical(v))).collect();
            format!("{sorted:?}")
        }
        None => value.to_string(),
    }
}

/// The wording of `__error_details__` is for people: only its presence is compared.
fn details_apart(streams: Vec<Value>) -> Vec<Value> {
    let mut merged: Vec<(String, Value)> = Vec::new();
    for mut stream in streams {
        if let Some(details) = stream["stream"].get_mut("__error_details__") {
            *details = "*".into();
        }
        let key = canonical(&stream["stream"]);
        match merged.iter_mut().find(|(other, _)| *other == key) {
            Some((_, first)) => {
                let more = stream["values"].as_array_mut().map(std::mem::take).unwrap_or_default();
                first["values"].as_array_mut().unwrap().extend(more);
            }
            None => merged.push((key, stream)),
        }
    }
    for (_, stream) in &mut merged {
        if stream["stream"].get("__error_details__").is_some() {
            let time = |value: &Value| value[0].as_str().and_then(|t| t.parse::<i64>().ok());
            stream["values"].as_array_mut().unwrap().sort_by_key(time);
        }
    }
    merged.into_iter().map(|(_, stream)| stream).collect()
}

/// `None` if equal, numbers (also in texts) to 1e-9 of their size; else a short description.
fn same(wanted: &Value, found: &Value, place: &str) -> Option<String> {
    match (wanted, found) {
        (Value::Object(a), Value::Object(b)) => same_members(a, b, place),
        (Value::Array(a), Value::Array(b)) => {
            for (i, (x, y)) in a.iter().zip(b).enumerate() {
                let difference = same(x, y, &format!("{place}[{i}]"));
                if difference.is_some() {
                    return difference;
                }
            }
            (a.len() != b.len()).then(|| format!("{place}: {} items wanted, {} found", a.len(), b.len()))
        }
        _ if wanted == found || same_number(wanted, found) => None,
        _ => Some(format!(
            "{place}: wanted {} found {}",
            short(wanted, 120),
            short(found, 120)
        )),
    }
}

fn same_members(wanted: &Map<String, Value>, found: &Map<String, Value>, place: &str) -> Option<String> {
    let names: BTreeSet<&String> = wanted.keys().chain(found.keys()).collect();
    for name in names {
        let place = format!("{place}.{name}");
        let difference = match (wanted.get(name), found.get(name)) {
            (Some(a), Some(b)) => same(a, b, &place),
            (Some(_), None) => Some(format!("{place}: missing")),
            (None, Some(b)) => Some(format!("{place}: unexpected {}", short(b, 80))),
            (None, None) => None,
        };
        if difference.is_some() {
            return difference;
        }
    }
    None
}

fn same_number(wanted: &Value, found: &Value) -> bool {
    let (a, b) = match (wanted, found) {
        (Value::String(a), Value::String(b)) => (a.trim().parse().ok(), b.trim().parse().ok()),
        (Value::Number(a), Value::Number(b)) => (a.as_f64(), b.as_f64()),
        _ => return false,
    };
    let (Some(a), Some(b)): (Option<f64>, Option<f64>) = (a, b) else {
        return false;
    };
    let close = || a.is_finite() && b.is_finite() && (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1e-12);
    (a.is_nan() && b.is_nan()) || a == b || close()
}

fn short(value: &Value, chars: usize) -> String {
    value.to_string().chars().take(chars).collect()
}

#[test]
fn comparison_is_as_described() {
    let f = |wanted: Value, found: Value, agree: bool| {
        let difference = same(&normal_form("/q", wanted), &normal_form("/q", found), "$");
        assert_eq!(difference.is_none(), agree, "{difference:?}");
    };
    let vector = |series: Value| json!({"data": {"resultType": "vector", "result": series, "stats": {"x": 1}}});
    let streams = |series: Value| json!({"data": {"resultType": "streams", "result": series}, "warnings": ["w"]});
    let (a, b) = (
        json!({"metric": {"a": "1"}, "value": [1, "2"]}),
        json!({"metric": {"a": "2"}, "value": [1, "3"]}),
    );
    f(vector(json!([a, b])), vector(json!([b, a])), true);
    f(vector(json!([a, b])), vector(json!([a])), false);
    f(
        vector(json!([{"metric": {}, "value": [1, "0.3"]}])),
        vector(json!([{"metric": {}, "value": [1, "0.30000000000000004"]}])),
        true,
    );
    f(
        vector(json!([{"metric": {}, "value": [1, "0.3"]}])),
        vector(json!([{"metric": {}, "value": [1, "0.3001"]}])),
        false,
    );
    f(
        vector(json!([{"metric": {}, "value": [1, "NaN"]}])),
        vector(json!([{"metric": {}, "value": [1, "NaN"]}])),
        true,
    );
    let failed = |details: &str, time: &str| json!({"stream": {"__error_details__": details}, "values": [[time, "x"]]});
    f(
        streams(json!([failed("p", "1"), failed("q", "2")])),
        streams(json!([failed("r", "2"), failed("s", "1")])),
        true,
    );
    f(
        streams(json!([failed("p", "1")])),
        streams(json!([{"stream": {}, "values": [["1", "x"]]}])),
        false,
    );
    f(json!({"data": ["b", "a"]}), json!({"data": ["a", "b"]}), true);
    f(
        json!({"status": "success"}),
        json!({"status": "success", "data": []}),
        false,
    );
    let sorted = |series: Value| normal_form("/q sort(x)", vector(series));
    assert!(same(&sorted(json!([a, b])), &sorted(json!([b, a])), "$").is_some());
}
