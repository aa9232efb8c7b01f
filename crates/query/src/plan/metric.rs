//! Plans of metric queries.

use super::Planner;
use crate::QueryError;
use crate::range::{Grid, RangeExec, RangeFunction};
use crate::request::{Direction, Steps};
use crate::scan::{SampleValue, ScanOutput, SeriesLabels};
use crate::vector::{Absent, Aggregate, Constant, Replace, ScalarBinary, VectorBinary, VectorExec, apply};
use datafusion_physical_plan::ExecutionPlan;
use futures::FutureExt;
use futures::future::BoxFuture;
use std::sync::Arc;
use timberline_logql::ast::{
    Binary, Grouping, LabelReplace, MetricExpr, RangeAggregation, RangeOp, Side, VectorAggregation, VectorOp,
};
use timberline_logql::pipeline::{CompiledUnwrap, Wants};
use timberline_logql::regexp::compile_regex;

/// A planned metric expression.
pub(crate) enum Metric {
    /// A number, already computed.
    Scalar(f64),
    /// A plan of one partition that gives points.
    Vector(Arc<dyn ExecutionPlan>),
}

/// Plans an expression for evaluation at `steps`.
pub(crate) fn plan_metric<'a>(
    planner: &'a Planner<'a>,
    expr: &'a MetricExpr,
    steps: Steps,
) -> BoxFuture<'a, Result<Metric, QueryError>> {
    async move {
        let vector = match expr {
            MetricExpr::Literal(value) => return Ok(Metric::Scalar(*value)),
            MetricExpr::VectorOf(value) => {
                VectorExec::plan(Constant { value: *value, steps }, vec![], planner.context.clone())
            }
            MetricExpr::Range(range) => plan_range(planner, range, steps, own_labels(range)).await?,
            MetricExpr::Vector(aggregation) => plan_aggregation(planner, aggregation, steps).await?,
            MetricExpr::Binary(binary) => return plan_binary(planner, binary, steps).await,
            MetricExpr::LabelReplace(replace) => plan_replace(planner, replace, steps).await?,
        };
        Ok(Metric::Vector(vector))
    }
    .boxed()
}

/// An operand that has to be a vector.
async fn plan_vector(
    planner: &Planner<'_>,
    expr: &MetricExpr,
    steps: Steps,
) -> Result<Arc<dyn ExecutionPlan>, QueryError> {
    match plan_metric(planner, expr, steps).await? {
        Metric::Vector(plan) => Ok(plan),
        Metric::Scalar(value) => Err(QueryError::BadRequest(format!(
            "parse error : expected a vector, found the number {value}"
        ))),
    }
}

/// The labels of a range aggregation that stands alone.
fn own_labels(range: &RangeAggregation) -> SeriesLabels {
    range.grouping.clone().map_or(SeriesLabels::All, SeriesLabels::Grouped)
}

/// `sum` directly over a function that adds up is one aggregation: series are grouped where samples are made, so that the parsers extract
/// nothing else, and do not run at all if no label is left (logql.md 11, skipped parsers).
fn summed(aggregation: &VectorAggregation) -> Option<(&RangeAggregation, SeriesLabels)> {
    use RangeOp::{BytesOverTime, BytesRate, CountOverTime, Rate, SumOverTime};
    let (VectorOp::Sum, MetricExpr::Range(range)) = (aggregation.op, aggregation.inner.as_ref()) else {
        return None;
    };
    let adds_up = matches!(range.op, CountOverTime | Rate | BytesOverTime | BytesRate | SumOverTime);
    if !adds_up || range.grouping.is_some() {
        return None;
    }
    Some((
        range,
        SeriesLabels::Grouped(aggregation.grouping.clone().unwrap_or_else(no_labels)),
    ))
}

/// `by ()`: one series without labels.
fn no_labels() -> Grouping {
    Grouping {
        without: false,
        labels: vec![],
    }
}

async fn plan_range(
    planner: &Planner<'_>,
    range: &RangeAggregation,
    steps: Steps,
    labels: SeriesLabels,
) -> Result<Arc<dyn ExecutionPlan>, QueryError> {
    if range.op == RangeOp::AbsentOverTime {
        let counted = plan_samples(planner, range, steps, SeriesLabels::Grouped(no_labels()));
        let absent = Absent::new(&range.log.matchers, steps);
        return Ok(VectorExec::plan(absent, vec![counted.await?], planner.context.clone()));
    }
    plan_samples(planner, range, steps, labels).await
}

