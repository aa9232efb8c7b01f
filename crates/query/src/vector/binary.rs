//! Operators between two vectors (logql.md 15.3): series find each other by labels, time by time.

use super::scalar::is_comparison;
use super::{ByTime, Points, VectorFunction, apply};
use crate::QueryError;
use crate::context::QueryContext;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use timberline_logql::ast::{BinaryOp, Matching, Side};
use timberline_logql::labels::LabelSet;

/// `left op right`.
#[derive(Debug)]
pub(crate) struct VectorBinary {
    pub(crate) op: BinaryOp,
    pub(crate) return_bool: bool,
    pub(crate) matching: Option<Matching>,
}

impl VectorFunction for VectorBinary {
    fn describe(&self) -> String {
        let word = if self.return_bool { " bool" } else { "" };
        match &self.matching {
            Some(matching) => format!(".. {}{word} {matching} ..", self.op.name()),
            None => format!(".. {}{word} ..", self.op.name()),
        }
    }

    fn evaluate(&self, inputs: Vec<Points>, context: &QueryContext) -> Result<Points, QueryError> {
        let [left, right]: [Points; 2] = inputs
            .try_into()
            .map_err(|_| QueryError::Internal("bug: a binary operator has two operands".into()))?;
        let (left, right) = (Operand::new(left, self, context)?, Operand::new(right, self, context)?);
        match self.op {
            BinaryOp::And | BinaryOp::Or | BinaryOp::Unless => self.set_operation(&left, &right, context),
            _ => self.join(&left, &right, context),
        }
    }
}

/// One side: its points by time, and what each series is matched by.
struct Operand {
    points: Points,
    /// Number of the match group, by index of the series.
    groups: Vec<u32>,
    by_time: ByTime,
}

impl Operand {
    fn new(points: Points, binary: &VectorBinary, context: &QueryContext) -> Result<Self, QueryError> {
        let group = |&(series, _): &(u32, _)| context.series.intern(binary.match_labels(&context.series.get(series)));
        let groups = points.series.iter().map(group).collect::<Result<_, _>>()?;
        let by_time = ByTime::of(&points, &context.cancelled)?;
        Ok(Self {
            points,
            groups,
            by_time,
        })
    }

    /// The series present at a time, if any; times are asked for in ascending order.
    fn at<'a>(&'a self, time_ns: i64, cursor: &mut usize) -> &'a [(u32, f64)] {
        while self.by_time.get(*cursor).is_some_and(|(t, _)| t < time_ns) {
            *cursor += 1;
        }
        match self.by_time.get(*cursor) {
            Some((t, present)) if t == time_ns => present,
            _ => &[],
        }
    }
}

/// Evaluation times at which either side has a point.
fn times(left: &Operand, right: &Operand) -> Vec<i64> {
    let mut times: Vec<i64> = left.by_time.iter().chain(right.by_time.iter()).map(|t| t.0).collect();
    times.sort_unstable();
    times.dedup();
    times
}

type Present = HashMap<u32, (u32, f64), ahash::RandomState>;

impl VectorBinary {
    /// The labels by which a series is matched.
    fn match_labels(&self, labels: &LabelSet) -> LabelSet {
        let Some(matching) = &self.matching else {
            return labels.clone();
        };
        let keep = |&(name, _): &(&str, &str)| matching.labels.iter().any(|l| l == name) == matching.on;
        LabelSet::from_pairs(labels.iter().filter(keep))
    }

