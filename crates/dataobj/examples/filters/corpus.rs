//! Invented log lines: services of six formats, and a mixture as it comes from many programs.

use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use std::fmt::Write;

pub(crate) struct Record {
    pub(crate) stream_id: i64,
    pub(crate) timestamp_ns: i64,
    pub(crate) level: &'static str,
    pub(crate) line: String,
    pub(crate) trace_id: String,
    pub(crate) org: String,
}

const START_NS: i64 = 1_780_315_200_000_000_000;
const STEP_NS: i64 = 18_500_000;

const MESSAGES: &[&str] = &[
    "request completed",
    "cache miss",
    "connection established",
    "slow query detected",
    "retrying operation",
    "user session expired",
    "checkpoint written",
    "compaction finished",
    "rate limit applied",
    "upstream timeout",
];
const ERRORS: &[&str] = &[
    "context deadline exceeded",
    "connection refused",
    "no such host",
    "permission denied",
    "unexpected EOF",
    "duplicate key value violates unique constraint",
];
const PATHS: &[&str] = &[
    "/api/v1/users",
    "/api/v1/orders",
    "/api/v1/products",
    "/login",
    "/health",
    "/static/app.js",
    "/search",
    "/cart",
];
const AGENTS: &[&str] = &[
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36",
    "curl/8.5.0",
    "okhttp/4.9",
    "kube-probe/1.29",
];
const SYLLABLES: &[&str] = &[
    "an", "ber", "con", "de", "er", "fi", "gra", "hal", "in", "jo", "ka", "lo", "men", "nor", "op", "per", "qua", "re",
    "sta", "ti", "un", "ver", "wol", "xi", "ya", "zen",
];

/// A word of two to four syllables, the first ones more often.
pub(crate) fn word(random: &mut SmallRng) -> String {
    (0..random.random_range(2..5))
        .map(|_| {
            SYLLABLES[random
                .random_range(0..SYLLABLES.len())
                .min(random.random_range(0..SYLLABLES.len()))]
        })
        .collect()
}

pub(crate) fn hex(random: &mut SmallRng, digits: usize) -> String {
    (0..digits)
        .map(|_| char::from(b"0123456789abcdef"[random.random_range(0..16)]))
        .collect()
}

pub(crate) fn uuid(random: &mut SmallRng) -> String {
    [8, 4, 4, 4, 12].map(|digits| hex(random, digits)).join("-")
}

pub(crate) fn address(random: &mut SmallRng) -> String {
    let first = [10, 172, 192, 203][random.random_range(0..4)];
    let mut rest = || random.random_range(1..255);
    format!("{first}.{}.{}.{}", rest(), rest(), rest())
}

fn pick(random: &mut SmallRng, from: &'static [&'static str]) -> &'static str {
    from.choose(random).unwrap()
}

fn level(random: &mut SmallRng) -> &'static str {
    match random.random_range(0..100) {
        0..5 => "error",
        5..15 => "warn",
        15..35 => "debug",
        _ => "info",
    }
}

fn status(random: &mut SmallRng) -> u32 {
    [200, 200, 200, 200, 200, 200, 200, 301, 404, 500][random.random_range(0..10)]
}

/// What a line of one of twelve services looks like; half of them share a format.
fn service_line(service: usize, ns: i64, level: &str, r: &mut SmallRng) -> String {
    let ms = f64::from(r.random_range(1..5000)) / 7.0;
    let error = if level == "error" { pick(r, ERRORS) } else { "" };
    let mut line = String::new();
    let written = match service {
        0 => write!(
            line,
            r#"{} - - [{}] "GET {} HTTP/1.1" {} {} "-" "{}" {:.3}"#,
            address(r),
            ns / 1_000_000_000,
            pick(r, PATHS),
            status(r),
            r.random_range(100..90000),
            pick(r, AGENTS),
            ms / 1000.0
        ),
        1 | 2 => write!(
            line,
            r#"{{"level":"{level}","ts":"{ns}","msg":"{}","method":"GET","path":"{}","status":{},"duration":"{ms:.3}ms","bytes":{},"client_ip":"{}","request_id":"{}","user":{{"id":{},"tier":"free"}}}}"#,
            pick(r, MESSAGES),
            pick(r, PATHS),
            status(r),
            r.random_range(100..90000),
            address(r),
            hex(r, 16),
            r.random_range(1..100_000)
        ),
        3 => write!(
            line,
            r#"{{"level":"{level}","ts":"{ns}","query":"SELECT * FROM orders WHERE id = {}","rows_affected":{},"duration":"{ms:.3}ms","table":"users","error":"{error}"}}"#,
            r.random_range(1..1_000_000),
            r.random_range(0..500)
        ),
        4 => write!(
            line,
            "level={level} ts={ns} op=get key=user:{} hit={} duration={ms:.3}ms size={}",
            r.random_range(1..100_000),
            r.random_bool(0.8),
            r.random_range(10..9000)
        ),
        5 => write!(
            line,
            r#"{}0601 {}.{:06} {:5} kubelet.go:{}] "{}" pod="namespace-{}/checkout-{}" node="node-{}" err="{error}""#,
            level[..1].to_uppercase(),
            ns / 1_000_000_000 % 86400,
            ns / 1000 % 1_000_000,
            r.random_range(1..9999),
            r.random_range(10..900),
            pick(r, MESSAGES),
            r.random_range(0..4),
            hex(r, 8),
            r.random_range(0..50)
        ),
        _ => write!(
            line,
            r#"level={level} ts={ns} caller=engine.go:{} component=querier msg="{}" traceID={} duration={ms:.3}ms status={} bytes={} org_id={} err="{error}""#,
            r.random_range(10..900),
            pick(r, MESSAGES),
            hex(r, 32),
            status(r),
            r.random_range(100..90000),
            r.random_range(1..40)
        ),
    };
    written.unwrap();
    line
}

