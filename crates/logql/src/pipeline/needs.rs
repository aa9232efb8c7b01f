//! Which labels somebody after a stage can see, so that parsers extract no others (logql.md 11, skipped parsers).

use std::collections::BTreeSet;

use super::entry::{ERROR, ERROR_DETAILS};
use super::{Step, Wants};
use crate::ast::{LabelFilter, LabelSelect, LabelSource, Stage};

const EXTRACTED: &str = "_extracted";

/// The labels that a stage must bring forth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Needs {
    /// Every label.
    All,
    /// These labels.
    Only(BTreeSet<String>),
}

impl Needs {
    /// What the reader of the whole pipeline needs.
    pub(super) fn of_wants(wants: &Wants) -> Self {
        match wants {
            Wants::All => Self::All,
            Wants::Only(names) => Self::Only(names.iter().cloned().collect()),
        }
    }

    /// What must be there before `stage`, if `self` must be there after it.
    pub(super) fn before(mut self, stage: &Stage, step: Option<&Step>) -> Self {
        let Self::Only(names) = &mut self else {
            return self;
        };
        match stage {
            Stage::LabelFilter(filter) => add_filter(filter, names),
            Stage::LabelFormat(assignments) => {
                for assignment in assignments {
                    if let LabelSource::Label(source) = &assignment.source {
                        names.insert(source.clone());
                    }
                }
            }
            Stage::Drop(selects) | Stage::Keep(selects) => {
                for select in selects {
                    if let LabelSelect::Matcher(matcher) = select {
                        names.insert(matcher.name.clone());
                    }
                }
            }
            _ => {}
        }
        match step {
            Some(Step::LineFormat(stage)) => names.extend(stage.fields().map(str::to_owned)),
            Some(Step::LabelFormat(stage)) => names.extend(stage.fields().map(str::to_owned)),
            _ => {}
        }
        self
    }

    /// True if the label of this final name is needed.
    pub(super) fn has(&self, name: &[u8]) -> bool {
        match self {
            Self::All => true,
            Self::Only(names) => names.iter().any(|n| n.as_bytes() == name),
        }
    }

    /// True if some label whose name begins with `path` and an underscore is needed.
    pub(super) fn has_below(&self, path: &[u8]) -> bool {
        match self {
            Self::All => true,
            Self::Only(names) => names.iter().any(|n| {
                let n = n.as_bytes();
                n.len() > path.len() && n.starts_with(path) && n[path.len()] == b'_'
            }),
        }
    }

    /// True if no label is needed.
    pub(super) fn is_empty(&self) -> bool {
        matches!(self, Self::Only(names) if names.is_empty())
    }

    /// After how many labels a parser may stop reading, because nobody can tell. `None`: it must read to the end.
    pub(super) fn enough(&self) -> Option<usize> {
        match self {
            Self::Only(names) if !names.contains(ERROR) && !names.contains(ERROR_DETAILS) => Some(names.len()),
            _ => None,
        }
    }

    /// The metadata that can show under one of the needed names: a label `a_extracted` may be the metadata `a`.
    pub(super) fn metadata_names(&self) -> Option<Vec<String>> {
        let Self::Only(names) = self else {
            return None;
        };
        let mut all: BTreeSet<&str> = BTreeSet::new();
        for name in names {
            all.insert(name);
            all.extend(name.strip_suffix(EXTRACTED));
        }
        Some(
            all.into_iter()
                .filter(|n| *n != ERROR && *n != ERROR_DETAILS)
                .map(str::to_owned)
                .collect(),
        )
    }
}

/// The labels that filters read.
pub(super) fn names_in_filters(filters: &[LabelFilter]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for filter in filters {
        add_filter(filter, &mut names);
    }
    names
}

fn add_filter(filter: &LabelFilter, names: &mut BTreeSet<String>) {
    let name = match filter {
        LabelFilter::Match(matcher) => &matcher.name,
        LabelFilter::Number(comparison) => &comparison.name,
        LabelFilter::Duration(comparison) => &comparison.name,
        LabelFilter::Bytes(comparison) => &comparison.name,
        LabelFilter::Ip { name, .. } => name,
        LabelFilter::And { left, right, .. } | LabelFilter::Or(left, right) => {
            add_filter(left, names);
            add_filter(right, names);
            return;
        }
    };
    names.insert(name.clone());
}
