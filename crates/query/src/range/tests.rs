//! For every function of the language: the parts in which samples come, the order in which they come, and the tree in which their states are
//! merged show in no value, and the value is what a plain formula over the samples of the window gives.

use super::cells::Cells;
use super::function::{StateKind, with_state};
use super::state::CellState;
use super::{Grid, RangeFunction};
use crate::QueryLimits;
use crate::cancel::{Cancelled, Gauge};
use crate::context::QueryContext;
use crate::node::{column, schema};
use crate::request::Steps;
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, UInt32Array};
use arrow_schema::DataType;
use proptest::prelude::*;
use proptest::sample::Index;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;
use timberline_logql::ast::RangeOp;

/// Time, series, amount.
type Sample = (i64, u32, f64);

/// Points by series and time.
type Points = BTreeMap<(u32, i64), f64>;

/// Finite amounts of these tests are whole multiples of its reciprocal, so that their sums are known exactly.
const UNITS: f64 = (1u64 << 20) as f64;

/// Every function that the language has, with and without numbers in labels.
fn functions() -> Vec<RangeFunction> {
    let mut all = Vec::new();
    for (op, _) in RangeOp::NAMES {
        for (unwrapped, exists) in [(false, op.counts_lines()), (true, op.takes_numbers())] {
            if exists && op != RangeOp::AbsentOverTime {
                all.push(RangeFunction::of(op, unwrapped, 0.0));
            }
        }
    }
    let quantile = |q| RangeFunction::of(RangeOp::QuantileOverTime, true, q);
    all.extend([0.5, 0.9, 1.0, -1.0, 2.0].map(quantile));
    all
}

/// What samples of a function may look like: the lengths of lines are whole, and counters here are numbers whose sums are exact.
fn fit(function: RangeFunction, amount: f64) -> f64 {
    match function.state() {
        StateKind::Totals => amount.abs().min(1e6).floor(),
        StateKind::Counter if amount.is_finite() => (amount.abs() % 1000.0).floor(),
        _ => amount,
    }
}

fn batch(samples: &[Sample]) -> RecordBatch {
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from_iter_values(samples.iter().map(|s| s.0))),
        Arc::new(UInt32Array::from_iter_values(samples.iter().map(|s| s.1))),
        Arc::new(Float64Array::from_iter_values(samples.iter().map(|s| s.2))),
    ];
    let schema = schema(&[
        ("timestamp", DataType::Int64),
        ("series", DataType::UInt32),
        ("amount", DataType::Float64),
    ]);
    RecordBatch::try_new(schema, columns).unwrap()
}

fn cells_of<S: CellState>(grid: &Grid, samples: &[Sample], batch_rows: usize) -> Cells<S> {
    let mut cells = Cells::default();
    for part in samples.chunks(batch_rows) {
        cells.add_samples(grid, &batch(part)).unwrap();
    }
    cells
}

fn merged<S: CellState>(parts: Vec<Cells<S>>, batch_rows: usize) -> Cells<S> {
    let mut all = Cells::default();
    for states in parts.into_iter().flat_map(|part| part.into_batches(batch_rows)) {
        all.add_states(&states.unwrap()).unwrap();
    }
    all
}

fn points<S: CellState>(cells: Cells<S>, grid: &Grid, function: RangeFunction) -> Points {
    let context = QueryContext::new(QueryLimits::default(), Cancelled::default(), Gauge::default().enter());
    let all = async {
        let mut cells = cells.into_series(&context).await.unwrap();
        let mut all = Points::new();
        while let Some(batch) = cells.next_points(grid, function, &context).await.unwrap() {
            let series = column::<UInt32Array>(&batch, 0).unwrap().values();
            let times = column::<Int64Array>(&batch, 1).unwrap().values();
            let values = column::<Float64Array>(&batch, 2).unwrap().values();
            for row in 0..batch.num_rows() {
                assert!(all.insert((series[row], times[row]), values[row]).is_none());
            }
        }
        all
    };
    futures::executor::block_on(all)
}

/// The points of samples that are cut into parts, each of which is built apart; the states of two parts are merged until one is left.
fn in_parts<S: CellState>(grid: &Grid, function: RangeFunction, parts: &[Vec<Sample>], cuts: &Cuts) -> Points {
    let mut states: Vec<Cells<S>> = parts.iter().map(|part| cells_of(grid, part, cuts.batch_rows)).collect();
    let mut choices = cuts.tree.iter().cycle();
    while states.len() > 1 {
        let mut draw = || choices.next().unwrap();
        let left = states.swap_remove(draw().index(states.len()));
        let right = states.swap_remove(draw().index(states.len()));
        states.push(merged(vec![left, right], cuts.batch_rows));
    }
    points(merged(states, cuts.batch_rows), grid, function)
}

