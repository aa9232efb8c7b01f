//! Copies a series: what it is, and its samples.

use super::Ends;
use crate::ts::attributes::Attributes;
use crate::ts::link::{Link, Trouble};
use crate::ts::pages::each_page;
use crate::ts::reply::{sample, unexpected};
use crate::ts::writer::{Fate, Write, write};
use indicatif::ProgressBar;
use redis::{Cmd, Value, cmd};

/// Creates a series or continues it, up to the bucket in progress of the first rule that is still to be made. Gives the number of samples written.
pub(super) fn copy(ends: &mut Ends, key: &[u8], bar: &ProgressBar) -> Result<u64, Trouble> {
    let Some(source) = Attributes::of(&mut ends.from, key)? else {
        // It has gone since it was selected; the comparison finds it if it is there only.
        return Ok(0);
    };
    let present = Attributes::of(&mut ends.to, key)?;
    match &present {
        None => {
            ends.to.ask(&create(key, &source))?;
        }
        // Samples that are written again are not to be ignored because they differ too little.
        Some(present) if present.ignores_some() => {
            ends.to.ask(cmd("TS.ALTER").arg(key).arg("IGNORE").arg(0).arg(0))?;
        }
        Some(_) => {}
    }
    let newest = newest_timestamp(&mut ends.to, key)?;
    let present = present.unwrap_or_default();
    bar.inc(present.samples.min(source.samples));
    let missing = source.rules.iter().filter(|rule| !present.rules.contains(rule));
    // A rule counts only what is written once it is there, so the bucket in progress has to wait for it.
    let stop = missing.map(|rule| rule.bucket_start(source.last_timestamp)).min();
    let end = stop.map_or(i64::MAX, |stop| stop - 1);
    let written = match newest {
        Some(i64::MAX) => 0,
        newest => samples(ends, key, (newest.map_or(0, |newest| newest + 1), end), bar)?,
    };
    ends.to.ask(&alter(key, &source))?;
    copy_time_to_live(ends, key)?;
    Ok(written)
}

/// Copies samples between two times, both inclusive; their number.
pub(super) fn samples(ends: &mut Ends, key: &[u8], range: (i64, i64), bar: &ProgressBar) -> Result<u64, Trouble> {
    let (from, to) = (&mut ends.from, &mut ends.to);
    let mut written = 0;
    each_page(from, key, range, |page| {
        let writes: Vec<Write> = page
            .iter()
            .map(|(timestamp, value)| Write {
                key,
                timestamp: *timestamp,
                value: *value,
            })
            .collect();
        let fates = write(to, &writes, None).map_err(Trouble::Lost)?;
        written += fates.iter().filter(|fate| **fate == Fate::Taken).count() as u64;
        bar.inc(page.len() as u64);
        // Going on after a refusal would leave a gap that the next attempt does not see.
        match fates.into_iter().find(|fate| *fate != Fate::Taken) {
            None => Ok(()),
            Some(Fate::Refused(why)) => Err(Trouble::Refused(why)),
            Some(_) => Err(Trouble::Refused(
                "a sample was ignored: it differs too little from the newest one".to_owned(),
            )),
        }
    })?;
    Ok(written)
}

/// The newest timestamp of a series; none if it is empty.
pub(super) fn newest_timestamp(link: &mut Link, key: &[u8]) -> Result<Option<i64>, Trouble> {
    let answer = link.ask(cmd("TS.GET").arg(key))?;
    match &answer {
        Value::Array(parts) if parts.is_empty() => Ok(None),
        row => match sample(row) {
            Some((timestamp, _)) => Ok(Some(timestamp)),
            None => Err(unexpected("TS.GET", &answer)),
        },
    }
}

/// The command that creates a series; IGNORE comes when its samples are there.
fn create(key: &[u8], source: &Attributes) -> Cmd {
    let mut command = cmd("TS.CREATE");
    command.arg(key).arg("RETENTION").arg(source.retention_ms);
    command
        .arg("ENCODING")
        .arg(&source.encoding)
        .arg("CHUNK_SIZE")
        .arg(source.chunk_bytes);
    command.arg("IGNORE").arg(0).arg(0);
    add_policy(&mut command, source);
    if !source.labels.is_empty() {
        add_labels(&mut command, source);
    }
    command
}

/// The command that gives a series the attributes of the other one.
fn alter(key: &[u8], source: &Attributes) -> Cmd {
    let mut command = cmd("TS.ALTER");
    command
        .arg(key)
        .arg("RETENTION")
        .arg(source.retention_ms)
        .arg("CHUNK_SIZE")
        .arg(source.chunk_bytes);
    command
        .arg("IGNORE")
        .arg(source.ignore_max_time_diff)
        .arg(source.ignore_max_value_diff.to_string());
    add_policy(&mut command, source);
    add_labels(&mut command, source); // With none behind it the word removes all.
    command
}

/// A series without a policy follows the server's; there is no word for that.
fn add_policy(command: &mut Cmd, source: &Attributes) {
    if let Some(policy) = &source.duplicate_policy {
        command.arg("DUPLICATE_POLICY").arg(policy);
    }
}

fn add_labels(command: &mut Cmd, source: &Attributes) {
    command.arg("LABELS");
    for (name, value) in &source.labels {
        command.arg(name).arg(value);
    }
}

/// A key that is to vanish there is to vanish here at the same time.
fn copy_time_to_live(ends: &mut Ends, key: &[u8]) -> Result<(), Trouble> {
    if let Value::Int(milliseconds) = ends.from.ask(cmd("PTTL").arg(key))?
        && milliseconds > 0
    {
        ends.to.ask(cmd("PEXPIRE").arg(key).arg(milliseconds))?;
    }
    Ok(())
}

impl Attributes {
    fn ignores_some(&self) -> bool {
        self.ignore_max_time_diff != 0 || self.ignore_max_value_diff != 0.0
    }
}
