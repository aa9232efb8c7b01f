//! How replies are compared with the recorded ones.

use serde_json::Value;

/// Whether a reply is the recorded one. Texts must be equal to the byte, those of numbers too.
pub(crate) fn matches(want: &Value, got: &Value) -> bool {
    let (Some((want_tag, want)), Some((got_tag, got))) = (tagged(want), tagged(got)) else {
        return false;
    };
    if want_tag == "any" {
        return want == got_tag;
    }
    if want_tag != got_tag {
        return false;
    }
    let both = || Some((want.as_array()?, got.as_array()?));
    match want_tag {
        "array" | "push" => both().is_some_and(|(want, got)| {
            want.len() == got.len() && want.iter().zip(got).all(|(want, got)| matches(want, got))
        }),
        "set" => both().is_some_and(|(want, got)| sorted(want) == sorted(got)),
        "map" => both().is_some_and(|(want, got)| {
            let same = |(want, got): (&Value, &Value)| matches(&want[0], &got[0]) && matches(&want[1], &got[1]);
            want.len() == got.len() && want.iter().zip(got).all(same)
        }),
        _ => want == got,
    }
}

fn sorted(items: &[Value]) -> Vec<String> {
    let mut texts: Vec<String> = items.iter().map(Value::to_string).collect();
    texts.sort_unstable();
    texts
}

fn tagged(reply: &Value) -> Option<(&str, &Value)> {
    let (tag, value) = reply.as_object()?.iter().next()?;
    Some((tag, value))
}

/// A reply on one line, shortened.
pub(crate) fn describe(reply: &Value) -> String {
    reply.to_string().chars().take(400).collect()
}
