//! What queries may ask for, checked before anything is read (http-api.md 15 and 17).

use crate::error::HttpError;
use crate::request::whole_days;
use std::collections::BTreeSet;
use std::time::Duration;
use timberline_logql::ast::{Expr, LogExpr, MetricExpr, RangeAggregation};
use timberline_logql::bytes_size::BytesSize;
use timberline_logql::duration::PrometheusDuration;
use timberline_store::source::TimeSpan;

/// Rules for queries. Zero and empty lists stand for no limit.
#[derive(Clone, Debug)]
pub struct QueryPolicy {
    /// Longest time range of a request.
    pub max_query_length: Duration,
    /// Longest `[range]` within a query.
    pub max_query_range: Duration,
    /// How far back anything is found. What is older is left out without an error.
    pub max_query_lookback: Duration,
    /// Most matchers in all selectors of a query together.
    pub max_streams_matchers_per_query: usize,
    /// Labels that each selector must have a matcher for.
    pub required_labels: Vec<String>,
    /// Labels that each selector must have matchers for, whichever they are.
    pub minimum_labels_number: usize,
    /// Most bytes of lines and metadata that a query would read, as far as the streams tell.
    pub max_query_bytes_read: u64,
}

impl Default for QueryPolicy {
    fn default() -> Self {
        Self {
            max_query_length: Duration::ZERO,
            max_query_range: Duration::ZERO,
            max_query_lookback: Duration::ZERO,
            max_streams_matchers_per_query: 1000,
            required_labels: Vec::new(),
            minimum_labels_number: 0,
            max_query_bytes_read: 0,
        }
    }
}

impl QueryPolicy {
    /// The part of a time range that may be asked for; `None` if all of it is too far back.
    pub(crate) fn admit_span(&self, span: TimeSpan, now_ns: i64) -> Result<Option<TimeSpan>, HttpError> {
        let min_ns = span.min_ns.max(self.oldest_ns(now_ns));
        if span.min_ns < min_ns && span.max_ns < min_ns {
            return Ok(None);
        }
        if let Some(limit_ns) = limit_ns(self.max_query_length) {
            let length_ns = span.max_ns.saturating_sub(min_ns);
            if length_ns > limit_ns {
                let (length, limit) = (shown(length_ns), shown(limit_ns));
                let text = format!("the query time range exceeds the limit (query length: {length}, limit: {limit})");
                return Err(HttpError::over_limit("max_query_length", text));
            }
        }
        Ok(Some(TimeSpan { min_ns, ..span }))
    }

    /// The same for a request for label names or values, which are listed by whole days.
    pub(crate) fn admit_listing(&self, span: TimeSpan, now_ns: i64) -> Result<Option<TimeSpan>, HttpError> {
        let oldest_ns = self.oldest_ns(now_ns);
        let listed = |span: TimeSpan| {
            let days = whole_days(span);
            TimeSpan {
                min_ns: days.min_ns.max(oldest_ns),
                ..days
            }
        };
        Ok(self.admit_span(span, now_ns)?.map(listed))
    }

    /// How far back anything is found.
    fn oldest_ns(&self, now_ns: i64) -> i64 {
        limit_ns(self.max_query_lookback).map_or(i64::MIN, |lookback_ns| now_ns.saturating_sub(lookback_ns))
    }

    /// The part of a time range that a query may be asked for; `None` if all of it is too far back.
    pub(crate) fn admit(&self, expr: &Expr, span: TimeSpan, now_ns: i64) -> Result<Option<TimeSpan>, HttpError> {
        let parts = Parts::of(expr);
        self.check_matchers(&parts)?;
        for range in &parts.ranges {
            self.check_range(range.range_ns)?;
        }
        if parts.logs.is_empty() {
            return Ok(Some(span));
        }
        self.admit_span(span, now_ns)
    }

    fn check_matchers(&self, parts: &Parts<'_>) -> Result<(), HttpError> {
        let limit = self.max_streams_matchers_per_query;
        let count: usize = parts.logs.iter().map(|log| log.matchers.len()).sum();
        if limit > 0 && count > limit {
            let text = format!("max streams matchers per query exceeded, matchers-count > limit ({count} > {limit})");
            return Err(HttpError::over_limit("max_streams_matchers_per_query", text));
        }
        for log in &parts.logs {
            let present: BTreeSet<&str> = log.matchers.iter().map(|matcher| matcher.name.as_str()).collect();
            self.check_labels(&present)?;
        }
        Ok(())
    }

    fn check_labels(&self, present: &BTreeSet<&str>) -> Result<(), HttpError> {
        let list = |names: &mut dyn Iterator<Item = &str>| names.collect::<Vec<_>>().join(", ");
        let labels = list(&mut present.iter().copied());
        let required = self.required_labels.iter().map(String::as_str);
        let missing = list(&mut required.filter(|name| !present.contains(name)));
        if !missing.is_empty() {
            let text = format!(
                "stream selector is missing required matchers [{missing}], labels present in the query were [{labels}]"
            );
            return Err(HttpError::over_limit("required_labels", text));
        }
        let (count, minimum) = (present.len(), self.minimum_labels_number);
        if count < minimum {
            let text = format!(
                "stream selector has less label matchers than required: \
                 (present: [{labels}], number_present: {count}, required_number_label_matchers: {minimum})"
            );
            return Err(HttpError::over_limit("minimum_labels_number", text));
        }
        Ok(())
    }

