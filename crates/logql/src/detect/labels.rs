//! Which stream labels are worth offering as a first choice (http-api.md 10.3).

use crate::pipeline::convert::parse_number;

/// Labels that people choose by whatever their values look like.
const ALWAYS: [&str; 4] = ["cluster", "namespace", "instance", "pod"];

/// False for a label whose values are all numbers or UUIDs: nobody chooses by them.
pub fn is_worth_offering<'a>(name: &str, mut values: impl Iterator<Item = &'a str>) -> bool {
    ALWAYS.contains(&name) || values.any(|value| parse_number(value.as_bytes()).is_err() && !is_uuid(value))
}

/// 32 hexadecimal digits, with or without the hyphens, alone, in braces or as a URN.
fn is_uuid(text: &str) -> bool {
    let in_braces = text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    let text = in_braces.or_else(|| text.strip_prefix("urn:uuid:")).unwrap_or(text);
    let is_hyphen = |at: usize| text.len() == 36 && matches!(at, 8 | 13 | 18 | 23);
    let has_length = matches!(text.len(), 32 | 36);
    has_length
        && text.bytes().enumerate().all(|(at, byte)| match is_hyphen(at) {
            true => byte == b'-',
            false => byte.is_ascii_hexdigit(),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_uuids_are_left_out() {
        let f = |name: &str, values: &[&str], want: bool| {
            assert_eq!(
                is_worth_offering(name, values.iter().copied()),
                want,
                "{name} {values:?}"
            );
        };
        f("app", &["shop", "5"], true);
        f("shard", &["1", "2.5", "-3"], false);
        let uuid = "0b8a3c1e-5f2d-4c6b-9a7e-1d2f3a4b5c6d";
        f("id", &[uuid, "7"], false);
        f(
            "id",
            &[
                &format!("{{{uuid}}}"),
                &format!("urn:uuid:{uuid}"),
                &uuid.replace('-', ""),
            ],
            false,
        );
        f("id", &[&uuid.replace('b', "g")], true);
        f("id", &[&uuid[1..]], true);
        f("pod", &["1"], true);
        f("cluster", &[uuid], true);
        f("nothing", &[], false);
    }
}
