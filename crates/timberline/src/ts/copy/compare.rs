//! Compares a series on both servers.

use super::Ends;
use crate::ts::attributes::Attributes;
use crate::ts::link::Trouble;
use std::fmt::Debug;

/// What is not the same.
pub(super) fn compare(ends: &mut Ends, key: &[u8]) -> Result<Vec<String>, Trouble> {
    let from = Attributes::of(&mut ends.from, key)?;
    let to = Attributes::of(&mut ends.to, key)?;
    Ok(match (from, to) {
        (None, None) => Vec::new(),
        (None, Some(_)) => vec!["is no longer on the server it was copied from".to_owned()],
        (Some(_), None) => vec!["is not there".to_owned()],
        (Some(from), Some(to)) => differences(&from, &to),
    })
}

fn differences(from: &Attributes, to: &Attributes) -> Vec<String> {
    let mut all = Vec::new();
    let mut check = |what: &str, from: &dyn Debug, to: &dyn Debug| {
        let (from, to) = (format!("{from:?}"), format!("{to:?}"));
        if from != to {
            all.push(format!("{what}: {from}, copied {to}"));
        }
    };
    check("samples", &from.samples, &to.samples);
    check("first timestamp", &from.first_timestamp, &to.first_timestamp);
    check("last timestamp", &from.last_timestamp, &to.last_timestamp);
    check("retention", &from.retention_ms, &to.retention_ms);
    check("chunk size", &from.chunk_bytes, &to.chunk_bytes);
    check("encoding", &shown(&from.encoding), &shown(&to.encoding));
    let policy = |attributes: &Attributes| attributes.duplicate_policy.as_deref().map_or("none".to_owned(), shown);
    check("duplicate policy", &policy(from), &policy(to));
    let ignore = |attributes: &Attributes| (attributes.ignore_max_time_diff, attributes.ignore_max_value_diff);
    check("ignore", &ignore(from), &ignore(to));
    let labels = |attributes: &Attributes| {
        let pairs = attributes
            .labels
            .iter()
            .map(|(name, value)| format!("{}={}", shown(name), shown(value)));
        pairs.collect::<Vec<_>>()
    };
    check("labels", &labels(from), &labels(to));
    // The order of rules is that of their making.
    let rules = |attributes: &Attributes| {
        let mut rules: Vec<String> = attributes
            .rules
            .iter()
            .map(|rule| {
                let (aggregator, destination) = (shown(&rule.aggregator), shown(&rule.destination));
                format!("{aggregator} {} {} -> {destination}", rule.bucket_ms, rule.align_ms)
            })
            .collect();
        rules.sort();
        rules
    };
    check("rules", &rules(from), &rules(to));
    all
}

fn shown(bytes: &[u8]) -> String {
    bytes.escape_ascii().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ts::attributes::Rule;

    #[test]
    fn each_attribute_is_compared() {
        let rule = |destination: &[u8]| Rule {
            destination: destination.to_vec(),
            bucket_ms: 10,
            aggregator: b"AVG".to_vec(),
            align_ms: 0,
        };
        let base = Attributes {
            samples: 5,
            rules: vec![rule(b"a"), rule(b"b")],
            ..Attributes::default()
        };
        let f = |change: fn(&mut Attributes), want: &[&str]| {
            let mut other = base.clone();
            change(&mut other);
            assert_eq!(differences(&base, &other), want);
        };
        f(|_| {}, &[]);
        f(|a| a.rules.reverse(), &[]);
        f(|a| a.samples = 4, &["samples: 5, copied 4"]);
        f(|a| a.first_timestamp = 4, &["first timestamp: 0, copied 4"]);
        f(|a| a.last_timestamp = 4, &["last timestamp: 0, copied 4"]);
        f(|a| a.retention_ms = 4, &["retention: 0, copied 4"]);
        f(|a| a.chunk_bytes = 4, &["chunk size: 0, copied 4"]);
        f(|a| a.encoding = b"x".to_vec(), &["encoding: \"\", copied \"x\""]);
        f(
            |a| a.duplicate_policy = Some(b"last".to_vec()),
            &["duplicate policy: \"none\", copied \"last\""],
        );
        f(
            |a| a.ignore_max_value_diff = 0.5,
            &["ignore: (0, 0.0), copied (0, 0.5)"],
        );
        f(
            |a| a.labels.push((b"a".to_vec(), b"\xff".to_vec())),
            &["labels: [], copied [\"a=\\\\xff\"]"],
        );
        f(
            |a| a.rules.truncate(1),
            &["rules: [\"AVG 10 0 -> a\", \"AVG 10 0 -> b\"], copied [\"AVG 10 0 -> a\"]"],
        );
    }
}
