//! Label values as numbers, durations and sizes, with the rules and the error texts of Go (logql.md 2.6, 2.7, 6.1).

use std::io::Write as _;

/// Why a value is not what it should be; written into `__error_details__`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConversionError<'a> {
    NumberSyntax(&'a [u8]),
    NumberRange(&'a [u8]),
    Duration(&'a [u8]),
    DurationUnit { unit: &'a [u8], text: &'a [u8] },
    DurationUnitMissing(&'a [u8]),
    SizeUnit(&'a [u8]),
    SizeRange(&'a [u8]),
}

impl ConversionError<'_> {
    /// Appends the message.
    pub(crate) fn write(self, out: &mut Vec<u8>) {
        let quoted = |out: &mut Vec<u8>, before: &str, text: &[u8], after: &str| {
            out.extend_from_slice(before.as_bytes());
            out.push(b'"');
            append_escaped(text, out);
            out.push(b'"');
            out.extend_from_slice(after.as_bytes());
        };
        match self {
            Self::NumberSyntax(text) => quoted(out, "strconv.ParseFloat: parsing ", text, ": invalid syntax"),
            Self::NumberRange(text) => quoted(out, "strconv.ParseFloat: parsing ", text, ": value out of range"),
            Self::Duration(text) => quoted(out, "time: invalid duration ", text, ""),
            Self::DurationUnit { unit, text } => {
                quoted(out, "time: unknown unit ", unit, " in duration ");
                quoted(out, "", text, "");
            }
            Self::DurationUnitMissing(text) => quoted(out, "time: missing unit in duration ", text, ""),
            Self::SizeUnit(unit) => {
                out.extend_from_slice(b"unhandled size name: ");
                append_escaped(unit, out);
            }
            Self::SizeRange(text) => {
                out.extend_from_slice(b"too large: ");
                append_escaped(text, out);
            }
        }
    }
}

/// Appends text as it stands in double quotes in messages.
pub(crate) fn append_escaped(text: &[u8], out: &mut Vec<u8>) {
    for &byte in text {
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            0..0x20 | 0x7f => write!(out, "\\x{byte:02x}").expect("bug: writing to memory failed"),
            _ => out.push(byte),
        }
    }
}

/// A float64 as Go's `strconv.ParseFloat` reads it: `NaN`, `inf` and underscores between digits, no hexadecimal integers.
pub(crate) fn parse_number(text: &[u8]) -> Result<f64, ConversionError<'_>> {
    if let Some(number) = small_whole_number(text) {
        return Ok(number);
    }
    let syntax = ConversionError::NumberSyntax(text);
    let mut plain = [0u8; 64];
    let digits = if text.contains(&b'_') {
        without_underscores(text, &mut plain).ok_or(syntax)?
    } else {
        text
    };
    let number: f64 = std::str::from_utf8(digits)
        .ok()
        .and_then(|t| t.parse().ok())
        .ok_or(syntax)?;
    let named = digits.iter().any(|b| matches!(b, b'n' | b'N'));
    if number.is_infinite() && !named {
        Err(ConversionError::NumberRange(text))
    } else {
        Ok(number)
    }
}

/// A number of up to fifteen digits, as most are: each of them is a float64.
fn small_whole_number(text: &[u8]) -> Option<f64> {
    if text.is_empty() || text.len() > 15 {
        return None;
    }
    let digit = |number: u64, byte: &u8| byte.is_ascii_digit().then(|| number * 10 + u64::from(byte - b'0'));
    text.iter().try_fold(0, digit).map(|number| number as f64)
}

/// Copies `text` without its underscores, each of which must stand between two digits.
fn without_underscores<'b>(text: &[u8], buffer: &'b mut [u8; 64]) -> Option<&'b [u8]> {
    let mut length = 0;
    for (at, &byte) in text.iter().enumerate() {
        if byte == b'_' {
            let is_digit = |at: Option<usize>| at.and_then(|at| text.get(at)).is_some_and(u8::is_ascii_digit);
            if !is_digit(at.checked_sub(1)) || !is_digit(at.checked_add(1)) {
                return None;
            }
        } else {
            *buffer.get_mut(length)? = byte;
            length += 1;
        }
    }
    buffer.get(..length)
}

