//! The evaluator against the recorded answers of Loki (`conformance/logql`): who is to judge the engine is judged first.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use timberline_oracle::{Answer, Ask, Error, Found, Labels, Row, Series, close, evaluate, series_differ};

/// Cases that differ, and why.
const DIFFERENT: [(&str, &str); 2] = [
    (
        "decolorize-001",
        "the recorded server filters the line with its colours; stages act in the order written",
    ),
    (
        "json-014",
        "the recorded server compares with 2.1MB for 2MiB; sizes compare exactly",
    ),
];
/// Cases about the reading of parameters.
const OF_PARAMETERS: [&str; 4] = ["selector-038", "selector-040", "error-042", "error-044"];

/// Labels that a server looks at for a service's name (http-api.md 3.4).
const SERVICE_LABELS: [&str; 14] = [
    "service",
    "app",
    "application",
    "app_name",
    "name",
    "app_kubernetes_io_name",
    "container",
    "container_name",
    "k8s_container_name",
    "component",
    "workload",
    "job",
    "k8s_job_name",
    "unknown_service",
];

fn read(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../conformance/logql")
        .join(name);
    let mut text = String::new();
    flate2::read::GzDecoder::new(std::fs::File::open(path).unwrap())
        .read_to_string(&mut text)
        .unwrap();
    serde_json::from_str(&text).unwrap()
}

fn labels(value: &Value) -> Labels {
    let text = |v: &Value| v.as_str().unwrap().to_owned();
    value
        .as_object()
        .unwrap()
        .iter()
        .map(|(name, v)| (name.clone(), text(v)))
        .collect()
}

/// The corpus as a server stores it: with `service_name` and `detected_level`.
fn stored_rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for stream in read("corpus.json.gz")["streams"].as_array().unwrap() {
        let mut labels = labels(&stream["labels"]);
        let service = SERVICE_LABELS.iter().find_map(|name| labels.get(*name));
        let service = service.map_or("unknown_service", String::as_str).to_owned();
        labels.insert("service_name".into(), service);
        for entry in stream["entries"].as_array().unwrap() {
            let line = entry[1].as_str().unwrap().to_owned();
            let mut metadata: Vec<(String, String)> = self::labels(&entry[2]).into_iter().collect();
            metadata.push(("detected_level".into(), level(&line).into()));
            rows.push(Row {
                labels: labels.clone(),
                timestamp_ns: entry[0].as_i64().unwrap(),
                line,
                metadata,
            });
        }
    }
    rows
}

/// The level of a line (http-api.md 3.6), as far as the corpus needs the rules: fields of structured lines, then words.
fn level(line: &str) -> &'static str {
    let fields = ["level=", "\"level\": \"", "\"level\":\""];
    for field in fields {
        if let Some((_, value)) = line.split_once(field) {
            let end = value.find(|c: char| !c.is_alphanumeric()).unwrap_or(value.len());
            return named_level(&value[..end]).unwrap_or("unknown");
        }
    }
    if line.starts_with('{') {
        return "unknown";
    }
    line.split(|c: char| !c.is_alphanumeric())
        .find_map(named_level)
        .unwrap_or("unknown")
}

fn named_level(word: &str) -> Option<&'static str> {
    Some(match word.to_ascii_lowercase().as_str() {
        "trace" | "trc" => "trace",
        "debug" | "dbg" => "debug",
        "info" | "inf" | "information" => "info",
        "warn" | "wrn" | "warning" => "warn",
        "error" | "err" => "error",
        "critical" | "crit" => "critical",
        "fatal" => "fatal",
        _ => return None,
    })
}

/// Seconds, or nanoseconds if there are many digits.
fn time_ns(text: &str) -> i64 {
    match text.parse::<i64>() {
        Ok(number) if number > 100_000_000_000 => number,
        Ok(number) => number * 1_000_000_000,
        Err(_) => (text.parse::<f64>().unwrap_or_else(|_| panic!("time {text}")) * 1e9) as i64,
    }
}

/// Seconds, or numbers and units.
fn step_ns(text: &str) -> i64 {
    let mut seconds = 0.0;
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(rest.len());
        let (number, after) = rest.split_at(digits);
        let letters = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
        let (unit, after) = after.split_at(letters);
        let unit = match unit {
            "" | "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            _ => panic!("step {text}"),
        };
        seconds += number.parse::<f64>().unwrap_or_else(|_| panic!("step {text}")) * unit;
        rest = after;
    }
    (seconds * 1e9) as i64
}

fn ask(path: &str, parameters: &Value, is_log: bool) -> Ask {
    let parameter = |name: &str| parameters[name].as_str();
    if !path.ends_with("query_range") {
        return Ask::Instant {
            time_ns: time_ns(parameter("time").unwrap()),
        };
    }
    let (start_ns, end_ns) = (time_ns(parameter("start").unwrap()), time_ns(parameter("end").unwrap()));
    if is_log {
        return Ask::Lines {
            start_ns,
            end_ns,
            limit: parameter("limit").map_or(100, |l| l.parse().unwrap()),
            forward: parameter("direction") == Some("forward"),
            interval_ns: 0,
        };
    }
    let default_step_ns = || ((end_ns - start_ns) / 250 / 1_000_000_000).max(1) * 1_000_000_000;
    Ask::Range {
        start_ns,
        end_ns,
        step_ns: parameter("step").map_or_else(default_step_ns, step_ns),
        align: true,
    }
}