fn in_one<S: CellState>(grid: &Grid, function: RangeFunction, samples: &[Sample]) -> Points {
    points::<S>(cells_of(grid, samples, samples.len().max(1)), grid, function)
}

/// The points by the definition of windows and functions.
fn by_formula(steps: Steps, range_ns: i64, offset_ns: i64, function: RangeFunction, samples: &[Sample]) -> Points {
    let mut out = Points::new();
    for index in 0..steps.count {
        let until = steps.time_ns(index) - offset_ns;
        let mut series: BTreeMap<u32, Vec<(i64, f64)>> = BTreeMap::new();
        for &(time, number, amount) in samples {
            if until - range_ns < time && time <= until {
                series.entry(number).or_default().push((time, amount));
            }
        }
        for (number, mut inside) in series {
            inside.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
            let value = formula(function, &inside, (until - range_ns, until));
            out.insert((number, steps.time_ns(index)), value);
        }
    }
    out
}

/// The value over samples in order of time and number, of which there is at least one.
fn formula(function: RangeFunction, samples: &[(i64, f64)], window: (i64, i64)) -> f64 {
    use RangeFunction as F;
    let count = samples.len() as f64;
    let seconds = (window.1 - window.0) as f64 / 1e9;
    let values = || samples.iter().map(|s| s.1);
    let numbers = || values().filter(|v| !v.is_nan());
    match function {
        F::Entries => count,
        F::EntriesPerSecond => count / seconds,
        F::Amount | F::Sum => sum(samples),
        F::AmountPerSecond | F::SumPerSecond => sum(samples) / seconds,
        F::Average => sum(samples) / count,
        F::Variance => variance(samples),
        F::Deviation => variance(samples).sqrt(),
        F::Min => numbers().min_by(f64::total_cmp).unwrap_or(f64::NAN),
        F::Max => numbers().max_by(f64::total_cmp).unwrap_or(f64::NAN),
        F::First => samples[0].1,
        F::Last => samples[samples.len() - 1].1,
        F::Quantile(q) => quantile(q, values().collect()),
        F::CounterRate => counter_rate(samples, window) / seconds,
    }
}

fn sum(samples: &[(i64, f64)]) -> f64 {
    if samples.iter().any(|s| !s.1.is_finite()) {
        return samples.iter().map(|s| s.1).sum();
    }
    let units: i128 = samples.iter().map(|s| (s.1 * UNITS) as i128).sum();
    units as f64 / UNITS
}

fn variance(samples: &[(i64, f64)]) -> f64 {
    let count = samples.len() as f64;
    let mean = sum(samples) / count;
    samples.iter().map(|s| (s.1 - mean) * (s.1 - mean)).sum::<f64>() / count
}

fn quantile(q: f64, mut values: Vec<f64>) -> f64 {
    if q < 0.0 {
        return f64::NEG_INFINITY;
    }
    if q > 1.0 {
        return f64::INFINITY;
    }
    values.sort_by(|a, b| match (a.is_nan(), b.is_nan()) {
        (true, true) => Ordering::Equal,
        (true, false) => Ordering::Less,
        (false, true) => Ordering::Greater,
        (false, false) => a.total_cmp(b),
    });
    let rank = q * (values.len() as f64 - 1.0);
    let (low, high) = (rank.floor() as usize, (rank.floor() as usize + 1).min(values.len() - 1));
    let part = rank - rank.floor();
    values[low] * (1.0 - part) + values[high] * part
}

/// The increase of a counter over a window.
fn counter_rate(samples: &[(i64, f64)], (after, until): (i64, i64)) -> f64 {
    let (first, last) = (samples[0], samples[samples.len() - 1]);
    if first.0 == last.0 {
        return 0.0;
    }
    let mut increase = last.1 - first.1;
    for pair in samples.windows(2) {
        if pair[0].1 > pair[1].1 {
            increase += pair[0].1;
        }
    }
    let covered = (last.0 - first.0) as f64 / 1e9;
    let gap = covered / (samples.len() as f64 - 1.0);
    let reach = |to_edge: f64| if to_edge < 1.1 * gap { to_edge } else { 0.5 * gap };
    let mut before = reach((first.0 - after) as f64 / 1e9);
    if increase > 0.0 && first.1 >= 0.0 {
        before = before.min(covered * first.1 / increase);
    }
    increase * (before + covered + reach((until - last.0) as f64 / 1e9)) / covered
}

fn same_bits(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}

/// Equal but for the last digits; `scale` is the size of the numbers from which the values come.
fn near(a: f64, b: f64, scale: f64) -> bool {
    same_bits(a, b) || a == b || (a - b).abs() <= 1e-12 * a.abs().max(b.abs()) + scale
}

