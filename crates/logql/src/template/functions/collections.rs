// hot path: no locks, no logging, nothing allocated per entry in steady state.

//! `index`, `slice`, `len`, `default` and `call`.

use crate::template::context::{Context, Failure, Outcome};
use crate::template::execute::find;
use crate::template::value::Value;

/// The member at an index or key, and so on for further ones.
pub(super) fn index<'a>(context: &mut Context<'_, 'a>, arguments: &[Value<'a>]) -> Outcome<'a> {
    let Some((first, keys)) = arguments.split_first() else {
        return Ok(Value::Nothing);
    };
    if first.is_nil() {
        return Err(context.fail(format_args!("index of untyped nil")));
    }
    let mut item = *first;
    for key in keys {
        item = match item {
            Value::Text(text) => {
                let at = position(context, *key, text.len())?;
                let byte = text.get(at).copied();
                Value::Byte(byte.ok_or_else(|| context.fail(format_args!("reflect: string index out of range")))?)
            }
            Value::List(items) => {
                let at = position(context, *key, items.len())?;
                let found = items.get(at).copied();
                found.ok_or_else(|| context.fail(format_args!("reflect: slice index out of range")))?
            }
            Value::Map(entries) => find(entries, map_key(context, *key)?).unwrap_or(Value::Null),
            Value::Labels(_) => {
                let name = map_key(context, *key)?;
                Value::Text(context.source.get(name).unwrap_or_default())
            }
            Value::Nothing | Value::Null => return Err(context.fail(format_args!("index of nil pointer"))),
            other => {
                let type_name = other.type_name();
                return Err(context.fail(format_args!("can't index item of type {type_name}")));
            }
        };
    }
    Ok(item)
}

fn map_key<'a>(context: &mut Context<'_, 'a>, key: Value<'a>) -> Result<&'a [u8], Failure> {
    match key {
        Value::Text(text) => Ok(text),
        Value::Nothing | Value::Null => Err(context.fail(format_args!("value is nil; should be of type string"))),
        other => {
            let type_name = other.type_name();
            Err(context.fail(format_args!("value has type {type_name}; should be string")))
        }
    }
}

/// An index; the end of the list is still one.
fn position(context: &mut Context<'_, '_>, index: Value<'_>, length: usize) -> Result<usize, Failure> {
    let number = match index {
        Value::Int(n) | Value::Int64(n) => n,
        Value::Byte(n) | Value::Month(n) | Value::Weekday(n) => i64::from(n),
        Value::Nothing | Value::Null => {
            return Err(context.fail(format_args!("cannot index slice/array with nil")));
        }
        other => {
            let type_name = other.type_name();
            return Err(context.fail(format_args!("cannot index slice/array with type {type_name}")));
        }
    };
    let at = usize::try_from(number).ok().filter(|at| *at <= length);
    at.ok_or_else(|| context.fail(format_args!("index out of range: {number}")))
}

/// The part of a text or a list from one index to another.
pub(super) fn slice<'a>(context: &mut Context<'_, 'a>, arguments: &[Value<'a>]) -> Outcome<'a> {
    let Some((item, indexes)) = arguments.split_first() else {
        return Ok(Value::Nothing);
    };
    if item.is_nil() {
        return Err(context.fail(format_args!("slice of untyped nil")));
    }
    if indexes.len() > 3 {
        return Err(context.fail(format_args!("too many slice indexes: {}", indexes.len())));
    }
    let length = match item {
        Value::Text(_) if indexes.len() == 3 => {
            return Err(context.fail(format_args!("cannot 3-index slice a string")));
        }
        Value::Text(text) => text.len(),
        Value::List(items) => items.len(),
        other => {
            let type_name = other.type_name();
            return Err(context.fail(format_args!("can't slice item of type {type_name}")));
        }
    };
    let mut places = [0, length, length];
    for (place, index) in places.iter_mut().zip(indexes) {
        *place = position(context, *index, length)?;
    }
    let [start, end, capacity] = places;
    for (low, high) in [(start, end), (end, capacity)] {
        if low > high {
            return Err(context.fail(format_args!("invalid slice index: {low} > {high}")));
        }
    }
    Ok(match item {
        Value::Text(text) => Value::Text(&text[start..end]),
        Value::List(items) => Value::List(&items[start..end]),
        _ => Value::Nothing,
    })
}

pub(super) fn length<'a>(context: &mut Context<'_, 'a>, arguments: &[Value<'a>]) -> Outcome<'a> {
    let count = match arguments.first() {
        Some(Value::Text(text)) => text.len(),
        Some(Value::List(items)) => items.len(),
        Some(Value::Map(entries)) => entries.len(),
        Some(Value::Labels(entries)) => entries.len(),
        None | Some(Value::Nothing | Value::Null) => {
            return Err(context.fail(format_args!("len of nil pointer")));
        }
        Some(other) => {
            let type_name = other.type_name();
            return Err(context.fail(format_args!("len of type {type_name}")));
        }
    };
    Ok(Value::Int(count as i64))
}

/// The second argument, or the first one if that is missing or empty.
pub(super) fn default<'a>(_: &mut Context<'_, 'a>, arguments: &[Value<'a>]) -> Outcome<'a> {
    let otherwise = arguments.first().copied().unwrap_or(Value::Nothing);
    Ok(match arguments.get(1) {
        // A time is a structure to Go, and those are never empty.
        Some(given) if given.truth() => *given,
        _ => otherwise,
    })
}

/// Go's `call` calls functions that are values, of which there are none.
pub(super) fn call<'a>(context: &mut Context<'_, 'a>, arguments: &[Value<'a>]) -> Outcome<'a> {
    let first = arguments.first().copied().unwrap_or(Value::Nothing);
    if first.is_nil() {
        return Err(context.fail(format_args!("call of nil")));
    }
    let type_name = first.type_name();
    Err(context.fail(format_args!("non-function of type {type_name}")))
}
