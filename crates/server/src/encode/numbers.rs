//! Numbers and timestamps as the peer writes them (http-api.md 1.4).

// hot path: no locks, no logging, no allocation per row.

use std::io::Write;

/// Writes a sample value as a JSON string: the shortest decimal that reads back as the same number, without exponent.
pub(super) fn value(out: &mut Vec<u8>, value: f64) {
    out.push(b'"');
    if value.is_nan() {
        out.extend_from_slice(b"NaN");
    } else if value == f64::INFINITY {
        out.extend_from_slice(b"+Inf");
    } else if value == f64::NEG_INFINITY {
        out.extend_from_slice(b"-Inf");
    } else {
        display(out, value);
    }
    out.push(b'"');
}

/// Writes a time as seconds: a JSON number with up to three decimals, without trailing zeros.
pub(super) fn seconds(out: &mut Vec<u8>, time_ns: i64) {
    let milliseconds = milliseconds(time_ns);
    let (whole, fraction) = (milliseconds / 1000, (milliseconds % 1000).unsigned_abs());
    if milliseconds < 0 {
        out.push(b'-');
    }
    display(out, whole.unsigned_abs());
    if fraction > 0 {
        let digits = [fraction / 100, fraction / 10 % 10, fraction % 10];
        let length = digits.iter().rposition(|digit| *digit > 0).map_or(0, |last| last + 1);
        out.push(b'.');
        for digit in &digits[..length] {
            display(out, digit);
        }
    }
}

/// The millisecond in which a time lies.
pub(super) fn milliseconds(time_ns: i64) -> i64 {
    time_ns.div_euclid(1_000_000)
}

/// Writes anything that can be displayed.
pub(super) fn display(out: &mut Vec<u8>, value: impl std::fmt::Display) {
    let _ = write!(out, "{value}"); // A Vec takes everything.
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn values() {
        let f = |number: f64, want: &str| assert_eq!(text(|out| value(out, number)), format!("\"{want}\""));
        f(0.0, "0");
        f(42.0, "42");
        f(-1.5, "-1.5");
        f(0.1, "0.1");
        f(1.0 / 3.0, "0.3333333333333333");
        f(1e21, "1000000000000000000000");
        f(1e-7, "0.0000001");
        f(f64::NAN, "NaN");
        f(f64::INFINITY, "+Inf");
        f(f64::NEG_INFINITY, "-Inf");
    }

    #[test]
    fn times() {
        let f = |time_ns: i64, want: &str| assert_eq!(text(|out| seconds(out, time_ns)), want);
        f(1_700_000_000_000_000_000, "1700000000");
        f(1_700_000_000_500_000_000, "1700000000.5");
        f(1_700_000_000_123_999_999, "1700000000.123");
        f(1_700_000_000_010_000_000, "1700000000.01");
        f(0, "0");
        f(-1_500_000_000, "-1.5");
        f(-1, "-0.001");
    }
}
