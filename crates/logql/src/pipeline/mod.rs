//! Pipelines: the stages of a query, compiled once, run over many lines.
//!
//! A [`Pipeline`] is shared by all threads of a query; each thread has a [`Runner`] whose buffers are reused, so that no line
//! allocates in steady state. Label sets leave as canonical bytes ([`Processed::labels_key`]), to be interned by the caller
//! and read back with [`decode_labels_key`].
//!
//! Where the peer surprises, this is decided: regular expressions of label filters are anchored always (the peer drops the
//! anchors of some); a line filter behind `decolorize` sees the line without colours (the peer filters first); `>=` of sizes
//! includes the equal size (the peer excludes it); a `logfmt` key asked for under two names goes to both (the peer gives it
//! to one). As in the peer, an entry that failed is still filtered by number, and an empty value is one that does not convert.
//!
//! ```
//! use std::sync::Arc;
//! use timberline_logql::ast::{LabelFilter, MatchOp, Matcher, Stage};
//! use timberline_logql::labels::LabelSet;
//! use timberline_logql::pipeline::{Pipeline, Runner, Wants};
//!
//! let matcher = Matcher { name: "level".into(), op: MatchOp::Equal, value: "error".into() };
//! let stages = [Stage::Json(vec![]), Stage::LabelFilter(LabelFilter::Match(matcher))];
//! let mut runner = Runner::new(Arc::new(Pipeline::compile(&stages, &Wants::All).unwrap()));
//! runner.start_stream(&LabelSet::from_pairs([("app", "shop")]));
//! let entry = runner.process(0, br#"{"level":"error","code":7}"#, &[], false).unwrap();
//! assert_eq!(entry.get("code"), Some(&b"7"[..]));
//! assert!(runner.process(1, br#"{"level":"info"}"#, &[], false).is_none());
//! ```

mod block;
mod buffer_search;
pub(crate) mod convert;
mod decolorize;
mod entry;
mod environment;
mod format;
mod ip;
mod json;
mod json_keys;
mod json_path;
mod json_scan;
mod key;
mod label_filter;
mod line_filter;
mod literals;
mod logfmt;
mod names;
mod needs;
mod order;
mod pattern;
mod prefilter;
mod regexp;
mod required;
mod runner;
mod sanitize;
mod select;
mod span;
mod taken;
#[cfg(test)]
mod testing;
mod unwrap;

pub use environment::Environment;
pub use json_keys::visit_json_keys;
pub use key::{EntryLabels, GroupLabels, decode_group_key, decode_labels_key};
pub use line_filter::LineMatcher;
pub use required::{Required, RequiredLabel};
pub use runner::{Processed, Runner};
pub use unwrap::CompiledUnwrap;

use self::format::{LabelFormatStage, LineFormatStage};
use self::json::{JsonStage, UnpackStage};
use self::json_path::JsonPathStage;
use self::label_filter::LabelTest;
use self::logfmt::LogfmtStage;
use self::needs::{Needed, Needs};
use self::pattern::PatternStage;
use self::prefilter::{Prefilter, insert_prefilters};
use self::regexp::RegexpStage;
use self::select::{DropStage, KeepStage};
use crate::ast::Stage;

/// Which labels anyone who reads the pipeline's output can see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wants {
    /// All labels.
    All,
    /// These labels. With none at all, a parser whose labels no later stage reads is not run and cannot fail (logql.md 11);
    /// with some, a parser may stop reading a line once it has them.
    Only(Vec<String>),
}

/// Why stages do not compile.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CompileError {
    /// The user's mistake; the message belongs behind `parse error : `.
    #[error("{0}")]
    Invalid(String),
}

/// Compiled stages.
#[derive(Debug)]
pub struct Pipeline {
    line_filters: Vec<LineMatcher>,
    steps: Vec<Step>,
    metadata_names: Option<Vec<String>>,
}

/// A compiled stage.
#[derive(Debug)]
enum Step {
    LineFilter(LineMatcher),
    LabelFilter(LabelTest),
    Prefilter(Box<Prefilter>),
    Json(JsonStage),
    JsonPath(JsonPathStage),
    Logfmt(LogfmtStage),
    Regexp(RegexpStage),
    Pattern(PatternStage),
    Unpack(UnpackStage),
    LineFormat(LineFormatStage),
    LabelFormat(LabelFormatStage),
    Decolorize,
    Drop(DropStage),
    Keep(KeepStage),
}

impl Pipeline {
    /// Compiles stages for a reader who sees the labels in `wants`, in the default [`Environment`].
    pub fn compile(stages: &[Stage], wants: &Wants) -> Result<Self, CompileError> {
        Self::compile_in(stages, wants, &Environment::default())
    }

    /// Compiles stages for a reader who sees the labels in `wants`. Templates take time and zone from the environment.
    pub fn compile_in(stages: &[Stage], wants: &Wants, environment: &Environment) -> Result<Self, CompileError> {
        // Backwards, because what a stage must bring forth is what the later ones need.
        let mut needs = Needs::of_wants(wants);
        let mut steps = Vec::with_capacity(stages.len());
        for stage in stages.iter().rev() {
            let step = compile_stage(stage, needs.of_stage(steps.len()), environment)?;
            needs = needs.before(stage, step.as_ref());
            steps.extend(step);
        }
        steps.reverse();
        let metadata_names = needs.metadata_names();

        // A line filter drops whole entries, so it may run before all stages that leave the line as it is.
        let mut line_filters = Vec::new();
        let first_change = steps.iter().position(Step::changes_line).unwrap_or(steps.len());
        let rest = steps.split_off(first_change);
        steps.retain(|step| match step {
            Step::LineFilter(matcher) => {
                line_filters.push(matcher.clone());
                false
            }
            _ => true,
        });
        line_filters.retain(|matcher| !matcher.keeps_all());
        steps.extend(rest);
        line_filters_first(&mut steps);
        insert_prefilters(&mut steps);
        Ok(Self {
            line_filters,
            steps,
            metadata_names,
        })
    }

