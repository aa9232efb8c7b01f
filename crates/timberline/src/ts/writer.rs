//! Writes samples, many with each round trip.

use super::infinity;
use super::link::Link;
use super::{number, reply};
use redis::{Cmd, Value, cmd};

/// Samples in a TS.MADD.
const COMMAND_SAMPLES: usize = 500;
/// Samples that are on their way together: their answers fit any server's buffers.
pub(super) const BATCH_SAMPLES: usize = 10_000;

/// A sample to write.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Write<'k> {
    pub(super) key: &'k [u8],
    pub(super) timestamp: i64,
    pub(super) value: f64,
}

/// What became of a sample.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Fate {
    /// It is there.
    Taken,
    /// The series ignores samples that differ so little from the newest one.
    Ignored,
    /// Why not.
    Refused(String),
}

/// Writes samples in the order given, and tells what became of each. With a policy it holds for samples on a timestamp that is there,
/// instead of the series' own.
pub(super) fn write(link: &mut Link, samples: &[Write], on_duplicate: Option<&str>) -> anyhow::Result<Vec<Fate>> {
    let mut fates = Vec::with_capacity(samples.len());
    let mut rest = samples;
    while let Some(first) = rest.first() {
        if first.value.is_infinite() {
            fates.push(infinity::write(link, first, on_duplicate)?);
            rest = &rest[1..];
            continue;
        }
        let count = rest
            .iter()
            .take(BATCH_SAMPLES)
            .take_while(|sample| !sample.value.is_infinite())
            .count();
        let (batch, later) = rest.split_at(count);
        rest = later;
        match on_duplicate {
            None => write_many(link, batch, &mut fates)?,
            Some(policy) => write_each(link, batch, policy, &mut fates)?,
        }
    }
    Ok(fates)
}

/// A command that writes one sample.
pub(super) fn add(sample: &Write, value: &str, on_duplicate: Option<&str>) -> Cmd {
    let mut command = cmd("TS.ADD");
    command.arg(sample.key).arg(sample.timestamp).arg(value);
    if let Some(policy) = on_duplicate {
        command.arg("ON_DUPLICATE").arg(policy);
    }
    command
}

fn write_each(link: &mut Link, batch: &[Write], policy: &str, fates: &mut Vec<Fate>) -> anyhow::Result<()> {
    let commands: Vec<Cmd> = batch
        .iter()
        .map(|sample| add(sample, &number::text(sample.value), Some(policy)))
        .collect();
    let answers = link.ask_all(&commands)?;
    fates.extend(batch.iter().zip(&answers).map(|(sample, answer)| fate(sample, answer)));
    Ok(())
}

fn write_many(link: &mut Link, batch: &[Write], fates: &mut Vec<Fate>) -> anyhow::Result<()> {
    let parts: Vec<&[Write]> = batch.chunks(COMMAND_SAMPLES).collect();
    let command = |part: &&[Write]| {
        let mut command = cmd("TS.MADD");
        for sample in *part {
            command
                .arg(sample.key)
                .arg(sample.timestamp)
                .arg(number::text(sample.value));
        }
        command
    };
    let commands: Vec<Cmd> = parts.iter().map(command).collect();
    let answers = link.ask_all(&commands)?;
    for (part, answer) in parts.iter().zip(&answers) {
        match answer {
            Value::Array(answers) if answers.len() == part.len() => {
                fates.extend(part.iter().zip(answers).map(|(sample, answer)| fate(sample, answer)));
            }
            other => fates.extend(part.iter().map(|sample| fate(sample, other))),
        }
    }
    Ok(())
}

/// What an answer says of a sample. A sample that is ignored is answered with the time of the newest one.
pub(super) fn fate(sample: &Write, answer: &Value) -> Fate {
    match answer {
        Value::Int(timestamp) if *timestamp == sample.timestamp => Fate::Taken,
        Value::Int(_) => Fate::Ignored,
        other => {
            let unknown = || format!("an answer that is not understood: {other:?}");
            Fate::Refused(reply::refusal(other).unwrap_or_else(unknown))
        }
    }
}
