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
use crate::places::{Part, Places, Seen};
use crate::regexp::{RegexError, compile_regex};

const EMPTY_MATCHERS: &str = "queries require at least one regexp or equality matcher that does not have an \
     empty-compatible value. For instance, app=~\".*\" does not meet this requirement, but app=~\".+\" will";

/// Checks everything about a query that needs no data, except templates. `parse` has called it already; it is for trees
/// that were built or changed by hand.
pub fn validate(expr: &Expr) -> Result<(), ParseError> {
    validate_at(expr, &Places::default())
}

/// The same for a tree that was read from a text; `places` tell where its parts stand there.
pub(crate) fn validate_at(expr: &Expr, places: &Places) -> Result<(), ParseError> {
    let mut walk = Walk::default();
    let checked = match expr {
        Expr::Log(log) => walk.log(log),
        Expr::Metric(metric) => walk.metric(metric),
    };
    checked.map_err(|fault| fault.at(places))
}

/// Do the regular expressions of these matchers compile?
pub(crate) fn validate_matchers(matchers: &[Matcher], places: &Places) -> Result<(), ParseError> {
    for (at, matcher) in matchers.iter().enumerate() {
        validate_matcher(matcher, true).map_err(|message| Fault::of(Part::Matcher(at), message).at(places))?;
    }
    Ok(())
}

/// What is wrong, and with which part.
struct Fault {
    message: String,
    part: Option<Part>,
}

impl Fault {
    fn of(part: Part, message: String) -> Self {
        let part = Some(part);
        Self { message, part }
    }

    fn at(self, places: &Places) -> ParseError {
        let place = self.part.and_then(|part| places.of(part));
        ParseError::new(self.message).about(place)
    }
}

/// Goes through a tree in the order of its text.
#[derive(Default)]
struct Walk {
    seen: Seen,
}

impl Walk {
    fn log(&mut self, log: &LogExpr) -> Result<(), Fault> {
        let selector = Part::Selector(next(&mut self.seen.selectors));
        let mut selects = false;
        for matcher in &log.matchers {
            let part = Part::Matcher(next(&mut self.seen.matchers));
            selects |= refuses_empty(matcher).map_err(|message| Fault::of(part, message))?;
        }
        if !selects {
            return Err(Fault::of(selector, EMPTY_MATCHERS.to_owned()));
        }
        for stage in &log.stages {
            let part = Part::Stage(next(&mut self.seen.stages));
            validate_stage(stage).map_err(|message| Fault::of(part, message))?;
        }
        Ok(())
    }

    fn metric(&mut self, metric: &MetricExpr) -> Result<(), Fault> {
        match metric {
            MetricExpr::Range(range) => self.range(range),
            MetricExpr::Vector(vector) => self.vector(vector),
            MetricExpr::Binary(binary) => {
                validate_literal_legs(binary).map_err(|message| Fault { message, part: None })?;
                self.metric(&binary.left)?;
                self.metric(&binary.right)
            }
            MetricExpr::LabelReplace(replace) => self.label_replace(replace),
            MetricExpr::VectorOf(_) | MetricExpr::Literal(_) => Ok(()),
        }
    }

    fn range(&mut self, range: &RangeAggregation) -> Result<(), Fault> {
        let function = Part::Function(next(&mut self.seen.functions));
        validate_range(range).map_err(|message| Fault::of(function, message))?;
        self.log(&range.log)?;
        for filter in range.unwrap.iter().flat_map(|unwrap| &unwrap.filters) {
            let part = Part::Stage(next(&mut self.seen.stages));
            validate_label_filter(filter)
                .map_err(|message| Fault::of(part, format!("stage '| {filter}' : {message}")))?;
        }
        Ok(())
    }

    fn vector(&mut self, vector: &VectorAggregation) -> Result<(), Fault> {
        let function = Part::Function(next(&mut self.seen.functions));
        validate_vector(vector).map_err(|message| Fault::of(function, message))?;
        self.series(&vector.inner, function)
    }

    /// Checks an operand that must yield series: a number alone has no stream that it could come from.
    fn series(&mut self, metric: &MetricExpr, function: Part) -> Result<(), Fault> {
        if is_number(metric) {
            return Err(Fault::of(function, EMPTY_MATCHERS.to_owned()));
        }
        self.metric(metric)
    }

    fn label_replace(&mut self, replace: &LabelReplace) -> Result<(), Fault> {
        let function = Part::Function(next(&mut self.seen.functions));
        self.series(&replace.inner, function)?;
        let compiled = compile(&replace.regex, true, false);
        compiled
            .map(drop)
            .map_err(|message| Fault::of(function, format!("invalid regex in label_replace: {message}")))
    }
}

/// Counts one more; answers its number.
fn next(count: &mut usize) -> usize {
    *count += 1;
    *count - 1
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

/// Is it a matcher that chooses streams: one that demands a value?
fn refuses_empty(matcher: &Matcher) -> Result<bool, String> {
    Ok(match matcher.op {
        MatchOp::Equal => !matcher.value.is_empty(),
        MatchOp::Regex => !compile(&matcher.value, true, true)?.is_match(b""),
        MatchOp::NotEqual => false,
        MatchOp::NotRegex => {
            compile(&matcher.value, true, true)?;
            false
        }
    })
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
    Ok(())
}

fn is_number(metric: &MetricExpr) -> bool {
    match metric {
        MetricExpr::Literal(_) => true,
        MetricExpr::Binary(binary) => is_number(&binary.left) && is_number(&binary.right),
        _ => false,
    }
}

fn validate_literal_legs(binary: &Binary) -> Check {
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
    Ok(())
}
