// hot path: no locks, no logging, nothing allocated per entry in steady state.

//! Values that templates compute with. They borrow from the entry, the template and the arena of the expansion.

use super::time::Time;

/// A value, as Go's reflection sees it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Value<'a> {
    /// No value at all: what a missing thing evaluates to, and a JSON `null` behind a pipeline.
    Nothing,
    /// A JSON `null`, or `nil` as an argument.
    Null,
    Bool(bool),
    /// Go's `int`
    Int(i64),
    /// Go's `int64`, which is not accepted where an `int` is asked for
    Int64(i64),
    /// Go's `uint8`: a byte of a text
    Byte(u8),
    Float(f64),
    Text(&'a [u8]),
    Time(Time),
    /// 1 to 12
    Month(u8),
    /// 0 is Sunday
    Weekday(u8),
    /// The labels of the entry, in order of name. Filled only if the template uses them as a whole.
    Labels(&'a [(&'a [u8], &'a [u8])]),
    List(&'a [Value<'a>]),
    /// In order of key.
    Map(&'a [(&'a [u8], Value<'a>)]),
}

/// Kinds of which comparisons know how to compare.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Basic<'a> {
    Bool(bool),
    Integer(i64),
    Float(f64),
    Text(&'a [u8]),
}

impl<'a> Value<'a> {
    /// What conditions make of it: false for zero, nothing and empty things.
    pub(super) fn truth(self) -> bool {
        match self {
            Self::Nothing | Self::Null => false,
            Self::Bool(value) => value,
            Self::Int(n) | Self::Int64(n) => n != 0,
            Self::Byte(n) | Self::Month(n) | Self::Weekday(n) => n != 0,
            Self::Float(n) => n != 0.0,
            Self::Text(text) => !text.is_empty(),
            Self::Time(_) => true,
            Self::Labels(entries) => !entries.is_empty(),
            Self::List(items) => !items.is_empty(),
            Self::Map(entries) => !entries.is_empty(),
        }
    }

    /// Go's name of the type.
    pub(super) fn type_name(self) -> &'static str {
        match self {
            Self::Nothing => "<nil>",
            Self::Null => "interface {}",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Int64(_) => "int64",
            Self::Byte(_) => "uint8",
            Self::Float(_) => "float64",
            Self::Text(_) => "string",
            Self::Time(_) => "time.Time",
            Self::Month(_) => "time.Month",
            Self::Weekday(_) => "time.Weekday",
            Self::Labels(_) => "map[string]string",
            Self::List(_) => "[]interface {}",
            Self::Map(_) => "map[string]interface {}",
        }
    }

    /// The value as one of the kinds that have an order or at least equality.
    pub(super) fn basic(self) -> Option<Basic<'a>> {
        Some(match self {
            Self::Bool(value) => Basic::Bool(value),
            Self::Int(n) | Self::Int64(n) => Basic::Integer(n),
            Self::Byte(n) | Self::Month(n) | Self::Weekday(n) => Basic::Integer(i64::from(n)),
            Self::Float(n) => Basic::Float(n),
            Self::Text(text) => Basic::Text(text),
            _ => return None,
        })
    }

    /// True for nothing and `nil`.
    pub(super) fn is_nil(self) -> bool {
        matches!(self, Self::Nothing | Self::Null)
    }

    /// Bytes that a function may have to read.
    pub(super) fn weight(self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::List(items) => items.len() * 16,
            Self::Map(entries) => entries.len() * 32,
            Self::Labels(entries) => entries.len() * 32,
            _ => 0,
        }
    }
}