    fn check_range(&self, range_ns: i64) -> Result<(), HttpError> {
        match limit_ns(self.max_query_range) {
            Some(limit_ns) if range_ns > limit_ns => {
                let (range, limit) = (shown(range_ns), shown(limit_ns));
                let text = format!("[interval] value exceeds limit: [{range}] > [{limit}]");
                Err(HttpError::over_limit("max_query_range", text))
            }
            _ => Ok(()),
        }
    }

    /// May a query read this many bytes?
    pub(crate) fn check_bytes(&self, bytes: u64) -> Result<(), HttpError> {
        let limit = self.max_query_bytes_read;
        if limit == 0 || bytes <= limit {
            return Ok(());
        }
        let (bytes, limit) = (BytesSize(bytes), BytesSize(limit));
        let text = format!(
            "the query would read too many bytes (query: {bytes}, limit: {limit}); consider adding more specific stream \
             selectors or reduce the time range of the query"
        );
        Err(HttpError::over_limit("max_query_bytes_read", text))
    }
}

/// What a query would read: each selector with the time span in which its entries lie.
pub(crate) fn reads(expr: &Expr, span: TimeSpan) -> Vec<(&LogExpr, TimeSpan)> {
    match expr {
        Expr::Log(log) => vec![(log, span)],
        Expr::Metric(_) => {
            let window = |range: &RangeAggregation| TimeSpan {
                min_ns: span
                    .min_ns
                    .saturating_sub(range.offset_ns)
                    .saturating_sub(range.range_ns),
                max_ns: span.max_ns.saturating_sub(range.offset_ns),
            };
            let ranges = Parts::of(expr).ranges;
            ranges.into_iter().map(|range| (&range.log, window(range))).collect()
        }
    }
}

/// The parts of a query that rules are about.
#[derive(Default)]
struct Parts<'a> {
    logs: Vec<&'a LogExpr>,
    ranges: Vec<&'a RangeAggregation>,
}

impl<'a> Parts<'a> {
    fn of(expr: &'a Expr) -> Self {
        let mut parts = Self::default();
        match expr {
            Expr::Log(log) => parts.logs.push(log),
            Expr::Metric(metric) => parts.add(metric),
        }
        parts
    }

    fn add(&mut self, metric: &'a MetricExpr) {
        match metric {
            MetricExpr::Range(range) => {
                self.logs.push(&range.log);
                self.ranges.push(range);
            }
            MetricExpr::Vector(vector) => self.add(&vector.inner),
            MetricExpr::Binary(binary) => {
                self.add(&binary.left);
                self.add(&binary.right);
            }
            MetricExpr::LabelReplace(replace) => self.add(&replace.inner),
            MetricExpr::VectorOf(_) | MetricExpr::Literal(_) => {}
        }
    }
}

/// Nanoseconds of a limit; `None` if there is none.
fn limit_ns(limit: Duration) -> Option<i64> {
    (!limit.is_zero()).then(|| i64::try_from(limit.as_nanos()).unwrap_or(i64::MAX))
}

