//! What is wrong with a query text.

use std::fmt;

/// A query that cannot be parsed or whose parts do not fit together (logql.md 19).
///
/// `Display` is the text that clients see: `parse error at line 1, col 7: syntax error: unexpected $end`, and without a
/// position `parse error : invalid aggregation sum_over_time without unwrap`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ParseError {
    /// Line of the offending token, from 1; 0 for errors without position and inside a `[range]`.
    pub line: u32,
    /// Column of the offending token in characters, from 1; 0 for errors without position.
    pub column: u32,
    /// What is wrong.
    pub message: String,
}

impl ParseError {
    /// An error of the query as a whole, without position.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            line: 0,
            column: 0,
            message: message.into(),
        }
    }

    /// An error at a place in the text.
    pub fn at(line: u32, column: u32, message: impl Into<String>) -> Self {
        Self {
            line,
            column,
            message: message.into(),
        }
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line == 0 && self.column == 0 {
            write!(f, "parse error : {}", self.message)
        } else {
            write!(
                f,
                "parse error at line {}, col {}: {}",
                self.line, self.column, self.message
            )
        }
    }
}
