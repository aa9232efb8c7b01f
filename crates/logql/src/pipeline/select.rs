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

#[cfg(test)]
mod tests {
    use crate::ast::{LabelSelect, Stage};
    use crate::pipeline::testing::{TestEntry, entry, json, labels_after, matcher, names};

    fn after(stages: &[Stage], line: &str) -> String {
        labels_after(
            stages,
            &TestEntry {
                stream: &[("app", "s")],
                metadata: &[("user", "u")],
                ..entry(line)
            },
        )
    }

    #[test]
    fn drop_removes_the_listed() {
        let line = r#"{"a":"1","b":"2","app":"x"}"#;
        let f = |selects: Vec<LabelSelect>, want: &str| assert_eq!(after(&[json(), Stage::Drop(selects)], line), want);
        f(names(&["a", "app"]), r#"app_extracted="x", b="2", user="u""#);
        f(names(&["user", "none"]), r#"a="1", app="s", app_extracted="x", b="2""#);
        f(
            vec![LabelSelect::Matcher(matcher("a", "=", "1"))],
            r#"app="s", app_extracted="x", b="2", user="u""#,
        );
        f(
            vec![LabelSelect::Matcher(matcher("a", "=~", "2|3"))],
            r#"a="1", app="s", app_extracted="x", b="2", user="u""#,
        );
    }

    #[test]
    fn keep_removes_the_others() {
        let line = r#"{"a":"1","b":"2","app":"x"}"#;
        let f = |selects: Vec<LabelSelect>, want: &str| assert_eq!(after(&[json(), Stage::Keep(selects)], line), want);
        f(names(&["a", "user"]), r#"a="1", user="u""#);
        f(
            vec![
                LabelSelect::Matcher(matcher("a", "=", "2")),
                LabelSelect::Name("b".to_owned()),
            ],
            r#"b="2""#,
        );
    }

    #[test]
    fn errors_are_kept_and_dropped() {
        let keep = Stage::Keep(names(&["app"]));
        assert!(after(&[json(), keep], "plain").starts_with(r#"__error__="JSONParserErr", __error_details__="#));
        let f = |selects: Vec<LabelSelect>, is_clean: bool| {
            let out = after(&[json(), Stage::Drop(selects)], "plain");
            assert_eq!(out == r#"app="s", user="u""#, is_clean, "{out}");
        };
        f(names(&["__error__"]), true);
        f(
            vec![LabelSelect::Matcher(matcher("__error__", "=", "JSONParserErr"))],
            true,
        );
        f(
            vec![LabelSelect::Matcher(matcher("__error__", "=", "LogfmtParserErr"))],
            false,
        );
    }
}
