//! How numbers of arguments are read (specification, chapter 2). There are two grammars of floats: values of samples follow JSON, steps
//! and bounds are read more freely.

// hot path: no lock, no logging, no allocation.

use super::refusal::{self, Refusal};

/// An integer: an optional `-`, no `+`, no leading zeros, no blanks; fits 64 bits.
pub(super) fn integer(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    let (first, rest) = digits.split_first()?;
    if *first == b'0' {
        return (rest.is_empty() && !negative).then_some(0);
    }
    // 19 digits fit 64 bits without a sign; what is too large for a sign shows at the end.
    if digits.len() > 19 {
        return None;
    }
    let mut magnitude = 0u64;
    for digit in digits {
        let digit = digit.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        magnitude = magnitude * 10 + u64::from(digit);
    }
    if negative {
        0i64.checked_sub_unsigned(magnitude)
    } else {
        i64::try_from(magnitude).ok()
    }
}

/// An integer that is not negative.
pub(super) fn unsigned(text: &[u8]) -> Option<i64> {
    integer(text).filter(|number| *number >= 0)
}

/// The value of a sample: a JSON number that does not overflow, or `nan` in any case with an optional sign.
pub(super) fn value(text: &[u8]) -> Option<f64> {
    if let Some(value) = short_decimal(text) {
        return Some(value);
    }
    if !is_json_number(text) {
        let unsigned = text.strip_prefix(b"-").or(text.strip_prefix(b"+")).unwrap_or(text);
        return unsigned.eq_ignore_ascii_case(b"nan").then_some(f64::NAN);
    }
    std::str::from_utf8(text)
        .ok()?
        .parse()
        .ok()
        .filter(|value: &f64| value.is_finite())
}

/// What nearly all values are: a few digits, perhaps with a point. The digits as an integer and the power of ten are exact, so their
/// quotient is rounded once, as it must be. `None` for all else, valid or not.
fn short_decimal(text: &[u8]) -> Option<f64> {
    const POWERS: [f64; 16] = [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
    ];
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    // 15 digits and a point: below 2^53.
    if digits.len() > 16 || !matches!(digits, [b'0'] | [b'0', b'.', ..] | [b'1'..=b'9', ..]) {
        return None;
    }
    let mut mantissa = 0u64;
    let mut point = None;
    for (at, byte) in digits.iter().enumerate() {
        let digit = byte.wrapping_sub(b'0');
        if digit <= 9 {
            mantissa = mantissa * 10 + u64::from(digit);
        } else if *byte == b'.' && point.is_none() {
            point = Some(at);
        } else {
            return None;
        }
    }
    let fraction = match point {
        None if digits.len() == 16 => return None,
        None => 0,
        Some(at) => digits.len() - at - 1,
    };
    if point.is_some() && fraction == 0 {
        return None;
    }
    let value = mantissa as f64 / POWERS.get(fraction)?;
    Some(if negative { -value } else { value })
}

/// `-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?`
fn is_json_number(text: &[u8]) -> bool {
    let text = text.strip_prefix(b"-").unwrap_or(text);
    let mut rest = match text {
        [b'0', rest @ ..] => rest,
        [b'1'..=b'9', rest @ ..] => skip_digits(rest),
        _ => return false,
    };
    if let [b'.', fraction @ ..] = rest {
        rest = skip_digits(fraction);
        if rest.len() == fraction.len() {
            return false;
        }
    }
    if let [b'e' | b'E', exponent @ ..] = rest {
        let digits = match exponent {
            [b'+' | b'-', digits @ ..] => digits,
            digits => digits,
        };
        rest = skip_digits(digits);
        if rest.len() == digits.len() {
            return false;
        }
    }
    rest.is_empty()
}

fn skip_digits(text: &[u8]) -> &[u8] {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    &text[digits..]
}

/// A step or a bound: also `+5`, `.5`, `inf`, `-inf`; not NaN, and no digits that overflow.
pub(super) fn float(text: &[u8]) -> Option<f64> {
    let value: f64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    let spelled_out = text.iter().any(|byte| matches!(byte, b'n' | b'N'));
    (!value.is_nan() && (value.is_finite() || spelled_out)).then_some(value)
}

