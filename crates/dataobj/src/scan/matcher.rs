//! A test made ready for a column: its literals typed and sorted, its needle prepared, and what statistics say about it.

use super::predicate::Test;
use crate::error::Error;
use crate::stats::{Stats, Value};
use memchr::memmem::Finder;
use regex::bytes::Regex;
use std::ops::Bound;

/// A test of values of one type, and its answer for null.
#[derive(Debug)]
pub(super) struct Matcher {
    pub(super) values: ValueMatcher,
    pub(super) matches_null: bool,
}

#[derive(Debug)]
pub(super) enum ValueMatcher {
    Int64(Int64Matcher),
    Binary(BinaryMatcher),
    /// The same answer for every value, of whatever type.
    Constant(bool),
}

#[derive(Debug)]
pub(super) enum Int64Matcher {
    /// From the first to the second, both included; nothing if they are the wrong way round.
    Range(i64, i64),
    /// Sorted.
    In(Vec<i64>),
}

#[derive(Debug)]
pub(super) enum BinaryMatcher {
    Equal(Vec<u8>),
    /// Sorted.
    In(Vec<Vec<u8>>),
    Range(Bound<Vec<u8>>, Bound<Vec<u8>>),
    Prefix(Vec<u8>),
    Contains(Box<Finder<'static>>),
    Regex(Regex),
}

/// What is known about the answers for a set of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    None,
    Some,
    All,
}

impl Matcher {
    pub(super) fn new(test: &Test) -> Result<Matcher, Error> {
        let values = match test {
            Test::Equal(Value::Int64(value)) => ValueMatcher::Int64(Int64Matcher::Range(*value, *value)),
            Test::Equal(Value::Binary(value)) => ValueMatcher::Binary(BinaryMatcher::Equal(value.clone())),
            Test::Equal(Value::Uint64(_)) => return Err(uint64()),
            Test::In(values) => set(values)?,
            Test::Range(low, high) => range(low, high)?,
            Test::Prefix(prefix) => ValueMatcher::Binary(BinaryMatcher::Prefix(prefix.clone())),
            Test::Contains(needle) => {
                ValueMatcher::Binary(BinaryMatcher::Contains(Box::new(Finder::new(needle).into_owned())))
            }
            Test::Regex(regex) => ValueMatcher::Binary(BinaryMatcher::Regex(regex.clone())),
        };
        let matches_null = match (test, &values) {
            (Test::In(_), _) => false,
            // Before every integer.
            (Test::Range(low, _), ValueMatcher::Int64(_)) => matches!(low, Bound::Unbounded),
            (_, ValueMatcher::Int64(_)) => false,
            (_, ValueMatcher::Binary(matcher)) => matcher.matches(b""),
            (_, ValueMatcher::Constant(answer)) => *answer,
        };
        Ok(Matcher { values, matches_null })
    }

    /// What the statistics of a page of `rows` rows, `values` of them not null, say about its rows.
    pub(super) fn judge(&self, rows: u64, values: u64, stats: Option<&Stats>) -> Verdict {
        let for_null = if self.matches_null { Verdict::All } else { Verdict::None };
        if values == 0 {
            return for_null;
        }
        let for_values = self.judge_values(stats);
        if values >= rows || for_values == for_null {
            for_values
        } else {
            Verdict::Some
        }
    }

    fn judge_values(&self, stats: Option<&Stats>) -> Verdict {
        let (min, max) = stats.map_or((None, None), |stats| (stats.min.as_ref(), stats.max.as_ref()));
        match &self.values {
            ValueMatcher::Constant(true) => Verdict::All,
            ValueMatcher::Constant(false) => Verdict::None,
            ValueMatcher::Int64(matcher) => {
                let int64 = |value: Option<&Value>| match value {
                    Some(Value::Int64(value)) => Some(*value),
                    _ => None,
                };
                matcher.judge(int64(min).unwrap_or(i64::MIN), int64(max).unwrap_or(i64::MAX))
            }
            ValueMatcher::Binary(matcher) => {
                fn binary(value: Option<&Value>) -> Option<&[u8]> {
                    match value {
                        Some(Value::Binary(value)) => Some(value),
                        _ => None,
                    }
                }
                matcher.judge(binary(min).unwrap_or_default(), binary(max))
            }
        }
    }

