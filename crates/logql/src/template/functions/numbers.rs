// hot path: no locks, no logging, nothing allocated per entry in steady state.

//! Casts and arithmetic of whole and of binary fractional numbers. Text counts as the number it spells, or as zero.

use crate::pipeline::convert::{ConversionError, parse_duration_ns, parse_number, parse_size_bytes};
use crate::template::context::{Context, Failure, Outcome};
use crate::template::literal::parse_integer;
use crate::template::value::Value;

/// The value as a whole number.
fn whole(value: Value<'_>) -> i64 {
    match value {
        Value::Int(n) | Value::Int64(n) => n,
        Value::Byte(n) | Value::Month(n) | Value::Weekday(n) => i64::from(n),
        // Rust's cast saturates where Go's answers something that depends on the machine.
        Value::Float(n) => n as i64,
        Value::Bool(value) => i64::from(value),
        Value::Text(text) => parse_integer(without_fraction(text)).unwrap_or(0),
        _ => 0,
    }
}

/// `7.9` without what makes it no whole number. Text that is more than digits and a point stays as it is.
fn without_fraction(text: &[u8]) -> &[u8] {
    let Some(point) = memchr::memchr(b'.', text) else {
        return text;
    };
    let (head, tail) = (&text[..point], &text[point + 1..]);
    let digits = head
        .strip_prefix(b"-")
        .or_else(|| head.strip_prefix(b"+"))
        .unwrap_or(head);
    if !digits.iter().chain(tail).all(u8::is_ascii_digit) {
        text
    } else if digits.is_empty() {
        b"0"
    } else {
        head
    }
}

/// The value as a number with a fraction.
pub(super) fn fractional(value: Value<'_>) -> f64 {
    match value {
        Value::Float(n) => n,
        Value::Text(text) => parse_number(text).unwrap_or(0.0),
        other => whole(other) as f64,
    }
}

pub(super) fn int<'a>(_: &mut Context<'_, 'a>, arguments: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::Int(arguments.first().map_or(0, |value| whole(*value))))
}

pub(super) fn float<'a>(_: &mut Context<'_, 'a>, arguments: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::Float(first_float(arguments)))
}

fn first_float(arguments: &[Value<'_>]) -> f64 {
    arguments.first().map_or(0.0, |value| fractional(*value))
}

/// Combines the arguments from left to right.
fn fold<'a>(arguments: &[Value<'a>], combine: fn(i64, i64) -> i64) -> Outcome<'a> {
    let mut numbers = arguments.iter().map(|value| whole(*value));
    let first = numbers.next().unwrap_or(0);
    Ok(Value::Int64(numbers.fold(first, combine)))
}

fn fold_floats<'a>(arguments: &[Value<'a>], combine: fn(f64, f64) -> f64) -> Outcome<'a> {
    let mut numbers = arguments.iter().map(|value| fractional(*value));
    let first = numbers.next().unwrap_or(0.0);
    Ok(Value::Float(numbers.fold(first, combine)))
}

pub(super) fn add<'a>(_: &mut Context<'_, 'a>, arguments: &[Value<'a>]) -> Outcome<'a> {
    fold(arguments, i64::wrapping_add)
}

pub(super) fn subtract<'a>(_: &mut Context<'_, 'a>, arguments: &[Value<'a>]) -> Outcome<'a> {
    fold(arguments, i64::wrapping_sub)
}

pub(super) fn multiply<'a>(_: &mut Context<'_, 'a>, arguments: &[Value<'a>]) -> Outcome<'a> {
    fold(arguments, i64::wrapping_mul)
}

pub(super) fn max<'a>(_: &mut Context<'_, 'a>, arguments: &[Value<'a>]) -> Outcome<'a> {
    fold(arguments, i64::max)
}

pub(super) fn min<'a>(_: &mut Context<'_, 'a>, arguments: &[Value<'a>]) -> Outcome<'a> {
    fold(arguments, i64::min)
}

pub(super) fn divide<'a>(context: &mut Context<'_, 'a>, arguments: &[Value<'a>]) -> Outcome<'a> {
    let (dividend, divisor) = operands(context, arguments)?;
    Ok(Value::Int64(dividend.wrapping_div(divisor)))
}

pub(super) fn modulo<'a>(context: &mut Context<'_, 'a>, arguments: &[Value<'a>]) -> Outcome<'a> {
    let (dividend, divisor) = operands(context, arguments)?;
    Ok(Value::Int64(dividend.wrapping_rem(divisor)))
}

fn operands(context: &mut Context<'_, '_>, arguments: &[Value<'_>]) -> Result<(i64, i64), Failure> {
    let operand = |at: usize| arguments.get(at).map_or(0, |value| whole(*value));
    match operand(1) {
        0 => Err(context.fail(format_args!("runtime error: integer divide by zero"))),
        divisor => Ok((operand(0), divisor)),
    }
}

/// As in Go, NaN wins.
pub(super) fn max_float<'a>(_: &mut Context<'_, 'a>, arguments: &[Value<'a>]) -> Outcome<'a> {
    fold_floats(
        arguments,
        |a, b| if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) },
    )
}

pub(super) fn min_float<'a>(_: &mut Context<'_, 'a>, arguments: &[Value<'a>]) -> Outcome<'a> {
    fold_floats(
        arguments,
        |a, b| if a.is_nan() || b.is_nan() { f64::NAN } else { a.min(b) },
    )
}

pub(super) fn ceil<'a>(_: &mut Context<'_, 'a>, arguments: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::Float(first_float(arguments).ceil()))
}

pub(super) fn floor<'a>(_: &mut Context<'_, 'a>, arguments: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::Float(first_float(arguments).floor()))
}

/// Rounds to so many decimals: up from a half on, or from the fraction given as a third argument.
pub(super) fn round<'a>(_: &mut Context<'_, 'a>, arguments: &[Value<'a>]) -> Outcome<'a> {
    let places = super::int_of(arguments, 1);
    let up_from = arguments.get(2).map_or(0.5, |value| fractional(*value));
    let power = 10.0_f64.powi(i32::try_from(places).unwrap_or(if places < 0 { i32::MIN } else { i32::MAX }));
    let scaled = power * first_float(arguments);
    // The fraction has the sign of the number, so that negative ones go down.
    let rounded = if scaled.fract() >= up_from {
        scaled.ceil()
    } else {
        scaled.floor()
    };
    Ok(Value::Float(rounded / power))
}

/// A size such as `5 KB` in bytes.
pub(super) fn bytes<'a>(context: &mut Context<'_, 'a>, arguments: &[Value<'a>]) -> Outcome<'a> {
    match parse_size_bytes(super::text_of(arguments, 0)) {
        Ok(bytes) => Ok(Value::Float(bytes as f64)),
        Err(error) => Err(conversion_failure(context, error)),
    }
}

/// A duration such as `1m30s` in seconds.
pub(super) fn duration<'a>(context: &mut Context<'_, 'a>, arguments: &[Value<'a>]) -> Outcome<'a> {
    match parse_duration_ns(super::text_of(arguments, 0)) {
        Ok(nanoseconds) => {
            // As Go does it, so that the last digit is the same.
            let seconds = (nanoseconds / 1_000_000_000) as f64;
            Ok(Value::Float(seconds + (nanoseconds % 1_000_000_000) as f64 / 1e9))
        }
        Err(error) => Err(conversion_failure(context, error)),
    }
}

fn conversion_failure(context: &mut Context<'_, '_>, error: ConversionError<'_>) -> Failure {
    let failure = context.fail(format_args!(""));
    error.write(&mut context.buffers.cause);
    failure
}