/// A range function over the samples of a scan.
async fn plan_samples(
    planner: &Planner<'_>,
    range: &RangeAggregation,
    steps: Steps,
    labels: SeriesLabels,
) -> Result<Arc<dyn ExecutionPlan>, QueryError> {
    let named = match &labels {
        SeriesLabels::Grouped(grouping) if !grouping.without => Some(&grouping.labels),
        _ => None,
    };
    let mut wants = match named {
        // Only sums may go without parsers (logql.md 11): here they run for their errors.
        Some(names) if range.op != RangeOp::AbsentOverTime => Wants::Only(names.clone()),
        _ => Wants::All,
    };
    let value = match (&range.unwrap, range.op) {
        (Some(unwrap), _) => {
            if let Wants::Only(names) = &mut wants {
                names.extend(CompiledUnwrap::label_names(unwrap));
            }
            let keep_label = named.is_some_and(|names| names.contains(&unwrap.label));
            SampleValue::Unwrapped(Arc::new(CompiledUnwrap::compile(unwrap, keep_label)?))
        }
        (None, RangeOp::BytesOverTime | RangeOp::BytesRate) => SampleValue::LineBytes,
        (None, _) => SampleValue::One,
    };
    // The parser takes a quantile with a parameter only.
    let function = RangeFunction::of(range.op, range.unwrap.is_some(), range.parameter.unwrap_or(f64::NAN));
    let grid = Grid::new(steps, range.range_ns, range.offset_ns);
    let output = ScanOutput::Samples(value, labels, grid);
    let scan = planner
        .scan(&range.log, &wants, grid.span(), Direction::Backward, output, None)
        .await?;
    Ok(RangeExec::plan(scan, grid, function, planner.context.clone()))
}

async fn plan_aggregation(
    planner: &Planner<'_>,
    aggregation: &VectorAggregation,
    steps: Steps,
) -> Result<Arc<dyn ExecutionPlan>, QueryError> {
    // The peer approximates; here the answer is exact.
    if aggregation.op == VectorOp::ApproxTopk && !planner.instant {
        let text = "approx_topk is only supported for instant queries";
        return Err(QueryError::BadRequest(text.into()));
    }
    if let Some((range, labels)) = summed(aggregation) {
        return plan_range(planner, range, steps, labels).await;
    }
    let inner = plan_vector(planner, &aggregation.inner, steps).await?;
    let function = Aggregate {
        op: aggregation.op,
        grouping: aggregation.grouping.clone(),
        // The parser accepts whole positive numbers only.
        k: aggregation.parameter.unwrap_or(0.0) as usize,
    };
    Ok(VectorExec::plan(function, vec![inner], planner.context.clone()))
}

async fn plan_binary(planner: &Planner<'_>, binary: &Binary, steps: Steps) -> Result<Metric, QueryError> {
    let (op, return_bool) = (binary.op, binary.return_bool);
    let left = plan_metric(planner, &binary.left, steps).await?;
    let right = plan_metric(planner, &binary.right, steps).await?;
    let context = planner.context.clone();
    let plan = match (left, right) {
        (Metric::Scalar(left), Metric::Scalar(right)) => return Ok(Metric::Scalar(apply(op, left, right))),
        (Metric::Scalar(number), Metric::Vector(vector)) => {
            let function = ScalarBinary {
                op,
                return_bool,
                number,
                number_side: Side::Left,
            };
            VectorExec::plan(function, vec![vector], context)
        }
        (Metric::Vector(vector), Metric::Scalar(number)) => {
            let function = ScalarBinary {
                op,
                return_bool,
                number,
                number_side: Side::Right,
            };
            VectorExec::plan(function, vec![vector], context)
        }
        (Metric::Vector(left), Metric::Vector(right)) => {
            let function = VectorBinary {
                op,
                return_bool,
                matching: binary.matching.clone(),
            };
            VectorExec::plan(function, vec![left, right], context)
        }
    };
    Ok(Metric::Vector(plan))
}

async fn plan_replace(
    planner: &Planner<'_>,
    replace: &LabelReplace,
    steps: Steps,
) -> Result<Arc<dyn ExecutionPlan>, QueryError> {
    let inner = plan_vector(planner, &replace.inner, steps).await?;
    let invalid = |e| QueryError::Parse(format!("parse error : invalid regex in label_replace: {e}"));
    let function = Replace {
        destination: replace.destination.clone(),
        replacement: replace.replacement.clone(),
        source: replace.source.clone(),
        regex: compile_regex(&replace.regex, true, false).map_err(invalid)?,
    };
    Ok(VectorExec::plan(function, vec![inner], planner.context.clone()))
}