    /// Roughly how much work one row is, compared with an integer.
    pub(super) fn weight(&self) -> u64 {
        match &self.values {
            ValueMatcher::Constant(_) | ValueMatcher::Int64(_) => 1,
            ValueMatcher::Binary(BinaryMatcher::Equal(_) | BinaryMatcher::Range(..) | BinaryMatcher::Prefix(_)) => 4,
            ValueMatcher::Binary(BinaryMatcher::In(_)) => 8,
            ValueMatcher::Binary(BinaryMatcher::Contains(_)) => 16,
            ValueMatcher::Binary(BinaryMatcher::Regex(_)) => 64,
        }
    }
}

impl Int64Matcher {
    fn judge(&self, min: i64, max: i64) -> Verdict {
        let (any, all) = match self {
            Int64Matcher::Range(low, high) => (low <= high && *low <= max && min <= *high, *low <= min && max <= *high),
            Int64Matcher::In(members) => {
                let first = members.partition_point(|member| *member < min);
                (members.get(first).is_some_and(|member| *member <= max), min == max)
            }
        };
        verdict(any, all)
    }
}

impl BinaryMatcher {
    #[inline]
    pub(super) fn matches(&self, value: &[u8]) -> bool {
        match self {
            BinaryMatcher::Equal(wanted) => value == wanted,
            BinaryMatcher::In(members) => members.binary_search_by(|member| member.as_slice().cmp(value)).is_ok(),
            BinaryMatcher::Range(low, high) => is_above(value, low) && is_below(value, high),
            BinaryMatcher::Prefix(prefix) => value.starts_with(prefix),
            BinaryMatcher::Contains(finder) => finder.find(value).is_some(),
            BinaryMatcher::Regex(regex) => regex.is_match(value),
        }
    }

    /// `max` may be unknown; an unknown minimum is the empty byte string.
    fn judge(&self, min: &[u8], max: Option<&[u8]>) -> Verdict {
        if max == Some(min) {
            return verdict(self.matches(min), true);
        }
        let reaches = |value: &[u8]| max.is_none_or(|max| value <= max);
        let (any, all) = match self {
            BinaryMatcher::Equal(wanted) => (min <= wanted.as_slice() && reaches(wanted), false),
            BinaryMatcher::In(members) => {
                let first = members.partition_point(|member| member.as_slice() < min);
                (members.get(first).is_some_and(|member| reaches(member)), false)
            }
            BinaryMatcher::Range(low, high) => (
                is_below(min, high) && max.is_none_or(|max| is_above(max, low)),
                is_above(min, low)
                    && match max {
                        Some(max) => is_below(max, high),
                        None => matches!(high, Bound::Unbounded),
                    },
            ),
            // What starts with a prefix stands together, right from the prefix itself on.
            BinaryMatcher::Prefix(prefix) => (
                reaches(prefix) && (min <= prefix.as_slice() || min.starts_with(prefix)),
                prefix.is_empty() || (min.starts_with(prefix) && max.is_some_and(|max| max.starts_with(prefix))),
            ),
            BinaryMatcher::Contains(finder) => (true, finder.needle().is_empty()),
            BinaryMatcher::Regex(_) => (true, false),
        };
        verdict(any, all)
    }
}

fn verdict(any: bool, all: bool) -> Verdict {
    match (any, all) {
        (false, _) => Verdict::None,
        (true, false) => Verdict::Some,
        (true, true) => Verdict::All,
    }
}

fn is_above(value: &[u8], low: &Bound<Vec<u8>>) -> bool {
    match low {
        Bound::Included(low) => value >= low.as_slice(),
        Bound::Excluded(low) => value > low.as_slice(),
        Bound::Unbounded => true,
    }
}

fn is_below(value: &[u8], high: &Bound<Vec<u8>>) -> bool {
    match high {
        Bound::Included(high) => value <= high.as_slice(),
        Bound::Excluded(high) => value < high.as_slice(),
        Bound::Unbounded => true,
    }
}

