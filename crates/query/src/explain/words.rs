//! Figures in words.

use crate::request::with_thousands;
use jiff::Timestamp;
use timberline_logql::duration::GoDuration;

/// `1 line`, `5 lines`, `1,000 lines`; a word that ends with `s` stays as it is.
pub(super) fn counted(n: impl TryInto<u64>, word: &str) -> String {
    let n = n.try_into().unwrap_or(u64::MAX);
    let plural = if n == 1 || word.ends_with('s') { "" } else { "s" };
    format!("{} {word}{plural}", with_thousands(n))
}

/// `512 B`, `1.5 KiB`.
pub(super) fn bytes(n: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if n < 1024 {
        return format!("{n} B");
    }
    let mut amount = n as f64 / 1024.0;
    let mut unit = 0;
    while amount >= 1024.0 && unit + 1 < UNITS.len() {
        amount /= 1024.0;
        unit += 1;
    }
    format!("{amount:.1} {}", UNITS[unit])
}

/// A measured time: `12 µs`, `3.4 ms`, `1.25 s`.
pub(super) fn seconds(seconds: f64) -> String {
    match seconds {
        s if s < 1e-3 => format!("{:.0} µs", s * 1e6),
        s if s < 1.0 => format!("{:.1} ms", s * 1e3),
        s => format!("{s:.2} s"),
    }
}

/// A length of time as queries have it: `1m0s`.
pub(super) fn duration(ns: i128) -> String {
    GoDuration(i64::try_from(ns).unwrap_or(i64::MAX)).to_string()
}

/// A time in UTC, or its number of nanoseconds where no calendar reaches.
pub(super) fn time(ns: i128) -> String {
    Timestamp::from_nanosecond(ns).map_or_else(|_| format!("{ns} ns"), |time| time.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures() {
        assert_eq!(
            [counted(0u64, "line"), counted(1u64, "line"), counted(1000u64, "series")],
            ["0 lines", "1 line", "1,000 series"]
        );
        assert_eq!(
            [bytes(0), bytes(1023), bytes(1536), bytes(3 << 30)],
            ["0 B", "1023 B", "1.5 KiB", "3.0 GiB"]
        );
        assert_eq!(
            [seconds(1.2e-5), seconds(0.0034), seconds(1.25)],
            ["12 µs", "3.4 ms", "1.25 s"]
        );
        assert_eq!(time(1_500_000_000), "1970-01-01T00:00:01.5Z");
        assert_eq!(time(i128::MAX), format!("{} ns", i128::MAX));
        assert_eq!(duration(90_000_000_000), "1m30s");
    }
}
