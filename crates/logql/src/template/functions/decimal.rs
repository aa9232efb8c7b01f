// hot path: no locks, no logging, nothing allocated per entry in steady state.

//! `addf` and its kin, which compute with decimals: `addf 0.1 0.2` is 0.3.

use std::fmt::Write as _;

use super::numbers::fractional;
use crate::template::context::{Context, Outcome};
use crate::template::value::Value;

/// Decimals behind the point that a division keeps.
const DIVISION_DIGITS: i32 = 16;

/// `mantissa * 10^exponent`
#[derive(Clone, Copy)]
struct Decimal {
    mantissa: i128,
    exponent: i32,
}

impl Decimal {
    /// The shortest decimal that reads back as the number.
    fn new(number: f64) -> Self {
        let mut text = Short::default();
        // Seventeen digits, a point, an exponent and two signs fit.
        let _ = write!(text, "{number:e}");
        let text = &text.bytes[..text.length];
        let mark = text.iter().position(|b| *b == b'e').unwrap_or(text.len());
        let written = text.get(mark + 1..).and_then(|t| std::str::from_utf8(t).ok());
        let mut decimal = Self {
            mantissa: 0,
            exponent: written.and_then(|t| t.parse().ok()).unwrap_or(0),
        };
        let mut behind_point = false;
        for byte in &text[..mark] {
            match byte {
                b'.' => behind_point = true,
                b'0'..=b'9' => {
                    decimal.mantissa = decimal.mantissa * 10 + i128::from(byte - b'0');
                    decimal.exponent -= i32::from(behind_point);
                }
                _ => {}
            }
        }
        if text.first() == Some(&b'-') {
            decimal.mantissa = -decimal.mantissa;
        }
        decimal
    }

    /// The mantissa at a lower exponent.
    fn mantissa_at(self, exponent: i32) -> Option<i128> {
        let digits = u32::try_from(self.exponent - exponent).ok()?;
        if self.mantissa == 0 {
            return Some(0);
        }
        self.mantissa.checked_mul(10_i128.checked_pow(digits)?)
    }

    fn add(self, other: Self) -> Option<Self> {
        let exponent = self.exponent.min(other.exponent);
        let mantissa = self.mantissa_at(exponent)?.checked_add(other.mantissa_at(exponent)?)?;
        Some(Self { mantissa, exponent })
    }

    fn subtract(self, other: Self) -> Option<Self> {
        self.add(Self {
            mantissa: -other.mantissa,
            ..other
        })
    }

    fn multiply(self, other: Self) -> Option<Self> {
        Some(Self {
            mantissa: self.mantissa.checked_mul(other.mantissa)?,
            exponent: self.exponent + other.exponent,
        })
    }

    /// The quotient, rounded to [`DIVISION_DIGITS`]. The divisor is not zero.
    fn divide(self, other: Self) -> Option<Self> {
        // self / other = quotient * 10^-digits
        let shift = self.exponent - other.exponent + DIVISION_DIGITS;
        let (mut dividend, mut divisor) = (self.mantissa, other.mantissa);
        let power = 10_i128.checked_pow(shift.unsigned_abs());
        if shift >= 0 {
            dividend = if dividend == 0 {
                0
            } else {
                dividend.checked_mul(power?)?
            };
        } else {
            match power.and_then(|power| divisor.checked_mul(power)) {
                Some(larger) => divisor = larger,
                // What is divided by so much is nothing.
                None => dividend = 0,
            }
        }
        let quotient = dividend.checked_div(divisor)?;
        let remainder = dividend.checked_rem(divisor)?;
        let is_half = remainder.unsigned_abs() >= divisor.unsigned_abs().div_ceil(2);
        let away = if (dividend < 0) == (divisor < 0) { 1 } else { -1 };
        Some(Self {
            mantissa: quotient + if is_half { away } else { 0 },
            exponent: -DIVISION_DIGITS,
        })
    }

    fn number(self) -> f64 {
        let mut text = Short::default();
        // Thirty-nine digits and an exponent fit.
        let _ = write!(text, "{}e{}", self.mantissa, self.exponent);
        let text = std::str::from_utf8(&text.bytes[..text.length]).unwrap_or_default();
        text.parse().unwrap_or(0.0)
    }
}

#[derive(Clone)]
struct Short {
    bytes: [u8; 64],
    length: usize,
}

impl Default for Short {
    fn default() -> Self {
        Self {
            bytes: [0; 64],
            length: 0,
        }
    }
}

impl std::fmt::Write for Short {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let end = self.length + text.len();
        let place = self.bytes.get_mut(self.length..end).ok_or(std::fmt::Error)?;
        place.copy_from_slice(text.as_bytes());
        self.length = end;
        Ok(())
    }
}

/// Combines the arguments from left to right. Where the decimals have more than 38 digits, binary arithmetic goes on.
fn fold<'a>(
    context: &mut Context<'_, 'a>,
    arguments: &[Value<'a>],
    exact: fn(Decimal, Decimal) -> Option<Decimal>,
    binary: fn(f64, f64) -> f64,
) -> Outcome<'a> {
    let mut total = Decimal::new(0.0);
    for (at, argument) in arguments.iter().enumerate() {
        let number = fractional(*argument);
        if !number.is_finite() {
            let name = if number.is_nan() { "NaN" } else { "Inf" };
            return Err(context.fail(format_args!("Cannot create a Decimal from {name}")));
        }
        let decimal = Decimal::new(number);
        total = match (at, exact(total, decimal)) {
            (0, _) => decimal,
            (_, Some(combined)) => combined,
            (_, None) => {
                let combined = binary(total.number(), number);
                if !combined.is_finite() {
                    return Ok(Value::Float(combined));
                }
                Decimal::new(combined)
            }
        };
    }
    Ok(Value::Float(total.number()))
}

pub(super) fn add<'a>(context: &mut Context<'_, 'a>, arguments: &[Value<'a>]) -> Outcome<'a> {
    fold(context, arguments, Decimal::add, |a, b| a + b)
}

pub(super) fn subtract<'a>(context: &mut Context<'_, 'a>, arguments: &[Value<'a>]) -> Outcome<'a> {
    fold(context, arguments, Decimal::subtract, |a, b| a - b)
}

pub(super) fn multiply<'a>(context: &mut Context<'_, 'a>, arguments: &[Value<'a>]) -> Outcome<'a> {
    fold(context, arguments, Decimal::multiply, |a, b| a * b)
}

pub(super) fn divide<'a>(context: &mut Context<'_, 'a>, arguments: &[Value<'a>]) -> Outcome<'a> {
    if arguments.iter().skip(1).any(|value| fractional(*value) == 0.0) {
        return Err(context.fail(format_args!("decimal division by 0")));
    }
    fold(context, arguments, Decimal::divide, |a, b| a / b)
}
