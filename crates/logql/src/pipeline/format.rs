// hot path: no locks, no logging, nothing allocated per entry in steady state.

//! The stages `line_format` and `label_format` (logql.md 8).

use super::Environment;
use super::entry::{ERROR, ErrorKind, Labels};
use crate::ast::{LabelFormat, LabelSource};
use crate::template::{self, Entry, Scratch as TemplateScratch, Template};

impl template::LabelSource for Labels {
    fn get(&self, name: &[u8]) -> Option<&[u8]> {
        Labels::get(self, name)
    }

    fn visit(&self, visit: &mut dyn FnMut(&[u8], &[u8])) {
        self.visit_by_name(visit);
    }
}

/// The stage `line_format`.
#[derive(Clone, Debug)]
pub(super) struct LineFormatStage {
    template: Template,
}

impl LineFormatStage {
    /// Compiles the template of the stage.
    pub(super) fn compile(text: &str, environment: &Environment) -> Result<Self, String> {
        let template = Template::compile("line", text, environment);
        Ok(Self {
            template: template.map_err(|message| format!("invalid line template: {message}"))?,
        })
    }

    /// The labels that the stage reads.
    pub(super) fn fields(&self) -> impl Iterator<Item = &str> {
        self.template.fields()
    }

    /// True if the stage reads all labels.
    pub(super) fn reads_all_labels(&self) -> bool {
        self.template.reads_all_labels()
    }

    /// True if the stage reads the line.
    pub(super) fn reads_line(&self) -> bool {
        self.template.reads_line()
    }

    /// Writes the new line to `out`. False if the line stays.
    pub(super) fn run(
        &self,
        line: &[u8],
        timestamp_ns: i64,
        labels: &mut Labels,
        scratch: &mut TemplateScratch,
        out: &mut Vec<u8>,
    ) -> bool {
        out.clear();
        let entry = Entry {
            labels,
            line,
            timestamp_ns,
        };
        if self.template.expand(entry, scratch, out).is_err() {
            fail(labels, scratch);
            return false;
        }
        true
    }
}

fn fail(labels: &mut Labels, scratch: &TemplateScratch) {
    labels.fail(ErrorKind::TemplateFormat, |details| {
        details.extend_from_slice(scratch.message());
    });
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
    pub(super) fn compile(assignments: &[LabelFormat], environment: &Environment) -> Result<Self, String> {
        let mut compiled: Vec<Assignment> = Vec::new();
        for LabelFormat { label, source } in assignments {
            if label == ERROR {
                return Err(format!("{ERROR} cannot be formatted"));
            }
            if compiled.iter().any(|earlier| earlier.label == *label) {
                return Err(format!(
                    "multiple label name '{label}' not allowed in a single format operation"
                ));
            }
            let source = match source {
                LabelSource::Label(name) => Source::Label(name.clone()),
                LabelSource::Template(text) => {
                    let template = Template::compile("label", text, environment);
                    let invalid = |message| format!("invalid template for label '{label}': {message}");
                    Source::Template(template.map_err(invalid)?)
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

    /// True if the stage reads all labels.
    pub(super) fn reads_all_labels(&self) -> bool {
        self.templates().any(Template::reads_all_labels)
    }

    /// True if the stage reads the line.
    pub(super) fn reads_line(&self) -> bool {
        self.templates().any(Template::reads_line)
    }

    /// Assigns in the order written. All templates see the labels as they were when the first one ran.
    pub(super) fn run(
        &self,
        line: &[u8],
        timestamp_ns: i64,
        labels: &mut Labels,
        scratch: &mut LabelFormatScratch,
        template_scratch: &mut TemplateScratch,
    ) {
        let mut is_expanded = false;
        let mut outputs = 0;
        let mut start = 0;
        for Assignment { label, source } in &self.assignments {
            match source {
                Source::Label(from) => labels.rename(label.as_bytes(), from.as_bytes()),
                Source::Template(_) => {
                    if !is_expanded {
                        self.expand_all(line, timestamp_ns, labels, scratch, template_scratch);
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

    fn expand_all(
        &self,
        line: &[u8],
        timestamp_ns: i64,
        labels: &mut Labels,
        scratch: &mut LabelFormatScratch,
        template_scratch: &mut TemplateScratch,
    ) {
        scratch.text.clear();
        scratch.ends.clear();
        for template in self.templates() {
            let start = scratch.text.len();
            let entry = Entry {
                labels,
                line,
                timestamp_ns,
            };
            if template.expand(entry, template_scratch, &mut scratch.text).is_ok() {
                scratch.ends.push(Some(scratch.text.len()));
            } else {
                scratch.text.truncate(start);
                scratch.ends.push(None);
                fail(labels, template_scratch);
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
            compile_error(label_format(&[("a", "{{toString .b}}")])),
            "invalid template for label 'a': template: label:1: function \"toString\" not defined",
        );
    }
}
