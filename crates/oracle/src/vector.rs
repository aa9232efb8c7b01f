//! Functions over the series at one time (logql.md 14).

use crate::Error;
use crate::entry::{Labels, labels_text};
use crate::metric::{Notes, Sample};
use crate::range::{least, variance};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use timberline_logql::ast::{Grouping, VectorAggregation, VectorOp};

/// The labels by which series are put together.
pub(crate) fn group_labels(labels: &Labels, grouping: Option<&Grouping>) -> Labels {
    let Some(grouping) = grouping else {
        return Labels::new();
    };
    let mut group = labels.clone();
    group.retain(|name, _| grouping.labels.contains(name) != grouping.without);
    group
}

/// True if all series are put together.
pub(crate) fn is_nothing(grouping: Option<&Grouping>) -> bool {
    grouping.is_none_or(|g| !g.without && g.labels.is_empty())
}

pub(crate) fn aggregate(
    aggregation: &VectorAggregation,
    mut samples: Vec<Sample>,
    notes: &mut Notes,
) -> Result<Vec<Sample>, Error> {
    let falling = match aggregation.op {
        VectorOp::Topk | VectorOp::SortDesc => true,
        VectorOp::Bottomk | VectorOp::Sort => false,
        VectorOp::ApproxTopk => return Err(Error::NotKnown("approx_topk")),
        _ => return Ok(numbers(aggregation, samples)),
    };
    order(&mut samples, falling, notes);
    if matches!(aggregation.op, VectorOp::Sort | VectorOp::SortDesc) {
        return Ok(samples);
    }
    let most = aggregation.parameter.unwrap_or(0.0) as usize;
    let mut taken: BTreeMap<Labels, usize> = BTreeMap::new();
    samples.retain(|sample| {
        let count = taken
            .entry(group_labels(&sample.labels, aggregation.grouping.as_ref()))
            .or_default();
        *count += 1;
        *count <= most
    });
    Ok(samples)
}

/// By value, NaN last, and of equal values in order of the labels as text.
fn order(samples: &mut [Sample], falling: bool, notes: &mut Notes) {
    for (index, a) in samples.iter().enumerate() {
        for b in &samples[..index] {
            notes.compare(a.value, b.value);
        }
    }
    samples.sort_by(|a, b| {
        let by_value = match (a.value.is_nan(), b.value.is_nan()) {
            (false, false) if falling => b.value.total_cmp(&a.value),
            (false, false) => a.value.total_cmp(&b.value),
            (a, b) => a.cmp(&b),
        };
        let equal = a.value == b.value;
        let by_value = if equal { Ordering::Equal } else { by_value };
        by_value.then_with(|| labels_text(&a.labels).cmp(&labels_text(&b.labels)))
    });
}

fn numbers(aggregation: &VectorAggregation, samples: Vec<Sample>) -> Vec<Sample> {
    let mut groups: BTreeMap<Labels, Vec<f64>> = BTreeMap::new();
    for sample in samples {
        let labels = group_labels(&sample.labels, aggregation.grouping.as_ref());
        groups.entry(labels).or_default().push(sample.value);
    }
    let value = |values: &[f64]| match aggregation.op {
        VectorOp::Sum => values.iter().sum(),
        VectorOp::Avg => values.iter().sum::<f64>() / values.len() as f64,
        VectorOp::Min => least(values),
        VectorOp::Max => -least(&values.iter().map(|v| -v).collect::<Vec<_>>()),
        VectorOp::Stdvar => variance(values),
        VectorOp::Stddev => variance(values).sqrt(),
        _ => values.len() as f64,
    };
    let sample = |(labels, values): (Labels, Vec<f64>)| Sample {
        value: value(&values),
        labels,
    };
    groups.into_iter().map(sample).collect()
}