/// The largest number that the digits of a fraction make; those beyond it count for nothing.
const MAX_FRACTION: u128 = 1 << 63;

/// Nanoseconds of a Go duration: a sign and numbers with the units `ns us µs ms s m h`.
pub(crate) fn parse_duration_ns(text: &[u8]) -> Result<i64, ConversionError<'_>> {
    let invalid = ConversionError::Duration(text);
    let (negative, mut rest) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    if rest == b"0" {
        return Ok(0);
    }
    if rest.is_empty() {
        return Err(invalid);
    }
    let mut total_ns: u64 = 0;
    while !rest.is_empty() {
        let (whole, after) = split_digits(rest);
        let (fraction, after) = match after {
            [b'.', after @ ..] => split_digits(after),
            _ => (&rest[..0], after),
        };
        if whole.is_empty() && fraction.is_empty() {
            return Err(invalid);
        }
        let unit_length = after
            .iter()
            .position(|b| b.is_ascii_digit() || *b == b'.')
            .unwrap_or(after.len());
        let (unit, after) = after.split_at(unit_length);
        let unit_ns: u64 = match unit {
            b"" => return Err(ConversionError::DurationUnitMissing(text)),
            b"ns" => 1,
            b"us" | b"\xc2\xb5s" | b"\xce\xbcs" => 1_000,
            b"ms" => 1_000_000,
            b"s" => 1_000_000_000,
            b"m" => 60_000_000_000,
            b"h" => 3_600_000_000_000,
            _ => return Err(ConversionError::DurationUnit { unit, text }),
        };
        let mut part_ns: u64 = 0;
        for digit in whole {
            part_ns = part_ns
                .checked_mul(10)
                .and_then(|n| n.checked_add(u64::from(digit - b'0')))
                .ok_or(invalid)?;
        }
        part_ns = part_ns.checked_mul(unit_ns).ok_or(invalid)?;
        if !fraction.is_empty() {
            let (mut numerator, mut scale) = (0u64, 1.0);
            for digit in fraction {
                let longer = u128::from(numerator) * 10 + u128::from(digit - b'0');
                if longer > MAX_FRACTION {
                    break;
                }
                numerator = longer as u64;
                scale *= 10.0;
            }
            let fraction_ns = numerator as f64 * (unit_ns as f64 / scale);
            part_ns = part_ns.checked_add(fraction_ns as u64).ok_or(invalid)?;
        }
        total_ns = total_ns.checked_add(part_ns).ok_or(invalid)?;
        rest = after;
    }
    let total_ns = i128::from(total_ns);
    i64::try_from(if negative { -total_ns } else { total_ns }).map_err(|_| invalid)
}

fn split_digits(text: &[u8]) -> (&[u8], &[u8]) {
    text.split_at(text.iter().position(|b| !b.is_ascii_digit()).unwrap_or(text.len()))
}

/// Bytes of a size such as `1.5 kb`, `1,024B`, `2MiB` or `512`.
pub(crate) fn parse_size_bytes(text: &[u8]) -> Result<u64, ConversionError<'_>> {
    let is_number = |b: &u8| b.is_ascii_digit() || *b == b'.' || *b == b',';
    let (digits, unit) = text.split_at(text.iter().position(|b| !is_number(b)).unwrap_or(text.len()));
    let syntax = ConversionError::NumberSyntax(digits);
    let mut buffer = [0u8; 64];
    let mut length = 0;
    for &byte in digits.iter().filter(|b| **b != b',') {
        *buffer.get_mut(length).ok_or(syntax)? = byte;
        length += 1;
    }
    let number = std::str::from_utf8(&buffer[..length])
        .ok()
        .and_then(|t| t.parse::<f64>().ok())
        .ok_or(syntax)?;
    let unit = unit.trim_ascii();
    let factor = size_factor(unit).ok_or(ConversionError::SizeUnit(unit))?;
    let bytes = number * factor;
    if bytes >= u64::MAX as f64 {
        Err(ConversionError::SizeRange(text))
    } else {
        Ok(bytes as u64)
    }
}