/// A duration as in queries, which know no less than a millisecond: rounded up, so that it does not look like the limit.
fn shown(ns: i64) -> String {
    const MILLISECOND_NS: i64 = 1_000_000;
    let rest = ns.rem_euclid(MILLISECOND_NS);
    let missing = if rest == 0 { 0 } else { MILLISECOND_NS - rest };
    PrometheusDuration(ns.saturating_add(missing)).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use timberline_logql::parse;

    const SECOND_NS: i64 = 1_000_000_000;
    const HOUR: Duration = Duration::from_secs(3600);
    const NOW: i64 = 1_000_000 * SECOND_NS;

    fn text<T: std::fmt::Debug>(result: Result<T, HttpError>) -> String {
        match result {
            Ok(value) => format!("{value:?}"),
            Err(error) => error.text().to_owned(),
        }
    }

    #[test]
    fn nothing_is_limited_by_default_but_the_matchers() {
        let policy = QueryPolicy::default();
        let all = TimeSpan {
            min_ns: i64::MIN,
            max_ns: i64::MAX,
        };
        assert_eq!(policy.admit_span(all, NOW), Ok(Some(all)));
        assert_eq!(policy.check_bytes(u64::MAX), Ok(()));
        let query = |count: usize| format!("{{{}}}", vec!["a=\"b\""; count].join(","));
        assert_eq!(policy.admit(&parse(&query(1000)).unwrap(), all, NOW), Ok(Some(all)));
        assert_eq!(
            text(policy.admit(&parse(&query(1001)).unwrap(), all, NOW)),
            "max streams matchers per query exceeded, matchers-count > limit (1001 > 1000)"
        );
    }

    #[test]
    fn time_ranges() {
        let policy = QueryPolicy {
            max_query_length: HOUR,
            max_query_lookback: 2 * HOUR,
            ..QueryPolicy::default()
        };
        // In seconds before now.
        let f = |from: i64, to: i64, want: Option<(i64, i64)>| {
            let at = |ago: i64| NOW - ago * SECOND_NS;
            let span = |(from, to)| TimeSpan {
                min_ns: at(from),
                max_ns: at(to),
            };
            assert_eq!(
                policy.admit_span(span((from, to)), NOW),
                Ok(want.map(span)),
                "{from} {to}"
            );
        };
        f(3600, 0, Some((3600, 0)));
        f(7200, 3600, Some((7200, 3600)));
        // The older part is cut; what is left may be short enough.
        f(9000, 3600, Some((7200, 3600)));
        f(9000, 7200, Some((7200, 7200)));
        f(9000, 7201, None);
        // Listings go by whole days, but no further back than the rest.
        let hour = TimeSpan {
            min_ns: NOW - 3600 * SECOND_NS,
            max_ns: NOW,
        };
        let listed = policy.admit_listing(hour, NOW).unwrap().unwrap();
        assert_eq!(listed.min_ns, NOW - 7200 * SECOND_NS);
        assert!(listed.max_ns > NOW);
        let old = TimeSpan { min_ns: 0, max_ns: 1 };
        assert_eq!(policy.admit(&parse("1 + 1").unwrap(), old, NOW), Ok(Some(old)));
        assert_eq!(policy.admit(&parse("rate({a=\"b\"}[1m])").unwrap(), old, NOW), Ok(None));
        let long = TimeSpan {
            min_ns: NOW - 3600 * SECOND_NS - 1,
            max_ns: NOW,
        };
        let error = text(policy.admit_span(long, NOW));
        assert_eq!(
            error,
            "the query time range exceeds the limit (query length: 1h1ms, limit: 1h)"
        );
    }

    #[test]
    fn ranges_and_labels() {
        let policy = QueryPolicy {
            max_query_range: HOUR,
            max_streams_matchers_per_query: 3,
            required_labels: vec!["app".into(), "env".into()],
            minimum_labels_number: 2,
            ..QueryPolicy::default()
        };
        let now = TimeSpan {
            min_ns: NOW,
            max_ns: NOW,
        };
        let admit = |policy: &QueryPolicy, query: &str| text(policy.admit(&parse(query).unwrap(), now, NOW).map(drop));
        let f = |query: &str, want: &str| assert_eq!(admit(&policy, query), want, "{query}");
        f(r#"rate({app="a", env!=""}[1h])"#, "()");
        f(
            r#"sum(rate({app="a", env="b"}[1h1ms])) > 1"#,
            "[interval] value exceeds limit: [1h1ms] > [1h]",
        );
        f(r#"{app="a", env="b"} | json"#, "()");
        f(
            r#"vector(1) + rate({app="a", app!="b"}[1m])"#,
            "stream selector is missing required matchers [env], labels present in the query were [app]",
        );
        f(
            r#"rate({app="a", env="b"}[1m]) / rate({app="a", env="b"}[1m])"#,
            "max streams matchers per query exceeded, matchers-count > limit (4 > 3)",
        );
        f("1 + 1", "()");
        let policy = QueryPolicy {
            required_labels: Vec::new(),
            ..policy
        };
        assert_eq!(
            admit(&policy, r#"{app="a", app!="b"}"#),
            "stream selector has less label matchers than required: (present: [app], number_present: 1, \
             required_number_label_matchers: 2)"
        );
    }

    #[test]
    fn bytes() {
        let policy = QueryPolicy {
            max_query_bytes_read: 1000,
            ..QueryPolicy::default()
        };
        assert_eq!(policy.check_bytes(1000), Ok(()));
        let error = text(policy.check_bytes(1001));
        assert!(
            error.starts_with("the query would read too many bytes (query: 1001B, limit: 1.0kB)"),
            "{error}"
        );
    }

    #[test]
    fn what_is_read() {
        let f = |query: &str, want: &[(i64, i64)]| {
            let span = TimeSpan {
                min_ns: 100 * SECOND_NS,
                max_ns: 200 * SECOND_NS,
            };
            let expr = parse(query).unwrap();
            let spans: Vec<_> = reads(&expr, span)
                .into_iter()
                .map(|(_, span)| (span.min_ns / SECOND_NS, span.max_ns / SECOND_NS))
                .collect();
            assert_eq!(spans, want, "{query}");
        };
        f(r#"{a="b"}"#, &[(100, 200)]);
        f(r#"rate({a="b"}[10s])"#, &[(90, 200)]);
        f(
            r#"sum(rate({a="b"}[10s] offset 5s)) / label_replace(rate({a="b"}[1s]), "a", "b", "c", "d")"#,
            &[(85, 195), (99, 200)],
        );
        f("vector(1)", &[]);
    }
}
