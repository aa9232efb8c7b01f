//! Names and values as the server stores them: legal label names, normalised metadata names, the added `service_name`
//! (http-api.md 3.4).

use timberline_logql::labels::{Label, LabelSet};

/// The label that every stream has: which service it comes from.
pub(crate) const SERVICE_NAME: &str = "service_name";
/// The value of [`SERVICE_NAME`] where the labels do not tell.
const UNKNOWN_SERVICE: &str = "unknown_service";

/// True for `[a-zA-Z_][a-zA-Z0-9_]*`.
pub(crate) fn is_label_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Adds the label `service_name` from the first of `sources` that the set has, unless it is there or `sources` is empty.
pub(crate) fn with_service_name(labels: LabelSet, sources: &[String]) -> LabelSet {
    if sources.is_empty() || labels.get(SERVICE_NAME).is_some() {
        return labels;
    }
    let service = sources
        .iter()
        .find_map(|name| labels.get(name))
        .unwrap_or(UNKNOWN_SERVICE);
    let added = Label {
        name: SERVICE_NAME.into(),
        value: service.into(),
    };
    LabelSet::from_labels(labels.as_slice().iter().cloned().chain([added]).collect())
}

/// Appends the normal form of a metadata name to `out`: every run of bytes other than letters and digits becomes one `_`,
/// a leading digit gets the prefix `key_`, and a name like `__x__` keeps its double underscores. False, with `out` as it
/// was, if nothing but underscores would remain.
pub(crate) fn push_metadata_name(name: &str, out: &mut String) -> bool {
    let start = out.len();
    let inner = name.strip_prefix("__").and_then(|rest| rest.strip_suffix("__"));
    if name.starts_with(|first: char| first.is_ascii_digit()) {
        out.push_str("key_");
    }
    if inner.is_some() {
        out.push('_'); // the run below adds the second one
    }
    let mut in_run = false;
    for c in name.chars() {
        if c.is_ascii_alphanumeric() {
            out.push(c);
        } else if !in_run {
            out.push('_');
        }
        in_run = !c.is_ascii_alphanumeric();
    }
    if inner.is_some() {
        out.push('_');
    }
    let usable = out[start..].bytes().any(|byte| byte != b'_');
    if !usable {
        out.truncate(start);
    }
    usable
}

/// Appends a metadata value to `out`, U+FFFD replaced by a space.
pub(crate) fn push_metadata_value(value: &str, out: &mut String) {
    let mut rest = value;
    while let Some(at) = rest.find('\u{FFFD}') {
        out.push_str(&rest[..at]);
        out.push(' ');
        rest = &rest[at + '\u{FFFD}'.len_utf8()..];
    }
    out.push_str(rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_names_are_normalised() {
        let f = |name: &str, want: Option<&str>| {
            let mut out = String::from("x");
            let usable = push_metadata_name(name, &mut out);
            assert_eq!(usable.then(|| &out[1..]), want, "{name}");
            assert!(usable || out == "x");
        };
        f("trace_id", Some("trace_id"));
        f("a.b", Some("a_b"));
        f("a__b", Some("a_b"));
        f("a..-_b", Some("a_b"));
        f("9x", Some("key_9x"));
        f("_a", Some("_a"));
        f("__a", Some("_a"));
        f(".a.", Some("_a_"));
        f("__x__", Some("__x__"));
        f("__a.b__", Some("__a_b__"));
        f("naïve", Some("na_ve"));
        f("_9", Some("_9"));
        f("_", None);
        f("____", None);
        f("ß", None);
        f("", None);
    }

    #[test]
    fn metadata_values_lose_the_replacement_character() {
        let f = |value: &str, want: &str| {
            let mut out = String::new();
            push_metadata_value(value, &mut out);
            assert_eq!(out, want);
        };
        f("", "");
        f("plain é", "plain é");
        f("a\u{FFFD}\u{FFFD}b\u{FFFD}", "a  b ");
    }

    #[test]
    fn service_names_are_discovered() {
        let sources = crate::Limits::default().service_name_labels;
        let f = |labels: &[(&str, &str)], want: Option<&str>| {
            let set = LabelSet::from_pairs(labels.iter().copied());
            assert_eq!(with_service_name(set, &sources).get(SERVICE_NAME), want);
        };
        f(&[], Some("unknown_service"));
        f(&[("env", "dev")], Some("unknown_service"));
        f(&[("job", "j"), ("app", "a"), ("service", "s")], Some("s"));
        f(&[("job", "j"), ("app", "a")], Some("a"));
        f(&[("k8s_job_name", "k")], Some("k"));
        f(&[("service_name", "given"), ("app", "a")], Some("given"));
        assert_eq!(with_service_name(LabelSet::default(), &[]).len(), 0);
    }

    #[test]
    fn label_names_are_letters_digits_and_underscores() {
        let f = |name: &str, want: bool| assert_eq!(is_label_name(name), want, "{name}");
        f("a", true);
        f("_9", true);
        f("__name__", true);
        f("", false);
        f("9a", false);
        f("a-b", false);
        f("ß", false);
    }
}
