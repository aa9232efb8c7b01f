//! Metric expressions.

use super::filter::{label_filter, no_error};
use super::stage::{any_label, log, parser};
use super::{Dice, SECOND};
use timberline_logql::ast::{
    Binary, BinaryOp, Conversion, Group, Grouping, LabelReplace, Matching, MetricExpr, RangeAggregation, RangeOp, Side,
    Stage, Unwrap, VectorAggregation, VectorOp,
};

const OF_LINES: [RangeOp; 4] = [
    RangeOp::CountOverTime,
    RangeOp::Rate,
    RangeOp::BytesOverTime,
    RangeOp::BytesRate,
];
/// Functions of numbers, and whether they may group by themselves.
const OF_NUMBERS: [(RangeOp, bool); 11] = [
    (RangeOp::SumOverTime, false),
    (RangeOp::Rate, false),
    (RangeOp::RateCounter, false),
    (RangeOp::AvgOverTime, true),
    (RangeOp::MinOverTime, true),
    (RangeOp::MaxOverTime, true),
    (RangeOp::FirstOverTime, true),
    (RangeOp::LastOverTime, true),
    (RangeOp::StdvarOverTime, true),
    (RangeOp::StddevOverTime, true),
    (RangeOp::QuantileOverTime, true),
];
const VECTOR: [VectorOp; 14] = [
    VectorOp::Sum,
    VectorOp::Sum,
    VectorOp::Sum,
    VectorOp::Sum,
    VectorOp::Avg,
    VectorOp::Count,
    VectorOp::Max,
    VectorOp::Min,
    VectorOp::Stddev,
    VectorOp::Stdvar,
    VectorOp::Topk,
    VectorOp::Bottomk,
    VectorOp::Sort,
    VectorOp::SortDesc,
];
const BINARY: [BinaryOp; 15] = [
    BinaryOp::Or,
    BinaryOp::And,
    BinaryOp::Unless,
    BinaryOp::Equal,
    BinaryOp::NotEqual,
    BinaryOp::Greater,
    BinaryOp::GreaterOrEqual,
    BinaryOp::Less,
    BinaryOp::LessOrEqual,
    BinaryOp::Add,
    BinaryOp::Subtract,
    BinaryOp::Multiply,
    BinaryOp::Divide,
    BinaryOp::Modulo,
    BinaryOp::Power,
];

pub(super) fn metric(dice: &mut Dice, depth: usize) -> MetricExpr {
    let leaf = depth >= 3;
    match dice.between(0, 20) + 2 * depth {
        0..=7 => MetricExpr::Range(range(dice)),
        _ if leaf => MetricExpr::Range(range(dice)),
        8..=14 => vector(dice, depth),
        15..=18 => binary(dice, depth),
        19 => MetricExpr::LabelReplace(LabelReplace {
            inner: Box::new(metric(dice, depth + 1)),
            destination: dice.text(&["new", "app", "env"]),
            replacement: dice.text(&["$1", "x-$1", "", "fixed", "${1}y"]),
            source: any_label(dice),
            regex: dice.text(&["(.*)", "(.).*", "a(.*)", "(?:x|y)()", ".+"]),
        }),
        20 => MetricExpr::VectorOf(dice.pick(&[0.0, 1.0, 2.5])),
        _ => MetricExpr::Range(range(dice)),
    }
}

fn range(dice: &mut Dice) -> RangeAggregation {
    let mut log = log(dice, true);
    let (op, numeric) = match dice.between(0, 9) {
        0 => (RangeOp::AbsentOverTime, dice.percent(20)),
        1..=4 => (dice.pick(&OF_LINES), false),
        _ => (RangeOp::SumOverTime, true),
    };
    let (op, may_group) = match numeric && op != RangeOp::AbsentOverTime {
        true => dice.pick(&OF_NUMBERS),
        false => (op, false),
    };
    let parsed = |stage: &Stage| matches!(stage, Stage::Json(_) | Stage::Logfmt { .. });
    if numeric && !log.stages.iter().any(parsed) && dice.percent(80) {
        log.stages.push(parser(dice));
    }
    let fails = log.stages.iter().any(|s| !matches!(s, Stage::LineFilter(_)));
    // A failed entry fails the query: not too often.
    if fails && dice.percent(70) {
        log.stages.push(Stage::LabelFilter(no_error()));
    }
    RangeAggregation {
        op,
        parameter: (op == RangeOp::QuantileOverTime).then(|| dice.pick(&[0.0, 0.5, 0.9, 0.99, 1.0, 1.5])),
        log,
        unwrap: numeric.then(|| unwrap(dice)),
        range_ns: dice.pick(&[10, 30, 60, 60, 120, 120, 120, 7, 300]) * SECOND,
        offset_ns: dice.pick(&[0, 0, 0, 0, 0, 0, 10, -20, 35]) * SECOND,
        grouping: (may_group && dice.percent(50)).then(|| grouping(dice)),
    }
}

