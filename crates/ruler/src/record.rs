//! Samples of recording rules into series.
//!
//! A series has the key `name{a="b",c="d"}`, labels sorted, and as labels the same with `__name__`. Series have no tenants: those of other
//! tenants than the single one have the label `__tenant__`, so that two tenants with the same rules don't write to the same series.

use crate::evaluate::{EvaluationError, Value};
use crate::rule::{Group, Rule};
use std::collections::BTreeMap;
use timberline_logql::labels::LabelSet;
use timberline_series::engine::{Access, Engine};
use timberline_series::labels::{Filters, LabelFilter, Labels, Test};
use timberline_series::options::SeriesOptions;
use timberline_series::policy::DuplicatePolicy;
use timberline_store::TenantId;

const NAME: &str = "__name__";
const TENANT: &str = "__tenant__";
/// The database that rules write to.
const DATABASE: u8 = 0;

/// The labels that every series of a rule has.
fn fixed_labels(group: &Group, rule: &Rule) -> Vec<(String, String)> {
    let mut labels = rule.labels.clone();
    if group.tenant != TenantId::single() {
        labels.push((TENANT.to_owned(), group.tenant.as_str().to_owned()));
    }
    labels
}

/// Writes the values of a rule. A sample at the same time is replaced, so that an evaluation can be repeated. Gives the number written.
pub(crate) fn record(
    store: &Engine,
    group: &Group,
    rule: &Rule,
    time_ms: i64,
    values: &[Value],
) -> Result<usize, EvaluationError> {
    let fixed = fixed_labels(group, rule);
    let mut refused: Vec<String> = Vec::new();
    for value in values {
        let mut labels: BTreeMap<&str, &str> = value.labels.iter().map(|(n, v)| (&**n, &**v)).collect();
        labels.extend(fixed.iter().map(|(n, v)| (&**n, &**v)));
        labels.remove(NAME);
        labels.retain(|_, value| !value.is_empty());
        let shown = LabelSet::from_pairs(labels.iter().map(|(n, v)| (*n, *v)));
        let key = key(&rule.record, &shown);
        labels.insert(NAME, &rule.record);
        let access = store.shared();
        if let Err(why) = write(&access, key.as_bytes(), &labels, time_ms, value.value) {
            refused.push(format!("{key}: {why}"));
        }
    }
    match refused.first() {
        None => Ok(values.len()),
        Some(why) => Err(EvaluationError::Refused {
            refused: refused.len(),
            samples: values.len(),
            why: why.clone(),
        }),
    }
}

/// `name{a="b",c="d"}`, without blanks; the name alone where there are no labels.
fn key(record: &str, labels: &LabelSet) -> String {
    let mut key = record.to_owned();
    let mut open = '{';
    for (name, value) in labels.iter() {
        key.push(open);
        key.push_str(name);
        key.push_str("=\"");
        for c in value.chars() {
            match c {
                '"' | '\\' => key.extend(['\\', c]),
                '\n' => key.push_str("\\n"),
                c => key.push(c),
            }
        }
        key.push('"');
        open = ',';
    }
    if open == ',' {
        key.push('}');
    }
    key
}

fn write(
    access: &Access<'_>,
    key: &[u8],
    labels: &BTreeMap<&str, &str>,
    time_ms: i64,
    value: f64,
) -> Result<(), String> {
    // A key that goes away between two looks is made anew; one that keeps going away is somebody's intention.
    for _ in 0..3 {
        let series = match access.series(DATABASE, key) {
            Ok(series) => series,
            Err(timberline_series::error::KeyError::Missing) => {
                let pairs = labels.iter().map(|(n, v)| (Vec::from(*n), Vec::from(*v)));
                let options = SeriesOptions {
                    labels: Labels::from_pairs(pairs.collect()),
                    duplicate_policy: Some(DuplicatePolicy::Last),
                    ..access.engine().settings().series_options()
                };
                match access.create_with_rules(DATABASE, key, options) {
                    Ok(series) => series,
                    Err(_) => continue,
                }
            }
            Err(error) => return Err(error.to_string()),
        };
        if let Some(mut writer) = access.writer(series).map_err(|error| error.to_string())? {
            let added = writer.add(time_ms, value, Some(DuplicatePolicy::Last));
            return added.map(drop).map_err(|error| error.to_string());
        }
    }
    Err("the key was removed again and again".to_owned())
}

/// The newest sample of the series of a rule, which tells up to when it was evaluated.
pub(crate) fn newest_ms(store: &Engine, group: &Group, rule: &Rule) -> Option<i64> {
    let equals = |(name, value): (&str, &str)| LabelFilter {
        name: name.as_bytes().into(),
        test: Test::OneOf([Box::from(value.as_bytes())].into()),
    };
    let absent = |name: &str| LabelFilter {
        name: name.as_bytes().into(),
        test: Test::Absent,
    };
    let mut filters = vec![equals((NAME, &rule.record))];
    let fixed = fixed_labels(group, rule);
    filters.extend(fixed.iter().filter(|(_, v)| !v.is_empty()).map(|(n, v)| equals((n, v))));
    if group.tenant == TenantId::single() {
        filters.push(absent(TENANT));
    }
    let selected = store.shared().select(DATABASE, &Filters::new(filters).ok()?);
    let newest = |one: &timberline_series::labels::Selected| one.series.last(false).ok().flatten();
    selected.iter().filter_map(newest).map(|sample| sample.timestamp).max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_canonical() {
        let f = |pairs: &[(&str, &str)], want: &str| {
            assert_eq!(key("a:b", &LabelSet::from_pairs(pairs.iter().copied())), want);
        };
        f(&[], "a:b");
        f(&[("x", "1")], "a:b{x=\"1\"}");
        f(&[("y", "q\"\\\n"), ("x", "ü")], "a:b{x=\"ü\",y=\"q\\\"\\\\\\n\"}");
    }
}
