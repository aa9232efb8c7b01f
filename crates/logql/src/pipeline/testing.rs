//! The harness of the stages' tests: stages by name, one entry in, its labels as text out.

use std::sync::Arc;

use super::{EntryLabels, GroupLabels, Pipeline, Runner, Wants, decode_group_key, decode_labels_key};
use crate::ast::{
    CompareOp, Comparison, Extraction, LabelFilter, LabelFormat, LabelSelect, LabelSource, LineFilter, LineFilterOp,
    LineOperand, MatchOp, Matcher, Stage,
};
use crate::labels::LabelSet;

/// An entry to run stages over.
#[derive(Clone)]
pub(super) struct TestEntry<'a> {
    pub(super) stream: &'a [(&'a str, &'a str)],
    pub(super) metadata: &'a [(&'a str, &'a str)],
    pub(super) line: &'a [u8],
}

/// What came out of the stages.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Outcome {
    pub(super) line: String,
    pub(super) labels: EntryLabels,
}

/// An entry of a stream without labels.
pub(super) fn entry(line: &str) -> TestEntry<'_> {
    TestEntry {
        stream: &[],
        metadata: &[],
        line: line.as_bytes(),
    }
}

/// Runs stages; `None` if the entry is dropped. Asserts what holds of every outcome.
pub(super) fn run(stages: &[Stage], wants: &Wants, entry: &TestEntry<'_>) -> Option<Outcome> {
    let pipeline = Pipeline::compile(stages, wants).unwrap_or_else(|error| panic!("{stages:?}: {error}"));
    let mut runner = Runner::new(Arc::new(pipeline));
    runner.start_stream(&LabelSet::from_pairs(entry.stream.iter().copied()));
    let metadata: Vec<(&str, &[u8])> = entry
        .metadata
        .iter()
        .map(|(name, value)| (*name, value.as_bytes()))
        .collect();
    // A first entry leaves its traces in the buffers; the second must not see them.
    let _ = runner.process(
        0,
        br#"{"left":"over","app":"x"} left=over "#,
        &[("left", b"over")],
        true,
    );
    let processed = runner.process(1, entry.line, &metadata, false)?;
    let (mut labels_key, mut group_key) = (Vec::new(), Vec::new());
    processed.labels_key(&mut labels_key);
    processed.group_key(&GroupLabels::all(), &mut group_key);
    let labels = decode_labels_key(&labels_key);
    let merged = labels.merged();
    assert_eq!(decode_group_key(&group_key), merged, "both keys hold the same labels");
    for (name, value) in merged.iter() {
        assert_eq!(
            processed.get(name).map(String::from_utf8_lossy).as_deref(),
            Some(value),
            "value of {name}"
        );
    }
    assert_eq!(processed.has_error(), merged.get("__error__").is_some());
    Some(Outcome {
        line: String::from_utf8_lossy(processed.line).into_owned(),
        labels,
    })
}

/// The merged labels after the stages as `a="1", b="2"`; `dropped` if there is no entry.
pub(super) fn labels_after(stages: &[Stage], entry: &TestEntry<'_>) -> String {
    match run(stages, &Wants::All, entry) {
        Some(outcome) => inner_text(&outcome.labels.merged()),
        None => "dropped".to_owned(),
    }
}

/// The line after the stages; `dropped` if there is no entry.
pub(super) fn line_after(stages: &[Stage], entry: &TestEntry<'_>) -> String {
    run(stages, &Wants::All, entry).map_or_else(|| "dropped".to_owned(), |outcome| outcome.line)
}

/// The message with which compiling fails.
pub(super) fn compile_error(stage: Stage) -> String {
    Pipeline::compile(&[stage], &Wants::All)
        .expect_err("compiles")
        .to_string()
}

fn inner_text(labels: &LabelSet) -> String {
    labels
        .to_string()
        .trim_start_matches('{')
        .trim_end_matches('}')
        .to_owned()
}

