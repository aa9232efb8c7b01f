//! Durations in their two spellings (logql.md 2.6): that of Prometheus in ranges, that of Go everywhere else.

use std::fmt;

/// Units of Prometheus durations with their nanoseconds, largest first: the order in which they must be written.
const PROMETHEUS_UNITS: [(&str, i64); 7] = [
    ("y", 365 * 24 * HOUR_NS),
    ("w", 7 * 24 * HOUR_NS),
    ("d", 24 * HOUR_NS),
    ("h", HOUR_NS),
    ("m", MINUTE_NS),
    ("s", SECOND_NS),
    ("ms", 1_000_000),
];
const HOUR_NS: i64 = 3600 * SECOND_NS;
const MINUTE_NS: i64 = 60 * SECOND_NS;
const SECOND_NS: i64 = 1_000_000_000;

/// Reads a Prometheus duration such as `1h30m` or `0` as nanoseconds. Each unit at most once, in descending order; no
/// fraction, no sign, no spaces.
pub fn parse_prometheus_duration(text: &str) -> Result<i64, String> {
    if text.is_empty() {
        return Err("empty duration string".to_owned());
    }
    if text == "0" {
        return Ok(0);
    }
    let invalid = || format!("not a valid duration string: {text:?}");
    let out_of_range = || "duration out of range".to_owned();
    let mut rest = text;
    let mut total_ns = 0_i64;
    let mut next_unit = 0;
    while !rest.is_empty() {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        if digits == 0 {
            return Err(invalid());
        }
        let (number, after) = rest.split_at(digits);
        let unit_length = after
            .find(|c: char| c == '.' || c.is_ascii_digit())
            .unwrap_or(after.len());
        if unit_length == 0 {
            return Err(invalid());
        }
        let (unit, after) = after.split_at(unit_length);
        let Some(at) = PROMETHEUS_UNITS.iter().position(|(name, _)| *name == unit) else {
            return Err(format!("unknown unit {unit:?} in duration {text:?}"));
        };
        if at < next_unit {
            return Err(invalid());
        }
        next_unit = at + 1;
        let count: i64 = number.parse().map_err(|_| out_of_range())?;
        let part_ns = count.checked_mul(PROMETHEUS_UNITS[at].1).ok_or_else(out_of_range)?;
        total_ns = total_ns.checked_add(part_ns).ok_or_else(out_of_range)?;
        rest = after;
    }
    Ok(total_ns)
}

/// Reads a Go duration such as `1.5h`, `-250us` or `1m0.5s` as nanoseconds. Error texts are those of Go, which end up
/// in `__error_details__`.
pub fn parse_go_duration(text: &str) -> Result<i64, String> {
    let invalid = || format!("time: invalid duration {text:?}");
    let (negative, mut rest) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    if rest == "0" {
        return Ok(0);
    }
    if rest.is_empty() {
        return Err(invalid());
    }
    let mut total_ns = 0_u64;
    while !rest.is_empty() {
        let (whole, after) = split_digits(rest);
        let (fraction, after) = match after.strip_prefix('.') {
            Some(after) => split_digits(after),
            None => ("", after),
        };
        if whole.is_empty() && fraction.is_empty() {
            return Err(invalid());
        }
        let unit_length = after
            .find(|c: char| c == '.' || c.is_ascii_digit())
            .unwrap_or(after.len());
        let (unit, after) = after.split_at(unit_length);
        if unit.is_empty() {
            return Err(format!("time: missing unit in duration {text:?}"));
        }
        let Some(unit_ns) = go_unit_ns(unit) else {
            return Err(format!("time: unknown unit {unit:?} in duration {text:?}"));
        };
        let count: u64 = if whole.is_empty() {
            0
        } else {
            whole.parse().map_err(|_| invalid())?
        };
        let whole_ns = count.checked_mul(unit_ns).ok_or_else(invalid)?;
        let part_ns = whole_ns
            .checked_add(fraction_ns(fraction, unit_ns))
            .ok_or_else(invalid)?;
        total_ns = total_ns.checked_add(part_ns).ok_or_else(invalid)?;
        rest = after;
    }
    match (negative, i64::try_from(total_ns)) {
        (false, Ok(ns)) => Ok(ns),
        (true, Ok(ns)) => Ok(-ns),
        (true, Err(_)) if total_ns == i64::MIN.unsigned_abs() => Ok(i64::MIN),
        (_, Err(_)) => Err(invalid()),
    }
}

fn split_digits(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text.split_at(end)
}

fn go_unit_ns(unit: &str) -> Option<u64> {
    Some(match unit {
        "ns" => 1,
        // The micro sign and the Greek letter look alike; Go takes both.
        "us" | "\u{b5}s" | "\u{3bc}s" => 1_000,
        "ms" => 1_000_000,
        "s" => SECOND_NS.unsigned_abs(),
        "m" => MINUTE_NS.unsigned_abs(),
        "h" => HOUR_NS.unsigned_abs(),
        _ => return None,
    })
}

/// `0.FRACTION` of a unit, cut to whole nanoseconds. Digits beyond the 18th cannot matter.
fn fraction_ns(fraction: &str, unit_ns: u64) -> u64 {
    let digits = &fraction[..fraction.len().min(18)];
    let Ok(numerator) = digits.parse::<u128>() else {
        return 0;
    };
    let denominator = 10_u128.pow(u32::try_from(digits.len()).unwrap_or(0));
    u64::try_from(numerator * u128::from(unit_ns) / denominator).unwrap_or(0)
}

