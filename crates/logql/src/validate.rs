//! What makes a well-formed query wrong nevertheless: functions with the wrong company, regular expressions that do not
//! compile, stages that cannot be built (logql.md 4, 13.2, 14, 15.1, 19).
//!
//! Templates are not looked at: whoever compiles them reports their errors.

use regex::bytes::Regex;

use crate::ast::{
    Binary, Expr, LabelFilter, LabelFormat, LabelReplace, LabelSelect, LineFilter, LineFilterOp, LineOperand, LogExpr,
    MatchOp, Matcher, MetricExpr, RangeAggregation, RangeOp, Stage, VectorAggregation,
};
use crate::error::ParseError;
use crate::ip::IpRange;
use crate::json_path::parse_json_path;
use crate::pattern::{parse_line_pattern, parse_pattern};
use crate::regexp::{RegexError, compile_regex};

const EMPTY_MATCHERS: &str = "queries require at least one regexp or equality matcher that does not have an \
     empty-compatible value. For instance, app=~\".*\" does not meet this requirement, but app=~\".+\" will";

/// Checks everything about a query that needs no data, except templates. `parse` has called it already; it is for trees
/// that were built or changed by hand.
pub fn validate(expr: &Expr) -> Result<(), ParseError> {
    match expr {
        Expr::Log(log) => validate_log(log),
        Expr::Metric(metric) => validate_metric(metric),
    }
    .map_err(ParseError::new)
}

/// Do the regular expressions of these matchers compile?
pub(crate) fn validate_matchers(matchers: &[Matcher]) -> Result<(), ParseError> {
    matchers
        .iter()
        .try_for_each(|matcher| validate_matcher(matcher, true))
        .map_err(ParseError::new)
}

type Check = Result<(), String>;

fn compile(regex: &str, anchored: bool, dot_matches_newline: bool) -> Result<Regex, String> {
    compile_regex(regex, anchored, dot_matches_newline).map_err(|error| error.to_string())
}

fn validate_matcher(matcher: &Matcher, in_selector: bool) -> Check {
    if matcher.op.is_regex() {
        compile(&matcher.value, true, in_selector)?;
    }
    Ok(())
}

fn validate_log(log: &LogExpr) -> Check {
    let mut selects = false;
    for matcher in &log.matchers {
        selects |= match matcher.op {
            MatchOp::Equal => !matcher.value.is_empty(),
            MatchOp::Regex => !compile(&matcher.value, true, true)?.is_match(b""),
            MatchOp::NotEqual => false,
            MatchOp::NotRegex => {
                compile(&matcher.value, true, true)?;
                false
            }
        };
    }
    if !selects {
        return Err(EMPTY_MATCHERS.to_owned());
    }
    log.stages.iter().try_for_each(validate_stage)
}

fn validate_stage(stage: &Stage) -> Check {
    let stage_error = |message: String| format!("stage '{stage}' : {message}");
    match stage {
        Stage::Regexp(regex) => {
            validate_regexp_parser(regex).map_err(|message| format!("invalid regexp parser: {message}"))
        }
        Stage::Pattern(pattern) => match parse_pattern(pattern) {
            Ok(_) => Ok(()),
            Err(message) => Err(format!("invalid pattern parser: {message}")),
        },
        Stage::LineFilter(filter) => validate_line_filter(filter).map_err(stage_error),
        Stage::LabelFilter(filter) => validate_label_filter(filter).map_err(stage_error),
        Stage::LabelFormat(formats) => validate_label_format(formats).map_err(stage_error),
        Stage::Json(extractions) => extractions
            .iter()
            .try_for_each(|extraction| parse_json_path(&extraction.expression).map(drop))
            .map_err(stage_error),
        Stage::Logfmt { extractions, .. } => extractions
            .iter()
            .try_for_each(|extraction| validate_logfmt_key(&extraction.expression))
            .map_err(stage_error),
        Stage::Drop(selects) | Stage::Keep(selects) => selects
            .iter()
            .try_for_each(|select| match select {
                LabelSelect::Name(_) => Ok(()),
                LabelSelect::Matcher(matcher) => validate_matcher(matcher, false),
            })
            .map_err(stage_error),
        Stage::Unpack | Stage::LineFormat(_) | Stage::Decolorize => Ok(()),
    }
}

fn validate_line_filter(filter: &LineFilter) -> Check {
    for alternative in &filter.alternatives {
        match (alternative, filter.op) {
            (LineOperand::Ip(range), LineFilterOp::Contains | LineFilterOp::NotContains) => {
                IpRange::parse(range)?;
            }
            (LineOperand::Ip(_), _) => return Err("ip: invalid operation".to_owned()),
            (LineOperand::Text(regex), LineFilterOp::Regex | LineFilterOp::NotRegex) => {
                compile(regex, false, false)?;
            }
            (LineOperand::Text(pattern), LineFilterOp::Pattern | LineFilterOp::NotPattern) => {
                parse_line_pattern(pattern)?;
            }
            (LineOperand::Text(_), LineFilterOp::Contains | LineFilterOp::NotContains) => {}
        }
    }
    Ok(())
}

