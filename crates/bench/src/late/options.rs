//! What is measured.

use serde::Serialize;
use std::fmt;
use std::str::FromStr;

/// How the samples of a series are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Encoding {
    /// Encoded by differences.
    Compressed,
    /// As they are, 16 bytes each.
    Uncompressed,
}

impl Encoding {
    /// The word that commands use.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Compressed => "COMPRESSED",
            Self::Uncompressed => "UNCOMPRESSED",
        }
    }
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Compressed => "compressed",
            Self::Uncompressed => "uncompressed",
        })
    }
}

impl FromStr for Encoding {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        [Self::Compressed, Self::Uncompressed]
            .into_iter()
            .find(|encoding| encoding.word().eq_ignore_ascii_case(text))
            .ok_or_else(|| format!("{text:?} is not an encoding: compressed or uncompressed"))
    }
}

/// A compaction rule of each series.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Rule {
    /// The aggregator, as the server names it.
    pub aggregator: String,
    /// How long a bucket is.
    pub bucket_ms: u64,
}

impl FromStr for Rule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bad = || format!("{text:?} is not a rule; write it like avg:1000");
        let (aggregator, bucket) = text.split_once(':').ok_or_else(bad)?;
        let bucket_ms = bucket.parse().ok().filter(|ms| *ms > 0).ok_or_else(bad)?;
        if aggregator.is_empty() {
            return Err(bad());
        }
        Ok(Self {
            aggregator: aggregator.to_owned(),
            bucket_ms,
        })
    }
}

/// What is measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Options {
    /// Series, each written over a connection of its own.
    pub series: usize,
    /// Samples of each series.
    pub samples: usize,
    /// Commands that are sent together.
    pub pipeline: usize,
    /// How many times each cell is measured; medians are told.
    pub repeat: usize,
    /// What the data are made from.
    pub seed: u64,
    /// Late samples fall into the newest so many timestamps; without it anywhere in the past.
    pub window: Option<u64>,
    /// Duplicate policy of the series; without it the server's own.
    pub policy: Option<String>,
    /// Shares of late samples, in percent.
    pub late_percents: Vec<f64>,
    /// Chunk sizes.
    pub chunk_bytes: Vec<u64>,
    /// Encodings.
    pub encodings: Vec<Encoding>,
    /// A rule of each series.
    pub rule: Option<Rule>,
    /// One: each sample is a TS.ADD. More: so many samples are a TS.MADD.
    pub samples_per_command: usize,
}

impl Default for Options {
    /// The published workload.
    fn default() -> Self {
        Self {
            series: 50,
            samples: 10_000,
            pipeline: 50,
            repeat: 3,
            seed: 12_345,
            window: None,
            policy: None,
            late_percents: super::published::LATE_PERCENTS.to_vec(),
            chunk_bytes: vec![128, 4096],
            encodings: vec![Encoding::Compressed, Encoding::Uncompressed],
            rule: None,
            samples_per_command: 1,
        }
    }
}

impl Options {
    /// Little data: shows that it runs, says nothing of speed.
    pub fn smoke() -> Self {
        Self {
            series: 2,
            samples: 210,
            repeat: 1,
            late_percents: vec![0.0, 50.0],
            ..Self::default()
        }
    }

    /// Encodings and chunk sizes, in the order of the table.
    pub(super) fn configurations(&self) -> impl Iterator<Item = (Encoding, u64)> {
        self.encodings
            .iter()
            .flat_map(|encoding| self.chunk_bytes.iter().map(|chunk| (*encoding, *chunk)))
    }

    /// Whether the figures can be set beside the published ones: the same commands over the same data.
    pub(super) fn is_published_workload(&self) -> bool {
        self.has_goals() && self.window.is_none() && self.pipeline == 50
    }

    /// Whether the goals are meant for this workload: they are for single samples, and for series without rules.
    pub(super) fn has_goals(&self) -> bool {
        self.samples_per_command == 1 && self.rule.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules() {
        let f = |text: &str, want: Option<(&str, u64)>| {
            let got = text.parse::<Rule>().ok();
            assert_eq!(
                got.as_ref().map(|r| (r.aggregator.as_str(), r.bucket_ms)),
                want,
                "{text}"
            );
        };
        f("avg:1000", Some(("avg", 1000)));
        f("std.p:1", Some(("std.p", 1)));
        f("avg", None);
        f("avg:0", None);
        f(":10", None);
        f("avg:-1", None);
    }

    #[test]
    fn encodings() {
        assert_eq!("Compressed".parse(), Ok(Encoding::Compressed));
        assert_eq!("uncompressed".parse(), Ok(Encoding::Uncompressed));
        assert!("zstd".parse::<Encoding>().is_err());
    }
}
