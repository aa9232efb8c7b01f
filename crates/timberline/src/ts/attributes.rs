//! What a series is besides its samples, from TS.INFO.

use super::link::{Link, Trouble};
use super::reply::{double, text, unexpected};
use redis::{Cmd, Value, cmd};

/// Names and values, in the order of the series.
pub(super) type Labels = Vec<(Vec<u8>, Vec<u8>)>;

/// What TS.INFO says of a series.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Attributes {
    /// Samples that can be seen.
    pub(super) samples: u64,
    pub(super) first_timestamp: i64,
    pub(super) last_timestamp: i64,
    pub(super) retention_ms: i64,
    pub(super) chunk_bytes: i64,
    pub(super) encoding: Vec<u8>,
    /// None: that of the server's configuration.
    pub(super) duplicate_policy: Option<Vec<u8>>,
    pub(super) ignore_max_time_diff: i64,
    pub(super) ignore_max_value_diff: f64,
    pub(super) labels: Labels,
    pub(super) rules: Vec<Rule>,
}

/// A compaction rule, on the side of its source.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Rule {
    pub(super) destination: Vec<u8>,
    pub(super) bucket_ms: i64,
    pub(super) aggregator: Vec<u8>,
    pub(super) align_ms: i64,
}

impl Rule {
    /// Where the bucket starts that a timestamp falls into (chapter 7.1 of `docs/timeseries.md`).
    pub(super) fn bucket_start(&self, timestamp: i64) -> i64 {
        let into = timestamp.wrapping_sub(self.align_ms).rem_euclid(self.bucket_ms.max(1));
        timestamp.saturating_sub(into).max(0)
    }

    /// The command that makes it.
    pub(super) fn create(&self, source: &[u8]) -> Cmd {
        let mut command = cmd("TS.CREATERULE");
        command
            .arg(source)
            .arg(&self.destination)
            .arg("AGGREGATION")
            .arg(&self.aggregator);
        command.arg(self.bucket_ms).arg(self.align_ms);
        command
    }
}

impl Attributes {
    /// Asks for those of a series; none if there is no such key.
    pub(super) fn of(link: &mut Link, key: &[u8]) -> Result<Option<Self>, Trouble> {
        match link.ask(cmd("TS.INFO").arg(key)) {
            Ok(answer) => Self::parse(&answer)
                .map(Some)
                .ok_or_else(|| unexpected("TS.INFO", &answer)),
            Err(Trouble::Refused(text)) if text.contains("the key does not exist") => Ok(None),
            Err(trouble) => Err(trouble),
        }
    }

    fn parse(answer: &Value) -> Option<Self> {
        let Value::Array(fields) = answer else { return None };
        let field = |name: &str| {
            let mut pairs = fields.chunks_exact(2);
            pairs
                .find(|pair| text(&pair[0]) == Some(name.as_bytes()))
                .map(|pair| &pair[1])
        };
        let integer = |name: &str| match field(name) {
            Some(Value::Int(number)) => Some(*number),
            _ => None,
        };
        Some(Self {
            samples: integer("totalSamples")?.unsigned_abs(),
            first_timestamp: integer("firstTimestamp")?,
            last_timestamp: integer("lastTimestamp")?,
            retention_ms: integer("retentionTime")?,
            chunk_bytes: integer("chunkSize")?,
            // The fields after this one are not in servers of some years ago.
            encoding: field("chunkType").and_then(text).unwrap_or(b"compressed").to_vec(),
            duplicate_policy: field("duplicatePolicy").and_then(text).map(<[u8]>::to_vec),
            ignore_max_time_diff: integer("ignoreMaxTimeDiff").unwrap_or(0),
            ignore_max_value_diff: field("ignoreMaxValDiff").and_then(double).unwrap_or(0.0),
            labels: labels(field("labels")?)?,
            rules: rules(field("rules")?)?,
        })
    }
}

fn labels(value: &Value) -> Option<Labels> {
    let Value::Array(pairs) = value else { return None };
    let pair = |pair: &Value| match pair {
        Value::Array(parts) => match parts.as_slice() {
            [name, value] => Some((text(name)?.to_vec(), text(value)?.to_vec())),
            _ => None,
        },
        _ => None,
    };
    pairs.iter().map(pair).collect()
}

fn rules(value: &Value) -> Option<Vec<Rule>> {
    let Value::Array(rules) = value else { return None };
    let rule = |rule: &Value| match rule {
        Value::Array(parts) => match parts.as_slice() {
            [destination, Value::Int(bucket_ms), aggregator, rest @ ..] => Some(Rule {
                destination: text(destination)?.to_vec(),
                bucket_ms: *bucket_ms,
                aggregator: text(aggregator)?.to_vec(),
                align_ms: match rest {
                    [Value::Int(align_ms), ..] => *align_ms,
                    _ => 0,
                },
            }),
            _ => None,
        },
        _ => None,
    };
    rules.iter().map(rule).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets() {
        let f = |bucket_ms, align_ms, timestamp, want| {
            let rule = Rule {
                destination: Vec::new(),
                bucket_ms,
                aggregator: Vec::new(),
                align_ms,
            };
            assert_eq!(rule.bucket_start(timestamp), want);
        };
        f(10, 0, 25, 20);
        f(10, 0, 20, 20);
        f(10, 3, 25, 23);
        f(10, 3, 2, 0);
        f(10, 0, i64::MAX, i64::MAX - 7);
        f(i64::MAX, 0, 5, 0);
        f(10, i64::MAX, 0, 0);
    }

    #[test]
    fn answers_that_are_no_description() {
        for bad in [
            Value::Nil,
            Value::Array(Vec::new()),
            Value::Array(vec![Value::Int(1), Value::Int(2)]),
        ] {
            assert_eq!(Attributes::parse(&bad), None);
        }
    }
}