fn validate_label_filter(filter: &LabelFilter) -> Check {
    match filter {
        LabelFilter::Match(matcher) => validate_matcher(matcher, false),
        LabelFilter::Ip { range, .. } => IpRange::parse(range).map(drop),
        LabelFilter::And { left, right, .. } | LabelFilter::Or(left, right) => {
            validate_label_filter(left)?;
            validate_label_filter(right)
        }
        LabelFilter::Number(_) | LabelFilter::Duration(_) | LabelFilter::Bytes(_) => Ok(()),
    }
}

fn validate_label_format(formats: &[LabelFormat]) -> Check {
    for (at, format) in formats.iter().enumerate() {
        let name = &format.label;
        if name == "__error__" {
            return Err(format!("{name} cannot be formatted"));
        }
        if formats[..at].iter().any(|earlier| earlier.label == *name) {
            return Err(format!(
                "multiple label name '{name}' not allowed in a single format operation"
            ));
        }
    }
    Ok(())
}

fn validate_regexp_parser(regex: &str) -> Check {
    let compiled = compile_regex(regex, false, false).map_err(|error| match error {
        RegexError::DuplicateName(name) => format!("duplicate extracted label name '{name}'"),
        other => other.to_string(),
    })?;
    if compiled.capture_names().flatten().next().is_none() {
        return Err("at least one named capture must be supplied".to_owned());
    }
    Ok(())
}

fn validate_logfmt_key(key: &str) -> Check {
    let starts_well = key.starts_with(|c: char| c == '_' || c.is_alphabetic());
    if starts_well && key.chars().all(|c| c == '_' || c.is_alphanumeric()) {
        return Ok(());
    }
    Err(format!("cannot parse expression [{key}]: not an identifier"))
}

fn validate_metric(metric: &MetricExpr) -> Check {
    match metric {
        MetricExpr::Range(range) => validate_range(range),
        MetricExpr::Vector(vector) => validate_vector(vector),
        MetricExpr::Binary(binary) => validate_binary(binary),
        MetricExpr::LabelReplace(replace) => validate_label_replace(replace),
        MetricExpr::VectorOf(_) | MetricExpr::Literal(_) => Ok(()),
    }
}

fn validate_range(range: &RangeAggregation) -> Check {
    let op = range.op;
    let name = op.name();
    match range.parameter {
        None if op == RangeOp::QuantileOverTime => return Err(format!("parameter required for operation {name}")),
        Some(number) if op != RangeOp::QuantileOverTime => {
            return Err(format!("parameter {number} not supported for operation {name}"));
        }
        _ => {}
    }
    if range.grouping.is_some() && !op.allows_grouping() {
        return Err(format!("grouping not allowed for {name} aggregation"));
    }
    match &range.unwrap {
        None if !op.counts_lines() => return Err(format!("invalid aggregation {name} without unwrap")),
        Some(_) if !op.takes_numbers() => return Err(format!("invalid aggregation {name} with unwrap")),
        _ => {}
    }
    validate_log(&range.log)?;
    for filter in range.unwrap.iter().flat_map(|unwrap| &unwrap.filters) {
        validate_label_filter(filter).map_err(|message| format!("stage '| {filter}' : {message}"))?;
    }
    Ok(())
}

fn validate_vector(vector: &VectorAggregation) -> Check {
    let op = vector.op;
    let name = op.name();
    match vector.parameter {
        None if op.needs_parameter() => return Err(format!("parameter required for operation {name}")),
        Some(number) if !op.needs_parameter() => {
            return Err(format!("unsupported parameter for operation {name}({number},"));
        }
        Some(number) if number.fract() != 0.0 || number > i64::MAX as f64 => {
            return Err(format!("invalid parameter {name}({number},"));
        }
        Some(number) if number <= 0.0 => {
            return Err(format!("invalid parameter (must be greater than 0) {name}({number}"));
        }
        _ => {}
    }
    if vector.grouping.is_some() && !op.allows_grouping() {
        return Err(format!("grouping not allowed for {name} aggregation"));
    }
    validate_series(&vector.inner)
}

/// Checks an operand that must yield series: a number alone has no stream that it could come from.
fn validate_series(metric: &MetricExpr) -> Check {
    if is_number(metric) {
        return Err(EMPTY_MATCHERS.to_owned());
    }
    validate_metric(metric)
}

fn is_number(metric: &MetricExpr) -> bool {
    match metric {
        MetricExpr::Literal(_) => true,
        MetricExpr::Binary(binary) => is_number(&binary.left) && is_number(&binary.right),
        _ => false,
    }
}

fn validate_binary(binary: &Binary) -> Check {
    if binary.op.is_set_operation() {
        for (leg, side) in [(&binary.left, "left"), (&binary.right, "right")] {
            if !is_number(leg) {
                continue;
            }
            let value = match **leg {
                MetricExpr::Literal(number) => format!(": {number:.6}"),
                _ => String::new(),
            };
            let op = binary.op.name();
            return Err(format!(
                "unexpected literal for {side} leg of logical/set binary operation ({op}){value}"
            ));
        }
    }
    validate_metric(&binary.left)?;
    validate_metric(&binary.right)
}

fn validate_label_replace(replace: &LabelReplace) -> Check {
    validate_series(&replace.inner)?;
    let compiled = compile(&replace.regex, true, false);
    compiled
        .map(drop)
        .map_err(|message| format!("invalid regex in label_replace: {message}"))
}
