//! Why there is no answer.

/// Kinds of errors; two evaluators agree if the kind is the same, whatever the words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Error {
    /// The text is not a query, or a stage of it can't be made.
    Parse,
    /// A series still carries `__error__` (logql.md 11).
    Pipeline,
    /// Series of two operands don't find each other one to one (logql.md 15.3).
    Matching,
    /// Two series have become one.
    SameSeries,
    /// The question doesn't fit the query.
    BadRequest,
    /// A part of the language that this evaluator does not know; named.
    NotKnown(&'static str),
}
