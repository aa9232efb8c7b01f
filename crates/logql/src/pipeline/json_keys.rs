//! Where in a JSON line the labels of the stage `json` come from.

use super::json_scan::{Cursor, Malformed, Value, unescape};
use super::sanitize::sanitize;

/// Calls `visit` for each member of the object that `line` is and of the objects in it, in order: with the label that the
/// stage `json` makes of it, before any suffix, and with the keys that lead there, as the line spells them. Ends where the
/// line is damaged.
pub fn visit_json_keys(line: &[u8], mut visit: impl FnMut(&[u8], &[Vec<u8>])) {
    let mut cursor = Cursor::new(line);
    if cursor.pass(b'{') {
        // Members before the damage were visited; that is all there is to know.
        let _ = members(&mut cursor, &mut visit);
    }
}

fn members(cursor: &mut Cursor<'_>, visit: &mut impl FnMut(&[u8], &[Vec<u8>])) -> Result<(), Malformed> {
    let mut name = Vec::new();
    let mut keys: Vec<Vec<u8>> = Vec::new();
    // Length of `name` in each of the objects around.
    let mut lengths = Vec::new();
    let mut is_first = true;
    loop {
        let passes_comma = !std::mem::replace(&mut is_first, false);
        if cursor.pass(b'}') {
            let Some(length) = lengths.pop() else {
                return Ok(());
            };
            name.truncate(length);
            keys.pop();
            continue;
        }
        if passes_comma && !cursor.pass(b',') {
            return Err(Malformed);
        }
        let key = plain(cursor.key()?);
        let parent = name.len();
        if parent > 0 {
            name.push(b'_');
        }
        let start = name.len();
        sanitize(&key, parent == 0, &mut name);
        let is_named = name.len() > start;
        keys.push(key);
        match cursor.value()? {
            Value::Object if is_named => {
                lengths.push(parent);
                is_first = true;
                continue;
            }
            Value::String(_) | Value::Literal(_) if is_named => visit(&name, &keys),
            value => cursor.skip_rest(value)?,
        }
        name.truncate(parent);
        keys.pop();
    }
}

/// The key without its escapes. Keys with an escape that cannot be undone stay as written.
fn plain(key: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    if unescape(key, &mut plain) { plain } else { key.to_vec() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_and_the_keys_behind_them() {
        let f = |line: &str, want: &str| {
            let mut found = Vec::new();
            visit_json_keys(line.as_bytes(), |name, keys| {
                let keys: Vec<_> = keys.iter().map(|key| String::from_utf8_lossy(key)).collect();
                found.push(format!("{}={}", String::from_utf8_lossy(name), keys.join("/")));
            });
            assert_eq!(found.join(" "), want, "{line}");
        };
        f(
            r#"{"a":1,"b":{"x-id":"y","c":{"d":true}},"e":2}"#,
            "a=a b_x_id=b/x-id b_c_d=b/c/d e=e",
        );
        f(
            r#"{"weird key-1.x":1,"9":2,"q\"":3}"#,
            "weird_key_1_x=weird key-1.x _9=9 q_=q\"",
        );
        f(r#"{"list":[{"a":1}],"none":null,"":{"a":1},"z":1}"#, "z=z");
        f(r#"{"a":1,"b":{"c":2,"d"#, "a=a b_c=b/c");
        f("{}", "");
        f("[1]", "");
        f("text", "");
    }
}
