// hot path: no locks shared between cores, no logging above debug, no allocation per sample.
//! Doubles as text (specification, chapter 14): one rule for RESP2 sample values, another for RESP3 doubles.
//!
//! Both begin with the shortest decimal digits that read back to the same double, as D x 10^k with D free of trailing zeros.

/// The shortest digits of a finite double that is not zero: ASCII digits without trailing zeros, and the power of ten of the last one.
struct Shortest {
    digits: [u8; 20],
    len: usize,
    power: i32,
}

impl Shortest {
    fn of(magnitude: f64) -> Shortest {
        let mut buffer = zmij::Buffer::new();
        let text = buffer.format_finite(magnitude).as_bytes();
        let (mantissa, exponent) = match memchr::memchr(b'e', text) {
            Some(place) => (&text[..place], parse_exponent(&text[place + 1..])),
            None => (text, 0),
        };
        let mut digits = [0u8; 20];
        let mut len = 0;
        let mut behind_point = 0;
        let mut seen_point = false;
        for byte in mantissa {
            if *byte == b'.' {
                seen_point = true;
                continue;
            }
            behind_point += i32::from(seen_point);
            // Leading zeros are no digits.
            if len == 0 && *byte == b'0' {
                continue;
            }
            // At most 17 digits are significant; zeros behind them only move the power.
            if len < digits.len() {
                digits[len] = *byte;
                len += 1;
            }
        }
        let mut power = exponent - behind_point;
        while len > 1 && digits[len - 1] == b'0' {
            len -= 1;
            power += 1;
        }
        Shortest { digits, len, power }
    }

    fn digits(&self) -> &[u8] {
        &self.digits[..self.len]
    }
}

fn parse_exponent(text: &[u8]) -> i32 {
    std::str::from_utf8(text)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(0)
}

/// An integer of at most 2^53 in magnitude, if the value is one; these need no search for the shortest digits.
fn small_integer(value: f64) -> Option<i64> {
    let integer = value as i64;
    (integer as f64 == value && integer.unsigned_abs() < 1 << 52 && integer != 0).then_some(integer)
}

/// Appends the text of a sample's value in RESP2.
pub fn append_resp2_number(out: &mut Vec<u8>, value: f64) {
    if let Some(integer) = small_integer(value) {
        append_integer(out, integer);
        return;
    }
    if value.is_nan() {
        out.extend_from_slice(b"NaN");
        return;
    }
    if value.is_sign_negative() {
        out.push(b'-');
    }
    if value.is_infinite() {
        out.extend_from_slice(b"Infinity");
        return;
    }
    if value == 0.0 {
        out.push(b'0');
        return;
    }
    let magnitude = value.abs();
    let shortest = Shortest::of(magnitude);
    let digits = shortest.digits();
    let is_plain = if magnitude < (1u64 << 52) as f64 {
        magnitude >= 1.0
    } else {
        // An integer of at most 17 digits that does not end in 0.
        shortest.power == 0
    };
    if is_plain {
        append_plain(out, digits, shortest.power);
        return;
    }
    append_scientific(out, digits);
    out.push(b'E');
    append_integer(out, i64::from(shortest.power) + digits.len() as i64 - 1);
}

/// Appends the text of a double in RESP3.
pub fn append_resp3_number(out: &mut Vec<u8>, value: f64) {
    if let Some(integer) = small_integer(value) {
        append_integer(out, integer);
        return;
    }
    if value.is_nan() {
        out.extend_from_slice(b"nan");
        return;
    }
    if value.is_sign_negative() {
        out.push(b'-');
    }
    if value.is_infinite() {
        out.extend_from_slice(b"inf");
        return;
    }
    if value == 0.0 {
        out.push(b'0');
        return;
    }
    let magnitude = value.abs();
    let integer = magnitude as u64;
    if integer as f64 == magnitude && integer <= 1 << 62 {
        append_integer(out, integer as i64);
        return;
    }
    let shortest = Shortest::of(magnitude);
    let digits = shortest.digits();
    let exponent = shortest.power + digits.len() as i32 - 1;
    let is_plain = if shortest.power >= 0 {
        exponent.abs() < digits.len() as i32 + 7
    } else {
        shortest.power > -7 || exponent.abs() < 4
    };
    if is_plain {
        append_plain(out, digits, shortest.power);
        return;
    }
    append_scientific(out, digits);
    out.extend_from_slice(if exponent < 0 { b"e-" } else { b"e+" });
    append_integer(out, i64::from(exponent.unsigned_abs()));
}

/// Digits x 10^power without an exponent.
fn append_plain(out: &mut Vec<u8>, digits: &[u8], power: i32) {
    if power >= 0 {
        out.extend_from_slice(digits);
        out.resize(out.len() + power as usize, b'0');
        return;
    }
    let behind_point = power.unsigned_abs() as usize;
    if let Some(before_point) = digits.len().checked_sub(behind_point).filter(|before| *before > 0) {
        out.extend_from_slice(&digits[..before_point]);
        out.push(b'.');
        out.extend_from_slice(&digits[before_point..]);
    } else {
        out.extend_from_slice(b"0.");
        out.resize(out.len() + behind_point - digits.len(), b'0');
        out.extend_from_slice(digits);
    }
}

/// One digit, a point, the others; no point if there are no others.
fn append_scientific(out: &mut Vec<u8>, digits: &[u8]) {
    out.push(digits[0]);
    if digits.len() > 1 {
        out.push(b'.');
        out.extend_from_slice(&digits[1..]);
    }
}

/// Appends an integer in decimal digits.
pub(crate) fn append_integer(out: &mut Vec<u8>, value: i64) {
    let mut buffer = itoa::Buffer::new();
    out.extend_from_slice(buffer.format(value).as_bytes());
}
