// hot path: no locks, no logging, nothing allocated per entry in steady state.

//! Printing as Go's `fmt` does.

pub(super) mod float;
pub(super) mod printf;
pub(super) mod quote;

use super::sink::{Sink, put};
use super::time::{MONTHS, WEEKDAYS};
use super::value::Value;

/// `%v` of a value; `nil` is `<nil>`.
pub(super) fn print_value(value: Value<'_>, out: &mut Sink<'_>) {
    match value {
        Value::Nothing | Value::Null => out.push(b"<nil>"),
        Value::Bool(value) => put!(out, "{value}"),
        Value::Int(n) | Value::Int64(n) => put!(out, "{n}"),
        Value::Byte(n) => put!(out, "{n}"),
        Value::Float(n) => float::append(n, b'g', None, out),
        Value::Text(text) => out.push(text),
        Value::Time(time) => time.print(out),
        Value::Month(n) => out.push(name_of(&MONTHS, usize::from(n).wrapping_sub(1)).as_bytes()),
        Value::Weekday(n) => out.push(name_of(&WEEKDAYS, usize::from(n)).as_bytes()),
        Value::Labels(entries) => {
            print_map(entries.iter().map(|(key, value)| (*key, Value::Text(value))), out);
        }
        Value::List(items) => {
            out.push_byte(b'[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push_byte(b' ');
                }
                print_value(*item, out);
            }
            out.push_byte(b']');
        }
        Value::Map(entries) => print_map(entries.iter().copied(), out),
    }
}

fn print_map<'a>(entries: impl Iterator<Item = (&'a [u8], Value<'a>)>, out: &mut Sink<'_>) {
    out.push(b"map[");
    for (at, (key, value)) in entries.enumerate() {
        if at > 0 {
            out.push_byte(b' ');
        }
        out.push(key);
        out.push_byte(b':');
        print_value(value, out);
    }
    out.push_byte(b']');
}

/// `fmt.Sprint`: a space between neighbours of which neither is a text.
pub(super) fn print_all(values: &[Value<'_>], out: &mut Sink<'_>) {
    let is_text = |value: &Value<'_>| matches!(value, Value::Text(_));
    for (at, value) in values.iter().enumerate() {
        if at > 0 && !is_text(value) && !is_text(&values[at - 1]) {
            out.push_byte(b' ');
        }
        print_value(*value, out);
    }
}

/// `fmt.Sprintln`: a space between all neighbours, and a line feed.
pub(super) fn print_line(values: &[Value<'_>], out: &mut Sink<'_>) {
    for (at, value) in values.iter().enumerate() {
        if at > 0 {
            out.push_byte(b' ');
        }
        print_value(*value, out);
    }
    out.push_byte(b'\n');
}

pub(super) fn name_of<const N: usize>(names: &[&'static str; N], at: usize) -> &'static str {
    names.get(at).copied().unwrap_or("?")
}
