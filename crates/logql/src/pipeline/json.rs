// hot path: no locks, no logging, nothing allocated per line in steady state.

//! The stages `json` without expressions (logql.md 7.1) and `unpack` (7.7).

use super::entry::{ErrorKind, Labels, Mark, sanitize};
use super::json_scan::{Cursor, Malformed, Value, append_string, unescape};
use super::needs::Needs;

/// Details of nearly every failure: what lines that are not JSON are told.
pub(super) const NOT_AN_OBJECT: &[u8] = b"Value looks like object, but can't find closing '}' symbol";

/// The stage `json`.
#[derive(Clone, Debug)]
pub(super) struct JsonStage {
    needs: Needs,
    enough: Option<usize>,
}

/// Buffers of the JSON stages, reused from line to line.
#[derive(Default)]
pub(super) struct JsonScratch {
    /// Sanitised name of the member in hand, with the names of the objects around it.
    path: Vec<u8>,
    /// Length of `path` in each of the objects around.
    lengths: Vec<usize>,
    /// A key without its escapes.
    key: Vec<u8>,
}

impl JsonStage {
    pub(super) fn new(needs: Needs) -> Self {
        Self {
            enough: needs.enough(),
            needs,
        }
    }

    /// Adds the members of the object that the line is.
    pub(super) fn run(&self, line: &[u8], labels: &mut Labels, scratch: &mut JsonScratch) {
        scratch.path.clear();
        scratch.lengths.clear();
        let mut cursor = Cursor::new(line);
        if !cursor.pass(b'{') || self.members(&mut cursor, labels, scratch).is_err() {
            labels.fail(ErrorKind::JsonParser, |details| {
                details.extend_from_slice(NOT_AN_OBJECT);
            });
        }
    }

    /// Reads the members of the object just entered, and of those in it. One loop for all depths: the depth of a line is
    /// not bounded, the stack is.
    fn members(
        &self,
        cursor: &mut Cursor<'_>,
        labels: &mut Labels,
        scratch: &mut JsonScratch,
    ) -> Result<(), Malformed> {
        let mut found = 0;
        // Where the object in the outermost one began: if it does not end, none of its members count.
        let mut outermost: Option<(Cursor<'_>, Mark)> = None;
        let mut first = true;
        loop {
            match self.member(cursor, labels, scratch, &mut first) {
                Ok(Member::Label) => {
                    found += 1;
                    if self.enough == Some(found) {
                        return Ok(());
                    }
                }
                Ok(Member::Nothing) => {}
                Ok(Member::Entered) => {
                    if scratch.lengths.len() == 1 {
                        outermost = Some((*cursor, labels.mark()));
                    }
                }
                Ok(Member::Left) => {
                    let Some(length) = scratch.lengths.pop() else {
                        return Ok(());
                    };
                    scratch.path.truncate(length);
                }
                Err(Malformed) => {
                    if let Some((mut start, mark)) = outermost
                        && !scratch.lengths.is_empty()
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
    fn member(
        &self,
        cursor: &mut Cursor<'_>,
        labels: &mut Labels,
        scratch: &mut JsonScratch,
        first: &mut bool,
    ) -> Result<Member, Malformed> {
        let is_first = std::mem::replace(first, false);
        if cursor.pass(b'}') {
            return Ok(Member::Left);
        }
        if !is_first && !cursor.pass(b',') {
            return Err(Malformed);
        }
        let key = cursor.key()?;
        let parent = scratch.path.len();
        let is_named = append_name(key, scratch);
        let value = cursor.value()?;
        let member = match value {
            Value::Object if is_named && self.needs.has_below(&scratch.path) => {
                scratch.lengths.push(parent);
                *first = true;
                return Ok(Member::Entered);
            }
            Value::String(raw) if is_named => {
                self.add(&scratch.path, labels, raw.len(), |out| append_string(raw, out))?
            }
            Value::Literal(text) if is_named => {
                self.add(&scratch.path, labels, text.len(), |out| out.extend_from_slice(text))?
            }
            value => {
                cursor.skip_rest(value)?;
                Member::Nothing
            }
        };
        scratch.path.truncate(parent);
        Ok(member)
    }

    #[inline]
    fn add(
        &self,
        name: &[u8],
        labels: &mut Labels,
        bytes: usize,
        write: impl FnOnce(&mut Vec<u8>),
    ) -> Result<Member, Malformed> {
        if !labels.has_room_for(name.len() + bytes) {
            return Err(Malformed);
        }
        let Some(open) = labels.open(name, &self.needs) else {
            return Ok(Member::Nothing);
        };
        write(labels.value());
        labels.close(&open);
        Ok(Member::Label)
    }
}

enum Member {
    /// A needed label was added.
    Label,
    /// A value that gives no label.
    Nothing,
    /// An object begins.
    Entered,
    /// The object ends.
    Left,
}

/// Appends the name of a member to the path. False if nothing is left of the key.
#[inline]
fn append_name(key: &[u8], scratch: &mut JsonScratch) -> bool {
    let key = plain_key(key, &mut scratch.key);
    let is_top = scratch.path.is_empty();
    if !is_top {
        scratch.path.push(b'_');
    }
    let length = scratch.path.len();
    sanitize(key, is_top, &mut scratch.path);
    scratch.path.len() > length
}

/// The key without its escapes. Keys with an escape that cannot be undone stay as written.
fn plain_key<'a>(key: &'a [u8], buffer: &'a mut Vec<u8>) -> &'a [u8] {
    if !key.contains(&b'\\') {
        return key;
    }
    buffer.clear();
    if unescape(key, buffer) { buffer } else { key }
}

/// The stage `unpack`.
#[derive(Clone, Debug)]
pub(super) struct UnpackStage {
    needs: Needs,
    /// False where a failure of the parser must go unnoticed because nobody needs its labels.
    may_fail: bool,
}

impl UnpackStage {
    pub(super) fn new(needs: Needs) -> Self {
        Self {
            may_fail: !needs.is_empty(),
            needs,
        }
    }

    /// Adds the string members and writes the packed line to `out`. False if the line stays as it is.
    pub(super) fn run(&self, line: &[u8], labels: &mut Labels, scratch: &mut JsonScratch, out: &mut Vec<u8>) -> bool {
        let fail = |labels: &mut Labels, details: &[u8]| {
            if self.may_fail {
                labels.fail(ErrorKind::JsonParser, |out| out.extend_from_slice(details));
            }
        };
        let mut cursor = Cursor::new(line);
        if !cursor.pass(b'{') {
            fail(labels, b"expecting json object(6), but it is not");
            return false;
        }
        let mark = labels.mark();
        match self.members(&mut cursor, labels, scratch, out) {
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
    fn members(
        &self,
        cursor: &mut Cursor<'_>,
        labels: &mut Labels,
        scratch: &mut JsonScratch,
        out: &mut Vec<u8>,
    ) -> Result<bool, Malformed> {
        let mut is_packed = false;
        let mut is_first = true;
        while !cursor.pass(b'}') {
            if !std::mem::replace(&mut is_first, false) && !cursor.pass(b',') {
                return Err(Malformed);
            }
            let key = cursor.key()?;
            let value = cursor.value()?;
            match value {
                Value::String(raw) if key == b"_entry" => {
                    out.clear();
                    append_string(raw, out);
                    is_packed = true;
                }
                Value::String(raw) => {
                    scratch.path.clear();
                    if append_name(key, scratch)
                        && let Some(open) = labels.open(&scratch.path, &self.needs)
                    {
                        append_string(raw, labels.value());
                        labels.close(&open);
                    }
                }
                value => cursor.skip_rest(value)?,
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
