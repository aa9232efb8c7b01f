// hot path: no locks, no logging, nothing allocated per line.

//! The stage `json` with expressions (logql.md 7.2).

use super::entry::{ErrorKind, Labels};
use super::json::NOT_AN_OBJECT;
use super::json_scan::{self, Cursor, Malformed, Value, append_string, unescape};
use super::needs::Needed;
use crate::ast::Extraction;
use crate::json_path::{PathStep, parse_json_path};

/// The stage `json a="b.c"`.
#[derive(Clone, Debug)]
pub(super) struct JsonPathStage {
    targets: Vec<(String, Vec<PathStep>)>,
    needed: Needed,
}

impl JsonPathStage {
    /// Compiles the expressions of the stage.
    pub(super) fn compile(extractions: &[Extraction], needed: Needed) -> Result<Self, String> {
        let target = |extraction: &Extraction| Ok((extraction.label.clone(), parse_json_path(&extraction.expression)?));
        Ok(Self {
            targets: extractions.iter().map(target).collect::<Result<_, String>>()?,
            needed,
        })
    }

    /// Adds the label of each expression.
    pub(super) fn run(&self, line: &[u8], labels: &mut Labels) {
        if !matches!(Cursor::new(line).peek(), Some(b'{' | b'[' | b'"')) {
            labels.fail(ErrorKind::JsonParser, |_| {});
            return;
        }
        for (name, path) in &self.targets {
            let found = find(line, path);
            if matches!(found, Found::Nothing) && labels.is_base(name.as_bytes()) {
                continue;
            }
            if let Some(open) = labels.open(name.as_bytes(), &self.needed) {
                match found {
                    Found::String(text) => append_string(text, labels.value()),
                    Found::Text(text) => labels.value().extend_from_slice(text),
                    Found::Nothing | Found::Damaged => {}
                }
                labels.close(&open);
            }
            if matches!(found, Found::Damaged) {
                labels.fail(ErrorKind::JsonParser, |details| {
                    details.extend_from_slice(NOT_AN_OBJECT);
                });
            }
        }
    }
}

enum Found<'a> {
    String(json_scan::Text<'a>),
    /// Number, boolean, object or array as written; empty for `null`.
    Text(&'a [u8]),
    /// The path leads nowhere, or the line is damaged before its end.
    Nothing,
    /// The value is there and does not end.
    Damaged,
}

fn find<'a>(line: &'a [u8], path: &[PathStep]) -> Found<'a> {
    let mut cursor = Cursor::new(line);
    for step in path {
        let is_there = match (step, cursor.value()) {
            (PathStep::Key(key), Ok(Value::Object)) => enter_member(&mut cursor, key.as_bytes()),
            (PathStep::Index(index), Ok(Value::Array)) => enter_element(&mut cursor, *index),
            _ => Ok(false),
        };
        if is_there != Ok(true) {
            return Found::Nothing;
        }
    }
    cursor.peek();
    let start = cursor.position();
    match cursor.value() {
        Ok(Value::String(text)) => Found::String(text),
        Ok(Value::Literal(text)) => Found::Text(text),
        Ok(Value::Null) => Found::Text(b""),
        Ok(block) => match cursor.skip_rest(block) {
            Ok(()) => Found::Text(cursor.since(start)),
            Err(Malformed) => Found::Damaged,
        },
        Err(Malformed) => Found::Damaged,
    }
}

/// Goes to the value of the first member named `wanted` of the object just entered.
fn enter_member(cursor: &mut Cursor<'_>, wanted: &[u8]) -> Result<bool, Malformed> {
    let mut is_first = true;
    while !cursor.pass(b'}') {
        if !std::mem::replace(&mut is_first, false) && !cursor.pass(b',') {
            return Err(Malformed);
        }
        let key = cursor.key()?;
        if key == wanted || (key.contains(&b'\\') && is_escaped_form(key, wanted)) {
            return Ok(true);
        }
        let value = cursor.value()?;
        cursor.skip_rest(value)?;
    }
    Ok(false)
}

/// Goes to the element `index` of the array just entered.
fn enter_element(cursor: &mut Cursor<'_>, index: usize) -> Result<bool, Malformed> {
    if cursor.peek() == Some(b']') {
        return Ok(false);
    }
    for _ in 0..index {
        let value = cursor.value()?;
        cursor.skip_rest(value)?;
        if !cursor.pass(b',') {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Keys with escapes are rare enough for an allocation.
fn is_escaped_form(key: &[u8], wanted: &[u8]) -> bool {
    let mut plain = Vec::with_capacity(key.len());
    unescape(key, &mut plain) && plain == wanted
}

#[cfg(test)]
mod tests {
    use crate::pipeline::testing::{TestEntry, compile_error, entry, json_paths, labels_after};

    #[test]
    fn expressions_find_values() {
        let line = r#"{"status":200,"request":{"headers":{"User-Agent":"c\"url"},"ok":true},"servers":["a",{"b":[1,2]}],"none":null,"weird key":"w","a\u0062":"esc"}"#;
        let f = |path: &str, want: &str| {
            let want = format!("x={want}");
            assert_eq!(
                labels_after(&[json_paths(&[("x", path)])], &entry(line)),
                want,
                "{path}"
            );
        };
        f("status", r#""200""#);
        f(r#"request.headers["User-Agent"]"#, r#""c\"url""#);
        f("request.ok", r#""true""#);
        f("servers[0]", r#""a""#);
        f("servers[1].b[1]", r#""2""#);
        f("servers", r#""[\"a\",{\"b\":[1,2]}]""#);
        f("servers[1]", r#""{\"b\":[1,2]}""#);
        f("servers[7]", r#""""#);
        f("servers.a", r#""""#);
        f("none", r#""""#);
        f("missing.path", r#""""#);
        f(r#"["weird key"]"#, r#""w""#);
        f("ab", r#""esc""#);
    }

    #[test]
    fn only_the_value_must_be_sound() {
        let f = |line: &str, want: &str| {
            assert_eq!(
                labels_after(
                    &[json_paths(&[("x", "a"), ("app", "b")])],
                    &TestEntry {
                        stream: &[("app", "s")],
                        ..entry(line)
                    }
                ),
                want,
                "{line}"
            );
        };
        f("plain", r#"__error__="JSONParserErr", app="s""#);
        f("", r#"__error__="JSONParserErr", app="s""#);
        f(r#"["a"]"#, r#"app="s", x="""#);
        f(r#""a""#, r#"app="s", x="""#);
        f(r#"{"a":1,"b":2,"c":"#, r#"app="s", app_extracted="2", x="1""#);
        f(r#"{"c":1,"d":"#, r#"app="s", x="""#);
        f(
            r#"{"a":{"c":1"#,
            r#"__error__="JSONParserErr", __error_details__="Value looks like object, but can't find closing '}' symbol", app="s", x="""#,
        );
    }

    #[test]
    fn refuses_broken_expressions() {
        let f = |path: &str, want: &str| {
            let message = compile_error(json_paths(&[("x", path)]));
            assert!(message.contains(want), "{message}");
        };
        f(
            "user..id",
            "cannot parse expression [user..id]: syntax error: unexpected DOT, expecting FIELD",
        );
        f(
            "[[",
            "cannot parse expression [[[]: syntax error: unexpected LSB, expecting STRING or INDEX",
        );
        for path in [
            "",
            "a.",
            "a[",
            "a[x]",
            "a[1",
            ".a",
            "a b",
            "a[-1]",
            "a[99999999999999999999999]",
        ] {
            f(path, "cannot parse expression [");
        }
    }
}
