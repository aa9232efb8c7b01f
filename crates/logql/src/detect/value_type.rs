//! The type of a field: the first that all of its values fit.

use crate::pipeline::convert::{parse_duration_ns, parse_number, parse_size_bytes};

/// What all values of a field can be read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueType {
    /// A whole number of 64 bits.
    Int,
    /// A number.
    Float,
    /// True or false, in the spellings of Go.
    Boolean,
    /// A duration such as `1.5s`.
    Duration,
    /// A size such as `10 kB`.
    Bytes,
    /// Anything else.
    String,
}

impl ValueType {
    /// All types in the order in which they are tried.
    const ALL: [Self; 6] = [
        Self::Int,
        Self::Float,
        Self::Boolean,
        Self::Duration,
        Self::Bytes,
        Self::String,
    ];

    /// The type's name in answers.
    pub fn name(self) -> &'static str {
        match self {
            Self::Int => "int",
            Self::Float => "float",
            Self::Boolean => "boolean",
            Self::Duration => "duration",
            Self::Bytes => "bytes",
            Self::String => "string",
        }
    }

    fn fits(self, value: &str) -> bool {
        match self {
            Self::Int => value.parse::<i64>().is_ok(),
            Self::Float => parse_number(value.as_bytes()).is_ok(),
            Self::Boolean => matches!(
                value,
                "1" | "t" | "T" | "TRUE" | "true" | "True" | "0" | "f" | "F" | "FALSE" | "false" | "False"
            ),
            Self::Duration => parse_duration_ns(value.as_bytes()).is_ok(),
            Self::Bytes => parse_size_bytes(value.as_bytes()).is_ok(),
            Self::String => true,
        }
    }
}

/// The types that all values seen so far fit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidates([bool; ValueType::ALL.len()]);

impl Default for Candidates {
    fn default() -> Self {
        Self([true; ValueType::ALL.len()])
    }
}

impl Candidates {
    /// Drops the types that a value does not fit.
    pub(super) fn keep_fitting(&mut self, value: &str) {
        for (candidate, value_type) in self.0.iter_mut().zip(ValueType::ALL) {
            *candidate = *candidate && value_type.fits(value);
        }
    }

    /// The first of the types that are left.
    pub(super) fn first(self) -> ValueType {
        let mut left = ValueType::ALL.into_iter().zip(self.0).filter(|(_, fits)| *fits);
        left.next().map_or(ValueType::String, |(value_type, _)| value_type)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_type_that_all_values_fit() {
        let f = |values: &[&str], want: &str| {
            let mut candidates = Candidates::default();
            values.iter().for_each(|value| candidates.keep_fitting(value));
            assert_eq!(candidates.first().name(), want, "{values:?}");
        };
        f(&["200", "-5", "+7", "0"], "int");
        f(&["1", "0"], "int");
        f(&["200", "1.5"], "float");
        f(&["9223372036854775808"], "float");
        f(&["NaN", "1e3"], "float");
        f(&["true", "False"], "boolean");
        f(&["true", "0"], "boolean");
        f(&["true", "2"], "string");
        f(&["12ms", "1h2m", "-3s"], "duration");
        f(&["12ms", "0"], "duration");
        f(&["12ms", "5"], "string");
        f(&["10kb", "2 MiB", "512"], "bytes");
        f(&["10kb", "10ms"], "string");
        f(&["1d"], "string");
        f(&["", "5"], "string");
        f(&["yes"], "string");
    }
}
