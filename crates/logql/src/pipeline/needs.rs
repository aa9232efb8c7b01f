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
            Some(Step::LineFormat(stage)) if stage.reads_all_labels() => return Self::All,
            Some(Step::LabelFormat(stage)) if stage.reads_all_labels() => return Self::All,
            Some(Step::LineFormat(stage)) => names.extend(stage.fields().map(str::to_owned)),
            Some(Step::LabelFormat(stage)) => names.extend(stage.fields().map(str::to_owned)),
            _ => {}
        }
        self
    }

    /// What a stage must bring forth; `stage` is a number that no other stage has.
    pub(super) fn of_stage(&self, stage: usize) -> Needed {
        let (names, enough) = match self {
            Self::All => (None, None),
            Self::Only(names) => {
                let sees_errors = names.contains(ERROR) || names.contains(ERROR_DETAILS);
                let enough = (!sees_errors).then_some(names.len());
                (Some(names.iter().cloned().collect()), enough)
            }
        };
        Needed { stage, names, enough }
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

/// The labels that one stage must bring forth.
#[derive(Clone, Debug)]
pub(super) struct Needed {
    stage: usize,
    /// `None`: every label.
    names: Option<Vec<String>>,
    enough: Option<usize>,
}

impl Needed {
    /// The number of the stage.
    pub(super) fn stage(&self) -> usize {
        self.stage
    }

    /// True if every label is needed.
    #[inline]
    pub(super) fn are_all(&self) -> bool {
        self.names.is_none()
    }

    /// True if no label is needed.
    pub(super) fn is_empty(&self) -> bool {
        self.names.as_ref().is_some_and(Vec::is_empty)
    }

    /// True if the label of this final name is needed.
    pub(super) fn has(&self, name: &[u8]) -> bool {
        let has = |names: &Vec<String>| names.iter().any(|n| n.as_bytes() == name);
        self.names.as_ref().is_none_or(has)
    }

    /// True if some label whose name begins with `path` and an underscore is needed.
    pub(super) fn has_below(&self, path: &[u8]) -> bool {
        let is_below = |name: &String| {
            let name = name.as_bytes();
            name.len() > path.len() && name.starts_with(path) && name[path.len()] == b'_'
        };
        self.names.as_ref().is_none_or(|names| names.iter().any(is_below))
    }

    /// After how many labels a parser may stop reading, because nobody can tell. `None`: it must read to the end.
    pub(super) fn enough(&self) -> Option<usize> {
        self.enough
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

#[cfg(test)]
mod tests {
    use crate::ast::Stage;
    use crate::pipeline::testing::{
        TestEntry, entry, json, label_filter, label_format, line_filter, line_format, logfmt, names, run,
    };
    use crate::pipeline::{Pipeline, Wants};

    fn only(names: &[&str]) -> Wants {
        Wants::Only(names.iter().map(|name| (*name).to_owned()).collect())
    }

    fn parsed(stages: &[Stage], wants: &Wants, line: &str) -> String {
        let entry = TestEntry {
            stream: &[("app", "a")],
            ..entry(line)
        };
        run(stages, wants, &entry).map_or("dropped".to_owned(), |outcome| outcome.labels.parsed.to_string())
    }

    #[test]
    fn parsers_nobody_needs_do_not_run() {
        assert_eq!(parsed(&[json()], &only(&[]), "z"), "{}");
        assert_eq!(parsed(&[json(), Stage::Drop(names(&["x"]))], &only(&[]), "z"), "{}");
        let fails = |stages: &[Stage], wants: &Wants| {
            assert!(
                parsed(stages, wants, "z").contains("JSONParserErr"),
                "{stages:?} {wants:?}"
            );
        };
        fails(&[json()], &only(&["app"]));
        fails(&[json()], &only(&["level"]));
        fails(&[json(), label_filter("foo", "=", "")], &only(&[]));
        fails(&[json()], &Wants::All);
        fails(&[json()], &only(&["__error__"]));
        assert_eq!(
            parsed(&[json(), label_filter("__error__", "=", "")], &only(&[]), "z"),
            "dropped"
        );
    }

    /// Damage in an object of which no label is needed shows where errors are looked for.
    #[test]
    fn who_asks_for_errors_gets_those_of_unneeded_objects() {
        let f = |line: &str, want: &str| {
            for wants in [Wants::All, only(&["c"]), only(&["c", "a"])] {
                let stages = [json(), label_filter("__error__", "=", "")];
                let found = parsed(&stages, &wants, line);
                assert_eq!(found == "dropped", want == "dropped", "{line} {wants:?}: {found}");
            }
        };
        f(r#"{"a":{"b":1},"c":1}"#, "kept");
        f(r#"{"a":{"b":x[1]},"c":1}"#, "dropped");
        f(r#"{"c":1,"a":{"b":{"d":nul}}}"#, "dropped");
        f(r#"{"c":1,"a":{"b" 1}}"#, "dropped");
        f(r#"{"c":1,"a":{"b":{"d":1}}"#, "dropped");
    }

    #[test]
    fn parsers_extract_only_what_is_needed() {
        let line = r#"{"a":1,"b":{"c":2,"d":3},"app":"in","e":4}"#;
        let f = |stages: &[Stage], wants: &[&str], want: &str| {
            assert_eq!(parsed(stages, &only(wants), line), want, "{stages:?} {wants:?}");
        };
        f(&[json()], &["a"], r#"{a="1"}"#);
        f(&[json()], &["b_d", "e"], r#"{b_d="3", e="4"}"#);
        f(&[json()], &["app_extracted"], r#"{app_extracted="in"}"#);
        f(&[json()], &["app"], "{}");
        f(&[json(), label_filter("a", "=", "1")], &["e"], r#"{a="1", e="4"}"#);
        f(
            &[json(), label_format(&[("x", "@a"), ("y", "{{.e}}")])],
            &["x"],
            r#"{e="4", x="1", y="4"}"#,
        );
        f(
            &[json(), line_format("a={{.e}}"), logfmt(&[], &[])],
            &["a"],
            r#"{a="1", e="4"}"#,
        );
    }

    #[test]
    fn metadata_that_can_show() {
        let f = |stages: &[Stage], wants: &Wants, want: Option<&[&str]>| {
            let names = Pipeline::compile(stages, wants).unwrap().metadata_names();
            assert_eq!(
                names,
                want.map(|names| names.iter().map(|name| (*name).to_owned()).collect())
            );
        };
        f(&[], &Wants::All, None);
        f(&[], &only(&[]), Some(&[]));
        f(&[], &only(&["a_extracted", "__error__"]), Some(&["a", "a_extracted"]));
        f(&[label_filter("x", "=", "")], &only(&["a"]), Some(&["a", "x"]));
        f(
            &[label_format(&[("a", "@b"), ("c", "{{.d}}")])],
            &only(&[]),
            Some(&["b", "d"]),
        );
    }

    #[test]
    fn what_becomes_of_the_line() {
        let f = |stages: &[Stage], wants: &Wants, leading: usize, needs_line: bool, changes_line: bool| {
            let pipeline = Pipeline::compile(stages, wants).unwrap();
            let facts = (
                pipeline.line_filters().len(),
                pipeline.needs_line(),
                pipeline.changes_line(),
            );
            assert_eq!(facts, (leading, needs_line, changes_line), "{stages:?}");
        };
        let contains = || line_filter("|=", &["x"]);
        f(&[], &Wants::All, 0, false, false);
        f(&[contains()], &Wants::All, 1, true, false);
        f(
            &[contains(), label_filter("a", "=", "1"), contains(), json(), contains()],
            &Wants::All,
            3,
            true,
            false,
        );
        f(&[contains(), line_format("y"), contains()], &Wants::All, 1, true, true);
        f(&[label_filter("a", "=", "1")], &Wants::All, 0, false, false);
        f(&[line_format("{{.a}}")], &Wants::All, 0, false, true);
        f(&[line_filter("|=", &[""])], &Wants::All, 0, false, false);
        f(&[json()], &only(&[]), 0, false, false);
    }
}
