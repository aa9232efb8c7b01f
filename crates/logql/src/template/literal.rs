//! Literals of Go: numbers with prefixes and underscores, characters, and texts with escapes.

/// An integer as `strconv.ParseInt(text, 0, 64)` reads it: prefixes `0x 0o 0b`, a leading `0` for octal, and underscores between
/// digits.
pub(super) fn parse_integer(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    let magnitude = i128::from(parse_unsigned(digits)?);
    i64::try_from(if negative { -magnitude } else { magnitude }).ok()
}

fn parse_unsigned(text: &[u8]) -> Option<u64> {
    let (base, digits) = match text {
        [b'0', b'x' | b'X', rest @ ..] => (16, rest),
        [b'0', b'o' | b'O', rest @ ..] => (8, rest),
        [b'0', b'b' | b'B', rest @ ..] => (2, rest),
        [b'0', rest @ ..] if !rest.is_empty() => (8, rest),
        _ => (10, text),
    };
    let mut number: Option<u64> = None;
    // An underscore may follow a digit or a prefix, which a leading 0 is too.
    let mut after_digit = base != 10;
    for byte in digits {
        if *byte == b'_' {
            if !after_digit {
                return None;
            }
            after_digit = false;
            continue;
        }
        let digit = char::from(*byte).to_digit(base)?;
        number = Some(
            number
                .unwrap_or(0)
                .checked_mul(u64::from(base))?
                .checked_add(u64::from(digit))?,
        );
        after_digit = true;
    }
    if after_digit { number } else { None }
}

/// A number with a fraction or an exponent, hexadecimal ones (`0x1p-2`) too.
pub(super) fn parse_float(text: &str) -> Option<f64> {
    let plain = text.replace('_', "");
    let (sign, unsigned) = match plain.strip_prefix('-') {
        Some(rest) => (-1.0, rest),
        None => (1.0, plain.strip_prefix('+').unwrap_or(&plain)),
    };
    let Some(hexadecimal) = unsigned.strip_prefix("0x").or_else(|| unsigned.strip_prefix("0X")) else {
        return plain.parse().ok().filter(|number: &f64| number.is_finite());
    };
    let (mantissa, exponent) = hexadecimal.split_once(['p', 'P'])?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let mut number = 0.0;
    for c in whole.chars().chain(fraction.chars()) {
        number = number * 16.0 + f64::from(c.to_digit(16)?);
    }
    let exponent: i32 = exponent.parse().ok()?;
    let shift = i32::try_from(fraction.len()).ok()?.checked_mul(4)?;
    let scaled = sign * number * 2.0_f64.powi(exponent.checked_sub(shift)?);
    (!mantissa.is_empty() && scaled.is_finite()).then_some(scaled)
}

/// The text of a literal in double quotes or backticks. `None` if an escape is wrong.
pub(super) fn unquote(literal: &str) -> Option<Vec<u8>> {
    if let Some(raw) = literal.strip_prefix('`') {
        return Some(raw.strip_suffix('`')?.replace('\r', "").into_bytes());
    }
    let mut rest = literal.strip_prefix('"')?.strip_suffix('"')?;
    let mut text = Vec::new();
    while !rest.is_empty() {
        let (unit, after) = unquote_unit(rest, '"')?;
        match unit {
            Unit::Byte(byte) => text.push(byte),
            Unit::Char(c) => text.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
        rest = after;
    }
    Some(text)
}

/// The number of a character in single quotes.
pub(super) fn parse_character(literal: &str) -> Option<i64> {
    let inner = literal.strip_prefix('\'')?.strip_suffix('\'')?;
    let (unit, rest) = unquote_unit(inner, '\'')?;
    rest.is_empty().then_some(match unit {
        Unit::Byte(byte) => i64::from(byte),
        Unit::Char(c) => i64::from(u32::from(c)),
    })
}

enum Unit {
    Byte(u8),
    Char(char),
}

/// A character or an escape.
fn unquote_unit(text: &str, quote: char) -> Option<(Unit, &str)> {
    let mut chars = text.chars();
    let first = chars.next()?;
    if first == quote || first == '\n' {
        return None;
    }
    if first != '\\' {
        return Some((Unit::Char(first), chars.as_str()));
    }
    let escape = chars.next()?;
    let rest = chars.as_str();
    let digits = |count: usize, radix: u32| {
        let head = rest.get(..count)?;
        let is_digit = head.chars().all(|c| c.is_digit(radix));
        Some((
            u32::from_str_radix(head, radix).ok().filter(|_| is_digit)?,
            rest.get(count..)?,
        ))
    };
    Some(match escape {
        'a' => (Unit::Char('\u{7}'), rest),
        'b' => (Unit::Char('\u{8}'), rest),
        'f' => (Unit::Char('\u{c}'), rest),
        'n' => (Unit::Char('\n'), rest),
        'r' => (Unit::Char('\r'), rest),
        't' => (Unit::Char('\t'), rest),
        'v' => (Unit::Char('\u{b}'), rest),
        '\\' => (Unit::Char('\\'), rest),
        '\'' | '"' if escape == quote => (Unit::Char(escape), rest),
        'x' => {
            let (number, rest) = digits(2, 16)?;
            (Unit::Byte(u8::try_from(number).ok()?), rest)
        }
        'u' | 'U' => {
            let (number, rest) = digits(if escape == 'u' { 4 } else { 8 }, 16)?;
            (Unit::Char(char::from_u32(number)?), rest)
        }
        '0'..='7' => {
            let octal = text.get(1..4)?;
            let is_octal = octal.bytes().all(|b| matches!(b, b'0'..=b'7'));
            let number = u32::from_str_radix(octal, 8).ok().filter(|_| is_octal)?;
            (Unit::Byte(u8::try_from(number).ok()?), text.get(4..)?)
        }
        _ => return None,
    })
}
