//! Rows.

use super::Dice;
use crate::{Labels, Row};

/// Rows in order of arrival.
pub fn rows(dice: &mut Dice) -> Vec<Row> {
    let streams: Vec<Labels> = (0..dice.between(1, 5)).map(|_| stream(dice)).collect();
    // Some data is of one kind, so that parsers rarely fail.
    let kinds: Vec<Kind> = (0..dice.between(1, 3)).map(|_| dice.pick(&KINDS)).collect();
    dice.kinds.clone_from(&kinds);
    let with_metadata = dice.pick(&[0, 0, 30, 70]);
    let mut rows: Vec<Row> = Vec::new();
    for _ in 0..dice.between(5, 60) {
        if !rows.is_empty() && dice.percent(8) {
            let again = rows[dice.between(0, rows.len() - 1)].clone();
            rows.push(again);
            continue;
        }
        let mut timestamp_ns = dice.time_ns();
        if !rows.is_empty() && dice.percent(20) {
            timestamp_ns = rows[rows.len() - 1].timestamp_ns;
        }
        let kind = dice.pick(&kinds);
        rows.push(Row {
            labels: streams[dice.between(0, streams.len() - 1)].clone(),
            timestamp_ns,
            line: line(dice, kind),
            metadata: if dice.percent(with_metadata) {
                metadata(dice)
            } else {
                Vec::new()
            },
        });
    }
    if dice.percent(50) {
        rows.sort_by_key(|row| row.timestamp_ns);
    }
    rows
}

fn stream(dice: &mut Dice) -> Labels {
    let mut labels = Labels::new();
    let mut set = |name: &str, value: &str| labels.insert(name.to_owned(), value.to_owned());
    set("app", dice.pick(&["a", "a", "b", "ab"]));
    if dice.percent(70) {
        set("env", dice.pick(&["x", "y"]));
    }
    if dice.percent(40) {
        set("pod", dice.pick(&["1", "2", "10.0.0.1"]));
    }
    if dice.percent(10) {
        set("level", dice.pick(&["info", "error"]));
    }
    labels
}

fn metadata(dice: &mut Dice) -> Vec<(String, String)> {
    let mut metadata: Vec<(String, String)> = Vec::new();
    for _ in 0..dice.between(1, 3) {
        let name = dice.pick(&["trace", "app", "n", "level", "dur", "msg"]);
        let value = value(dice, name);
        if metadata.iter().all(|m| m.0 != name) && !value.is_empty() {
            metadata.push((name.to_owned(), value));
        }
    }
    metadata
}

/// What a line is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    Json,
    Logfmt,
    Text,
    Packed,
    Coloured,
    Broken,
}

const KINDS: [Kind; 12] = [
    Kind::Json,
    Kind::Json,
    Kind::Json,
    Kind::Json,
    Kind::Logfmt,
    Kind::Logfmt,
    Kind::Logfmt,
    Kind::Logfmt,
    Kind::Text,
    Kind::Packed,
    Kind::Coloured,
    Kind::Broken,
];

fn line(dice: &mut Dice, kind: Kind) -> String {
    match kind {
        Kind::Json => json(dice, 0),
        Kind::Logfmt => logfmt(dice),
        Kind::Text => text(dice),
        Kind::Packed => packed(dice),
        Kind::Coloured => format!("\x1b[31m{}\x1b[0m {}", value(dice, "level"), logfmt(dice)),
        Kind::Broken => broken(dice),
    }
}

/// A value such as a field of this name has; now and then one of another.
pub(super) fn value(dice: &mut Dice, name: &str) -> String {
    const NUMBERS: &[&str] = &["0", "1", "2", "3", "5", "10", "-4", "0.5", "2.5", "1e3", "007"];
    const ODD: &[&str] = &[
        "",
        "x",
        "NaN",
        "+Inf",
        "1d",
        "é ü",
        "a b",
        "a=b",
        "\"q\"",
        "back\\slash",
        "1,024",
    ];
    if dice.percent(8) {
        return dice.text(ODD);
    }
    let of: &[&str] = match name {
        "n" | "status" | "id" => NUMBERS,
        "level" => &["info", "error", "warn", "ERROR"],
        "dur" => &["1s", "250ms", "1.5s", "2m", "1h", "-1s"],
        "size" => &["1KB", "2MiB", "512", "1.5kb", "3MB", "0B"],
        "ip" => &["10.0.0.1", "10.0.0.7", "192.168.1.1", "2001:db8::1", "10.0.0.1:443"],
        "app" => &["a", "b", "other"],
        "trace" => &["t1", "t2"],
        _ => &["one", "two", "job done", "failed from 10.0.0.1", "one"],
    };
    dice.text(of)
}

