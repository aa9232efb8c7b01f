//! Byte sizes as literals of the language (logql.md 2.7). Values of labels are read more liberally, by the label
//! filters.

use std::fmt;

const UNITS: [(&str, u64); 17] = [
    ("B", 1),
    ("kB", 1_000),
    ("KB", 1_000),
    ("K", 1_000),
    ("MB", 1_000_000),
    ("M", 1_000_000),
    ("GB", 1_000_000_000),
    ("G", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("T", 1_000_000_000_000),
    ("PB", 1_000_000_000_000_000),
    ("P", 1_000_000_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
    ("PiB", 1 << 50),
];

/// Reads a size literal such as `5KB`, `1.5MiB` or `3G` as bytes; `None` where the text is not one. Units are
/// case-sensitive: `5M` is a size, `5m` a duration.
pub fn parse_bytes_size(text: &str) -> Option<u64> {
    let digits = text.find(|c: char| !(c.is_ascii_digit() || c == '.'))?;
    let (number, unit) = text.split_at(digits);
    let (_, factor) = UNITS.iter().find(|(name, _)| *name == unit)?;
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(*factor);
    }
    let bytes = number.parse::<f64>().ok()? * *factor as f64;
    (bytes < u64::MAX as f64).then_some(bytes as u64)
}

/// Prints bytes in decimal units where that is exact with at most one decimal (`3.0kB`, `12MB`), else as `1234567B`, so
/// that the text always reads back as the same number.
pub struct BytesSize(pub u64);

impl fmt::Display for BytesSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.0;
        let unit = ["B", "kB", "MB", "GB", "TB", "PB"];
        let power = (bytes.max(1).ilog10() / 3).min(5);
        let factor = 1000_u64.pow(power);
        let name = unit[power as usize];
        let tenths = factor / 10;
        if power == 0 {
            write!(f, "{bytes}B")
        } else if bytes / factor < 10 && bytes.is_multiple_of(tenths) {
            write!(f, "{}.{}{name}", bytes / factor, bytes % factor / tenths)
        } else if bytes.is_multiple_of(factor) {
            write!(f, "{}{name}", bytes / factor)
        } else {
            write!(f, "{bytes}B")
        }
    }
}

/// Prints bytes in decimal units, rounded to two digits where the unit is counted in ones: `512B`, `1.5kB`, `2.1MB`, `105MB`.
pub struct RoundedBytes(pub u64);

impl fmt::Display for RoundedBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.0;
        let unit = ["B", "kB", "MB", "GB", "TB", "PB", "EB"];
        if bytes < 10 {
            return write!(f, "{bytes}B");
        }
        let power = bytes.ilog10() / 3;
        let tenths = (bytes as f64 / 1000_f64.powi(power as i32) * 10.0 + 0.5).floor() / 10.0;
        let digits = usize::from(tenths < 10.0);
        write!(f, "{tenths:.digits$}{}", unit[power as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals() {
        let good = |text, bytes: u64, printed: &str| {
            assert_eq!(parse_bytes_size(text), Some(bytes), "{text}");
            assert_eq!(BytesSize(bytes).to_string(), printed);
            assert_eq!(parse_bytes_size(printed), Some(bytes), "{printed}");
        };
        good("0B", 0, "0B");
        good("999B", 999, "999B");
        good("3KB", 3_000, "3.0kB");
        good("3kB", 3_000, "3.0kB");
        good("1.5K", 1_500, "1.5kB");
        good("12MB", 12_000_000, "12MB");
        good("2MiB", 2_097_152, "2097152B");
        good("5P", 5_000_000_000_000_000, "5.0PB");
        good("1.1GB", 1_100_000_000, "1.1GB");
        good("18446744073709551615B", u64::MAX, "18446744073709551615B");
        for text in [
            "5kb",
            "5",
            "KB",
            "5EB",
            "5m",
            "1.2.3KB",
            ".B",
            "18446744073709551616B",
            "99999PB",
        ] {
            assert_eq!(parse_bytes_size(text), None, "{text}");
        }
    }

    #[test]
    fn rounded() {
        let f = |bytes: u64, want: &str| assert_eq!(RoundedBytes(bytes).to_string(), want);
        f(0, "0B");
        f(9, "9B");
        f(10, "10B");
        f(512, "512B");
        f(1_500, "1.5kB");
        f(10_000, "10kB");
        f(2 << 20, "2.1MB");
        f(104_857_600, "105MB");
        f(1_000_000_000, "1.0GB");
        f(999_999, "1000kB");
        f(u64::MAX, "18EB");
    }
}
