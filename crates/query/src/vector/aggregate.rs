//! Vector aggregations (logql.md 14).

use super::{ByTime, Points, VectorFunction};
use crate::QueryError;
use crate::context::QueryContext;
use std::cmp::Ordering;
use std::collections::HashMap;
use timberline_logql::ast::{Grouping, VectorOp};
use timberline_logql::labels::LabelSet;

/// `sum by (a) (..)` and its kin.
#[derive(Debug)]
pub(crate) struct Aggregate {
    pub(crate) op: VectorOp,
    pub(crate) grouping: Option<Grouping>,
    /// `k` of `topk`, `bottomk` and `approx_topk`.
    pub(crate) k: usize,
}

impl VectorFunction for Aggregate {
    fn describe(&self) -> String {
        let mut text = self.op.name().to_owned();
        if let Some(grouping) = &self.grouping {
            text.push_str(&format!(" {grouping}"));
        }
        match self.op {
            VectorOp::Topk | VectorOp::Bottomk | VectorOp::ApproxTopk => format!("{text}({}, ..)", self.k),
            _ => format!("{text}(..)"),
        }
    }

    fn evaluate(&self, inputs: Vec<Points>, context: &QueryContext) -> Result<Points, QueryError> {
        let mut out = Points::default();
        for input in inputs {
            let group = |&(series, _): &(u32, _)| {
                context
                    .series
                    .intern(group_labels(&context.series.get(series), self.grouping.as_ref()))
            };
            let groups: Vec<u32> = input.series.iter().map(group).collect::<Result<_, _>>()?;
            match self.op {
                VectorOp::Sort | VectorOp::SortDesc => return Ok(self.sorted(input, context)),
                VectorOp::Topk | VectorOp::ApproxTopk | VectorOp::Bottomk => {
                    self.select(&input, &groups, context, &mut out)?;
                }
                _ => self.reduce(&input, &groups, context, &mut out)?,
            }
        }
        Ok(out)
    }
}

impl Aggregate {
    fn reduce(
        &self,
        input: &Points,
        groups: &[u32],
        context: &QueryContext,
        out: &mut Points,
    ) -> Result<(), QueryError> {
        let mut at_time: HashMap<u32, Accumulator, ahash::RandomState> = HashMap::default();
        for (time_ns, present) in ByTime::of(input, &context.cancelled)?.iter() {
            context.cancelled.check()?;
            for &(index, value) in present {
                at_time.entry(groups[index as usize]).or_default().add(value);
            }
            let mut done: Vec<(u32, Accumulator)> = at_time.drain().collect();
            done.sort_unstable_by_key(|d| d.0);
            for (group, accumulator) in done {
                out.of(group).push((time_ns, accumulator.finish(self.op)));
            }
        }
        Ok(())
    }

    /// The k largest or smallest of each group, chosen afresh at every time; they keep all their labels.
    fn select(
        &self,
        input: &Points,
        groups: &[u32],
        context: &QueryContext,
        out: &mut Points,
    ) -> Result<(), QueryError> {
        // The place of each series in order of groups and labels.
        let mut order: Vec<usize> = (0..input.series.len()).collect();
        order.sort_by_cached_key(|&index| (groups[index], context.series.get(input.series[index].0).to_string()));
        let mut places = vec![0; order.len()];
        order
            .iter()
            .enumerate()
            .for_each(|(place, &index)| places[index] = place);
        let mut best: Vec<(u32, f64)> = Vec::new();
        for (time_ns, present) in ByTime::of(input, &context.cancelled)?.iter() {
            context.cancelled.check()?;
            best.clear();
            best.extend_from_slice(present);
            // By group, then best first, NaN last; equal values in order of their labels, so that the choice does not depend on the plan.
            best.sort_unstable_by(|a, b| {
                let by_value = match self.op {
                    VectorOp::Bottomk => compare(a.1, b.1),
                    _ => compare(b.1, a.1),
                };
                let (a_index, b_index) = (a.0 as usize, b.0 as usize);
                groups[a_index]
                    .cmp(&groups[b_index])
                    .then(a.1.is_nan().cmp(&b.1.is_nan()))
                    .then(by_value)
                    .then_with(|| places[a_index].cmp(&places[b_index]))
            });
            let (mut group, mut taken) = (None, 0);
            for &(index, value) in &best {
                let index = index as usize;
                if group != Some(groups[index]) {
                    (group, taken) = (Some(groups[index]), 0);
                }
                taken += 1;
                if taken <= self.k {
                    out.of(input.series[index].0).push((time_ns, value));
                }
            }
        }
        Ok(())
    }

    /// In order of the value at the (only) time of an instant query; equal values in order of their labels.
    fn sorted(&self, mut input: Points, context: &QueryContext) -> Points {
        input.series.sort_by_cached_key(|s| context.series.get(s.0).to_string());
        let value = |points: &[(i64, f64)]| points.last().map_or(f64::NAN, |p| p.1);
        input.series.sort_by(|a, b| {
            let (a, b) = (value(&a.1), value(&b.1));
            a.is_nan().cmp(&b.is_nan()).then(match self.op {
                VectorOp::SortDesc => compare(b, a),
                _ => compare(a, b),
            })
        });
        let mut out = Points::default();
        for (series, points) in input.series {
            *out.of(series) = points;
        }
        out
    }
}

fn compare(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or(Ordering::Equal)
}

/// The labels of a group: `by` keeps those that exist, `without` the others, no grouping none.
pub(crate) fn group_labels(labels: &LabelSet, grouping: Option<&Grouping>) -> LabelSet {
    let Some(grouping) = grouping else {
        return LabelSet::default();
    };
    let keep = |&(name, _): &(&str, &str)| grouping.labels.iter().any(|l| l == name) != grouping.without;
    LabelSet::from_pairs(labels.iter().filter(keep))
}

/// Values of one group at one time.
#[derive(Clone, Copy, Debug, Default)]
struct Accumulator {
    count: u64,
    sum: f64,
    min: f64,
    max: f64,
    // Welford's running mean and sum of squared differences: no cancellation.
    mean: f64,
    squares: f64,
}

impl Accumulator {
    fn add(&mut self, value: f64) {
        self.count += 1;
        self.sum += value;
        if self.count == 1 {
            (self.min, self.max) = (value, value);
        } else {
            // `min` and `max` of f64 prefer numbers to NaN, as the language does.
            (self.min, self.max) = (self.min.min(value), self.max.max(value));
        }
        let difference = value - self.mean;
        self.mean += difference / self.count as f64;
        self.squares += difference * (value - self.mean);
    }

    fn finish(&self, op: VectorOp) -> f64 {
        match op {
            VectorOp::Sum => self.sum,
            VectorOp::Avg => self.sum / self.count as f64,
            VectorOp::Count => self.count as f64,
            VectorOp::Min => self.min,
            VectorOp::Max => self.max,
            VectorOp::Stdvar => self.squares / self.count as f64,
            VectorOp::Stddev => (self.squares / self.count as f64).sqrt(),
            VectorOp::Topk | VectorOp::Bottomk | VectorOp::ApproxTopk | VectorOp::Sort | VectorOp::SortDesc => {
                unreachable!("bug: {op:?} selects, it does not reduce")
            }
        }
    }
}