/// Prints nanoseconds as Go does: `5m0s`, `1.5s`, `250µs`, `-1h0m0s`.
pub struct GoDuration(pub i64);

impl fmt::Display for GoDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ns = self.0.unsigned_abs();
        if self.0 < 0 {
            f.write_str("-")?;
        }
        match ns {
            0 => return f.write_str("0s"),
            1..1_000 => return write!(f, "{ns}ns"),
            1_000..1_000_000 => return write_fraction(f, ns, 1_000, "\u{b5}s"),
            1_000_000..1_000_000_000 => return write_fraction(f, ns, 1_000_000, "ms"),
            _ => {}
        }
        let (hours, minutes) = (ns / HOUR_NS.unsigned_abs(), ns / MINUTE_NS.unsigned_abs() % 60);
        if hours > 0 {
            write!(f, "{hours}h")?;
        }
        if hours > 0 || minutes > 0 {
            write!(f, "{minutes}m")?;
        }
        write_fraction(f, ns % MINUTE_NS.unsigned_abs(), SECOND_NS.unsigned_abs(), "s")
    }
}

/// Prints `value / scale` without trailing zeros, then the unit. `scale` is a power of ten.
fn write_fraction(f: &mut fmt::Formatter<'_>, value: u64, scale: u64, unit: &str) -> fmt::Result {
    write!(f, "{}", value / scale)?;
    let rest = value % scale;
    if rest > 0 {
        let width = scale.ilog10() as usize;
        let digits = format!("{rest:0width$}");
        write!(f, ".{}", digits.trim_end_matches('0'))?;
    }
    f.write_str(unit)
}

/// Prints nanoseconds as a Prometheus duration: `1h30m`. Years and weeks only where nothing is left over, because
/// `90d` reads better than `12w6d`. What is below a millisecond cannot be written and is dropped; ranges never have
/// it.
pub struct PrometheusDuration(pub i64);

impl fmt::Display for PrometheusDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0.max(0);
        if rest < 1_000_000 {
            return f.write_str("0s");
        }
        for (unit, unit_ns) in PROMETHEUS_UNITS {
            let count = rest / unit_ns;
            let only_exact = matches!(unit, "y" | "w");
            if count == 0 || (only_exact && rest % unit_ns != 0) {
                continue;
            }
            write!(f, "{count}{unit}")?;
            rest %= unit_ns;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    #[test]
    fn prometheus() {
        let good = |text, want_ms: i64, printed: &str| {
            let ns = parse_prometheus_duration(text).unwrap();
            assert_eq!(
                (ns, PrometheusDuration(ns).to_string().as_str()),
                (want_ms * MS, printed),
                "{text}"
            );
        };
        good("0", 0, "0s");
        good("0s", 0, "0s");
        good("5m", 300_000, "5m");
        good("1h30m", 5_400_000, "1h30m");
        good("1d12h", 129_600_000, "1d12h");
        good("90s", 90_000, "1m30s");
        good("14d", 14 * 86_400_000, "2w");
        good("90d", 90 * 86_400_000, "90d");
        good("365d", 365 * 86_400_000, "1y");
        good("1s1ms", 1001, "1s1ms");
        let bad = |text, want| assert_eq!(parse_prometheus_duration(text).unwrap_err(), want);
        bad("", "empty duration string");
        bad("5", "not a valid duration string: \"5\"");
        bad("-5m", "not a valid duration string: \"-5m\"");
        bad("1.5h", "not a valid duration string: \"1.5h\"");
        bad("1h30", "not a valid duration string: \"1h30\"");
        bad("1m1h", "not a valid duration string: \"1m1h\"");
        bad("1m1m", "not a valid duration string: \"1m1m\"");
        bad("5x", "unknown unit \"x\" in duration \"5x\"");
        bad("999999y", "duration out of range");
        bad("99999999999999999999s", "duration out of range");
    }

    #[test]
    fn go() {
        let good = |text, want_ns: i64, printed: &str| {
            let ns = parse_go_duration(text).unwrap();
            assert_eq!((ns, GoDuration(ns).to_string().as_str()), (want_ns, printed), "{text}");
        };
        good("0", 0, "0s");
        good("1.5h", 5_400_000 * MS, "1h30m0s");
        good("-5m", -300_000 * MS, "-5m0s");
        good("+.5s", 500 * MS, "500ms");
        good("250us", 250_000, "250\u{b5}s");
        good("250\u{3bc}s", 250_000, "250\u{b5}s");
        good("1m0.5s", 60_500 * MS, "1m0.5s");
        good("1500ns", 1500, "1.5\u{b5}s");
        good("0.0000000000000000000001h", 0, "0s");
        good("-9223372036854775808ns", i64::MIN, "-2562047h47m16.854775808s");
        let bad = |text, want| assert_eq!(parse_go_duration(text).unwrap_err(), want);
        bad("", "time: invalid duration \"\"");
        bad("x", "time: invalid duration \"x\"");
        bad(".s", "time: invalid duration \".s\"");
        bad("5", "time: missing unit in duration \"5\"");
        bad("1d", "time: unknown unit \"d\" in duration \"1d\"");
        bad("9999999h", "time: invalid duration \"9999999h\"");
    }
}
