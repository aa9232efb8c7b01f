//! Texts as numbers, durations and sizes, by the rules of Go (logql.md 2.6, 2.7, 6.1).

/// A float64.
pub(crate) fn number(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let lower = unsigned.to_ascii_lowercase();
    if matches!(lower.as_str(), "inf" | "infinity") {
        return Some(if text.starts_with('-') {
            f64::NEG_INFINITY
        } else {
            f64::INFINITY
        });
    }
    if lower == "nan" {
        return (text == unsigned).then_some(f64::NAN);
    }
    if !unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    let plain = text.replace('_', "");
    // Out of range is no number.
    plain.parse::<f64>().ok().filter(|n| n.is_finite())
}

/// A Go duration in nanoseconds.
pub(crate) fn duration_ns(text: &str) -> Option<f64> {
    let (negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Some(0.0);
    }
    if rest.is_empty() {
        return None;
    }
    let mut total = 0.0;
    while !rest.is_empty() {
        let digits = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(rest.len());
        let (count, after) = rest.split_at(digits);
        if count.matches('.').count() > 1 || !count.contains(|c: char| c.is_ascii_digit()) {
            return None;
        }
        let letters = after
            .find(|c: char| c.is_ascii_digit() || c == '.')
            .unwrap_or(after.len());
        let (unit, after) = after.split_at(letters);
        let unit_ns = match unit {
            "ns" => 1.0,
            "us" | "µs" | "μs" => 1e3,
            "ms" => 1e6,
            "s" => 1e9,
            "m" => 60e9,
            "h" => 3600e9,
            _ => return None,
        };
        let count: f64 = format!("0{count}0").parse().ok()?;
        // `12` became `0120`: without a point the appended digit counts.
        let count = if rest[..digits].contains('.') {
            count
        } else {
            count / 10.0
        };
        total += (count * unit_ns).trunc();
        rest = after;
    }
    Some(if negative { -total } else { total })
}

/// A size in bytes.
pub(crate) fn bytes(text: &str) -> Option<f64> {
    let digits = text
        .find(|c: char| !c.is_ascii_digit() && c != '.' && c != ',')
        .unwrap_or(text.len());
    let (count, unit) = text.split_at(digits);
    let count: f64 = count.replace(',', "").parse().ok()?;
    let unit = unit.trim().to_ascii_lowercase();
    let unit = unit.strip_suffix('b').unwrap_or(&unit);
    let (letter, base) = match unit.strip_suffix('i') {
        Some(letter) if !letter.is_empty() => (letter, 1024.0_f64),
        _ => (unit, 1000.0),
    };
    let power = match letter {
        "" => 0,
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        "p" => 5,
        "e" => 6,
        _ => return None,
    };
    let bytes = (count * base.powi(power)).trunc();
    (bytes < u64::MAX as f64).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_convert_by_the_rules_of_go() {
        let f = |text, want| assert_eq!(number(text), want, "{text}");
        f("1.5", Some(1.5));
        f("+Inf", Some(f64::INFINITY));
        f("1_000", Some(1000.0));
        f("0x10", None);
        f(" 1", None);
        f("1e400", None);
        f("", None);
        let f = |text, want| assert_eq!(duration_ns(text), want, "{text}");
        f("1.5s", Some(1.5e9));
        f("-1h30m", Some(-5400e9));
        f("12ms", Some(12e6));
        f("1d", None);
        f("5", None);
        f(".s", None);
        f("", None);
        let f = |text, want| assert_eq!(bytes(text), want, "{text}");
        f("1.5 kb", Some(1500.0));
        f("1,024B", Some(1024.0));
        f("2MiB", Some(2097152.0));
        f("512", Some(512.0));
        f("5xx", None);
        f("", None);
    }
}
