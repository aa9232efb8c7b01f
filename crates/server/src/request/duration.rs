//! Durations of parameters: seconds as a number, or a Prometheus duration (http-api.md 1.3).

use timberline_logql::duration::parse_prometheus_duration;

/// Nanoseconds of `30`, `0.5`, `15s`, `1h30m`; the error is the text of the answer.
pub(crate) fn parse_duration(text: &str) -> Result<i64, String> {
    if let Ok(seconds) = text.parse::<f64>() {
        let nanoseconds = (seconds * 1e9).round();
        if !seconds.is_finite() || nanoseconds.abs() >= i64::MAX as f64 {
            return Err(format!(
                "cannot parse \"{text}\" to a valid duration. It overflows int64"
            ));
        }
        #[expect(clippy::cast_possible_truncation, reason = "the range was checked")]
        return Ok(nanoseconds as i64);
    }
    parse_prometheus_duration(text).map_err(|_| format!("cannot parse \"{text}\" to a valid duration"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_or_units() {
        const S: i64 = 1_000_000_000;
        let f = |text, want: i64| assert_eq!(parse_duration(text), Ok(want), "{text}");
        f("30", 30 * S);
        f("0.5", S / 2);
        f("-5", -5 * S);
        f("1e2", 100 * S);
        f("0", 0);
        f("15s", 15 * S);
        f("1h30m", 5_400 * S);
        f("1d2h3m4s5ms", 93_784 * S + 5_000_000);
        f("1w", 604_800 * S);
        let bad = |text: &str| {
            assert_eq!(
                parse_duration(text),
                Err(format!("cannot parse \"{text}\" to a valid duration"))
            );
        };
        bad("");
        bad("abc");
        bad("5x");
        bad("s");
        bad("5m1h");
        bad("5m5m");
        bad("1.5h");
        bad("-5m");
        bad("9999999999y");
        assert!(parse_duration("1e300").is_err());
        assert!(parse_duration("NaN").is_err());
        assert!(parse_duration("inf").is_err());
    }
}
