//! Functions over the entries of a window (logql.md 13).

use crate::entry::{ERROR, Entry, Labels, Row};
use crate::metric::Sample;
use crate::vector::{group_labels, is_nothing};
use crate::{Error, convert, label_filter, pipeline};
use std::collections::BTreeMap;
use timberline_logql::ast::{
    Conversion, LabelSelect, LabelSource, MatchOp, Matcher, RangeAggregation, RangeOp, Stage, Unwrap,
    VectorAggregation, VectorOp,
};

/// The entries of a range aggregation that passed its pipeline, by time.
#[derive(Debug, Default)]
pub(crate) struct Window {
    entries: Vec<Measured>,
}

/// An entry as a number.
#[derive(Clone, Debug)]
struct Measured {
    timestamp_ns: i64,
    /// Of its series.
    labels: Labels,
    value: f64,
    failed: bool,
}

impl Window {
    pub(crate) fn new(
        rows: &[Row],
        range: &RangeAggregation,
        around: Option<&VectorAggregation>,
    ) -> Result<Self, Error> {
        pipeline::check(&range.log)?;
        let unread_from = unread_from(range, around);
        let mut entries = Vec::new();
        for row in rows {
            if pipeline::selects(&range.log, row)?
                && let Some(entry) = pipeline::run(&range.log.stages, unread_from, row)?
                && let Some(measured) = measure(range, around, entry)?
            {
                entries.push(measured);
            }
        }
        // Of one time the smaller number counts as earlier: the engine's decision, so that the answer does not hang on where rows are stored.
        entries.sort_by(|a, b| a.timestamp_ns.cmp(&b.timestamp_ns).then(a.value.total_cmp(&b.value)));
        Ok(Self { entries })
    }
}

/// The grouping of a sum that stands directly around a function that adds up: what it asks for is known to the pipeline.
fn summed<'a>(range: &RangeAggregation, around: Option<&'a VectorAggregation>) -> Option<&'a VectorAggregation> {
    use RangeOp::{BytesOverTime, BytesRate, CountOverTime, Rate, SumOverTime};
    let adds_up = matches!(range.op, CountOverTime | Rate | BytesOverTime | BytesRate | SumOverTime);
    around.filter(|v| v.op == VectorOp::Sum && adds_up)
}

/// From which stage on parsers are passed over: where nothing reads what they make, and nothing tells entries apart, they can't fail
/// (logql.md 11, skipped parsers).
fn unread_from(range: &RangeAggregation, around: Option<&VectorAggregation>) -> usize {
    let matches_value = |select: &LabelSelect| matches!(select, LabelSelect::Matcher(_));
    let reads = |stage: &Stage| match stage {
        Stage::LabelFilter(_) => true,
        Stage::LineFormat(template) => template.contains("{{."),
        Stage::LabelFormat(formats) => formats.iter().any(|format| match &format.source {
            LabelSource::Label(_) => true,
            LabelSource::Template(template) => template.contains("{{."),
        }),
        Stage::Drop(selects) | Stage::Keep(selects) => selects.iter().any(matches_value),
        _ => false,
    };
    let sums_all = summed(range, around).is_some_and(|v| is_nothing(v.grouping.as_ref()));
    if !sums_all || range.unwrap.is_some() {
        return range.log.stages.len();
    }
    range.log.stages.iter().rposition(reads).map_or(0, |at| at + 1)
}

fn measure(
    range: &RangeAggregation,
    around: Option<&VectorAggregation>,
    mut entry: Entry,
) -> Result<Option<Measured>, Error> {
    let value = match &range.unwrap {
        None => match range.op {
            RangeOp::BytesOverTime | RangeOp::BytesRate => entry.line.len() as f64,
            _ => 1.0,
        },
        Some(unwrap) => match unwrapped(unwrap, &mut entry)? {
            Some(value) => value,
            None => return Ok(None),
        },
    };
    let by = range
        .grouping
        .as_ref()
        .or(summed(range, around).and_then(|v| v.grouping.as_ref()));
    let by = |name: &str| by.is_some_and(|g| !g.without && g.labels.iter().any(|l| l == name));
    let mut labels = entry.labels();
    if let Some(unwrap) = &range.unwrap
        && !by(&unwrap.label)
    {
        labels.remove(&unwrap.label);
    }
    let mut failed = false;
    if let Some(kind) = entry.error() {
        failed = !by(ERROR);
        labels.insert(ERROR.into(), kind.to_owned());
    }
    if let Some(grouping) = &range.grouping {
        labels = group_labels(&labels, Some(grouping));
    }
    Ok(Some(Measured {
        timestamp_ns: entry.timestamp_ns,
        labels,
        value,
        failed,
    }))
}

/// The number of an entry, `None` if it gives none (logql.md 13.3).
fn unwrapped(unwrap: &Unwrap, entry: &mut Entry) -> Result<Option<f64>, Error> {
    let text = match entry.get(&unwrap.label) {
        None | Some("") => return Ok(None),
        Some(text) => text.to_owned(),
    };
    let value = match unwrap.conversion {
        Conversion::Number => convert::number(&text),
        Conversion::Bytes => convert::bytes(&text),
        Conversion::Duration | Conversion::DurationSeconds => convert::duration_ns(&text).map(|ns| ns / 1e9),
    };
    if value.is_none() {
        entry.fail("SampleExtractionErr", true);
    }
    for filter in &unwrap.filters {
        if !label_filter::passes(filter, entry)? {
            return Ok(None);
        }
    }
    Ok(Some(value.unwrap_or(0.0)))
}