fn unwrap(dice: &mut Dice) -> Unwrap {
    let (label, conversion) = match dice.between(0, 15) {
        0..=8 => ("n", Conversion::Number),
        9 => ("dur", Conversion::Duration),
        10 => ("dur", Conversion::DurationSeconds),
        11 | 12 => ("size", Conversion::Bytes),
        13 => ("status", Conversion::Number),
        14 => ("user_id", Conversion::Number),
        _ => ("level", Conversion::Number),
    };
    let mut filters = Vec::new();
    if dice.percent(6) {
        filters.push(label_filter(dice, 0));
    }
    if dice.percent(85) {
        filters.push(no_error());
    }
    Unwrap {
        label: label.into(),
        conversion,
        filters,
    }
}

fn grouping(dice: &mut Dice) -> Grouping {
    let mut labels: Vec<String> = (0..dice.pick(&[0, 1, 1, 2, 3])).map(|_| any_label(dice)).collect();
    if dice.percent(6) {
        labels.push("__error__".into());
    }
    Grouping {
        without: dice.percent(35),
        labels,
    }
}

fn vector(dice: &mut Dice, depth: usize) -> MetricExpr {
    let op = dice.pick(&VECTOR);
    let sorts = matches!(op, VectorOp::Sort | VectorOp::SortDesc);
    let takes = matches!(op, VectorOp::Topk | VectorOp::Bottomk);
    let parameter = takes.then(|| dice.pick(&[1.0, 2.0, 3.0, 10.0]));
    let grouping = (!sorts && dice.percent(65)).then(|| grouping(dice));
    MetricExpr::Vector(VectorAggregation {
        op,
        parameter,
        grouping,
        inner: Box::new(metric(dice, depth + 1)),
    })
}

fn binary(dice: &mut Dice, depth: usize) -> MetricExpr {
    let op = dice.pick(&BINARY);
    let logical = matches!(op, BinaryOp::Or | BinaryOp::And | BinaryOp::Unless);
    let arithmetic = BINARY[9..].contains(&op);
    let return_bool = !logical && !arithmetic && dice.percent(40);
    let literal = |dice: &mut Dice| MetricExpr::Literal(dice.pick(&[0.0, 1.0, 2.0, 0.037, 100.0, -3.0]));
    let plain = |left, right| {
        MetricExpr::Binary(Binary {
            op,
            return_bool,
            matching: None,
            left: Box::new(left),
            right: Box::new(right),
        })
    };
    if !logical && dice.percent(35) {
        let inner = if depth == 0 && dice.percent(10) {
            literal(dice)
        } else {
            metric(dice, depth + 1)
        };
        return match dice.percent(50) {
            true => plain(literal(dice), inner),
            false => plain(inner, literal(dice)),
        };
    }
    let left = metric(dice, depth + 1);
    // Operands about the same thing find each other more often.
    let right = if dice.percent(35) {
        left.clone()
    } else {
        metric(dice, depth + 1)
    };
    if dice.percent(35) {
        return plain(left, right);
    }
    let group = (!logical && dice.percent(60)).then(|| Group {
        many: dice.pick(&[Side::Left, Side::Right]),
        include: (0..dice.pick(&[0, 0, 1])).map(|_| any_label(dice)).collect(),
    });
    let on = dice.percent(50);
    let labels: Vec<String> = (0..dice.pick(&[0, 1, 1, 2])).map(|_| any_label(dice)).collect();
    // Sums by the labels of `on` are unique on that side.
    let sum = |inner: MetricExpr, labels: &[String]| {
        MetricExpr::Vector(VectorAggregation {
            op: VectorOp::Sum,
            parameter: None,
            grouping: Some(Grouping {
                without: false,
                labels: labels.to_vec(),
            }),
            inner: Box::new(inner),
        })
    };
    let (mut left, mut right) = (left, right);
    if on && dice.percent(80) {
        let many = group.as_ref().map(|g| g.many);
        if many != Some(Side::Left) {
            left = sum(left, &labels);
        }
        if many != Some(Side::Right) {
            right = sum(right, &labels);
        }
    }
    MetricExpr::Binary(Binary {
        op,
        return_bool,
        matching: Some(Matching { on, labels, group }),
        left: Box::new(left),
        right: Box::new(right),
    })
}
