//! What is wrong with a query text, and where.

use std::fmt;

use crate::excerpt::excerpt;

/// A query that cannot be parsed or whose parts do not fit together (logql.md 19).
///
/// `Display` is the text that clients match on: `parse error at line 1, col 7: syntax error: unexpected $end`, and without a
/// position `parse error : invalid aggregation sum_over_time without unwrap`. [`ParseError::report`] shows people the place as
/// well.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ParseError {
    /// Line of the offending token, from 1; 0 for errors without position and inside a `[range]`.
    pub line: u32,
    /// Column of the offending token in characters, from 1; 0 for errors without position.
    pub column: u32,
    /// What is wrong.
    pub message: String,
    /// Byte of the query text that the error is about. Known for more errors than those that tell a position.
    place: Option<usize>,
    /// The line of the query text around the place, and a line that points at it.
    excerpt: Option<String>,
}

impl ParseError {
    /// An error of the query as a whole, without position.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            line: 0,
            column: 0,
            message: message.into(),
            place: None,
            excerpt: None,
        }
    }

    /// An error at a position in the text.
    pub fn at(line: u32, column: u32, message: impl Into<String>) -> Self {
        Self {
            line,
            column,
            ..Self::new(message)
        }
    }

    /// The same error, about what begins at this byte of the text.
    pub(crate) fn about(self, place: Option<usize>) -> Self {
        Self { place, ..self }
    }

    /// The same error, with the place in `text` for people to see.
    pub(crate) fn shown_in(self, text: &str) -> Self {
        let excerpt = self.place.map(|place| excerpt(text, place));
        Self { excerpt, ..self }
    }

    /// The error for people: its text, and where the place is known the line of the query with a mark under the place.
    ///
    /// ```text
    /// parse error at line 1, col 13: syntax error: unexpected )
    /// rate({a="x"})
    ///             ^
    /// ```
    pub fn report(&self) -> String {
        match &self.excerpt {
            Some(excerpt) => format!("{self}\n{excerpt}"),
            None => self.to_string(),
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