    /// The line filters that apply to the line as stored. A caller may apply them itself, in any order, and say so to
    /// [`Runner::process`].
    pub fn line_filters(&self) -> &[LineMatcher] {
        &self.line_filters
    }

    /// True if some stage reads the line, [`Pipeline::line_filters`] included. Whether the line is output is the caller's
    /// to know.
    pub fn needs_line(&self) -> bool {
        !self.line_filters.is_empty() || self.steps.iter().any(Step::reads_line)
    }

    /// The metadata that the stages and the reader can see; `None` stands for all of it.
    pub fn metadata_names(&self) -> Option<Vec<String>> {
        self.metadata_names.clone()
    }

    /// True if the line that comes out may differ from the one stored.
    pub fn changes_line(&self) -> bool {
        self.steps.iter().any(Step::changes_line)
    }
}

/// Moves line filters that see a rewritten line to behind the stage that rewrote it.
fn line_filters_first(steps: &mut [Step]) {
    for at in 0..steps.len() {
        if matches!(steps[at], Step::LineFilter(_)) {
            let may_stay_before = |step: &Step| step.changes_line() || matches!(step, Step::LineFilter(_));
            let to = steps[..at]
                .iter()
                .rposition(may_stay_before)
                .map_or(0, |place| place + 1);
            steps[to..=at].rotate_right(1);
        }
    }
}

impl Step {
    /// True if the stage makes labels of what it finds in the line.
    fn is_parser(&self) -> bool {
        match self {
            Self::Json(_)
            | Self::JsonPath(_)
            | Self::Logfmt(_)
            | Self::Regexp(_)
            | Self::Pattern(_)
            | Self::Unpack(_) => true,
            Self::LineFilter(_)
            | Self::LabelFilter(_)
            | Self::Prefilter(_)
            | Self::LineFormat(_)
            | Self::LabelFormat(_)
            | Self::Decolorize
            | Self::Drop(_)
            | Self::Keep(_) => false,
        }
    }

    fn changes_line(&self) -> bool {
        matches!(self, Self::LineFormat(_) | Self::Unpack(_) | Self::Decolorize)
    }

    fn reads_line(&self) -> bool {
        match self {
            Self::LabelFilter(_) | Self::Drop(_) | Self::Keep(_) => false,
            Self::LineFormat(stage) => stage.reads_line(),
            Self::LabelFormat(stage) => stage.reads_line(),
            _ => true,
        }
    }
}

/// Compiles a stage after which `needed` must be there. `None`: the stage has nothing to do.
fn compile_stage(stage: &Stage, needed: Needed, environment: &Environment) -> Result<Option<Step>, CompileError> {
    let nobody_needs_labels = needed.is_empty();
    let invalid_stage = |message: String| CompileError::Invalid(format!("stage '{stage}' : {message}"));
    let step = match stage {
        Stage::LineFilter(filter) => Step::LineFilter(LineMatcher::compile(filter).map_err(invalid_stage)?),
        Stage::LabelFilter(filter) => Step::LabelFilter(LabelTest::compile(filter).map_err(invalid_stage)?),
        Stage::Json(extractions) if extractions.is_empty() => Step::Json(JsonStage::new(needed)),
        Stage::Json(extractions) => Step::JsonPath(JsonPathStage::compile(extractions, needed).map_err(invalid_stage)?),
        Stage::Logfmt {
            strict,
            keep_empty,
            extractions,
        } => {
            let stage = LogfmtStage::compile(*strict, *keep_empty, extractions, needed);
            Step::Logfmt(stage.map_err(invalid_stage)?)
        }
        Stage::Regexp(text) => {
            let invalid = |message| CompileError::Invalid(format!("invalid regexp parser: {message}"));
            Step::Regexp(RegexpStage::compile(text, needed).map_err(invalid)?)
        }
        Stage::Pattern(text) => {
            let invalid = |message| CompileError::Invalid(format!("invalid pattern parser: {message}"));
            Step::Pattern(PatternStage::compile(text, needed).map_err(invalid)?)
        }
        Stage::Unpack => Step::Unpack(UnpackStage::new(needed)),
        Stage::LineFormat(text) => {
            Step::LineFormat(LineFormatStage::compile(text, environment).map_err(invalid_stage)?)
        }
        Stage::LabelFormat(assignments) => {
            Step::LabelFormat(LabelFormatStage::compile(assignments, environment).map_err(invalid_stage)?)
        }
        Stage::Decolorize => Step::Decolorize,
        Stage::Drop(selects) => Step::Drop(DropStage::compile(selects).map_err(invalid_stage)?),
        Stage::Keep(selects) => Step::Keep(KeepStage::compile(selects).map_err(invalid_stage)?),
    };
    let is_pure_parser = matches!(
        step,
        Step::Json(_) | Step::JsonPath(_) | Step::Logfmt(_) | Step::Regexp(_) | Step::Pattern(_)
    );
    Ok(if is_pure_parser && nobody_needs_labels {
        None
    } else {
        Some(step)
    })
}
