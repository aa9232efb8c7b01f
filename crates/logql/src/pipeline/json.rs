// hot path: no locks, no logging, nothing allocated per line in steady state.

//! The stages `json` without expressions (logql.md 7.1) and `unpack` (7.7).

use super::entry::{ErrorKind, Labels, Mark, OpenLabel};
use super::json_scan::{Cursor, Malformed, Value, append_string, unescape};
use super::names::{JSON_KEYS, KeyId};
use super::needs::Needed;
use super::sanitize::sanitize;
use super::taken::TakenLine;

/// Details of nearly every failure: what lines that are not JSON are told.
pub(super) const NOT_AN_OBJECT: &[u8] = b"Value looks like object, but can't find closing '}' symbol";

/// The stage `json`.
#[derive(Clone, Debug)]
pub(super) struct JsonStage {
    needed: Needed,
    enough: Option<usize>,
}

/// Buffers of the JSON stages, reused from line to line.
#[derive(Default)]
pub(super) struct JsonScratch {
    /// Keys of the objects around the member in hand.
    parents: Vec<KeyId>,
}

impl JsonStage {
    pub(super) fn new(needed: Needed) -> Self {
        Self {
            enough: needed.enough(),
            needed,
        }
    }

    /// Adds the members of the object that the line is.
    pub(super) fn run(&self, line: &[u8], labels: &mut Labels, scratch: &mut JsonScratch) {
        scratch.parents.clear();
        let mut members = Members {
            cursor: Cursor::new(line),
            line: TakenLine::new(line, &self.needed),
            parent: JSON_KEYS,
            before: JSON_KEYS,
            is_first: true,
        };
        if !members.cursor.pass(b'{') || self.members(&mut members, labels, scratch).is_err() {
            labels.fail(ErrorKind::JsonParser, |details| {
                details.extend_from_slice(NOT_AN_OBJECT);
            });
        }
    }

    /// Reads the members of the object just entered, and of those in it. One loop for all depths: the depth of a line is
    /// not bounded, the stack is.
    fn members(
        &self,
        members: &mut Members<'_>,
        labels: &mut Labels,
        scratch: &mut JsonScratch,
    ) -> Result<(), Malformed> {
        let mut found = 0;
        // Where the object in the outermost one began: if it does not end, none of its members count.
        let mut outermost: Option<(Cursor<'_>, Mark)> = None;
        loop {
            match self.member(members, labels) {
                Ok(Member::Label) => {
                    found += 1;
                    if self.enough == Some(found) {
                        return Ok(());
                    }
                }
                Ok(Member::Nothing) => {}
                Ok(Member::Entered(key)) => {
                    scratch.parents.push(members.parent);
                    members.parent = key;
                    members.is_first = true;
                    if scratch.parents.len() == 1 {
                        outermost = Some((members.cursor, labels.mark()));
                    }
                }
                Ok(Member::Left) => {
                    let Some(parent) = scratch.parents.pop() else {
                        return Ok(());
                    };
                    members.parent = parent;
                }
                Err(Malformed) => {
                    if let Some((mut start, mark)) = outermost
                        && !scratch.parents.is_empty()
                        && start.skip_block(b'{', b'}').is_err()
                    {
                        labels.undo(&mark);
                    }
                    return Err(Malformed);
                }
            }
        }
    }

    #[inline]
    fn member(&self, members: &mut Members<'_>, labels: &mut Labels) -> Result<Member, Malformed> {
        let is_first = std::mem::replace(&mut members.is_first, false);
        let cursor = &mut members.cursor;
        if cursor.pass(b'}') {
            return Ok(Member::Left);
        }
        if !is_first && !cursor.pass(b',') {
            return Err(Malformed);
        }
        let key = members.key(labels)?;
        let is_named = labels.names.is_named(key);
        let cursor = &mut members.cursor;
        match cursor.value()? {
            Value::Object if is_named && self.has_below(key, labels) => Ok(Member::Entered(key)),
            Value::String(text) if is_named => {
                let Some(open) = self.open(key, labels, text.raw.len())? else {
                    return Ok(Member::Nothing);
                };
                if text.is_plain {
                    labels.close_with_part(&open, &mut members.line, text.raw);
                } else {
                    append_string(text, labels.value());
                    labels.close(&open);
                }
                Ok(Member::Label)
            }
            Value::Literal(text) if is_named => {
                let Some(open) = self.open(key, labels, text.len())? else {
                    return Ok(Member::Nothing);
                };
                labels.close_with_part(&open, &mut members.line, text);
                Ok(Member::Label)
            }
            value => {
                cursor.skip_rest(value)?;
                Ok(Member::Nothing)
            }
        }
    }

    /// True if a label of a member of the object under this key is needed, or the damage in it.
    fn has_below(&self, key: KeyId, labels: &mut Labels) -> bool {
        self.enough.is_none()
            || labels
                .names
                .answer(key, self.needed.stage(), |path| self.needed.has_below(path))
    }

    #[inline]
    fn open(&self, key: KeyId, labels: &mut Labels, bytes: usize) -> Result<Option<OpenLabel>, Malformed> {
        if labels.has_room_for(labels.names.name_bytes(key) + bytes) {
            Ok(labels.open_key(key, &self.needed))
        } else {
            Err(Malformed)
        }
    }
}

/// The place in the line and in its keys.
struct Members<'a> {
    cursor: Cursor<'a>,
    line: TakenLine<'a>,
    /// Key of the object around.
    parent: KeyId,
    /// Key of the last member.
    before: KeyId,
    /// True before the first member of an object.
    is_first: bool,
}

