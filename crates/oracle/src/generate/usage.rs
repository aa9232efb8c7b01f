//! Which parts of the language a query uses.

use timberline_logql::ast::{Expr, LabelFilter, LabelSource, LineOperand, LogExpr, MetricExpr, Stage};

/// Names of the constructs of a query, each as often as it is used.
pub fn constructs(expr: &Expr) -> Vec<String> {
    let mut names = Vec::new();
    match expr {
        Expr::Log(log) => of_log(log, &mut names),
        Expr::Metric(metric) => of_metric(metric, &mut names),
    }
    names
}

fn of_log(log: &LogExpr, names: &mut Vec<String>) {
    for stage in &log.stages {
        match stage {
            Stage::LineFilter(filter) => {
                names.push(format!("line filter {:?}", filter.op));
                if filter.alternatives.iter().any(|a| matches!(a, LineOperand::Ip(_))) {
                    names.push("line filter ip".into());
                }
            }
            Stage::LabelFilter(filter) => of_filter(filter, names),
            Stage::Json(extractions) if extractions.is_empty() => names.push("json".into()),
            Stage::Json(_) => names.push("json with expressions".into()),
            Stage::Logfmt { extractions, .. } if extractions.is_empty() => names.push("logfmt".into()),
            Stage::Logfmt { .. } => names.push("logfmt with expressions".into()),
            Stage::Regexp(_) => names.push("regexp".into()),
            Stage::Pattern(_) => names.push("pattern".into()),
            Stage::Unpack => names.push("unpack".into()),
            Stage::LineFormat(_) => names.push("line_format".into()),
            Stage::LabelFormat(formats) => names.extend(formats.iter().map(|format| match format.source {
                LabelSource::Label(_) => "label_format rename".to_owned(),
                LabelSource::Template(_) => "label_format template".to_owned(),
            })),
            Stage::Decolorize => names.push("decolorize".into()),
            Stage::Drop(_) => names.push("drop".into()),
            Stage::Keep(_) => names.push("keep".into()),
        }
    }
}

fn of_filter(filter: &LabelFilter, names: &mut Vec<String>) {
    match filter {
        LabelFilter::Match(matcher) => names.push(format!("label filter {:?}", matcher.op)),
        LabelFilter::Number(_) => names.push("label filter number".into()),
        LabelFilter::Duration(_) => names.push("label filter duration".into()),
        LabelFilter::Bytes(_) => names.push("label filter bytes".into()),
        LabelFilter::Ip { .. } => names.push("label filter ip".into()),
        LabelFilter::And { left, right, written } => {
            names.push(format!("label filter and ({written:?})"));
            of_filter(left, names);
            of_filter(right, names);
        }
        LabelFilter::Or(left, right) => {
            names.push("label filter or".into());
            of_filter(left, names);
            of_filter(right, names);
        }
    }
}

fn of_metric(metric: &MetricExpr, names: &mut Vec<String>) {
    match metric {
        MetricExpr::Range(range) => {
            names.push(format!("range {:?}", range.op));
            if range.offset_ns != 0 {
                names.push("offset".into());
            }
            if let Some(unwrap) = &range.unwrap {
                names.push(format!("unwrap {:?}", unwrap.conversion));
                unwrap.filters.iter().for_each(|filter| of_filter(filter, names));
            }
            if let Some(grouping) = &range.grouping {
                names.push(format!("range {}", if grouping.without { "without" } else { "by" }));
            }
            of_log(&range.log, names);
        }
        MetricExpr::Vector(vector) => {
            names.push(format!("vector {:?}", vector.op));
            if let Some(grouping) = &vector.grouping {
                names.push(format!("vector {}", if grouping.without { "without" } else { "by" }));
            }
            of_metric(&vector.inner, names);
        }
        MetricExpr::Binary(binary) => {
            names.push(format!("operator {:?}", binary.op));
            if binary.return_bool {
                names.push("bool".into());
            }
            if let Some(matching) = &binary.matching {
                names.push(if matching.on { "on" } else { "ignoring" }.to_owned());
                if let Some(group) = &matching.group {
                    names.push(format!("group {:?}", group.many));
                }
            }
            of_metric(&binary.left, names);
            of_metric(&binary.right, names);
        }
        MetricExpr::LabelReplace(replace) => {
            names.push("label_replace".into());
            of_metric(&replace.inner, names);
        }
        MetricExpr::VectorOf(_) => names.push("vector()".into()),
        MetricExpr::Literal(_) => names.push("literal".into()),
    }
}