/// Lines as they come from many programs, of ten kinds.
fn mixed_line(kind: usize, ns: i64, level: &str, r: &mut SmallRng) -> String {
    let second = ns / 1_000_000_000 % 60;
    let minute = ns / 60_000_000_000 % 60;
    let time = format!("2026-06-01T12:{minute:02}:{second:02}.{:03}Z", ns / 1_000_000 % 1000);
    let words = |r: &mut SmallRng, count: usize| (0..count).map(|_| word(r)).collect::<Vec<_>>().join(" ");
    match kind {
        0 => {
            let count = r.random_range(4..25);
            format!(
                "{time} {} app[{}]: {}",
                level.to_uppercase(),
                r.random_range(1..9999),
                words(r, count)
            )
        }
        1 => format!(
            r#"{{"time":"{time}","level":"{level}","id":"{}","msg":"{}"}}"#,
            uuid(r),
            words(r, 5)
        ),
        2 => format!(
            "\tat com.{}.{}.{}(Handler.java:{})",
            word(r),
            word(r),
            word(r),
            r.random_range(1..900)
        ),
        3 => {
            let token: String = (0..43)
                .map(|_| {
                    char::from(
                        b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"[r.random_range(0..64)],
                    )
                })
                .collect();
            format!("{time} session {token} opened for {}@example.com", word(r))
        }
        4 => format!(
            "{time} DROP IN=eth0 MAC={} SRC={} DST={} SPT={} PROTO=TCP",
            [0; 6].map(|_| hex(r, 2)).join(":"),
            address(r),
            address(r),
            r.random_range(1024..65536)
        ),
        5 => format!(
            "{time} 2001:db8:{}:{}::{} {} {}",
            hex(r, 4),
            hex(r, 4),
            hex(r, 4),
            pick(r, PATHS),
            status(r)
        ),
        6 => format!("{time} pod/{}-{}-{} {}", word(r), hex(r, 10), hex(r, 5), words(r, 3)),
        7 => format!(
            "{time} пользователь {} вошёл, сеанс {}, соединение установлено",
            r.random_range(1..100_000),
            hex(r, 12)
        ),
        8 => format!(
            "{time} {level} order={} amount={}.{:02} sha256:{}",
            r.random_range(1_000_000_000u64..9_999_999_999),
            r.random_range(1..999),
            r.random_range(0..100),
            hex(r, 64)
        ),
        _ => service_line(r.random_range(0..12), ns, level, r),
    }
}

/// Records in the order of an object: by stream, newest first.
pub(crate) fn records(mixed: bool, count: usize) -> Vec<Record> {
    let mut random = SmallRng::seed_from_u64(7);
    let r = &mut random;
    let mut ns = START_NS;
    let mut records: Vec<Record> = (0..count)
        .map(|_| {
            ns += r.random_range(0..2 * STEP_NS);
            let stream = r.random_range(0..if mixed { 40 } else { 96 });
            let level = level(r);
            let line = match mixed {
                true => mixed_line(
                    if stream % 4 == 0 {
                        r.random_range(0..10)
                    } else {
                        stream % 10
                    },
                    ns,
                    level,
                    r,
                ),
                false => service_line(stream / 8, ns, level, r),
            };
            Record {
                stream_id: stream as i64 + 1,
                timestamp_ns: ns,
                level,
                line,
                trace_id: hex(r, 32),
                org: r.random_range(1..30).to_string(),
            }
        })
        .collect();
    records.sort_by_key(|record| (record.stream_id, -record.timestamp_ns));
    records
}
