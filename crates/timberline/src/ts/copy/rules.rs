//! Copies the compaction rules of a series, with their buckets in progress.
//!
//! A rule counts only samples that are written once it is there (chapter 7.3 of `docs/timeseries.md`). So each rule is made when the copy has come to
//! the start of that rule's bucket in progress, and then the samples of that bucket follow:
//!
//! ```text
//! samples    o o o o o o o o o o
//! rule A             |              made here: its bucket starts with the next sample
//! rule B                   |        and this one here
//! ```

use super::Ends;
use super::series::{newest_timestamp, samples};
use crate::ts::attributes::Attributes;
use crate::ts::link::Trouble;
use indicatif::ProgressBar;
use redis::cmd;

/// Makes the rules of a series that are missing, and copies what had to wait for them; the number of rules and of samples.
pub(super) fn copy(ends: &mut Ends, key: &[u8], bar: &ProgressBar) -> Result<(usize, u64), Trouble> {
    let Some(source) = Attributes::of(&mut ends.from, key)? else {
        return Ok((0, 0));
    };
    if source.rules.is_empty() {
        return Ok((0, 0));
    }
    let there = Attributes::of(&mut ends.to, key)?
        .map(|there| there.rules)
        .unwrap_or_default();
    let mut missing: Vec<_> = source.rules.iter().filter(|rule| !there.contains(rule)).collect();
    missing.sort_by_key(|rule| rule.bucket_start(source.last_timestamp));
    let Some(first) = missing.first() else {
        return Ok((0, 0));
    };

    let first_start = first.bucket_start(source.last_timestamp);
    let mut newest = newest_timestamp(&mut ends.to, key)?;
    if newest.is_some_and(|newest| newest >= first_start) {
        // A copy that was interrupted here, or samples of somebody else: the bucket in progress is written again.
        ends.to.ask(cmd("TS.DEL").arg(key).arg(first_start).arg("+"))?;
        newest = newest_timestamp(&mut ends.to, key)?;
    }
    let mut position = match newest {
        None => 0,
        Some(i64::MAX) => {
            return Err(Trouble::Refused(
                "the newest timestamp leaves no room for rules".to_owned(),
            ));
        }
        Some(newest) => newest + 1,
    };
    let mut written = 0;
    for rule in &missing {
        let start = rule.bucket_start(source.last_timestamp);
        if start > position {
            written += samples(ends, key, (position, start - 1), bar)?;
            position = start;
        }
        ends.to.ask(&rule.create(key))?;
    }
    written += samples(ends, key, (position, i64::MAX), bar)?;
    Ok((missing.len(), written))
}
