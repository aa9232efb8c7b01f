//! Writes infinite values, which servers hold but no command takes: they come about as sums (chapter 1 of `docs/timeseries.md`).

use super::link::{Link, Trouble};
use super::reply;
use super::writer::{Fate, Write, add, fate};
use redis::cmd;

/// The largest number: twice of it is infinite.
const LARGEST: &str = "1.7976931348623157E308";
const SMALLEST: &str = "-1.7976931348623157E308";

/// Writes an infinite value: the largest number, and then the same once more under the policy SUM.
pub(super) fn write(link: &mut Link, sample: &Write, on_duplicate: Option<&str>) -> anyhow::Result<Fate> {
    let there = match present(link, sample) {
        Ok(there) => there,
        Err(trouble) => return Ok(Fate::Refused(trouble.refusal()?)),
    };
    match decide(there, sample.value, on_duplicate) {
        Decision::Keep => return Ok(Fate::Taken),
        Decision::Refuse(why) => return Ok(Fate::Refused(why)),
        Decision::Write => {}
    }
    let half = if sample.value > 0.0 { LARGEST } else { SMALLEST };
    for policy in ["LAST", "SUM"] {
        let answer = link.ask_all(&[add(sample, half, Some(policy))])?;
        let outcome = answer.first().map_or(Fate::Taken, |answer| fate(sample, answer));
        if outcome != Fate::Taken {
            return Ok(outcome);
        }
    }
    Ok(Fate::Taken)
}

/// The value that is at the timestamp.
fn present(link: &mut Link, sample: &Write) -> Result<Option<f64>, Trouble> {
    let mut command = cmd("TS.RANGE");
    command.arg(sample.key).arg(sample.timestamp).arg(sample.timestamp);
    let rows = reply::samples(&link.ask(&command)?)?;
    Ok(rows.first().map(|(_, value)| *value))
}

/// What is to be done with an infinite value.
#[derive(Debug, PartialEq)]
enum Decision {
    Write,
    /// What is there stays.
    Keep,
    Refuse(String),
}

/// What a policy makes of an infinite value over the one that is there (chapter 4.2 and 4.4 of `docs/timeseries.md`).
fn decide(there: Option<f64>, value: f64, on_duplicate: Option<&str>) -> Decision {
    let Some(there) = there else { return Decision::Write };
    if there == value {
        return Decision::Keep;
    }
    let refuse = |why: &str| Decision::Refuse(format!("an infinite value over a sample that is there, {why}"));
    let policy = on_duplicate.map(str::to_ascii_uppercase);
    match policy.as_deref() {
        Some("LAST") => Decision::Write,
        // A number wins over what is no number.
        Some("FIRST") if there.is_nan() => Decision::Write,
        Some("FIRST") => Decision::Keep,
        Some("MIN" | "MAX" | "SUM") if there.is_nan() => refuse("which is not a number"),
        Some("MAX") if value > there => Decision::Write,
        Some("MIN") if value < there => Decision::Write,
        Some("MAX" | "MIN") => Decision::Keep,
        Some("SUM") if there.is_infinite() => refuse("which is infinite the other way"),
        Some("SUM") => Decision::Write,
        Some(_) => refuse("and those are blocked"),
        None => refuse("and no policy for it is named"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies() {
        let (inf, nan) = (f64::INFINITY, f64::NAN);
        let f = |there: Option<f64>, value, policy: Option<&str>, want: &str| {
            let got = match decide(there, value, policy) {
                Decision::Write => "write",
                Decision::Keep => "keep",
                Decision::Refuse(_) => "refuse",
            };
            assert_eq!(got, want, "{there:?} {value} {policy:?}");
        };
        f(None, inf, None, "write");
        f(Some(1.0), inf, None, "refuse");
        f(Some(inf), inf, None, "keep");
        f(Some(1.0), inf, Some("last"), "write");
        f(Some(1.0), inf, Some("BLOCK"), "refuse");
        f(Some(1.0), inf, Some("first"), "keep");
        f(Some(nan), inf, Some("first"), "write");
        f(Some(1.0), inf, Some("max"), "write");
        f(Some(1.0), -inf, Some("max"), "keep");
        f(Some(1.0), -inf, Some("min"), "write");
        f(Some(nan), inf, Some("max"), "refuse");
        f(Some(1.0), inf, Some("sum"), "write");
        f(Some(-inf), inf, Some("sum"), "refuse");
    }
}