impl Members<'_> {
    /// The key of the next member, behind its colon.
    #[inline]
    fn key(&mut self, labels: &mut Labels) -> Result<KeyId, Malformed> {
        let guess = |text: &[u8]| labels.names.guess(self.before, self.parent, text);
        let key = match self.cursor.pass_string(guess) {
            Some(key) => key,
            None => {
                let raw = self.cursor.string()?.raw;
                labels.names.key(self.before, self.parent, raw, |raw, part| {
                    append_part(raw, self.parent == JSON_KEYS, part);
                })
            }
        };
        self.before = key;
        if self.cursor.pass(b':') {
            Ok(key)
        } else {
            Err(Malformed)
        }
    }
}

enum Member {
    /// A needed label was added.
    Label,
    /// A value that gives no label.
    Nothing,
    /// An object begins that has this key.
    Entered(KeyId),
    /// The object ends.
    Left,
}

/// Appends what a key adds to the name of a label. A key with an escape that cannot be undone is taken as written.
fn append_part(key: &[u8], is_top: bool, part: &mut Vec<u8>) {
    let mut plain = Vec::new();
    let has_escapes = key.contains(&b'\\');
    let key = if has_escapes && unescape(key, &mut plain) {
        &plain
    } else {
        key
    };
    sanitize(key, is_top, part);
}

/// The stage `unpack`.
#[derive(Clone, Debug)]
pub(super) struct UnpackStage {
    needed: Needed,
    /// False where a failure of the parser must go unnoticed because nobody needs its labels.
    may_fail: bool,
}

impl UnpackStage {
    pub(super) fn new(needed: Needed) -> Self {
        Self {
            may_fail: !needed.is_empty(),
            needed,
        }
    }

    /// Adds the string members and writes the packed line to `out`. False if the line stays as it is.
    pub(super) fn run(&self, line: &[u8], labels: &mut Labels, out: &mut Vec<u8>) -> bool {
        let fail = |labels: &mut Labels, details: &[u8]| {
            if self.may_fail {
                labels.fail(ErrorKind::JsonParser, |out| out.extend_from_slice(details));
            }
        };
        let mut members = Members {
            cursor: Cursor::new(line),
            line: TakenLine::new(line, &self.needed),
            parent: JSON_KEYS,
            before: JSON_KEYS,
            is_first: true,
        };
        if !members.cursor.pass(b'{') {
            fail(labels, b"expecting json object(6), but it is not");
            return false;
        }
        let mark = labels.mark();
        match self.members(&mut members, labels, out) {
            Ok(true) => true,
            Ok(false) => {
                labels.undo(&mark);
                false
            }
            Err(Malformed) => {
                labels.undo(&mark);
                fail(labels, NOT_AN_OBJECT);
                false
            }
        }
    }

    /// Answers whether there was a packed line.
    fn members(&self, members: &mut Members<'_>, labels: &mut Labels, out: &mut Vec<u8>) -> Result<bool, Malformed> {
        let mut is_packed = false;
        while !members.cursor.pass(b'}') {
            if !std::mem::replace(&mut members.is_first, false) && !members.cursor.pass(b',') {
                return Err(Malformed);
            }
            let key = members.key(labels)?;
            let text = match members.cursor.value()? {
                Value::String(text) => text,
                value => {
                    members.cursor.skip_rest(value)?;
                    continue;
                }
            };
            if labels.names.raw(key) == b"_entry" {
                out.clear();
                append_string(text, out);
                is_packed = true;
            } else if labels.names.is_named(key)
                && let Some(open) = labels.open_key(key, &self.needed)
            {
                append_string(text, labels.value());
                labels.close(&open);
            }
        }
        Ok(is_packed)
    }
}

#[cfg(test)]
mod tests {
    use crate::ast::Stage;
    use crate::pipeline::testing::{TestEntry, entry, json, labels_after, line_after};

    const FAILED: &str =
        r#"__error__="JSONParserErr", __error_details__="Value looks like object, but can't find closing '}' symbol""#;

