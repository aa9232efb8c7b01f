// hot path: no locks, no logging, nothing allocated per entry in steady state.

//! `eq` and its kin, and `not`.

use crate::template::context::{Context, Failure, Outcome};
use crate::template::value::{Basic, Value};

pub(super) fn not<'a>(_: &mut Context<'_, 'a>, arguments: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::Bool(!arguments.first().is_some_and(|value| value.truth())))
}

/// True if the first argument equals any of the others.
pub(super) fn equal<'a>(context: &mut Context<'_, 'a>, arguments: &[Value<'a>]) -> Outcome<'a> {
    let Some((first, [second, rest @ ..])) = arguments.split_first() else {
        return Err(context.fail(format_args!("missing argument for comparison")));
    };
    for other in std::iter::once(second).chain(rest) {
        if are_equal(context, *first, *other)? {
            return Ok(Value::Bool(true));
        }
    }
    Ok(Value::Bool(false))
}

pub(super) fn not_equal<'a>(context: &mut Context<'_, 'a>, arguments: &[Value<'a>]) -> Outcome<'a> {
    let (first, second) = pair(arguments);
    Ok(Value::Bool(!are_equal(context, first, second)?))
}

pub(super) fn less<'a>(context: &mut Context<'_, 'a>, arguments: &[Value<'a>]) -> Outcome<'a> {
    let (first, second) = pair(arguments);
    Ok(Value::Bool(is_less(context, first, second)?))
}

pub(super) fn less_or_equal<'a>(context: &mut Context<'_, 'a>, arguments: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::Bool(is_less_or_equal(context, arguments)?))
}

/// Not less and not equal, which NaN is neither.
pub(super) fn greater<'a>(context: &mut Context<'_, 'a>, arguments: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::Bool(!is_less_or_equal(context, arguments)?))
}

pub(super) fn greater_or_equal<'a>(context: &mut Context<'_, 'a>, arguments: &[Value<'a>]) -> Outcome<'a> {
    let (first, second) = pair(arguments);
    Ok(Value::Bool(!is_less(context, first, second)?))
}

fn pair<'a>(arguments: &[Value<'a>]) -> (Value<'a>, Value<'a>) {
    match arguments {
        [first, second, ..] => (*first, *second),
        _ => (Value::Nothing, Value::Nothing),
    }
}

fn is_less_or_equal<'a>(context: &mut Context<'_, 'a>, arguments: &[Value<'a>]) -> Result<bool, Failure> {
    let (first, second) = pair(arguments);
    Ok(is_less(context, first, second)? || are_equal(context, first, second)?)
}

fn are_equal<'a>(context: &mut Context<'_, 'a>, first: Value<'a>, second: Value<'a>) -> Result<bool, Failure> {
    match (first.basic(), second.basic()) {
        (Some(Basic::Bool(a)), Some(Basic::Bool(b))) => Ok(a == b),
        (Some(Basic::Integer(a)), Some(Basic::Integer(b))) => Ok(a == b),
        (Some(Basic::Float(a)), Some(Basic::Float(b))) => Ok(a == b),
        (Some(Basic::Text(a)), Some(Basic::Text(b))) => Ok(a == b),
        (None, None) => equal_others(context, first, second),
        _ if first.is_nil() || second.is_nil() => Ok(false),
        _ => Err(incompatible(context)),
    }
}

fn equal_others<'a>(context: &mut Context<'_, 'a>, first: Value<'a>, second: Value<'a>) -> Result<bool, Failure> {
    match (first, second) {
        (Value::Time(a), Value::Time(b)) => Ok(a == b),
        (a, b) if a.is_nil() || b.is_nil() => Ok(a.is_nil() && b.is_nil()),
        (a, b) => {
            let (a, b) = (a.type_name(), b.type_name());
            Err(context.fail(format_args!("non-comparable types {a}, {b}")))
        }
    }
}

fn is_less<'a>(context: &mut Context<'_, 'a>, first: Value<'a>, second: Value<'a>) -> Result<bool, Failure> {
    match (first.basic(), second.basic()) {
        (Some(Basic::Integer(a)), Some(Basic::Integer(b))) => Ok(a < b),
        (Some(Basic::Float(a)), Some(Basic::Float(b))) => Ok(a < b),
        (Some(Basic::Text(a)), Some(Basic::Text(b))) => Ok(a < b),
        (None, _) | (_, None) | (Some(Basic::Bool(_)), Some(Basic::Bool(_))) => {
            Err(context.fail(format_args!("invalid type for comparison")))
        }
        _ => Err(incompatible(context)),
    }
}

fn incompatible(context: &mut Context<'_, '_>) -> Failure {
    context.fail(format_args!("incompatible types for comparison"))
}
