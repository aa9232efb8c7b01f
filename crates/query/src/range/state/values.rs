//! State of quantiles: every number.

use super::{CellState, Merge, RangeFunction, Slide, Window, wrong_state};
use crate::node::column;
use arrow_array::builder::{Float64Builder, ListBuilder};
use arrow_array::types::Float64Type;
use arrow_array::{Array, ArrayRef, ListArray, RecordBatch, cast::AsArray};
use arrow_schema::{DataType, Field};
use datafusion_common::Result;
use std::cmp::Ordering;
use std::collections::VecDeque;
use std::sync::Arc;

/// Numbers in no order.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Values(Vec<f64>);

impl Merge for Values {
    fn merge(&mut self, later: &Self) {
        self.0.extend_from_slice(&later.0);
    }
}

impl CellState for Values {
    const SAMPLE_BYTES: usize = size_of::<f64>();

    type Slide = Ranks;

    fn samples_held(&self) -> usize {
        self.0.len()
    }

    fn add(&mut self, _: i64, amount: f64) {
        self.0.push(amount);
    }

    fn fields() -> Vec<(&'static str, DataType)> {
        let item = Arc::new(Field::new_list_field(DataType::Float64, true));
        vec![("amounts", DataType::List(item))]
    }

    fn columns(states: &[Self]) -> Vec<ArrayRef> {
        let mut amounts = ListBuilder::new(Float64Builder::new());
        for Values(values) in states {
            amounts.values().append_slice(values);
            amounts.append(true);
        }
        vec![Arc::new(amounts.finish())]
    }

    fn read(batch: &RecordBatch, first: usize) -> Result<Vec<Self>> {
        let lists = column::<ListArray>(batch, first)?;
        let state = |i: usize| Values(lists.value(i).as_primitive::<Float64Type>().values().to_vec());
        Ok((0..lists.len()).map(state).collect())
    }
}

/// NaN counts as smaller than every number; the zeros are told apart, so that the order of equal ones shows nowhere.
fn compare(a: f64, b: f64) -> Ordering {
    b.is_nan().cmp(&a.is_nan()).then(a.total_cmp(&b))
}

/// The numbers of a series in order, and how many of each are in the window, in a Fenwick tree: a number comes or goes, and the one of a
/// rank is found, in logarithmic time.
pub(crate) struct Ranks {
    sorted: Vec<f64>,
    /// `tree[i]` counts numbers at the places that end at `i`, as many as the lowest set bit of `i` says; place 0 is not used.
    tree: Vec<u32>,
    cells: VecDeque<(i64, Vec<u32>)>,
    count: usize,
}

impl Ranks {
    fn change(&mut self, place: u32, by: i32) {
        let mut at = place as usize + 1;
        while at < self.tree.len() {
            self.tree[at] = self.tree[at].wrapping_add_signed(by);
            at += at & at.wrapping_neg();
        }
    }

    /// The number of a rank, which is less than the count.
    fn get(&self, rank: usize) -> f64 {
        let mut left = rank as u32;
        let mut before = 0;
        let mut step = self.tree.len().next_power_of_two() / 2;
        while step > 0 {
            let at = before + step;
            if at < self.tree.len() && self.tree[at] <= left {
                before = at;
                left -= self.tree[at];
            }
            step /= 2;
        }
        self.sorted[before]
    }

    /// Linear interpolation between the closest ranks (logql.md 13.2).
    fn quantile(&self, q: f64) -> f64 {
        if q.is_nan() {
            return f64::NAN;
        }
        if q < 0.0 {
            return f64::NEG_INFINITY;
        }
        if q > 1.0 {
            return f64::INFINITY;
        }
        let rank = q * (self.count - 1) as f64;
        let lower = rank.floor() as usize;
        let upper = (lower + 1).min(self.count - 1);
        let weight = rank - rank.floor();
        self.get(lower) * (1.0 - weight) + self.get(upper) * weight
    }
}

impl Slide<Values> for Ranks {
    fn new(cells: &[(i64, Values)]) -> Self {
        let mut sorted: Vec<f64> = cells.iter().flat_map(|(_, values)| values.0.iter().copied()).collect();
        sorted.sort_unstable_by(|&a, &b| compare(a, b));
        sorted.dedup_by(|a, b| compare(*a, *b).is_eq());
        Self {
            tree: vec![0; sorted.len() + 1],
            sorted,
            cells: VecDeque::new(),
            count: 0,
        }
    }

    fn push(&mut self, cell: i64, Values(values): Values) {
        let place = |&value: &f64| self.sorted.partition_point(|&other| compare(other, value).is_lt()) as u32;
        let places: Vec<u32> = values.iter().map(place).collect();
        places.iter().for_each(|&place| self.change(place, 1));
        self.count += places.len();
        self.cells.push_back((cell, places));
    }

    fn drop_before(&mut self, cell: i64) {
        while self.cells.front().is_some_and(|(at, _)| *at < cell) {
            let Some((_, places)) = self.cells.pop_front() else {
                break;
            };
            places.iter().for_each(|&place| self.change(place, -1));
            self.count -= places.len();
        }
    }

    fn value(&self, function: RangeFunction, _: Window) -> Option<f64> {
        let RangeFunction::Quantile(q) = function else {
            wrong_state(function)
        };
        (self.count > 0).then(|| self.quantile(q))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_interpolate() {
        let f = |q: f64, values: &[f64], want: f64| {
            let cells = [(0, Values(values.to_vec()))];
            let mut ranks = Ranks::new(&cells);
            let [(cell, state)] = cells;
            ranks.push(cell, state);
            assert_eq!(ranks.quantile(q), want, "{q} of {values:?}");
        };
        f(0.5, &[3.0, 1.0], 2.0);
        f(0.0, &[3.0, 1.0, 2.0], 1.0);
        f(1.0, &[3.0, 1.0, 2.0], 3.0);
        f(0.25, &[10.0, 20.0, 30.0, 40.0, 50.0], 20.0);
        f(0.5, &[7.0, 7.0, 7.0, 1.0], 7.0);
        f(-0.1, &[1.0], f64::NEG_INFINITY);
        f(1.1, &[1.0], f64::INFINITY);
    }
}