fn set(values: &[Value]) -> Result<ValueMatcher, Error> {
    let (mut integers, mut strings) = (Vec::new(), Vec::new());
    for value in values {
        match value {
            Value::Int64(value) => integers.push(*value),
            Value::Binary(value) => strings.push(value.clone()),
            Value::Uint64(_) => return Err(uint64()),
        }
    }
    integers.sort_unstable();
    strings.sort_unstable();
    match (integers.is_empty(), strings.is_empty()) {
        (true, true) => Ok(ValueMatcher::Constant(false)),
        (false, true) => Ok(ValueMatcher::Int64(Int64Matcher::In(integers))),
        (true, false) => Ok(ValueMatcher::Binary(BinaryMatcher::In(strings))),
        (false, false) => Err(mixed()),
    }
}

fn range(low: &Bound<Value>, high: &Bound<Value>) -> Result<ValueMatcher, Error> {
    let mut has_int64 = false;
    let mut has_binary = false;
    for bound in [low, high] {
        match bound {
            Bound::Included(Value::Int64(_)) | Bound::Excluded(Value::Int64(_)) => has_int64 = true,
            Bound::Included(Value::Binary(_)) | Bound::Excluded(Value::Binary(_)) => has_binary = true,
            Bound::Included(Value::Uint64(_)) | Bound::Excluded(Value::Uint64(_)) => return Err(uint64()),
            Bound::Unbounded => {}
        }
    }
    match (has_int64, has_binary) {
        (true, true) => Err(mixed()),
        (false, false) => Ok(ValueMatcher::Constant(true)),
        (true, false) => Ok(ValueMatcher::Int64(int64_range(low, high))),
        (false, true) => Ok(ValueMatcher::Binary(BinaryMatcher::Range(
            binary_bound(low),
            binary_bound(high),
        ))),
    }
}

fn int64_range(low: &Bound<Value>, high: &Bound<Value>) -> Int64Matcher {
    let low = match low {
        Bound::Included(Value::Int64(low)) => Some(*low),
        Bound::Excluded(Value::Int64(low)) => low.checked_add(1),
        _ => Some(i64::MIN),
    };
    let high = match high {
        Bound::Included(Value::Int64(high)) => Some(*high),
        Bound::Excluded(Value::Int64(high)) => high.checked_sub(1),
        _ => Some(i64::MAX),
    };
    match (low, high) {
        (Some(low), Some(high)) => Int64Matcher::Range(low, high),
        // Above the largest or below the smallest integer there is none.
        _ => Int64Matcher::Range(i64::MAX, i64::MIN),
    }
}

fn binary_bound(bound: &Bound<Value>) -> Bound<Vec<u8>> {
    let bytes = |value: &Value| match value {
        Value::Binary(value) => Some(value.clone()),
        _ => None,
    };
    match bound {
        Bound::Included(value) => bytes(value).map_or(Bound::Unbounded, Bound::Included),
        Bound::Excluded(value) => bytes(value).map_or(Bound::Unbounded, Bound::Excluded),
        Bound::Unbounded => Bound::Unbounded,
    }
}

fn uint64() -> Error {
    Error::Predicate("compares with an unsigned integer, of which no column can be read".into())
}