const FIELDS: [&str; 15] = [
    "n", "n", "n", "level", "level", "dur", "dur", "size", "size", "ip", "app", "msg", "env", "a.b", "status",
];

fn json(dice: &mut Dice, depth: usize) -> String {
    let mut members = Vec::new();
    if depth == 0 && dice.percent(60) {
        members.push(format!("\"n\":{}", dice.pick(&["1", "2", "3", "5", "0.5", "\"10\""])));
    }
    for _ in 0..dice.between(0, 6) {
        let name = dice.pick(&FIELDS);
        let member = match dice.between(0, 17) {
            0 if depth < 2 => format!("\"user\":{}", json(dice, depth + 1)),
            1 => format!("\"{name}\": null"),
            2 => format!("\"list\":[1,\"x\",{}]", json(dice, 2)),
            3 => format!("\"ok\":{}", dice.pick(&["true", "false"])),
            4 => "\"esc\":\"tab\\tq\\\"u\\u00e9\"".to_owned(),
            5 if depth == 0 => "\"user_id\":7".to_owned(),
            6 => format!("\"id\":{}", dice.pick(&["1", "2.50", "-3", "1e2"])),
            _ => {
                let value = value(dice, name);
                // Numbers are numbers or texts.
                let bare = value.parse::<f64>().is_ok_and(f64::is_finite) && value != "007";
                match bare && dice.percent(60) {
                    true => format!("\"{name}\":{value}"),
                    false => format!("\"{name}\":\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\"")),
                }
            }
        };
        members.push(member);
    }
    format!("{{{}}}", members.join(dice.pick(&[",", ", "])))
}

fn logfmt(dice: &mut Dice) -> String {
    let mut pairs = Vec::new();
    if dice.percent(60) {
        pairs.push(format!("n={}", dice.pick(&["1", "2", "3", "5", "0.5", "\"10\""])));
    }
    for _ in 0..dice.between(0, 7) {
        let name = dice.pick(&FIELDS);
        let value = value(dice, name);
        let plain = !value.contains([' ', '"', '=', '\\']);
        pairs.push(match dice.between(0, 19) {
            0 => name.to_owned(),
            1 => format!("{name}="),
            2 => format!("{name}=\"\""),
            _ if plain && dice.percent(80) => format!("{name}={value}"),
            _ => format!("{name}=\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\"")),
        });
    }
    pairs.join(" ")
}

fn text(dice: &mut Dice) -> String {
    match dice.between(0, 7) {
        0 => String::new(),
        1 => "Été 한국어 ß".to_owned(),
        2 => "two\nlines level=error".to_owned(),
        _ => {
            let (ip, level) = (value(dice, "ip"), value(dice, "level"));
            format!("{ip} - {level} [{}] took {}", value(dice, "msg"), value(dice, "dur"))
        }
    }
}

fn packed(dice: &mut Dice) -> String {
    let inner = logfmt(dice).replace('\\', "\\\\").replace('"', "\\\"");
    let (pod, n) = (value(dice, "trace"), value(dice, "status"));
    match dice.between(0, 4) {
        0 => format!("{{\"pod\":\"{pod}\",\"app\":\"z\"}}"),
        _ => format!("{{\"pod\":\"{pod}\",\"app\":\"z\",\"n\":\"{n}\",\"depth\":1,\"_entry\":\"{inner}\"}}"),
    }
}

/// Lines that are nearly of a kind.
fn broken(dice: &mut Dice) -> String {
    match dice.between(0, 4) {
        0 => "not anything".to_owned(),
        1 => "[1,2]".to_owned(),
        2 => format!("{} =x a\"b=1 n=2", logfmt(dice)),
        3 => format!("{} msg=\"open", logfmt(dice)),
        _ => {
            // A line of JSON that ends too early.
            let whole = json(dice, 0);
            let cut = dice.between(0, whole.len());
            let cut = (0..=cut).rev().find(|&at| whole.is_char_boundary(at)).unwrap_or(0);
            whole[..cut].to_owned()
        }
    }
}