#[derive(Clone, Debug)]
struct Cuts {
    /// Which part each sample goes to.
    parts: Vec<Index>,
    part_count: usize,
    tree: Vec<Index>,
    batch_rows: usize,
}

fn amounts() -> impl Strategy<Value = f64> {
    let mixed = (-(1i64 << 30)..1 << 30, 0u32..3)
        .prop_map(|(m, size)| m as f64 * f64::from(1u32 << (10 * size)).powi(2) / UNITS);
    prop_oneof![
        8 => mixed,
        4 => (-5i64..5).prop_map(|whole| whole as f64),
        // Large and near each other: their variance is what is left of much larger squares.
        2 => (0i64..9).prop_map(|more| 1e9 + more as f64),
        1 => prop::sample::select(vec![0.0, -0.0]),
    ]
}

fn samples() -> impl Strategy<Value = Vec<Sample>> {
    let with = |amount: BoxedStrategy<f64>, count| prop::collection::vec((0i64..200, 0u32..3, amount), count);
    let unusual = prop::sample::select(vec![f64::NAN, f64::INFINITY, f64::NEG_INFINITY]);
    // Of large amounts that cancel out only what is small is left.
    let twins = |(mut all, twins): (Vec<Sample>, usize)| {
        let negated: Vec<Sample> = all.iter().take(twins).map(|s| (s.0, s.1, -s.2)).collect();
        all.extend(negated);
        all
    };
    let cancelling = (with(amounts().boxed(), 1..30), 0usize..30).prop_map(twins);
    let mixed =
        (with(amounts().boxed(), 1..60), with(unusual.boxed(), 0..3)).prop_map(|(all, more)| [all, more].concat());
    let zeros = with(prop::sample::select(vec![0.0, -0.0, f64::NAN]).boxed(), 1..60);
    prop_oneof![2 => cancelling, 2 => mixed, 1 => zeros]
}

fn cuts() -> impl Strategy<Value = Cuts> {
    let indexes = |count| prop::collection::vec(any::<Index>(), count);
    (indexes(63), 1usize..7, indexes(12), 1usize..9).prop_map(|(parts, part_count, tree, batch_rows)| Cuts {
        parts,
        part_count,
        tree,
        batch_rows,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn parts_show_in_no_value(
        samples in samples().prop_shuffle(),
        cuts in cuts(),
        (first_ns, step_ns, count) in (-20i64..220, 1i64..40, 1usize..9),
        (range_ns, offset_ns) in (1i64..120, -20i64..20),
    ) {
        let steps = Steps { first_ns, step_ns, count };
        let grid = Grid::new(steps, range_ns, offset_ns);
        for function in functions() {
            // A scan gives no samples of other times.
            let span = grid.span();
            let mut samples: Vec<Sample> = samples.iter().map(|s| (s.0, s.1, fit(function, s.2))).collect();
            samples.retain(|s| span.min_ns <= s.0 && s.0 <= span.max_ns);
            let mut parts = vec![Vec::new(); cuts.part_count];
            for (sample, part) in samples.iter().zip(&cuts.parts) {
                parts[part.index(cuts.part_count)].push(*sample);
            }
            let (cut, whole) = with_state!(function.state(), S => (
                in_parts::<S>(&grid, function, &parts, &cuts),
                in_one::<S>(&grid, function, &samples),
            ));
            let wanted = by_formula(steps, range_ns, offset_ns, function, &samples);
            let keys = |points: &Points| points.keys().copied().collect::<Vec<_>>();
            prop_assert_eq!(keys(&cut), keys(&wanted), "{:?}", function);
            prop_assert_eq!(keys(&whole), keys(&wanted), "{:?}", function);
            for ((key, &cut), (&whole, &wanted)) in cut.iter().zip(whole.values().zip(wanted.values())) {
                let squares = samples.iter().filter(|s| s.1 == key.0 && s.2.is_finite()).map(|s| s.2 * s.2);
                let square = squares.fold(0.0, f64::max);
                // As the table of states has it. Where a formula rounds otherwise, it is the formula that may differ.
                let (exact, scale) = match function {
                    RangeFunction::Variance => (false, 1e-13 * square),
                    RangeFunction::Deviation => (false, (1e-13 * square).sqrt()),
                    RangeFunction::Sum | RangeFunction::Average | RangeFunction::SumPerSecond => (false, 1e-25 * square.sqrt()),
                    _ => (true, 0.0),
                };
                let is_same = if exact { same_bits(cut, whole) } else { near(cut, whole, scale) };
                prop_assert!(is_same, "{:?} at {:?}: in parts {} in one {}", function, key, cut, whole);
                prop_assert!(near(cut, wanted, scale), "{:?} at {:?}: {} by the formula {}", function, key, cut, wanted);
            }
        }
    }
}
