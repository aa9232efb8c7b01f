//! Answers of servers as what they mean.

use super::Sample;
use super::link::Trouble;
use super::number;
use redis::Value;

/// What a server says if it refuses; nothing if it does not.
pub(super) fn refusal(answer: &Value) -> Option<String> {
    let Value::ServerError(error) = answer else { return None };
    Some(match error.details() {
        Some(details) => format!("{} {details}", error.code()),
        None => error.code().to_owned(),
    })
}

/// Any answer but a refusal.
pub(super) fn accepted(answer: Value) -> Result<Value, Trouble> {
    match refusal(&answer) {
        Some(text) => Err(Trouble::Refused(text)),
        None => Ok(answer),
    }
}

/// An answer that is not of the shape that the command promises.
pub(super) fn unexpected(command: &str, answer: &Value) -> Trouble {
    let mut shown = format!("{answer:?}");
    if let Some((end, _)) = shown.char_indices().nth(200) {
        shown.truncate(end);
        shown += "..";
    }
    Trouble::Refused(format!("an answer to {command} that is not understood: {shown}"))
}

/// Rows of TS.RANGE, or the row of TS.GET in an array.
pub(super) fn samples(answer: &Value) -> Result<Vec<Sample>, Trouble> {
    let bad = || unexpected("TS.RANGE", answer);
    let Value::Array(rows) = answer else { return Err(bad()) };
    rows.iter().map(|row| sample(row).ok_or_else(bad)).collect()
}

/// A timestamp and a value.
pub(super) fn sample(row: &Value) -> Option<Sample> {
    match row {
        Value::Array(parts) => match parts.as_slice() {
            [Value::Int(timestamp), value] => Some((*timestamp, double(value)?)),
            _ => None,
        },
        _ => None,
    }
}

/// A number, in whichever way it is sent.
pub(super) fn double(value: &Value) -> Option<f64> {
    match value {
        Value::Double(number) => Some(*number),
        Value::Int(number) => Some(*number as f64),
        other => number::parse(std::str::from_utf8(text(other)?).ok()?),
    }
}

/// A text.
pub(super) fn text(value: &Value) -> Option<&[u8]> {
    match value {
        Value::BulkString(bytes) => Some(bytes),
        Value::SimpleString(text) => Some(text.as_bytes()),
        _ => None,
    }
}

/// An array of keys.
pub(super) fn keys(answer: Value) -> Option<Vec<Vec<u8>>> {
    let (Value::Array(keys) | Value::Set(keys)) = answer else {
        return None;
    };
    keys.into_iter()
        .map(|key| match key {
            Value::BulkString(key) => Some(key),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows() {
        let row =
            |timestamp, value: &str| Value::Array(vec![Value::Int(timestamp), Value::SimpleString(value.to_owned())]);
        let f = |value: &str, want: f64| {
            let got = sample(&row(1, value)).unwrap();
            assert_eq!((got.0, got.1.to_bits()), (1, want.to_bits()), "{value}");
        };
        f("1E-1", 0.1);
        f("-0", -0.0);
        f("1.7976931348623157E308", f64::MAX);
        f("5E-324", 5e-324);
        f("NaN", f64::NAN);
        f("-Infinity", f64::NEG_INFINITY);
        assert_eq!(
            samples(&Value::Array(vec![row(1, "1"), row(2, "2")])).unwrap(),
            [(1, 1.0), (2, 2.0)]
        );
        for bad in [
            Value::Nil,
            Value::Array(vec![Value::Nil]),
            Value::Array(vec![row(1, "x")]),
        ] {
            assert!(matches!(samples(&bad), Err(Trouble::Refused(_))), "{bad:?}");
        }
    }
}
