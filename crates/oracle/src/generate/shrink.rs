//! Smaller queries, to find the least one that still shows a difference.

use timberline_logql::ast::{Expr, LabelFilter, LogExpr, MetricExpr, RangeAggregation, Stage};

/// Queries that are one step smaller.
pub fn smaller(expr: &Expr) -> Vec<Expr> {
    match expr {
        Expr::Log(log) => of_log(log).into_iter().map(Expr::Log).collect(),
        Expr::Metric(metric) => of_metric(metric).into_iter().map(Expr::Metric).collect(),
    }
}

fn of_log(log: &LogExpr) -> Vec<LogExpr> {
    let mut out = Vec::new();
    let with = |stages: Vec<Stage>| LogExpr {
        matchers: log.matchers.clone(),
        stages,
    };
    for (at, stage) in log.stages.iter().enumerate() {
        let mut less = log.stages.clone();
        less.remove(at);
        out.push(with(less));
        for smaller in of_stage(stage) {
            let mut less = log.stages.clone();
            less[at] = smaller;
            out.push(with(less));
        }
    }
    if log.matchers.len() > 1 {
        out.push(LogExpr {
            matchers: log.matchers[..1].to_vec(),
            stages: log.stages.clone(),
        });
    }
    out
}

/// Lists with one element less, but never empty.
fn of_list<T: Clone>(list: &[T]) -> Vec<Vec<T>> {
    if list.len() < 2 {
        return Vec::new();
    }
    let without = |at: usize| {
        list.iter()
            .enumerate()
            .filter(|(i, _)| *i != at)
            .map(|(_, t)| t.clone())
            .collect()
    };
    (0..list.len()).map(without).collect()
}

fn of_stage(stage: &Stage) -> Vec<Stage> {
    match stage {
        Stage::LabelFilter(filter) => of_filter(filter).into_iter().map(Stage::LabelFilter).collect(),
        Stage::LineFilter(filter) => of_list(&filter.alternatives)
            .into_iter()
            .map(|alternatives| {
                let mut less = filter.clone();
                less.alternatives = alternatives;
                Stage::LineFilter(less)
            })
            .collect(),
        Stage::Json(list) => of_list(list).into_iter().map(Stage::Json).collect(),
        Stage::LabelFormat(list) => of_list(list).into_iter().map(Stage::LabelFormat).collect(),
        Stage::Drop(list) => of_list(list).into_iter().map(Stage::Drop).collect(),
        Stage::Keep(list) => of_list(list).into_iter().map(Stage::Keep).collect(),
        _ => Vec::new(),
    }
}

fn of_filter(filter: &LabelFilter) -> Vec<LabelFilter> {
    match filter {
        LabelFilter::And { left, right, .. } | LabelFilter::Or(left, right) => {
            vec![(**left).clone(), (**right).clone()]
        }
        _ => Vec::new(),
    }
}

fn of_range(range: &RangeAggregation) -> Vec<RangeAggregation> {
    let changed = |change: &dyn Fn(&mut RangeAggregation)| {
        let mut less = range.clone();
        change(&mut less);
        less
    };
    let mut out: Vec<_> = of_log(&range.log)
        .into_iter()
        .map(|log| changed(&|r| r.log = log.clone()))
        .collect();
    if range.grouping.is_some() {
        out.push(changed(&|r| r.grouping = None));
    }
    if range.offset_ns != 0 {
        out.push(changed(&|r| r.offset_ns = 0));
    }
    if range.unwrap.as_ref().is_some_and(|u| !u.filters.is_empty()) {
        out.push(changed(&|r| {
            if let Some(unwrap) = &mut r.unwrap {
                unwrap.filters.pop();
            }
        }));
    }
    out
}

fn of_metric(metric: &MetricExpr) -> Vec<MetricExpr> {
    match metric {
        MetricExpr::Range(range) => of_range(range).into_iter().map(MetricExpr::Range).collect(),
        MetricExpr::Vector(vector) => {
            let mut out = vec![(*vector.inner).clone()];
            if vector.grouping.is_some() {
                let mut less = vector.clone();
                less.grouping = None;
                out.push(MetricExpr::Vector(less));
            }
            out.extend(of_metric(&vector.inner).into_iter().map(|inner| {
                let mut less = vector.clone();
                less.inner = Box::new(inner);
                MetricExpr::Vector(less)
            }));
            out
        }
        MetricExpr::Binary(binary) => {
            let mut out = vec![(*binary.left).clone(), (*binary.right).clone()];
            let with = |left: MetricExpr, right: MetricExpr| {
                let mut less = binary.clone();
                (less.left, less.right) = (Box::new(left), Box::new(right));
                MetricExpr::Binary(less)
            };
            out.extend(
                of_metric(&binary.left)
                    .into_iter()
                    .map(|left| with(left, (*binary.right).clone())),
            );
            out.extend(
                of_metric(&binary.right)
                    .into_iter()
                    .map(|right| with((*binary.left).clone(), right)),
            );
            out
        }
        MetricExpr::LabelReplace(replace) => {
            let mut out = vec![(*replace.inner).clone()];
            out.extend(of_metric(&replace.inner).into_iter().map(|inner| {
                let mut less = replace.clone();
                less.inner = Box::new(inner);
                MetricExpr::LabelReplace(less)
            }));
            out
        }
        MetricExpr::VectorOf(_) | MetricExpr::Literal(_) => Vec::new(),
    }
}