fn size_factor(unit: &[u8]) -> Option<f64> {
    let (prefix, rest) = match unit {
        [] => return Some(1.0),
        [first, rest @ ..] => (first.to_ascii_lowercase(), rest),
    };
    let power = match prefix {
        b'b' if rest.is_empty() => return Some(1.0),
        b'k' => 1,
        b'm' => 2,
        b'g' => 3,
        b't' => 4,
        b'p' => 5,
        b'e' => 6,
        _ => return None,
    };
    let base: f64 = match rest {
        [] | [b'b' | b'B'] => 1000.0,
        [b'i' | b'I'] | [b'i' | b'I', b'b' | b'B'] => 1024.0,
        _ => return None,
    };
    Some(base.powi(power))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(error: ConversionError<'_>) -> String {
        let mut out = Vec::new();
        error.write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn numbers_convert_by_the_rules_of_go() {
        let f = |text: &str, want: f64| assert_eq!(parse_number(text.as_bytes()), Ok(want), "{text}");
        f("5", 5.0);
        f("-1.5e3", -1500.0);
        f(".5", 0.5);
        f("007", 7.0);
        f("999999999999999", 999_999_999_999_999.0);
        f("9007199254740993", 9_007_199_254_740_992.0);
        f("+Inf", f64::INFINITY);
        f("inf", f64::INFINITY);
        f("1_000", 1000.0);
        assert!(parse_number(b"NaN").unwrap().is_nan());
        for text in ["", " 1", "1 ", "0x10", "_1", "1_", "1__0", "b", "1e"] {
            let want = format!("strconv.ParseFloat: parsing \"{text}\": invalid syntax");
            assert_eq!(message(parse_number(text.as_bytes()).unwrap_err()), want);
        }
        assert_eq!(
            message(parse_number(b"1e400").unwrap_err()),
            "strconv.ParseFloat: parsing \"1e400\": value out of range"
        );
    }

    #[test]
    fn durations_convert_by_the_rules_of_go() {
        let f = |text: &str, want: i64| assert_eq!(parse_duration_ns(text.as_bytes()), Ok(want), "{text}");
        f("0", 0);
        f("250us", 250_000);
        f("1.5h", 5_400_000_000_000);
        f("2h3m", 7_380_000_000_000);
        f("-1.25s", -1_250_000_000);
        f("1µs", 1_000);
        f(".5ms", 500_000);
        f("0.1s", 100_000_000);
        f("58.126671ms", 58_126_671);
        f("1.1us", 1_100);
        f("0.9us", 900);
        f("0.3ns", 0);
        f("1.000000001s", 1_000_000_001);
        f("1.0000000019s", 1_000_000_001);
        f("0.333333333333333333333333h", 1_200_000_000_000);
        f("9223372036.854775807s", i64::MAX);
        f("24h", 86_400_000_000_000);
        let f = |text: &str, want: &str| assert_eq!(message(parse_duration_ns(text.as_bytes()).unwrap_err()), want);
        f("1d", "time: unknown unit \"d\" in duration \"1d\"");
        f("x", "time: invalid duration \"x\"");
        f("", "time: invalid duration \"\"");
        f("5", "time: missing unit in duration \"5\"");
        f("9999999h", "time: invalid duration \"9999999h\"");
    }

    #[test]
    fn sizes_convert_liberally() {
        let f = |text: &str, want: u64| assert_eq!(parse_size_bytes(text.as_bytes()), Ok(want), "{text}");
        f("1.5 kb", 1500);
        f("1,024B", 1024);
        f("2MiB", 2 << 20);
        f("512", 512);
        f("3e", 3_000_000_000_000_000_000);
        f("1GB", 1_000_000_000);
        f("1kI", 1024);
        let f = |text: &str, want: &str| assert_eq!(message(parse_size_bytes(text.as_bytes()).unwrap_err()), want);
        f("", "strconv.ParseFloat: parsing \"\": invalid syntax");
        f("abc", "strconv.ParseFloat: parsing \"\": invalid syntax");
        f("5xb", "unhandled size name: xb");
        f("100EB", "too large: 100EB");
    }
}
