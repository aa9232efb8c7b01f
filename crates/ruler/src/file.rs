//! The text of a rule file (http-api.md 13.1), and the checks of what it says.

use crate::rule::Rule;
use serde::Deserialize;
use std::collections::BTreeMap;
use timberline_logql::ast::Expr;
use timberline_logql::duration::parse_prometheus_duration;

/// The distance of evaluations of a group that names none, as in Loki.
const DEFAULT_INTERVAL_MS: i64 = 60_000;

/// A file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FileText {
    pub(crate) groups: Vec<GroupText>,
}

/// A group as it stands in a file. Rules are read one by one, so that a bad one leaves the others alone.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GroupText {
    pub(crate) name: String,
    #[serde(default)]
    interval: Option<String>,
    #[serde(default)]
    pub(crate) limit: usize,
    pub(crate) rules: Vec<serde_yaml::Value>,
}

impl GroupText {
    /// The distance of evaluations, milliseconds.
    pub(crate) fn interval_ms(&self) -> Result<i64, String> {
        let Some(text) = &self.interval else {
            return Ok(DEFAULT_INTERVAL_MS);
        };
        let interval_ns = parse_prometheus_duration(text).map_err(|why| format!("interval {text:?}: {why}"))?;
        match interval_ns / 1_000_000 {
            0 if interval_ns == 0 => Ok(DEFAULT_INTERVAL_MS),
            interval_ms if interval_ms >= 1 => Ok(interval_ms),
            _ => Err(format!("interval {text:?} is shorter than a millisecond")),
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleText {
    record: String,
    expr: String,
    #[serde(default)]
    labels: BTreeMap<String, String>,
}

/// Reads and checks a rule.
pub(crate) fn rule(value: &serde_yaml::Value) -> Result<Rule, String> {
    if let Some(alert) = value.get("alert") {
        let name = alert.as_str().unwrap_or_default();
        return Err(format!(
            "alert {name:?}: alerting rules are not evaluated, only recording rules are"
        ));
    }
    let text = RuleText::deserialize(value).map_err(|error| error.to_string())?;
    let named = |why: String| format!("rule {:?}: {why}", text.record);
    if !is_name(&text.record, true) {
        return Err(named(
            "the name of a record has letters, digits, _ and : and begins with no digit".into(),
        ));
    }
    for name in text.labels.keys() {
        if !is_name(name, false) || name == "__name__" {
            return Err(named(format!("{name:?} is not the name of a label")));
        }
    }
    match timberline_logql::parse(&text.expr) {
        Ok(Expr::Metric(_)) => {}
        Ok(Expr::Log(_)) => return Err(named("a query for lines gives no samples; write a metric query".into())),
        Err(error) => return Err(named(error.report())),
    }
    Ok(Rule {
        record: text.record,
        expr: text.expr,
        labels: text.labels.into_iter().collect(),
    })
}

fn is_name(name: &str, colons: bool) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || (colons && c == ':');
    !name.is_empty() && name.chars().all(allowed) && !name.starts_with(|c: char| c.is_ascii_digit())
}
