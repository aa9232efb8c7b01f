//! Series made by writing to them, with the rules of the configured compaction policy (specification, chapter 16).

use super::Access;
use crate::codec::Encoding;
use crate::error::KeyExists;
use crate::labels::Labels;
use crate::options::SeriesOptions;
use crate::series::Series;
use crate::settings::PolicyRule;
use std::sync::Arc;

impl Access<'_> {
    /// Makes a series as TS.ADD, TS.INCRBY and TS.DECRBY do. Where a compaction policy is configured this needs an exclusive access;
    /// [`Access::creating_needs_exclusive`] tells.
    pub fn create_with_rules(&self, db: u8, key: &[u8], options: SeriesOptions) -> Result<Arc<Series>, KeyExists> {
        let settings = self.engine.settings();
        let labels = options.labels.clone();
        let series = self.create(db, key, options)?;
        let rules = settings.compaction.rules();
        assert!(
            rules.is_empty() || self.is_exclusive(),
            "bug: rules are made under a shared access"
        );
        for rule in rules {
            let options = destination_options(&settings.series_options(), rule, &labels);
            // A name that is taken is passed over in silence.
            if let Ok(destination) = self.create(db, &rule.destination_key(key), options) {
                self.connect(&series, &destination, rule.aggregator, rule.bucket_ms, rule.align_ms);
            }
        }
        Ok(series)
    }

    /// Whether a series made by writing to it gets rules, which only an exclusive access makes.
    pub fn creating_needs_exclusive(&self) -> bool {
        !self.is_exclusive() && !self.engine.settings().compaction.rules().is_empty()
    }
}

fn destination_options(defaults: &SeriesOptions, rule: &PolicyRule, source: &Labels) -> SeriesOptions {
    let mut labels: Vec<(Vec<u8>, Vec<u8>)> = source
        .iter()
        .map(|(name, value)| (name.to_vec(), value.to_vec()))
        .collect();
    labels.push((b"aggregation".to_vec(), rule.aggregator.capital_name().into()));
    labels.push((b"time_bucket".to_vec(), rule.bucket_ms.to_string().into()));
    SeriesOptions {
        retention_ms: rule.retention_ms,
        encoding: Encoding::Uncompressed,
        duplicate_policy: None,
        labels: Labels::from_pairs(labels),
        ..defaults.clone()
    }
}
