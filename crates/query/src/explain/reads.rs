//! Which labels a pipeline makes and reads, and for whom.

use std::collections::BTreeSet;
use timberline_logql::ast::{LogExpr, Stage};
use timberline_logql::pipeline::{Pipeline, Wants};

/// What a stage of a pipeline is there for.
pub(super) struct Reads {
    /// What each stage must bring forth, and the labels that somebody behind it sees; `None`: all.
    after: Vec<Option<BTreeSet<String>>>,
}

impl Reads {
    /// What the stages are there for, if these labels are wanted at the end.
    pub(super) fn of(log: &LogExpr, wants: &Wants) -> Self {
        // The names that a pipeline reads of its input are those that the stage before it must bring forth.
        let names = |from: usize| {
            let pipeline = Pipeline::compile(log.stages.get(from..)?, wants).ok()?;
            pipeline.metadata_names().map(BTreeSet::from_iter)
        };
        Self {
            after: (1..=log.stages.len()).map(names).collect(),
        }
    }

    /// What a parser extracts, and for whom; `None` for a stage that is none.
    pub(super) fn of_parser(&self, log: &LogExpr, at: usize) -> Option<String> {
        let stage = log.stages.get(at)?;
        let is_parser = matches!(
            stage,
            Stage::Json(_) | Stage::Logfmt { .. } | Stage::Regexp(_) | Stage::Pattern(_) | Stage::Unpack
        );
        if !is_parser {
            return None;
        }
        let text = stage.to_string();
        let stage_text = text.trim_start_matches("| ");
        let extracts = match self.after.get(at)? {
            None => "extracts every label, because all are part of the result".to_owned(),
            Some(names) if names.is_empty() && !matches!(stage, Stage::Unpack) => {
                return Some(format!("{stage_text} is not run, because nobody reads its labels"));
            }
            Some(names) if names.is_empty() => "extracts no label, but may change the line".to_owned(),
            Some(names) => {
                let reasons: Vec<String> = names.iter().map(|name| self.reason(log, at, name)).collect();
                format!("extracts {}", reasons.join(", "))
            }
        };
        Some(format!("{stage_text} {extracts}"))
    }

    /// A label and the last stage that reads it, or the result.
    fn reason(&self, log: &LogExpr, at: usize, name: &str) -> String {
        let is_needed_after = |stage: usize| {
            let names = self.after.get(stage).map(Option::as_ref);
            names.is_none_or(|names| names.is_none_or(|names| names.contains(name)))
        };
        match (at + 1..log.stages.len()).rev().find(|&stage| !is_needed_after(stage)) {
            Some(stage) => format!("{name} (for {})", log.stages[stage]),
            None => format!("{name} (for the result)"),
        }
    }
}
