//! Sizes and durations as people write them: `64MiB`, `1h30m`.

use std::time::Duration;

const SIZES: [(&str, u64); 9] = [
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("B", 1),
];

const DURATIONS: [(&str, u64); 9] = [
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60 * 1_000_000_000),
    ("h", 3600 * 1_000_000_000),
    ("d", 24 * 3600 * 1_000_000_000),
    ("w", 7 * 24 * 3600 * 1_000_000_000),
    ("y", 365 * 24 * 3600 * 1_000_000_000),
];

/// Reads a number of bytes: `1048576`, `64MiB`, `10MB`.
pub(crate) fn parse_bytes(text: &str) -> Result<u64, String> {
    let bad = || format!("{text:?} is not a size; write it like 1048576, 64MiB or 10MB");
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().map_err(|_| bad())?;
    let unit = unit.trim();
    if unit.is_empty() {
        return Ok(number);
    }
    let (_, factor) = SIZES
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case(unit))
        .ok_or_else(bad)?;
    number.checked_mul(*factor).ok_or_else(bad)
}

/// Writes a number of bytes so that [`parse_bytes`] reads the same number.
pub(crate) fn exact_bytes(bytes: u64) -> String {
    for (name, factor) in SIZES[..4].iter().rev() {
        if bytes > 0 && bytes.is_multiple_of(*factor) {
            return format!("{}{name}", bytes / factor);
        }
    }
    bytes.to_string()
}

/// Writes a number of bytes for reading at a glance: `1.4 MiB`.
pub(crate) fn about_bytes(bytes: u64) -> String {
    for (name, factor) in SIZES[..4].iter().rev() {
        if bytes >= *factor {
            return format!("{:.1} {name}", bytes as f64 / *factor as f64);
        }
    }
    format!("{bytes} B")
}

/// Reads a duration of the query language: `90s`, `1h30m`, `7d`; units w, d, h, m, s, ms, us, ns, y.
pub(crate) fn parse_duration(text: &str) -> Result<Duration, String> {
    let bad = || format!("{text:?} is not a duration; write it like 90s, 1h30m or 7d");
    let mut rest = text;
    let mut total_ns: u64 = 0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).ok_or_else(bad)?;
        let number: u64 = rest[..digits].parse().map_err(|_| bad())?;
        rest = &rest[digits..];
        let letters = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let (_, factor) = DURATIONS
            .iter()
            .find(|(name, _)| *name == &rest[..letters])
            .ok_or_else(bad)?;
        let part = number.checked_mul(*factor).ok_or_else(bad)?;
        total_ns = total_ns.checked_add(part).ok_or_else(bad)?;
        rest = &rest[letters..];
    }
    if text.is_empty() {
        Err(bad())
    } else {
        Ok(Duration::from_nanos(total_ns))
    }
}

/// Writes a duration so that [`parse_duration`] reads the same one.
pub(crate) fn exact_duration(duration: Duration) -> String {
    let mut rest_ns = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
    if rest_ns == 0 {
        return "0s".to_owned();
    }
    let mut text = String::new();
    for (name, factor) in DURATIONS[..7].iter().rev() {
        if rest_ns >= *factor {
            text += &format!("{}{name}", rest_ns / factor);
            rest_ns %= factor;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        let f = |text: &str, want: Option<u64>| assert_eq!(parse_bytes(text).ok(), want, "{text}");
        f("0", Some(0));
        f("123", Some(123));
        f("64MiB", Some(64 << 20));
        f("64 mib", Some(64 << 20));
        f("10MB", Some(10_000_000));
        f("1B", Some(1));
        f("", None);
        f("MiB", None);
        f("-1", None);
        f("1XB", None);
        f("99999999999999TiB", None);
        for bytes in [0, 1, 1000, 1024, 1 << 20, (1 << 20) + 1, 5 << 30] {
            assert_eq!(parse_bytes(&exact_bytes(bytes)), Ok(bytes));
        }
        assert_eq!(
            (about_bytes(512), about_bytes(1536)),
            ("512 B".to_owned(), "1.5 KiB".to_owned())
        );
    }

    #[test]
    fn durations() {
        let f = |text: &str, want: Option<u64>| {
            assert_eq!(parse_duration(text).ok(), want.map(Duration::from_millis), "{text}");
        };
        f("0s", Some(0));
        f("90s", Some(90_000));
        f("1h30m", Some(5_400_000));
        f("7d", Some(7 * 86_400_000));
        f("1w2d", Some(9 * 86_400_000));
        f("250ms", Some(250));
        f("", None);
        f("5", None);
        f("5x", None);
        f("h", None);
        f("9999999999y", None);
        for ms in [0, 1, 999, 1000, 61_000, 86_400_000, 86_461_250] {
            let duration = Duration::from_millis(ms);
            assert_eq!(parse_duration(&exact_duration(duration)), Ok(duration));
        }
    }
}