/// The series at one time.
pub(crate) fn at(range: &RangeAggregation, window: &Window, time_ns: i64) -> Result<Vec<Sample>, Error> {
    let end_ns = time_ns - range.offset_ns;
    let start_ns = end_ns - range.range_ns;
    let inside = |e: &&Measured| start_ns < e.timestamp_ns && e.timestamp_ns <= end_ns;
    let entries: Vec<&Measured> = window.entries.iter().filter(inside).collect();
    if entries.iter().any(|e| e.failed) {
        return Err(Error::Pipeline);
    }
    if range.op == RangeOp::AbsentOverTime {
        let labels = absent_labels(&range.log.matchers);
        return Ok(if entries.is_empty() {
            vec![Sample { labels, value: 1.0 }]
        } else {
            vec![]
        });
    }
    let mut series: BTreeMap<Labels, Vec<&Measured>> = BTreeMap::new();
    for entry in entries {
        series.entry(entry.labels.clone()).or_default().push(entry);
    }
    let sample = |(labels, entries): (Labels, Vec<&Measured>)| Sample {
        value: value(range, &entries, start_ns, end_ns),
        labels,
    };
    Ok(series.into_iter().map(sample).collect())
}

/// The labels that only one matcher names, by `=`.
fn absent_labels(matchers: &[Matcher]) -> Labels {
    let once = |m: &&Matcher| m.op == MatchOp::Equal && matchers.iter().filter(|o| o.name == m.name).count() == 1;
    matchers
        .iter()
        .filter(once)
        .filter(|m| !m.value.is_empty())
        .map(|m| (m.name.clone(), m.value.clone()))
        .collect()
}

/// The value of one series; it has at least one entry.
fn value(range: &RangeAggregation, entries: &[&Measured], start_ns: i64, end_ns: i64) -> f64 {
    let values: Vec<f64> = entries.iter().map(|e| e.value).collect();
    let seconds = range.range_ns as f64 / 1e9;
    let sum: f64 = values.iter().sum();
    match range.op {
        RangeOp::CountOverTime | RangeOp::BytesOverTime | RangeOp::SumOverTime => sum,
        RangeOp::Rate | RangeOp::BytesRate => sum / seconds,
        RangeOp::AvgOverTime => sum / values.len() as f64,
        RangeOp::MinOverTime => least(&values),
        RangeOp::MaxOverTime => -least(&values.iter().map(|v| -v).collect::<Vec<_>>()),
        RangeOp::StdvarOverTime => variance(&values),
        RangeOp::StddevOverTime => variance(&values).sqrt(),
        RangeOp::QuantileOverTime => quantile(range.parameter.unwrap_or(f64::NAN), values),
        RangeOp::FirstOverTime => values[0],
        RangeOp::LastOverTime => values[values.len() - 1],
        RangeOp::RateCounter => counter_rate(entries, start_ns, end_ns),
        RangeOp::AbsentOverTime => 1.0,
    }
}

/// The least number; NaN only if there are no others.
pub(crate) fn least(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::NAN, f64::min)
}

/// Population variance.
pub(crate) fn variance(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / count
}

/// Linear interpolation between closest ranks.
fn quantile(q: f64, mut values: Vec<f64>) -> f64 {
    if q < 0.0 {
        return f64::NEG_INFINITY;
    }
    if q > 1.0 {
        return f64::INFINITY;
    }
    // NaN is the least.
    values.sort_by(|a, b| {
        b.is_nan()
            .cmp(&a.is_nan())
            .then(a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal))
    });
    let rank = q * (values.len() - 1) as f64;
    let below = rank.floor() as usize;
    let above = (below + 1).min(values.len() - 1);
    let weight = rank - rank.floor();
    values[below] * (1.0 - weight) + values[above] * weight
}

/// The increase of a counter per second, extrapolated to the edges of the window as by Prometheus.
fn counter_rate(entries: &[&Measured], start_ns: i64, end_ns: i64) -> f64 {
    let [first, .., last] = entries else {
        return 0.0;
    };
    let mut increase = last.value - first.value;
    for two in entries.windows(2) {
        if two[1].value < two[0].value {
            increase += two[0].value;
        }
    }
    let seconds = |from: i64, to: i64| (to - from) as f64 / 1e9;
    let sampled = seconds(first.timestamp_ns, last.timestamp_ns);
    if sampled == 0.0 {
        // As of one sample: the engine's decision.
        return 0.0;
    }
    let average = sampled / (entries.len() - 1) as f64;
    let mut before = seconds(start_ns, first.timestamp_ns);
    let after = seconds(last.timestamp_ns, end_ns);
    let threshold = average * 1.1;
    let near = |distance: f64| if distance < threshold { distance } else { average / 2.0 };
    before = near(before);
    // A counter is not extrapolated to below zero.
    if increase > 0.0 && first.value >= 0.0 {
        before = before.min(sampled * (first.value / increase));
    }
    let covered = before + sampled + near(after);
    increase * (covered / sampled) / seconds(start_ns, end_ns)
}
