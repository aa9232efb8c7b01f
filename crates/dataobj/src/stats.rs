//! Smallest and largest values of pages and columns (specification chapter 5).

use crate::error::Damage;
use crate::proto::StatsEntry;
use crate::varint::{append_uvarint, take_uvarint, unzigzag, zigzag};
use std::cmp::Ordering;

/// The type in which a column stores its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Physical {
    /// Signed 64-bit integers.
    Int64,
    /// Unsigned 64-bit integers. The format names them but has no codec for them.
    Uint64,
    /// Byte strings.
    Binary,
    /// A type this build doesn't know, by its number; such a column can't be decoded.
    Other(i32),
}

impl Physical {
    pub(crate) fn from_number(number: i32) -> Physical {
        match number {
            1 => Physical::Int64,
            2 => Physical::Uint64,
            3 => Physical::Binary,
            other => Physical::Other(other),
        }
    }

    pub(crate) fn number(self) -> i32 {
        match self {
            Physical::Int64 => 1,
            Physical::Uint64 => 2,
            Physical::Binary => 3,
            Physical::Other(other) => other,
        }
    }
}

/// One value of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A signed integer.
    Int64(i64),
    /// An unsigned integer.
    Uint64(u64),
    /// A byte string.
    Binary(Vec<u8>),
}

impl Value {
    fn physical(&self) -> Physical {
        match self {
            Value::Int64(_) => Physical::Int64,
            Value::Uint64(_) => Physical::Uint64,
            Value::Binary(_) => Physical::Binary,
        }
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        append_uvarint(&mut out, self.physical().number() as u64);
        match self {
            Value::Int64(value) => append_uvarint(&mut out, zigzag(*value)),
            Value::Uint64(value) => append_uvarint(&mut out, *value),
            Value::Binary(value) => out.extend_from_slice(value),
        }
        out
    }

    /// `Ok(None)` if `bytes` are absent or of a type this build doesn't know.
    fn decode(mut bytes: &[u8], physical: Physical) -> Result<Option<Value>, Damage> {
        if bytes.is_empty() || matches!(physical, Physical::Other(_)) {
            return Ok(None);
        }
        let number = take_uvarint(&mut bytes)?;
        if number != physical.number() as u64 {
            return Err(Damage::new(format!(
                "statistics of type {number} for a column of type {physical:?}"
            )));
        }
        let value = match physical {
            Physical::Int64 => Value::Int64(unzigzag(take_uvarint(&mut bytes)?)),
            Physical::Uint64 => Value::Uint64(take_uvarint(&mut bytes)?),
            Physical::Binary => return Ok(Some(Value::Binary(bytes.to_vec()))),
            Physical::Other(_) => return Ok(None),
        };
        if bytes.is_empty() {
            Ok(Some(value))
        } else {
            Err(Damage::new("bytes behind a value of the statistics"))
        }
    }
}

/// What is known about the values of a page or a column.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Smallest value; `None` if unknown. A column's is unknown as soon as one of its pages is all null, so use a column's
    /// range only if both ends are there.
    pub min: Option<Value>,
    /// Largest value; `None` if unknown.
    pub max: Option<Value>,
    /// Estimated number of distinct values that are neither zero nor empty; 0 if unknown, and always 0 on pages.
    pub cardinality: u64,
}

impl Stats {
    pub(crate) fn decode(entry: &StatsEntry, physical: Physical) -> Result<Stats, Damage> {
        Ok(Stats {
            min: Value::decode(&entry.min, physical)?,
            max: Value::decode(&entry.max, physical)?,
            cardinality: entry.cardinality,
        })
    }

    pub(crate) fn encode(&self) -> StatsEntry {
        let encode = |value: &Option<Value>| value.as_ref().map(Value::encode).unwrap_or_default();
        StatsEntry {
            min: encode(&self.min),
            max: encode(&self.max),
            cardinality: self.cardinality,
        }
    }