fn mixed() -> Error {
    Error::Predicate("mixes integers and byte strings in one test".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn test() -> impl Strategy<Value = Test> {
        let value = || {
            prop_oneof![
                (-3i64..4).prop_map(Value::from),
                "[ab]{0,2}".prop_map(|s| Value::from(s.as_str()))
            ]
        };
        let bound = |value: BoxedStrategy<Value>| {
            prop_oneof![
                value.clone().prop_map(Bound::Included),
                value.prop_map(Bound::Excluded),
                Just(Bound::Unbounded)
            ]
        };
        let bytes = || "[ab]{0,2}".prop_map(String::into_bytes);
        prop_oneof![
            value().prop_map(Test::Equal),
            proptest::collection::vec(value(), 0..3).prop_map(Test::In),
            (bound(value().boxed()), bound(value().boxed())).prop_map(|(low, high)| Test::Range(low, high)),
            bytes().prop_map(Test::Prefix),
            bytes().prop_map(Test::Contains),
            "[ab]{0,2}".prop_map(|s| Test::Regex(Regex::new(&format!("^{s}$")).unwrap())),
        ]
    }

    /// Whatever statistics decide holds for every value that they allow.
    fn check(matcher: &Matcher, values: &[Value], known: (bool, bool)) -> Result<(), TestCaseError> {
        let order = |value: &&Value| match value {
            Value::Int64(value) => (*value, Vec::new()),
            Value::Binary(value) => (0, value.clone()),
            Value::Uint64(_) => (0, Vec::new()),
        };
        let stats = Stats {
            min: values.iter().min_by_key(order).cloned().filter(|_| known.0),
            max: values.iter().max_by_key(order).cloned().filter(|_| known.1),
            cardinality: 0,
        };
        let answers: Vec<bool> = values
            .iter()
            .map(|value| match (&matcher.values, value) {
                (ValueMatcher::Constant(answer), _) => *answer,
                (ValueMatcher::Int64(Int64Matcher::Range(low, high)), Value::Int64(value)) => {
                    (low..=high).contains(&value)
                }
                (ValueMatcher::Int64(Int64Matcher::In(members)), Value::Int64(value)) => members.contains(value),
                (ValueMatcher::Binary(matcher), Value::Binary(value)) => matcher.matches(value),
                _ => panic!("types differ"),
            })
            .collect();
        let count = values.len() as u64;
        for nulls in [0, 1] {
            let nulls_answer = (nulls > 0).then_some(matcher.matches_null);
            let all = answers.iter().copied().chain(nulls_answer).all(|answer| answer);
            let any = answers.iter().copied().chain(nulls_answer).any(|answer| answer);
            match matcher.judge(count + nulls, count, Some(&stats)) {
                Verdict::All => prop_assert!(all),
                Verdict::None => prop_assert!(!any),
                Verdict::Some => {}
            }
        }
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        #[test]
        fn statistics_decide_only_what_holds(test in test(), known in any::<(bool, bool)>(),
                                             integers in proptest::collection::vec(-3i64..4, 1..4),
                                             strings in proptest::collection::vec("[ab]{0,3}", 1..4)) {
            let Ok(matcher) = Matcher::new(&test) else { return Ok(()) };
            let integers: Vec<Value> = integers.into_iter().map(Value::from).collect();
            let strings: Vec<Value> = strings.iter().map(|s| Value::from(s.as_str())).collect();
            match &matcher.values {
                ValueMatcher::Int64(_) => check(&matcher, &integers, known)?,
                _ => check(&matcher, &strings, known)?,
            }
        }
    }

    #[test]
    fn what_statistics_rule_out_is_noticed() {
        let check = |test: Test, min: &str, max: &str, want: Verdict| {
            let stats = Stats {
                min: Some(min.into()),
                max: Some(max.into()),
                cardinality: 0,
            };
            assert_eq!(Matcher::new(&test).unwrap().judge(5, 5, Some(&stats)), want, "{test:?}");
        };
        check(Test::Equal("b".into()), "c", "d", Verdict::None);
        check(Test::Equal("b".into()), "a", "d", Verdict::Some);
        check(Test::Equal("b".into()), "b", "b", Verdict::All);
        check(Test::In(vec!["a".into(), "e".into()]), "b", "d", Verdict::None);
        check(Test::In(vec!["a".into(), "c".into()]), "b", "d", Verdict::Some);
        check(
            Test::Range(Bound::Excluded("d".into()), Bound::Unbounded),
            "b",
            "d",
            Verdict::None,
        );
        check(
            Test::Range(Bound::Included("b".into()), Bound::Unbounded),
            "b",
            "d",
            Verdict::All,
        );
        check(Test::Prefix(b"b".to_vec()), "ba", "bz", Verdict::All);
        check(Test::Prefix(b"b".to_vec()), "az", "b", Verdict::Some);
        check(Test::Prefix(b"b".to_vec()), "c", "d", Verdict::None);
        check(Test::Contains(b"b".to_vec()), "abc", "abc", Verdict::All);
        check(Test::Contains(b"x".to_vec()), "abc", "abc", Verdict::None);
    }
}
