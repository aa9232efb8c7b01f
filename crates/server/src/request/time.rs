//! Points in time of parameters (http-api.md 1.2).

use std::time::{SystemTime, UNIX_EPOCH};

/// Longest integer that is seconds; a longer one is nanoseconds.
const SECONDS_MAX_LENGTH: usize = 10;

/// The present, in nanoseconds since 1970.
pub(crate) fn now_ns() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

/// Nanoseconds since 1970 of Unix seconds, Unix nanoseconds or RFC 3339; the error says what is wrong with the text.
pub(crate) fn parse_time(text: &str) -> Result<i64, String> {
    let out_of_range = || format!("\"{text}\" is out of the range of nanosecond timestamps");
    if text.contains('.')
        && let Ok(seconds) = text.parse::<f64>()
    {
        let milliseconds = (seconds * 1e3).round();
        if !milliseconds.is_finite() || milliseconds.abs() * 1e6 >= i64::MAX as f64 {
            return Err(out_of_range());
        }
        #[expect(clippy::cast_possible_truncation, reason = "the range was checked")]
        return Ok(milliseconds as i64 * 1_000_000);
    }
    if let Ok(number) = text.parse::<i64>() {
        return match text.len() {
            0..=SECONDS_MAX_LENGTH => number.checked_mul(1_000_000_000).ok_or_else(out_of_range),
            _ => Ok(number),
        };
    }
    let time: jiff::Timestamp = text
        .parse()
        .map_err(|_| format!("\"{text}\" is neither a Unix time nor RFC 3339"))?;
    i64::try_from(time.as_nanosecond()).map_err(|_| out_of_range())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_forms() {
        const S: i64 = 1_000_000_000;
        let f = |text, want: i64| assert_eq!(parse_time(text), Ok(want), "{text}");
        f("0", 0);
        f("1700000000", 1_700_000_000 * S);
        f("-5", -5 * S);
        f("1700000000.5", 1_700_000_000 * S + S / 2);
        f("1700000000.1239", 1_700_000_000 * S + 124_000_000);
        f("1700000000000000001", 1_700_000_000 * S + 1);
        f("17000000001", 17_000_000_001);
        f("2023-11-14T22:13:20Z", 1_700_000_000 * S);
        f("2023-11-14T22:13:20.000000001Z", 1_700_000_000 * S + 1);
        f("2023-11-14T23:13:20+01:00", 1_700_000_000 * S);
        let bad = |text: &str| assert!(parse_time(text).is_err(), "{text}");
        bad("");
        bad("yesterday");
        bad("2023-11-14T22:13:20");
        bad("2023-11-14");
        bad("99999999999999999999");
        bad("9223372036854775807.5");
        bad("1e400.");
        bad("9999-01-01T00:00:00Z");
    }
}
