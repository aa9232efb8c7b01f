//! Vector aggregations (logql.md 14).

use super::{Points, VectorFunction};
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
    /// `k` of `topk` and `bottomk`.
    pub(crate) k: usize,
}

impl VectorFunction for Aggregate {
    fn evaluate(&self, inputs: Vec<Points>, context: &QueryContext) -> Result<Points, QueryError> {
        let mut out = Points::default();
        for input in inputs {
            let group = |&(series, _): &(u32, _)| {
                context
                    .series
                    .intern(group_labels(&context.series.get(series), self.grouping.as_ref()))
            };
            let groups: Vec<u32> = input.series.iter().map(group).collect();
            match self.op {
                VectorOp::Sort | VectorOp::SortDesc => return Ok(self.sorted(input, context)),
                VectorOp::Topk | VectorOp::Bottomk => self.select(&input, &groups, context, &mut out),
                _ => self.reduce(&input, &groups, &mut out),
            }
        }
        Ok(out)
    }
}

impl Aggregate {
    fn reduce(&self, input: &Points, groups: &[u32], out: &mut Points) {
        let mut at_time: HashMap<u32, Accumulator, ahash::RandomState> = HashMap::default();
        for (time_ns, present) in input.by_time() {
            for (index, value) in present {
                at_time.entry(groups[index]).or_default().add(value);
            }
            let mut done: Vec<(u32, Accumulator)> = at_time.drain().collect();
            done.sort_unstable_by_key(|d| d.0);
            for (group, accumulator) in done {
                out.of(group).push((time_ns, accumulator.finish(self.op)));
            }
        }
    }

    /// The k largest or smallest of each group, chosen afresh at every time; they keep all their labels.
    fn select(&self, input: &Points, groups: &[u32], context: &QueryContext, out: &mut Points) {
        let labels: Vec<String> = input
            .series
            .iter()
            .map(|s| context.series.get(s.0).to_string())
            .collect();
        for (_, mut present) in input
            .by_time()
            .into_iter()
            .map(|(t, p)| (t, p.into_iter().map(|(i, v)| (i, t, v)).collect::<Vec<_>>()))
        {
            // By group, then best first, NaN last; equal values in order of their labels, so that the choice does not depend on the plan.
            present.sort_by(|a, b| {
                let by_value = match self.op {
                    VectorOp::Bottomk => compare(a.2, b.2),
                    _ => compare(b.2, a.2),
                };
                let nan_last = a.2.is_nan().cmp(&b.2.is_nan());
                groups[a.0]
                    .cmp(&groups[b.0])
                    .then(nan_last)
                    .then(by_value)
                    .then_with(|| labels[a.0].cmp(&labels[b.0]))
            });
            let (mut group, mut taken) = (None, 0);
            for (index, time_ns, value) in present {
                if group != Some(groups[index]) {
                    (group, taken) = (Some(groups[index]), 0);
                }
                taken += 1;
                if taken <= self.k {
                    out.of(input.series[index].0).push((time_ns, value));
                }
            }
        }
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
