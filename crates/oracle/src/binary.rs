//! Operators between expressions (logql.md 15).

use crate::Error;
use crate::entry::Labels;
use crate::metric::{Notes, Sample, Value};
use std::collections::{BTreeMap, BTreeSet};
use timberline_logql::ast::{Binary, BinaryOp, Matching, Side};

pub(crate) fn apply(operation: &Binary, left: Value, right: Value, notes: &mut Notes) -> Result<Value, Error> {
    let vector = match (left, right) {
        (Value::Scalar(left), Value::Scalar(right)) => {
            if is_logical(operation.op) {
                return Err(Error::Parse);
            }
            return Ok(Value::Scalar(number(operation.op, left, right, notes)));
        }
        (Value::Vector(left), Value::Scalar(right)) => with_literal(operation, left, |l| (l, right), notes)?,
        (Value::Scalar(left), Value::Vector(right)) => with_literal(operation, right, |r| (left, r), notes)?,
        (Value::Vector(left), Value::Vector(right)) if is_logical(operation.op) => logical(operation, left, right),
        (Value::Vector(left), Value::Vector(right)) => between(operation, left, right, notes)?,
    };
    Ok(Value::Vector(vector))
}

fn is_logical(op: BinaryOp) -> bool {
    matches!(op, BinaryOp::Or | BinaryOp::And | BinaryOp::Unless)
}

fn is_comparison(op: BinaryOp) -> bool {
    use BinaryOp::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
    matches!(op, Equal | NotEqual | Greater | GreaterOrEqual | Less | LessOrEqual)
}

/// The number that the operator makes; of comparisons 1 or 0.
fn number(op: BinaryOp, left: f64, right: f64, notes: &mut Notes) -> f64 {
    if is_comparison(op) {
        notes.compare(left, right);
    }
    let truth = |holds: bool| if holds { 1.0 } else { 0.0 };
    match op {
        BinaryOp::Add => left + right,
        BinaryOp::Subtract => left - right,
        BinaryOp::Multiply => left * right,
        BinaryOp::Divide if right == 0.0 => f64::NAN,
        BinaryOp::Divide => left / right,
        BinaryOp::Modulo if right == 0.0 => f64::NAN,
        BinaryOp::Modulo => {
            // A hair more or less makes another remainder.
            notes.rounding |= [left, right].iter().any(|n| n.is_finite() && (n * 64.0).fract() != 0.0);
            left % right
        }
        BinaryOp::Power => left.powf(right),
        BinaryOp::Equal => truth(left == right),
        BinaryOp::NotEqual => truth(left != right),
        BinaryOp::Greater => truth(left > right),
        BinaryOp::GreaterOrEqual => truth(left >= right),
        BinaryOp::Less => truth(left < right),
        BinaryOp::LessOrEqual => truth(left <= right),
        BinaryOp::Or | BinaryOp::And | BinaryOp::Unless => f64::NAN,
    }
}

/// The value of an element, if it stays: a comparison without `bool` keeps `kept`.
fn element(operation: &Binary, left: f64, right: f64, kept: f64, notes: &mut Notes) -> Option<f64> {
    let value = number(operation.op, left, right, notes);
    match is_comparison(operation.op) && !operation.return_bool {
        true => (value == 1.0).then_some(kept),
        false => Some(value),
    }
}

fn with_literal(
    operation: &Binary,
    samples: Vec<Sample>,
    sides: impl Fn(f64) -> (f64, f64),
    notes: &mut Notes,
) -> Result<Vec<Sample>, Error> {
    if is_logical(operation.op) {
        return Err(Error::Parse);
    }
    let mut out = Vec::new();
    for Sample { labels, value } in samples {
        let (left, right) = sides(value);
        if let Some(value) = element(operation, left, right, value, notes) {
            out.push(Sample { labels, value });
        }
    }
    Ok(out)
}

/// The labels by which series find each other.
fn signature(labels: &Labels, matching: Option<&Matching>) -> Labels {
    let mut signature = labels.clone();
    if let Some(matching) = matching {
        signature.retain(|name, _| matching.labels.contains(name) == matching.on);
    }
    signature
}

fn logical(operation: &Binary, left: Vec<Sample>, right: Vec<Sample>) -> Vec<Sample> {
    let signature = |s: &Sample| signature(&s.labels, operation.matching.as_ref());
    let signatures = |samples: &[Sample]| samples.iter().map(signature).collect::<BTreeSet<Labels>>();
    let (of_left, of_right) = (signatures(&left), signatures(&right));
    let filter = |samples: Vec<Sample>, other: &BTreeSet<Labels>, matched: bool| {
        samples
            .into_iter()
            .filter(|s| other.contains(&signature(s)) == matched)
            .collect::<Vec<_>>()
    };
    match operation.op {
        BinaryOp::And => filter(left, &of_right, true),
        BinaryOp::Unless => filter(left, &of_right, false),
        _ => left.clone().into_iter().chain(filter(right, &of_left, false)).collect(),
    }
}

fn between(operation: &Binary, left: Vec<Sample>, right: Vec<Sample>, notes: &mut Notes) -> Result<Vec<Sample>, Error> {
    let matching = operation.matching.as_ref();
    let group = matching.and_then(|m| m.group.as_ref());
    let swapped = group.is_some_and(|g| g.many == Side::Right);
    let (many, one) = if swapped { (right, left) } else { (left, right) };
    let mut ones: BTreeMap<Labels, Sample> = BTreeMap::new();
    for sample in one {
        if ones.insert(signature(&sample.labels, matching), sample).is_some() {
            return Err(Error::Matching);
        }
    }
    let mut out: Vec<Sample> = Vec::new();
    let mut used = BTreeSet::new();
    for sample in many {
        let key = signature(&sample.labels, matching);
        let Some(other) = ones.get(&key) else { continue };
        if group.is_none() && !used.insert(key.clone()) {
            return Err(Error::Matching);
        }
        let (l, r) = if swapped {
            (other.value, sample.value)
        } else {
            (sample.value, other.value)
        };
        let Some(value) = element(operation, l, r, l, notes) else {
            continue;
        };
        let labels = match group {
            None => key,
            Some(group) => {
                let mut labels = sample.labels;
                for name in &group.include {
                    match other.labels.get(name) {
                        Some(value) => labels.insert(name.clone(), value.clone()),
                        None => labels.remove(name),
                    };
                }
                labels
            }
        };
        if out.iter().any(|s| s.labels == labels) {
            return Err(Error::Matching);
        }
        out.push(Sample { labels, value });
    }
    Ok(out)
}