    /// Folds page ranges to a column's range as Loki does: absent sorts before everything, except that it equals the empty
    /// byte string.
    pub(crate) fn fold_range<'a>(pages: impl Iterator<Item = &'a Stats>) -> Stats {
        pages
            .fold(None, |folded: Option<Stats>, page| {
                let Some(mut folded) = folded else {
                    return Some(page.clone());
                };
                if compare(&page.min, &folded.min).is_lt() {
                    folded.min.clone_from(&page.min);
                }
                if compare(&page.max, &folded.max).is_gt() {
                    folded.max.clone_from(&page.max);
                }
                Some(folded)
            })
            .unwrap_or_default()
    }
}

fn compare(left: &Option<Value>, right: &Option<Value>) -> Ordering {
    let is_nothing = |value: &Option<Value>| {
        value
            .as_ref()
            .is_none_or(|v| matches!(v, Value::Binary(b) if b.is_empty()))
    };
    match (left, right) {
        (Some(Value::Int64(left)), Some(Value::Int64(right))) => left.cmp(right),
        (Some(Value::Uint64(left)), Some(Value::Uint64(right))) => left.cmp(right),
        (Some(Value::Binary(left)), Some(Value::Binary(right))) => left.cmp(right),
        _ => is_nothing(right).cmp(&is_nothing(left)),
    }
}

/// The range of an open page's values. Reused from page to page so that byte strings keep their buffers.
#[derive(Debug, Default)]
pub(crate) struct RangeBuilder {
    has_values: bool,
    int64: (i64, i64),
    binary: (Vec<u8>, Vec<u8>),
}

impl RangeBuilder {
    pub(crate) fn add_int64(&mut self, value: i64) {
        let (min, max) = self.int64;
        self.int64 = if self.has_values {
            (min.min(value), max.max(value))
        } else {
            (value, value)
        };
        self.has_values = true;
    }

    pub(crate) fn add_binary(&mut self, value: &[u8]) {
        let (min, max) = &mut self.binary;
        if !self.has_values || value < min.as_slice() {
            min.clear();
            min.extend_from_slice(value);
        }
        if !self.has_values || value > max.as_slice() {
            max.clear();
            max.extend_from_slice(value);
        }
        self.has_values = true;
    }

    /// The range, and an empty builder for the next page.
    pub(crate) fn take(&mut self, physical: Physical) -> Stats {
        if !std::mem::take(&mut self.has_values) {
            return Stats::default();
        }
        let (min, max) = match physical {
            Physical::Binary => (
                Value::Binary(self.binary.0.clone()),
                Value::Binary(self.binary.1.clone()),
            ),
            _ => (Value::Int64(self.int64.0), Value::Int64(self.int64.1)),
        };
        Stats {
            min: Some(min),
            max: Some(max),
            cardinality: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encoded_values() {
        let check = |value: Value, want: &[u8]| {
            assert_eq!(value.encode(), want);
            assert_eq!(Value::decode(want, value.physical()).unwrap(), Some(value));
        };
        check(Value::Int64(1), &[1, 2]);
        check(Value::Uint64(300), &[2, 0xac, 2]);
        check(Value::Binary(b"a".to_vec()), &[3, b'a']);
        check(Value::Binary(Vec::new()), &[3]);
    }

    #[test]
    fn a_page_of_nulls_hides_the_column_minimum_only() {
        let page = |value: Option<&[u8]>| {
            let value = value.map(|v| Value::Binary(v.to_vec()));
            Stats {
                min: value.clone(),
                max: value,
                cardinality: 0,
            }
        };
        let check = |pages: &[Option<&[u8]>], min: Option<&[u8]>, max: Option<&[u8]>| {
            let pages: Vec<Stats> = pages.iter().map(|p| page(*p)).collect();
            let folded = Stats::fold_range(pages.iter());
            assert_eq!((folded.min, folded.max), (page(min).min, page(max).max));
        };
        check(&[], None, None);
        check(&[Some(b"b"), Some(b"a")], Some(b"a"), Some(b"b"));
        check(&[Some(b"b"), None, Some(b"c")], None, Some(b"c"));
        check(&[None, Some(b"c")], None, Some(b"c"));
        check(&[Some(b""), None, Some(b"c")], Some(b""), Some(b"c"));
    }
}
