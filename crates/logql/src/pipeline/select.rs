// hot path: no locks, no logging, nothing allocated per entry.

//! The stages `drop` and `keep` (logql.md 8).

use super::entry::Labels;
use super::label_filter::TextMatcher;
use crate::ast::LabelSelect;

/// The stage `drop`.
#[derive(Clone, Debug)]
pub(super) struct DropStage {
    selects: Vec<Select>,
}

/// The stage `keep`.
#[derive(Clone, Debug)]
pub(super) struct KeepStage {
    selects: Vec<Select>,
}

#[derive(Clone, Debug)]
enum Select {
    Name(String),
    Matcher(TextMatcher),
}

impl DropStage {
    /// Compiles the arguments of the stage.
    pub(super) fn compile(selects: &[LabelSelect]) -> Result<Self, String> {
        Ok(Self {
            selects: compile_selects(selects)?,
        })
    }

    /// Removes the listed labels whose matcher, if any, holds.
    pub(super) fn run(&self, labels: &mut Labels) {
        for select in &self.selects {
            match select {
                Select::Name(name) => labels.remove(name.as_bytes()),
                Select::Matcher(matcher) => {
                    if matcher.matches(labels.get(matcher.name.as_bytes())) {
                        labels.remove(matcher.name.as_bytes());
                    }
                }
            }
        }
    }
}

impl KeepStage {
    /// Compiles the arguments of the stage.
    pub(super) fn compile(selects: &[LabelSelect]) -> Result<Self, String> {
        Ok(Self {
            selects: compile_selects(selects)?,
        })
    }

    /// Removes all labels but the listed ones whose matcher, if any, holds. Error marks stay.
    pub(super) fn run(&self, labels: &mut Labels) {
        labels.retain(|name, value| {
            self.selects.iter().any(|select| match select {
                Select::Name(kept) => kept.as_bytes() == name,
                Select::Matcher(matcher) => matcher.name.as_bytes() == name && matcher.matches(Some(value)),
            })
        });
    }
}

fn compile_selects(selects: &[LabelSelect]) -> Result<Vec<Select>, String> {
    let compile = |select: &LabelSelect| match select {
        LabelSelect::Name(name) => Ok(Select::Name(name.clone())),
        LabelSelect::Matcher(matcher) => TextMatcher::compile(matcher).map(Select::Matcher),
    };
    selects.iter().map(compile).collect()
}
