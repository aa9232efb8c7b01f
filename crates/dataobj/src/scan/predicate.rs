//! What a scan asks of rows.

use crate::stats::Value;
use std::ops::{Bound, RangeBounds};

/// A column by its logical name and its tag, see [`crate::column`].
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ColumnName {
    /// What the column is.
    pub logical: String,
    /// Label name or metadata key; empty for none.
    pub tag: String,
}

impl ColumnName {
    /// The column of that logical name and tag.
    pub fn new(logical: impl Into<String>, tag: impl Into<String>) -> ColumnName {
        ColumnName {
            logical: logical.into(),
            tag: tag.into(),
        }
    }
}

impl From<&str> for ColumnName {
    /// The column of that logical name without a tag.
    fn from(logical: &str) -> ColumnName {
        ColumnName::new(logical, "")
    }
}

impl From<(&str, &str)> for ColumnName {
    /// The column of that logical name and tag.
    fn from((logical, tag): (&str, &str)) -> ColumnName {
        ColumnName::new(logical, tag)
    }
}

/// A condition on rows.
///
/// Every row either meets it or doesn't; there is no third answer. What is absent (null) counts like this:
///
/// * Null comes before everything else and equals nothing, except that beside byte strings **null is the empty one**. So a null
///   meets `< 5`, `< "a"`, `>= ""` and `= ""`, but neither `>= i64::MIN` nor `= 0` nor `< ""`.
/// * A prefix, a substring and a regular expression see the empty byte string in place of null.
/// * **A set never holds null**, not even if it holds the empty byte string.
/// * A column that the section lacks, and the rows behind the end of a column that ends early, are null.
/// * `Not` turns the answer round, for null as well: a null meets `!= 5`.
///
/// These are the rules that Loki applies to rows (specification chapter 13). Statistics of pages only ever save work here;
/// they count nulls, and so never change an answer.
#[derive(Clone, Debug)]
pub enum Predicate {
    /// The value of a column passes a test.
    Column(ColumnName, Test),
    /// All of them; every row if there are none.
    And(Vec<Predicate>),
    /// At least one of them; no row if there are none.
    Or(Vec<Predicate>),
    /// Not that one.
    Not(Box<Predicate>),
}

/// What is asked of a value. Values must be of the column's type.
#[derive(Clone, Debug)]
pub enum Test {
    /// Is this value.
    Equal(Value),
    /// Is one of these.
    In(Vec<Value>),
    /// Lies between these ends.
    Range(Bound<Value>, Bound<Value>),
    /// Starts with these bytes.
    Prefix(Vec<u8>),
    /// Holds these bytes.
    Contains(Vec<u8>),
    /// Matches somewhere.
    Regex(regex::bytes::Regex),
}

impl Predicate {
    /// Rows whose value is `value`.
    pub fn equal(column: impl Into<ColumnName>, value: impl Into<Value>) -> Predicate {
        Predicate::Column(column.into(), Test::Equal(value.into()))
    }

    /// Rows whose value is one of `values`.
    pub fn is_in<V: Into<Value>>(column: impl Into<ColumnName>, values: impl IntoIterator<Item = V>) -> Predicate {
        Predicate::Column(column.into(), Test::In(values.into_iter().map(Into::into).collect()))
    }

    /// Rows whose value lies in `range`, as in `1..5` or `..="b"`.
    pub fn range<V: Into<Value> + Clone>(column: impl Into<ColumnName>, range: impl RangeBounds<V>) -> Predicate {
        let own = |bound: Bound<&V>| bound.map(|value| value.clone().into());
        Predicate::Column(
            column.into(),
            Test::Range(own(range.start_bound()), own(range.end_bound())),
        )
    }

    /// Rows whose value starts with `prefix`.
    pub fn prefix(column: impl Into<ColumnName>, prefix: impl Into<Vec<u8>>) -> Predicate {
        Predicate::Column(column.into(), Test::Prefix(prefix.into()))
    }

    /// Rows whose value holds `needle`.
    pub fn contains(column: impl Into<ColumnName>, needle: impl Into<Vec<u8>>) -> Predicate {
        Predicate::Column(column.into(), Test::Contains(needle.into()))
    }

    /// Rows in whose value `regex` matches somewhere.
    pub fn regex(column: impl Into<ColumnName>, regex: regex::bytes::Regex) -> Predicate {
        Predicate::Column(column.into(), Test::Regex(regex))
    }

    /// Every row.
    pub fn all() -> Predicate {
        Predicate::And(Vec::new())
    }

    /// Rows that meet both.
    #[must_use]
    pub fn and(self, other: Predicate) -> Predicate {
        Predicate::And(vec![self, other])
    }

    /// Rows that meet at least one of both.
    #[must_use]
    pub fn or(self, other: Predicate) -> Predicate {
        Predicate::Or(vec![self, other])
    }
}

impl std::ops::Not for Predicate {
    type Output = Predicate;

    fn not(self) -> Predicate {
        Predicate::Not(Box::new(self))
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Value {
        Value::Int64(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Value {
        Value::Binary(value.as_bytes().to_vec())
    }
}

impl From<&[u8]> for Value {
    fn from(value: &[u8]) -> Value {
        Value::Binary(value.to_vec())
    }
}

impl From<Vec<u8>> for Value {
    fn from(value: Vec<u8>) -> Value {
        Value::Binary(value)
    }
}
