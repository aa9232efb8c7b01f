// hot path: no locks, no logging, nothing allocated per entry in steady state.

//! The stages `line_format` and `label_format` (logql.md 8).

use super::CompileError;
use super::entry::{ERROR, ErrorKind, Labels};
use super::template::Template;
use crate::ast::{LabelFormat, LabelSource};

/// The stage `line_format`.
#[derive(Clone, Debug)]
pub(super) struct LineFormatStage {
    template: Template,
}

impl LineFormatStage {
    /// Compiles the template of the stage.
    pub(super) fn compile(text: &str) -> Result<Self, CompileError> {
        Ok(Self {
            template: Template::compile(text).map_err(|error| error.within("invalid line template"))?,
        })
    }

    /// The labels that the stage reads.
    pub(super) fn fields(&self) -> impl Iterator<Item = &str> {
        self.template.fields()
    }

    /// True if the stage reads the line.
    pub(super) fn reads_line(&self) -> bool {
        self.template.reads_line()
    }

    /// Writes the new line to `out`. False if the line stays.
    pub(super) fn run(&self, line: &[u8], labels: &mut Labels, out: &mut Vec<u8>) -> bool {
        out.clear();
        let expanded = self.template.expand(labels, line, out);
        if let Err(error) = expanded {
            labels.fail(ErrorKind::TemplateFormat, |details| error.write(details));
            return false;
        }
        true
    }
}

/// The stage `label_format`.
#[derive(Clone, Debug)]
pub(super) struct LabelFormatStage {
    assignments: Vec<Assignment>,
}

#[derive(Clone, Debug)]
struct Assignment {
    label: String,
    source: Source,
}

#[derive(Clone, Debug)]
enum Source {
    Label(String),
    Template(Template),
}

/// Buffers of the stage, reused from entry to entry.
#[derive(Default)]
pub(super) struct LabelFormatScratch {
    text: Vec<u8>,
    /// End of the output of each template in `text`; `None` where it failed.
    ends: Vec<Option<usize>>,
}

impl LabelFormatStage {
    /// Compiles the assignments of the stage.
    pub(super) fn compile(assignments: &[LabelFormat]) -> Result<Self, CompileError> {
        let mut compiled: Vec<Assignment> = Vec::new();
        for LabelFormat { label, source } in assignments {
            if label == ERROR {
                return Err(CompileError::Invalid(format!("{ERROR} cannot be formatted")));
            }
            if compiled.iter().any(|earlier| earlier.label == *label) {
                let message = format!("multiple label name '{label}' not allowed in a single format operation");
                return Err(CompileError::Invalid(message));
            }
            let source = match source {
                LabelSource::Label(name) => Source::Label(name.clone()),
                LabelSource::Template(text) => {
                    let context = format!("invalid template for label '{label}'");
                    Source::Template(Template::compile(text).map_err(|error| error.within(&context))?)
                }
            };
            compiled.push(Assignment {
                label: label.clone(),
                source,
            });
        }
        Ok(Self { assignments: compiled })
    }

    /// True if the stage gives a value to a label of this name.
    pub(super) fn makes(&self, name: &str) -> bool {
        self.assignments.iter().any(|assignment| assignment.label == name)
    }

    /// The labels that the stage's templates read.
    pub(super) fn fields(&self) -> impl Iterator<Item = &str> {
        self.templates().flat_map(Template::fields)
    }

    /// True if the stage reads the line.
    pub(super) fn reads_line(&self) -> bool {
        self.templates().any(Template::reads_line)
    }

    /// Assigns in the order written. All templates see the labels as they were when the first one ran.
    pub(super) fn run(&self, line: &[u8], labels: &mut Labels, scratch: &mut LabelFormatScratch) {
        let mut is_expanded = false;
        let mut outputs = 0;
        let mut start = 0;
        for Assignment { label, source } in &self.assignments {
            match source {
                Source::Label(from) => labels.rename(label.as_bytes(), from.as_bytes()),
                Source::Template(_) => {
                    if !is_expanded {
                        self.expand_all(line, labels, scratch);
                        is_expanded = true;
                    }
                    if let Some(end) = scratch.ends[outputs] {
                        let text = &scratch.text[start..end];
                        if labels.has_room_for(label.len() + text.len()) {
                            let open = labels.open_override(label.as_bytes());
                            labels.value().extend_from_slice(text);
                            labels.close_override(&open);
                        }
                        start = end;
                    }
                    outputs += 1;
                }
            }
        }
    }