/// The timestamp of a sample to write. `*` is the clock, asked once per command by the caller.
pub(super) fn timestamp(text: &[u8], now_ms: impl FnOnce() -> i64) -> Result<i64, Refusal> {
    match integer(text) {
        Some(timestamp) if timestamp >= 0 => Ok(timestamp),
        Some(_) => Err(refusal::NEGATIVE_TIMESTAMP),
        None if text == b"*" => Ok(now_ms()),
        None => Err(refusal::TIMESTAMP),
    }
}

/// The bounds of TS.DEL and of ranges: `-` or an integer, `+` or an integer.
pub(super) fn bounds(from: &[u8], to: &[u8]) -> Result<(i64, i64), Refusal> {
    let from = if from == b"-" { Some(0) } else { unsigned(from) };
    let from = from.ok_or(refusal::FROM)?;
    let to = if to == b"+" { Some(i64::MAX) } else { unsigned(to) };
    Ok((from, to.ok_or(refusal::TO)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_have_one_spelling() {
        let check = |text: &str, want| assert_eq!(integer(text.as_bytes()), want, "{text:?}");
        check("0", Some(0));
        check("17", Some(17));
        check("-17", Some(-17));
        check("9223372036854775807", Some(i64::MAX));
        check("-9223372036854775808", Some(i64::MIN));
        for text in [
            "",
            "-",
            "-0",
            "007",
            "-07",
            "+5",
            " 5",
            "5 ",
            "1.5",
            "1e3",
            "0x10",
            "x",
            "9223372036854775808",
            "-9223372036854775809",
            "18446744073709551617",
            "99999999999999999999",
            "1٣",
        ] {
            check(text, None);
        }
    }

    #[test]
    fn values_follow_json() {
        let check = |text: &str, want: f64| {
            let read = value(text.as_bytes()).map(f64::to_bits);
            assert_eq!(read, Some(want.to_bits()), "{text:?}");
        };
        check("0", 0.0);
        check("-0", -0.0);
        check("1.5", 1.5);
        check("-0.125", -0.125);
        check("0.1", 0.1);
        check("123456789012.345", 123456789012.345);
        check("999999999999999.9", 999999999999999.9);
        check("9999999999999999", 9999999999999999.0);
        check("0.000000000000001", 1e-15);
        check("2.225073858507201e-308", 2.225073858507201e-308);
        check("1e5", 1e5);
        check("1E-7", 1e-7);
        check("1.7976931348623157e308", f64::MAX);
        check("5e-324", 5e-324);
        check("1e-400", 0.0);
        for text in ["nan", "NaN", "+nan", "-NAN"] {
            assert!(value(text.as_bytes()).is_some_and(f64::is_nan), "{text:?}");
        }
        for text in [
            "", "-", "inf", "-inf", "Infinity", "+5", ".5", "-.5", "1.", "-1.", "5e", "5e+", "007", "-01", "00.5",
            "0x10", " 1", "1 ", "1_0", "1e400", "--1", "1,5", "e5", "1.5.5", "1..5", "nanx", "n", "--nan",
        ] {
            assert_eq!(value(text.as_bytes()), None, "{text:?}");
        }
    }

    #[test]
    fn floats_are_read_more_freely() {
        let check = |text: &str, want| assert_eq!(float(text.as_bytes()), want, "{text:?}");
        check("+5", Some(5.0));
        check(".5", Some(0.5));
        check("1e2", Some(100.0));
        check("inf", Some(f64::INFINITY));
        check("-Infinity", Some(f64::NEG_INFINITY));
        for text in ["", "nan", "-nan", "x", " 5", "5 ", "1e400"] {
            check(text, None);
        }
    }

    #[test]
    fn short_values_are_those_of_the_library() {
        let mut state = 1u64;
        for _ in 0..20_000 {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            let digits = state >> (11 + (state >> 3) % 50);
            let text = format!(
                "{}.{:0width$}",
                digits % 100_000,
                digits / 100_000,
                width = (state >> 59) as usize + 1
            );
            let want: f64 = text.parse().unwrap();
            assert_eq!(value(text.as_bytes()), Some(want), "{text}");
        }
    }
}
