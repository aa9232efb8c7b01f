// hot path: no locks shared between cores, no logging above debug, no allocation per row.
//! `detected_level`: which severity an entry has (http-api.md 3.6).
//!
//! The first of these that says something decides: a stream label or structured metadata with a name like `level`; the OTLP
//! severity number; a field with such a name in a JSON or logfmt line; a level word in the line. Else it is `unknown`.

use crate::level_fields::{json_level, logfmt_level};

/// Bytes of a line in which fields and words are looked for: bounds the work on very long lines.
const SCANNED_BYTES: usize = 8 << 10;

/// Names of labels, metadata and fields that hold a level.
const LEVEL_NAMES: [&str; 14] = [
    "level",
    "LEVEL",
    "Level",
    "log.level",
    "severity",
    "SEVERITY",
    "Severity",
    "SeverityText",
    "lvl",
    "LVL",
    "Lvl",
    "severity_text",
    "Severity_Text",
    "SEVERITY_TEXT",
];

/// True if a label, a metadata pair or a field of this name holds a level.
pub(crate) fn is_level_name(name: &[u8]) -> bool {
    (3..=13).contains(&name.len()) && LEVEL_NAMES.iter().any(|known| known.as_bytes() == name)
}

/// The level of an entry. `labels_level` is the value of the stream's level label, if it has one.
pub(crate) fn detect<'a>(
    labels_level: Option<&'a str>,
    metadata: &(impl Iterator<Item = (&'a str, &'a str)> + Clone),
    line: &[u8],
) -> &'a str {
    let metadata_level = || {
        metadata
            .clone()
            .find(|(name, _)| is_level_name(name.as_bytes()))
            .map(|(_, value)| value)
    };
    if let Some(given) = labels_level.or_else(metadata_level).filter(|given| !given.is_empty()) {
        return known_level(given.as_bytes()).unwrap_or(given);
    }
    let severity_number = || {
        metadata
            .clone()
            .find(|(name, _)| *name == "severity_number")
            .map(|(_, value)| value)
    };
    if let Some(level) = severity_number().and_then(level_of_severity_number) {
        return level;
    }
    let scanned = &line[..line.len().min(SCANNED_BYTES)];
    json_level(scanned)
        .or_else(|| logfmt_level(scanned))
        .or_else(|| level_word(scanned))
        .unwrap_or("unknown")
}

/// The normal form of a level, in whatever case and abbreviation it is given.
pub(crate) fn known_level(text: &[u8]) -> Option<&'static str> {
    const KNOWN: [(&str, &str); 16] = [
        ("trace", "trace"),
        ("trc", "trace"),
        ("debug", "debug"),
        ("dbg", "debug"),
        ("info", "info"),
        ("inf", "info"),
        ("information", "info"),
        ("warn", "warn"),
        ("wrn", "warn"),
        ("warning", "warn"),
        ("error", "error"),
        ("err", "error"),
        ("critical", "critical"),
        ("crit", "critical"),
        ("fatal", "fatal"),
        ("unknown", "unknown"),
    ];
    if !(3..=11).contains(&text.len()) {
        return None;
    }
    KNOWN
        .iter()
        .find(|(name, _)| name.as_bytes().eq_ignore_ascii_case(text))
        .map(|(_, level)| *level)
}

fn level_of_severity_number(text: &str) -> Option<&'static str> {
    const STEPS: [&str; 6] = ["trace", "debug", "info", "warn", "error", "fatal"];
    let number: usize = text.parse().ok()?;
    STEPS.get(number.checked_sub(1)? / 4).copied()
}

/// The first level word that stands alone in the line. Abbreviations count in capitals only: `err` and `inf` are also
/// names of variables and of numbers.
fn level_word(line: &[u8]) -> Option<&'static str> {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let mut at = 0;
    while at < line.len() {
        if !is_word(line[at]) {
            at += 1;
            continue;
        }
        let start = at;
        while at < line.len() && is_word(line[at]) {
            at += 1;
        }
        let word = &line[start..at];
        if !(3..=8).contains(&word.len()) || !matches!(word[0] | 0x20, b't' | b'd' | b'i' | b'w' | b'e' | b'c' | b'f') {
            continue;
        }
        let abbreviation = word.len() == 3 || word.eq_ignore_ascii_case(b"crit");
        if abbreviation && !word.iter().all(u8::is_ascii_uppercase) {
            continue;
        }
        if let Some(level) = known_level(word) {
            return Some(level);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_of_lines() {
        let f = |line: &str, want: &str| assert_eq!(detect(None, &[].into_iter(), line.as_bytes()), want, "{line}");
        // Observed of Loki (http-api.md 3.6).
        f(r#"{"level":"WARNING","m":"An error"}"#, "warn");
        f(r#"{"a":{"b":{"level":"debug"}}}"#, "debug");
        f(r#"{"Level":"Information"}"#, "info");
        f(r#"time=1 lvl=WRN msg="error x""#, "warn");
        f("2026 DEBUG --- foo", "debug");
        f("[ERROR] boom", "error");
        f("warning: x", "warn");
        f("CRITICAL failure", "critical");
        f("terrorist information", "unknown");
        f(r#"{"level":30}"#, "unknown");
        f(r#"{"severity":"notice"}"#, "unknown");
        f("\x1b[34mERROR\x1b[0m step", "unknown");
        // Ours.
        f("", "unknown");
        f("info", "info");
        f("errors", "unknown");
        f("my_error", "unknown");
        f("x=+Inf err=nil", "unknown");
        f("[ERR] boom", "error");
        f("→ERROR←", "error");
        f(
            r#"{"msg":"a \"level\":\"info\" b","x":[{"level":"debug"}],"lvl":"error"}"#,
            "error",
        );
        f(r#"{"a":{"level":"debug"},"level":"error"}"#, "error");
        f(r#"{"level":"inf"#, "unknown");
        f(r#"{"a":"#, "unknown");
        f(r#"{"a\"#, "unknown");
        f(r#"{"msg":"no level but an error"}"#, "error");
        f(r#"msg="level=debug" level="info""#, "info");
        f(r#"msg="level=debug"#, "debug");
        f("level=", "unknown");
        f(&format!("{} error", "x ".repeat(SCANNED_BYTES)), "unknown");
    }

    #[test]
    fn labels_and_metadata_come_before_the_line() {
        let f = |label: Option<&'static str>, metadata: &[(&'static str, &'static str)], line: &str, want: &str| {
            assert_eq!(
                detect(label, &metadata.iter().copied(), line.as_bytes()),
                want,
                "{label:?} {metadata:?} {line}"
            );
        };
        f(Some("ERR"), &[], "info", "error");
        f(Some("Weird"), &[], "", "Weird");
        f(Some(""), &[], "info", "info");
        f(None, &[("severity_number", "17")], "info", "error");
        f(None, &[("severity_number", "1")], "", "trace");
        f(None, &[("severity_number", "24")], "", "fatal");
        f(None, &[("severity_number", "25")], "info", "info");
        f(None, &[("severity_number", "0")], "info", "info");
        f(None, &[("severity_number", "-1")], "", "unknown");
        f(
            None,
            &[("severity_number", "17"), ("severity_text", "warn")],
            "info",
            "warn",
        );
        f(None, &[("log.level", "Trc")], "info", "trace");
        f(Some("debug"), &[("level", "error")], "info", "debug");
    }
}