    #[test]
    fn members_become_labels() {
        let f = |line: &str, want: &str| assert_eq!(labels_after(&[json()], &entry(line)), want, "{line}");
        f(r#"{"a":{"b":1}}"#, r#"a_b="1""#);
        f(r#"{"a":[1,{"b":2}],"c":{"d":[3]},"e":1}"#, r#"e="1""#);
        f(r#"{"a":null,"b":true,"c":false}"#, r#"b="true", c="false""#);
        f(
            r#"{"a":1.50,"b":1e3,"c":-0,"d":12345678901234567890}"#,
            r#"a="1.50", b="1e3", c="-0", d="12345678901234567890""#,
        );
        f(r#"{"a":"","b":"x\ty\u00e9\ud83d\ude00\/"}"#, "a=\"\", b=\"x\\tyé😀/\"");
        f("{\"a\":\"x\u{fffd}y\",\"b\":\"\\ufffd\"}", r#"a="x y", b=" ""#);
        f(r#"{"a":"x\qy","b":"\ud800","c":"\u12"}"#, r#"a="", b="", c="""#);
        f(r#"{"a":1,"a":2}"#, r#"a="1""#);
        f(r#"{"a_b":1,"a":{"b":2}}"#, r#"a_b="1""#);
        f(r#"{"a":{"b":2},"a_b":1}"#, r#"a_b="2""#);
        f(r#"{"a":1} and more"#, r#"a="1""#);
        f(r#" { "a" : { "b" : "c" } , "d" : 2 } "#, r#"a_b="c", d="2""#);
        f("{}", "");
        f(
            r#"{"user-id":1,"9lives":2,"a.b":3,"é":4," x ":5,"":6,"p":{"9":7,"":8}}"#,
            r#"_="4", _9lives="2", a_b="3", p_9="7", user_id="1", x="5""#,
        );
        f(r#"{"a\"b":1,"a":"]}"}"#, r#"a="]}", a_b="1""#);
    }

    #[test]
    fn damage_keeps_what_was_read() {
        let f = |line: &str, read: &str| {
            let want = if read.is_empty() {
                FAILED.to_owned()
            } else {
                format!("{FAILED}, {read}")
            };
            assert_eq!(labels_after(&[json()], &entry(line)), want, "{line}");
        };
        for line in ["", "plain", "[1]", r#""x""#, "5", "{", r#"{"#] {
            f(line, "");
        }
        f(r#"{"a":1,"b":"#, r#"a="1""#);
        f(r#"{"a":1,"b":"x"#, r#"a="1""#);
        f(r#"{"a":1"#, r#"a="1""#);
        f(r#"{"a":1,}"#, r#"a="1""#);
        f(r#"{"a":1 "b":2}"#, r#"a="1""#);
        f(r#"{"a":1,"b":nul,"c":3}"#, r#"a="1""#);
        f(r#"{"a":1,"b":[1,2"#, r#"a="1""#);
        // An object that does not end gives none of its members, one that ends gives those before the damage.
        f(r#"{"a":1,"b":{"c":2,"d""#, r#"a="1""#);
        f(r#"{"a":1,"b":{"c":2,"e":{"f":3},"d""#, r#"a="1""#);
        f(r#"{"a":1,"b":{"c":2,"d"x},"e":3}"#, r#"a="1", b_c="2""#);
        f(&format!("{}1", r#"{"a":"#.repeat(100_000)), "");
    }

    #[test]
    fn names_of_the_stream_and_the_metadata_stay() {
        let f = |line: &str, want: &str| {
            let entry = TestEntry {
                stream: &[("app", "api"), ("app_x", "s")],
                metadata: &[("trace_id", "t1")],
                line: line.as_bytes(),
            };
            assert_eq!(labels_after(&[json()], &entry), want, "{line}");
        };
        f(
            r#"{"app":"in","a":1}"#,
            r#"a="1", app="api", app_extracted="in", app_x="s", trace_id="t1""#,
        );
        f(
            r#"{"app":{"x":1}}"#,
            r#"app="api", app_x="s", app_x_extracted="1", trace_id="t1""#,
        );
        f(
            r#"{"trace_id":"z"}"#,
            r#"app="api", app_x="s", trace_id="t1", trace_id_extracted="z""#,
        );
        f(
            r#"{"app":"1","app":"2","app_extracted":"3"}"#,
            r#"app="api", app_extracted="1", app_x="s", trace_id="t1""#,
        );
    }

    #[test]
    fn unpack_takes_members_and_the_line() {
        let unpack = [Stage::Unpack];
        let f = |line: &str, want_labels: &str, want_line: &str| {
            assert_eq!(labels_after(&unpack, &entry(line)), want_labels, "{line}");
            assert_eq!(line_after(&unpack, &entry(line)), want_line, "{line}");
        };
        f(
            r#"{"pod":"p","n":1,"o":{"x":"y"},"_entry":"a \"b\"","c":"d"}"#,
            r#"c="d", pod="p""#,
            r#"a "b""#,
        );
        f(r#"{"pod":"p"}"#, "", r#"{"pod":"p"}"#);
        f(
            "plain",
            r#"__error__="JSONParserErr", __error_details__="expecting json object(6), but it is not""#,
            "plain",
        );
        f(r#"{"a":"b","_entry":"c""#, FAILED, r#"{"a":"b","_entry":"c""#);
    }
}
