// hot path: no locks, no logging, nothing allocated per entry in steady state.

//! Numbers with a fraction, as Go's `strconv.AppendFloat` writes them.

use std::fmt::Write as _;

use crate::template::sink::{Sink, put};

/// No float64 has more digits than this behind its first one; what is asked beyond is zeros.
const MAX_DIGITS: usize = 1100;

/// Appends a float in one of the forms `e E f F g G`; without a precision with as many digits as tell it from its neighbours.
pub(in crate::template) fn append(value: f64, form: u8, precision: Option<usize>, out: &mut Sink<'_>) {
    if value.is_nan() {
        out.push(b"NaN");
    } else if value.is_infinite() {
        out.push(if value > 0.0 { b"+Inf" } else { b"-Inf" });
    } else {
        match form {
            b'e' | b'E' => append_exponent(value, form, precision, out),
            b'g' | b'G' => append_general(value, form, precision, out),
            _ => append_plain(value, precision, out),
        }
    }
}

fn append_plain(value: f64, precision: Option<usize>, out: &mut Sink<'_>) {
    match precision {
        None => put!(out, "{value}"),
        Some(digits) => {
            let exact = digits.min(MAX_DIGITS);
            put!(out, "{value:.exact$}");
            out.push_repeated(b"0", digits - exact);
        }
    }
}

fn append_exponent(value: f64, form: u8, precision: Option<usize>, out: &mut Sink<'_>) {
    let scientific = Scientific::new(value, precision);
    append_scientific(&scientific, form, precision.unwrap_or(0), out);
}

fn append_scientific(scientific: &Scientific, form: u8, digits: usize, out: &mut Sink<'_>) {
    out.push(scientific.mantissa());
    if digits > MAX_DIGITS {
        out.push_repeated(b"0", digits - MAX_DIGITS);
    }
    out.push_byte(form);
    let exponent = scientific.exponent;
    let sign = if exponent < 0 { '-' } else { '+' };
    put!(out, "{sign}{:02}", exponent.unsigned_abs());
}

/// `%g`: an exponent if it is below -4 or not below the precision, for which the shortest form takes 6 (`1e+06`).
fn append_general(value: f64, form: u8, precision: Option<usize>, out: &mut Sink<'_>) {
    let digits = precision.map(|digits| digits.max(1));
    let mut scientific = Scientific::new(value, digits.map(|digits| digits - 1));
    if digits.is_some() {
        scientific.trim_zeros();
    }
    let count = scientific.digit_count();
    let exponent = scientific.exponent;
    let threshold = match digits {
        None => 6,
        Some(digits) if digits > count && i64::try_from(count).is_ok_and(|n| n > i64::from(exponent)) => count,
        Some(digits) => digits,
    };
    if exponent < -4 || i64::from(exponent) >= i64::try_from(threshold).unwrap_or(i64::MAX) {
        append_scientific(&scientific, if form == b'G' { b'E' } else { b'e' }, 0, out);
    } else if digits.is_none() {
        put!(out, "{value}");
    } else {
        let decimals = i64::try_from(count).unwrap_or(0) - 1 - i64::from(exponent);
        append_plain(value, Some(usize::try_from(decimals).unwrap_or(0)), out);
    }
}

/// `-1.25e7` in its parts.
struct Scientific {
    text: [u8; MAX_DIGITS + 16],
    mantissa_length: usize,
    exponent: i32,
}

impl Scientific {
    fn new(value: f64, precision: Option<usize>) -> Self {
        let mut writer = Fixed {
            text: [0; MAX_DIGITS + 16],
            length: 0,
        };
        // The buffer holds the longest text.
        let _ = match precision {
            None => write!(writer, "{value:e}"),
            Some(digits) => write!(writer, "{value:.*e}", digits.min(MAX_DIGITS)),
        };
        let text = &writer.text[..writer.length];
        let mantissa_length = text.iter().position(|b| *b == b'e').unwrap_or(text.len());
        let exponent = text
            .get(mantissa_length + 1..)
            .and_then(|t| std::str::from_utf8(t).ok());
        Self {
            exponent: exponent.and_then(|t| t.parse().ok()).unwrap_or(0),
            text: writer.text,
            mantissa_length,
        }
    }

    fn mantissa(&self) -> &[u8] {
        &self.text[..self.mantissa_length]
    }

    fn digit_count(&self) -> usize {
        self.mantissa().iter().filter(|b| b.is_ascii_digit()).count()
    }

    fn trim_zeros(&mut self) {
        if self.mantissa().contains(&b'.') {
            while self.mantissa().ends_with(b"0") {
                self.mantissa_length -= 1;
            }
            if self.mantissa().ends_with(b".") {
                self.mantissa_length -= 1;
            }
        }
    }
}

struct Fixed {
    text: [u8; MAX_DIGITS + 16],
    length: usize,
}

impl std::fmt::Write for Fixed {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let end = self.length + text.len();
        let place = self.text.get_mut(self.length..end).ok_or(std::fmt::Error)?;
        place.copy_from_slice(text.as_bytes());
        self.length = end;
        Ok(())
    }
}