pub(super) fn json() -> Stage {
    Stage::Json(vec![])
}

pub(super) fn json_paths(pairs: &[(&str, &str)]) -> Stage {
    Stage::Json(extractions(pairs))
}

/// `logfmt` with the given flags (`strict`, `keep_empty`).
pub(super) fn logfmt(flags: &[&str], pairs: &[(&str, &str)]) -> Stage {
    Stage::Logfmt {
        strict: flags.contains(&"strict"),
        keep_empty: flags.contains(&"keep_empty"),
        extractions: extractions(pairs),
    }
}

fn extractions(pairs: &[(&str, &str)]) -> Vec<Extraction> {
    let extraction = |(label, expression): &(&str, &str)| Extraction {
        label: (*label).to_owned(),
        expression: (*expression).to_owned(),
    };
    pairs.iter().map(extraction).collect()
}

/// A line filter: operator, then alternatives; `ip(...)` is an address set.
pub(super) fn line_filter(op: &str, alternatives: &[&str]) -> Stage {
    let op = match op {
        "|=" => LineFilterOp::Contains,
        "!=" => LineFilterOp::NotContains,
        "|~" => LineFilterOp::Regex,
        "!~" => LineFilterOp::NotRegex,
        "|>" => LineFilterOp::Pattern,
        "!>" => LineFilterOp::NotPattern,
        other => panic!("no line filter {other}"),
    };
    let operand = |text: &&str| match text.strip_prefix("ip(").and_then(|t| t.strip_suffix(')')) {
        Some(set) => LineOperand::Ip(set.to_owned()),
        None => LineOperand::Text((*text).to_owned()),
    };
    Stage::LineFilter(LineFilter {
        op,
        alternatives: alternatives.iter().map(operand).collect(),
    })
}

pub(super) fn matcher(name: &str, op: &str, value: &str) -> Matcher {
    let op = match op {
        "=" => MatchOp::Equal,
        "!=" => MatchOp::NotEqual,
        "=~" => MatchOp::Regex,
        "!~" => MatchOp::NotRegex,
        other => panic!("no matcher {other}"),
    };
    Matcher {
        name: name.to_owned(),
        op,
        value: value.to_owned(),
    }
}

pub(super) fn label_filter(name: &str, op: &str, value: &str) -> Stage {
    Stage::LabelFilter(LabelFilter::Match(matcher(name, op, value)))
}

pub(super) fn compare_op(op: &str) -> CompareOp {
    match op {
        "==" => CompareOp::Equal,
        "!=" => CompareOp::NotEqual,
        ">" => CompareOp::Greater,
        ">=" => CompareOp::GreaterOrEqual,
        "<" => CompareOp::Less,
        "<=" => CompareOp::LessOrEqual,
        other => panic!("no comparison {other}"),
    }
}

pub(super) fn comparison<T>(name: &str, op: &str, value: T) -> Comparison<T> {
    Comparison {
        name: name.to_owned(),
        op: compare_op(op),
        value,
    }
}

pub(super) fn number_filter(name: &str, op: &str, value: f64) -> Stage {
    Stage::LabelFilter(LabelFilter::Number(comparison(name, op, value)))
}

pub(super) fn line_format(template: &str) -> Stage {
    Stage::LineFormat(template.to_owned())
}

/// `label_format`; a source `@name` renames, any other is a template.
pub(super) fn label_format(assignments: &[(&str, &str)]) -> Stage {
    let assignment = |(label, source): &(&str, &str)| LabelFormat {
        label: (*label).to_owned(),
        source: match source.strip_prefix('@') {
            Some(name) => LabelSource::Label(name.to_owned()),
            None => LabelSource::Template((*source).to_owned()),
        },
    };
    Stage::LabelFormat(assignments.iter().map(assignment).collect())
}

pub(super) fn names(names: &[&str]) -> Vec<LabelSelect> {
    names.iter().map(|name| LabelSelect::Name((*name).to_owned())).collect()
}
