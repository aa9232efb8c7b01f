//! What new series are made with unless their command says otherwise (specification, chapter 16).

use crate::aggregate::Aggregator;
use crate::codec::Encoding;
use crate::labels::Labels;
use crate::options::SeriesOptions;
use crate::policy::DuplicatePolicy;
use std::fmt;

/// The configured defaults.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Retention of new series in milliseconds.
    pub retention_ms: i64,
    /// Chunk size of new series.
    pub chunk_bytes: u32,
    /// The policy of series that have none of their own.
    pub duplicate_policy: DuplicatePolicy,
    /// Encoding of new series.
    pub encoding: Encoding,
    /// IGNORE pair of new series: milliseconds.
    pub ignore_time_ms: i64,
    /// IGNORE pair of new series: value.
    pub ignore_value: f64,
    /// Rules for series made by writing to them.
    pub compaction: CompactionPolicy,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            retention_ms: 0,
            chunk_bytes: 4096,
            duplicate_policy: DuplicatePolicy::Block,
            encoding: Encoding::Compressed,
            ignore_time_ms: 0,
            ignore_value: 0.0,
            compaction: CompactionPolicy::default(),
        }
    }
}

impl Settings {
    /// What a new series is made with.
    pub fn series_options(&self) -> SeriesOptions {
        SeriesOptions {
            retention_ms: self.retention_ms,
            encoding: self.encoding,
            chunk_bytes: self.chunk_bytes,
            duplicate_policy: Some(self.duplicate_policy),
            ignore_time_ms: self.ignore_time_ms,
            ignore_value: self.ignore_value,
            labels: Labels::default(),
        }
    }
}

/// Rules that every series made by TS.ADD, TS.INCRBY or TS.DECRBY gets: `aggregator:bucket:retention[:align]`, separated by `;`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompactionPolicy {
    text: String,
    rules: Vec<PolicyRule>,
}

/// One rule of a compaction policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PolicyRule {
    /// What a bucket becomes.
    pub aggregator: Aggregator,
    /// Length of a bucket in milliseconds.
    pub bucket_ms: i64,
    /// Retention of the destination in milliseconds.
    pub retention_ms: i64,
    /// A time at which a bucket starts, in milliseconds.
    pub align_ms: i64,
}

/// The text is not a compaction policy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Invalid compaction policy: {0}")]
pub struct CompactionPolicyError(pub String);

impl CompactionPolicy {
    /// Reads a policy; all or nothing.
    pub fn parse(text: &str) -> Result<CompactionPolicy, CompactionPolicyError> {
        let parts = text.split(';').filter(|_| !text.is_empty());
        let rules = parts.map(|part| PolicyRule::parse(part).ok_or_else(|| CompactionPolicyError(text.to_owned())));
        Ok(CompactionPolicy {
            text: text.to_owned(),
            rules: rules.collect::<Result<_, _>>()?,
        })
    }

    /// The rules, in the order given.
    pub fn rules(&self) -> &[PolicyRule] {
        &self.rules
    }
}

impl fmt::Display for CompactionPolicy {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.text)
    }
}

impl PolicyRule {
    fn parse(text: &str) -> Option<PolicyRule> {
        let parts: Vec<&str> = text.split(':').collect();
        let (aggregator, bucket, retention, align) = match parts[..] {
            [aggregator, bucket, retention] => (aggregator, bucket, retention, "0"),
            [aggregator, bucket, retention, align] => (aggregator, bucket, retention, align),
            _ => return None,
        };
        let rule = PolicyRule {
            aggregator: Aggregator::parse(aggregator.as_bytes())?,
            bucket_ms: milliseconds(bucket)?,
            retention_ms: milliseconds(retention)?,
            align_ms: milliseconds(align)?,
        };
        (rule.bucket_ms > 0).then_some(rule)
    }

    /// The key of the destination that this rule makes for a source.
    pub fn destination_key(&self, source: &[u8]) -> Vec<u8> {
        let mut key = source.to_vec();
        key.extend_from_slice(format!("_{}_{}", self.aggregator.capital_name(), self.bucket_ms).as_bytes());
        if self.align_ms != 0 {
            key.extend_from_slice(format!("_{}", self.align_ms).as_bytes());
        }
        key
    }
}

/// A number with a unit: `m` milliseconds, `s`, `M` minutes, `h`, `d`; zero needs no unit.
fn milliseconds(text: &str) -> Option<i64> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let number: i64 = text.get(..digits)?.parse().ok()?;
    let unit = match &text[digits..] {
        "m" => 1,
        "s" => 1_000,
        "M" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        "" if number == 0 => 1,
        _ => return None,
    };
    number.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_are_read() {
        let check = |text: &str, want: Option<&[(&str, i64, i64, i64)]>| {
            let found = CompactionPolicy::parse(text).ok();
            let shown = found.map(|policy| {
                policy
                    .rules()
                    .iter()
                    .map(|r| (r.aggregator.name(), r.bucket_ms, r.retention_ms, r.align_ms))
                    .collect::<Vec<_>>()
            });
            assert_eq!(shown.as_deref(), want, "{text}");
        };
        check("", Some(&[]));
        check("max:1M:1h", Some(&[("max", 60_000, 3_600_000, 0)]));
        check(
            "max:1M:0;avg:2h:10d:1h",
            Some(&[("max", 60_000, 0, 0), ("avg", 7_200_000, 864_000_000, 3_600_000)]),
        );
        check("sum:10m:0m", Some(&[("sum", 10, 0, 0)]));
        check("max", None);
        check("max:1M", None);
        check("max:0M:1h", None);
        check("max:1x:1h", None);
        check("max:1M:1h:2h:3h", None);
        check("nope:1M:1h", None);
        check("max:1M:1h;", None);
        check("max:99999999999999999d:1h", None);
    }
}