    /// `and`, `or`, `unless`: elements come unchanged from the side they are from.
    fn set_operation(&self, left: &Operand, right: &Operand, context: &QueryContext) -> Result<Points, QueryError> {
        let mut out = Points::default();
        let (mut at_left, mut at_right) = (0, 0);
        for time_ns in times(left, right) {
            context.cancelled.check()?;
            let (lefts, rights) = (left.at(time_ns, &mut at_left), right.at(time_ns, &mut at_right));
            let groups = |side: &Operand, present: &[(u32, f64)]| -> HashSet<u32, ahash::RandomState> {
                present.iter().map(|&(index, _)| side.groups[index as usize]).collect()
            };
            let (in_left, in_right) = (groups(left, lefts), groups(right, rights));
            for &(index, value) in lefts {
                let keep = match self.op {
                    BinaryOp::And => in_right.contains(&left.groups[index as usize]),
                    BinaryOp::Unless => !in_right.contains(&left.groups[index as usize]),
                    _ => true,
                };
                if keep {
                    out.of(left.points.series[index as usize].0).push((time_ns, value));
                }
            }
            if self.op == BinaryOp::Or {
                for &(index, value) in rights {
                    if !in_left.contains(&right.groups[index as usize]) {
                        out.of(right.points.series[index as usize].0).push((time_ns, value));
                    }
                }
            }
        }
        Ok(out)
    }

    /// Arithmetic and comparison.
    fn join(&self, left: &Operand, right: &Operand, context: &QueryContext) -> Result<Points, QueryError> {
        let many_side = self.matching.as_ref().and_then(|m| m.group.as_ref()).map(|g| g.many);
        // The side with many series per group walks, the other one is looked up.
        let (many, one, one_name) = match many_side {
            Some(Side::Right) => (right, left, "left"),
            _ => (left, right, "right"),
        };
        let mut labels: HashMap<(u32, u32), u32, ahash::RandomState> = HashMap::default();
        let mut out = Points::default();
        let (mut at_many, mut at_one) = (0, 0);
        let (mut ones, mut matched): (Present, Present) = (Present::default(), Present::default());
        for time_ns in times(left, right) {
            context.cancelled.check()?;
            let (manys, present) = (many.at(time_ns, &mut at_many), one.at(time_ns, &mut at_one));
            ones.clear();
            matched.clear();
            for &(index, value) in present {
                if ones.insert(one.groups[index as usize], (index, value)).is_some() {
                    return Err(QueryError::BadRequest(format!(
                        "found duplicate series on the {one_name} hand-side;many-to-many matching not allowed: \
                         matching labels must be unique on one side"
                    )));
                }
            }
            for &(index, value) in manys {
                let group = many.groups[index as usize];
                let Some(&(one_index, one_value)) = ones.get(&group) else {
                    continue;
                };
                if many_side.is_none() && matched.insert(group, (index, value)).is_some() {
                    let text =
                        "multiple matches for labels: many-to-one matching must be explicit (group_left/group_right)";
                    return Err(QueryError::BadRequest(text.into()));
                }
                let (left_value, right_value) = match many_side {
                    Some(Side::Right) => (one_value, value),
                    _ => (value, one_value),
                };
                let result = apply(self.op, left_value, right_value);
                let value = match is_comparison(self.op) && !self.return_bool {
                    true if result != 1.0 => continue,
                    true => left_value,
                    false => result,
                };
                let number = match labels.entry((index, one_index)) {
                    Entry::Occupied(known) => *known.get(),
                    Entry::Vacant(place) => {
                        let many = context.series.get(many.points.series[index as usize].0);
                        let one = context.series.get(one.points.series[one_index as usize].0);
                        *place.insert(context.series.intern(self.result_labels(&many, &one))?)
                    }
                };
                let points = out.of(number);
                if points.last().is_some_and(|p| p.0 == time_ns) {
                    let text = "multiple matches for labels: grouping labels must ensure unique matches";
                    return Err(QueryError::BadRequest(text.into()));
                }
                points.push((time_ns, value));
            }
        }
        Ok(out)
    }

    /// The labels of a result: those matched on, or the left ones without the ignored; with `group_left` or `group_right`
    /// those of the many side and the included ones of the other.
    fn result_labels(&self, many: &LabelSet, one: &LabelSet) -> LabelSet {
        let Some(group) = self.matching.as_ref().and_then(|m| m.group.as_ref()) else {
            return self.match_labels(many);
        };
        let included = |name: &str| group.include.iter().any(|l| l == name);
        let kept = many.iter().filter(|(name, _)| !included(name));
        let copied = one.iter().filter(|(name, value)| included(name) && !value.is_empty());
        LabelSet::from_pairs(kept.chain(copied))
    }
}