    fn expand_all(&self, line: &[u8], labels: &mut Labels, scratch: &mut LabelFormatScratch) {
        scratch.text.clear();
        scratch.ends.clear();
        for template in self.templates() {
            let start = scratch.text.len();
            match template.expand(labels, line, &mut scratch.text) {
                Ok(()) => scratch.ends.push(Some(scratch.text.len())),
                Err(error) => {
                    scratch.text.truncate(start);
                    scratch.ends.push(None);
                    labels.fail(ErrorKind::TemplateFormat, |details| error.write(details));
                }
            }
        }
    }

    fn templates(&self) -> impl Iterator<Item = &Template> {
        self.assignments
            .iter()
            .filter_map(|assignment| match &assignment.source {
                Source::Template(template) => Some(template),
                Source::Label(_) => None,
            })
    }
}

#[cfg(test)]
mod tests {
    use crate::pipeline::testing::{
        TestEntry, compile_error, entry, label_format, labels_after, line_after, line_filter, line_format, logfmt,
    };

    #[test]
    fn lines_are_rewritten() {
        let f = |template: &str, want: &str| {
            let stages = [logfmt(&[], &[]), line_format(template)];
            assert_eq!(line_after(&stages, &entry("a=1 b=two")), want, "{template}");
        };
        f("{{.a}} and {{ .b }}", "1 and two");
        f("{{.nothere}}", "");
        f("plain", "plain");
        f("", "");
        f("x {{- .a -}} y", "x1y");
        f("[{{__line__}}]", "[a=1 b=two]");
        f("{{/* note }} */}}{{.a}}", "1");
        f("{{`}}`}}", "}}");
    }

    #[test]
    fn later_stages_see_the_new_line() {
        let stages = [
            logfmt(&[], &[]),
            line_format("c={{.a}}"),
            line_filter("|=", &["c=1"]),
            logfmt(&[], &[]),
        ];
        assert_eq!(labels_after(&stages, &entry("a=1")), r#"a="1", c="1""#);
        assert_eq!(
            labels_after(&[line_format("x"), line_filter("|=", &["a"])], &entry("a=1")),
            "dropped"
        );
    }

    #[test]
    fn labels_are_renamed_and_made() {
        let f = |assignments: &[(&str, &str)], want: &str| {
            let entry = TestEntry {
                stream: &[("app", "s")],
                metadata: &[("user", "u")],
                ..entry("a=1 b=2")
            };
            assert_eq!(
                labels_after(&[logfmt(&[], &[]), label_format(assignments)], &entry),
                want,
                "{assignments:?}"
            );
        };
        f(&[("x", "@a")], r#"app="s", b="2", user="u", x="1""#);
        f(&[("a", "@b"), ("b", "@a")], r#"app="s", b="2", user="u""#);
        f(&[("a", "@a")], r#"app="s", b="2", user="u""#);
        f(&[("x", "@none")], r#"a="1", app="s", b="2", user="u""#);
        f(&[("x", "{{.a}}-{{.b}}")], r#"a="1", app="s", b="2", user="u", x="1-2""#);
        f(&[("x", "{{.none}}")], r#"a="1", app="s", b="2", user="u", x="""#);
        f(
            &[("x", "{{.a}}"), ("y", "{{.x}}")],
            r#"a="1", app="s", b="2", user="u", x="1", y="""#,
        );
        f(
            &[("x", "@a"), ("y", "{{.x}}")],
            r#"app="s", b="2", user="u", x="1", y="1""#,
        );
        f(&[("app", "t")], r#"a="1", app="t", b="2", user="u""#);
        f(&[("user", "v")], r#"a="1", app="s", b="2", user="v""#);
        f(&[("a", "9")], r#"a="9", app="s", b="2", user="u""#);
        f(&[("u", "@user"), ("p", "@app")], r#"a="1", b="2", p="s", u="u""#);
    }

    #[test]
    fn refuses_and_names() {
        let f = |message: String, want: &str| assert!(message.contains(want), "{message}");
        f(
            compile_error(label_format(&[("a", "x"), ("a", "y")])),
            "multiple label name 'a' not allowed in a single format operation",
        );
        f(
            compile_error(label_format(&[("__error__", "x")])),
            "__error__ cannot be formatted",
        );
        f(
            compile_error(line_format("{{.a")),
            "invalid line template: template: line:1: unclosed action",
        );
        f(
            compile_error(line_format("{{.a | ToUpper}}")),
            "template action \"ToUpper\"",
        );
        f(
            compile_error(line_format("{{if .a}}x{{end}}")),
            "template action \"if\"",
        );
        f(
            compile_error(line_format("{{__timestamp__}}")),
            "template action \"__timestamp__\"",
        );
        f(compile_error(line_format("{{.}}")), "template action \".\"");
    }
}
