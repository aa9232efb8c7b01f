//! Answers that list names or label sets (http-api.md 7).

use super::json;
use timberline_logql::labels::LabelSet;

/// The answer of `labels` and `values`. Without names the member `data` is absent, as clients of the peer expect.
pub(crate) fn write_names(names: &[String]) -> Vec<u8> {
    let mut out = br#"{"status":"success""#.to_vec();
    if !names.is_empty() {
        out.extend_from_slice(br#","data":"#);
        json::list(&mut out, names, |out, name| json::text(out, name));
    }
    out.push(b'}');
    out
}

/// The answer of `series`.
pub(crate) fn write_label_sets(sets: &[LabelSet]) -> Vec<u8> {
    let mut out = br#"{"status":"success","data":"#.to_vec();
    json::list(&mut out, sets, |out, set| json::object(out, set.iter()));
    out.push(b'}');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_bytes() {
        let f = |body: Vec<u8>, want: &str| assert_eq!(String::from_utf8(body).unwrap(), want);
        f(write_names(&[]), r#"{"status":"success"}"#);
        f(
            write_names(&["app".into(), "é\"".into()]),
            r#"{"status":"success","data":["app","é\""]}"#,
        );
        f(write_label_sets(&[]), r#"{"status":"success","data":[]}"#);
        let sets = [
            LabelSet::from_pairs([("app", "shop"), ("env", "dev")]),
            LabelSet::default(),
        ];
        f(
            write_label_sets(&sets),
            r#"{"status":"success","data":[{"app":"shop","env":"dev"},{}]}"#,
        );
    }
}