fn found_lines(result: &Value) -> Vec<Found> {
    let mut lines = Vec::new();
    for stream in result.as_array().unwrap() {
        let mut labels = labels(&stream["stream"]);
        if let Some(details) = labels.get_mut("__error_details__") {
            details.clear();
        }
        for value in stream["values"].as_array().unwrap() {
            lines.push(Found {
                timestamp_ns: value[0].as_str().unwrap().parse().unwrap(),
                line: value[1].as_str().unwrap().into(),
                labels: labels.clone(),
            });
        }
    }
    lines
}

fn point(value: &Value) -> (i64, f64) {
    (
        (value[0].as_f64().unwrap() * 1e3).round() as i64 * 1_000_000,
        number(&value[1]),
    )
}

fn number(value: &Value) -> f64 {
    value.as_str().unwrap().replace("Inf", "inf").parse().unwrap()
}

/// What differs between the evaluator's answer and the recorded one.
fn differs(answer: &Answer, data: &Value) -> Option<String> {
    let (kind, result) = (data["resultType"].as_str().unwrap(), &data["result"]);
    let series = || result.as_array().unwrap().iter().map(|s| (labels(&s["metric"]), s));
    match (kind, answer) {
        ("streams", Answer::Lines(lines)) => {
            // The order among streams is not recorded.
            let key = |f: &Found| (f.timestamp_ns, f.labels.clone(), f.line.clone());
            let mut wanted: Vec<_> = lines.shown().into_iter().map(key).collect();
            let mut found: Vec<_> = found_lines(result).iter().map(key).collect();
            wanted.sort();
            found.sort();
            let first = wanted.iter().zip(&found).find(|(a, b)| a != b);
            (wanted != found).then(|| format!("{} lines, recorded {}: {first:?}", wanted.len(), found.len()))
        }
        ("matrix", Answer::Matrix(wanted)) => {
            let points = |s: &Value| s["values"].as_array().unwrap().iter().map(point).collect();
            let found: Series = series().map(|(labels, s)| (labels, points(s))).collect();
            series_differ(wanted, &found)
        }
        ("vector", Answer::Vector { samples, ordered }) => {
            let mut wanted = samples.clone();
            let mut found: Vec<_> = series().map(|(labels, s)| (labels, number(&s["value"][1]))).collect();
            if !ordered {
                wanted.sort_by(|a, b| a.0.cmp(&b.0));
                found.sort_by(|a, b| a.0.cmp(&b.0));
            }
            let same =
                wanted.len() == found.len() && wanted.iter().zip(&found).all(|(a, b)| a.0 == b.0 && close(a.1, b.1));
            (!same).then(|| format!("{wanted:?}, recorded {found:?}"))
        }
        ("scalar", Answer::Scalar(value)) => {
            let found = number(&result[1]);
            (!close(*value, found)).then(|| format!("{value}, recorded {found}"))
        }
        _ => Some(format!("another type than {kind}")),
    }
}

#[test]
fn the_evaluator_agrees_with_recorded_answers() {
    let rows = stored_rows();
    let (mut agree, mut differ, mut unknown) = (0, Vec::new(), BTreeMap::<&str, usize>::new());
    for case in read("golden.json.gz").as_array().unwrap() {
        let (name, path) = (case["name"].as_str().unwrap(), case["path"].as_str().unwrap());
        let is_query = path.ends_with("/query_range") || path.ends_with("/query");
        if !is_query || OF_PARAMETERS.contains(&name) {
            continue;
        }
        let parameters = case["params"].as_object().unwrap();
        let query = parameters["query"].as_str().unwrap();
        let is_log = matches!(timberline_logql::parse(query), Ok(timberline_logql::ast::Expr::Log(_)));
        let answer = evaluate(&rows, query, &ask(path, &case["params"], is_log)).answer;
        let difference = match (&answer, case["status"] == 200) {
            (Err(Error::NotKnown(part)), _) => {
                *unknown.entry(part).or_default() += 1;
                continue;
            }
            (Err(_), false) => None,
            (Err(error), true) => Some(format!("{error:?} instead of an answer")),
            (Ok(_), false) => Some(format!("an answer instead of {}", case["body"])),
            (Ok(answer), true) => differs(answer, &case["body"]["data"]),
        };
        let reason = DIFFERENT.iter().find(|(case, _)| *case == name);
        match (difference, reason) {
            (None, None) => agree += 1,
            (None, Some(_)) => differ.push(format!("{name} agrees now")),
            (Some(_), Some((_, reason))) => println!("{name}: {reason}"),
            (Some(text), None) => differ.push(format!(
                "{name} | {query} | {}",
                text.chars().take(600).collect::<String>()
            )),
        }
    }
    println!("{agree} agree, not known to the evaluator: {unknown:?}");
    assert!(differ.is_empty(), "{} differ:\n{}", differ.len(), differ.join("\n"));
}
