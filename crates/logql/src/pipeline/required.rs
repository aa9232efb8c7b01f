//! What an entry must hold to come through a pipeline, for readers that can tell without reading which entries do not.

use regex_syntax::hir::Hir;

use super::entry::{ERROR, ERROR_DETAILS};
use super::label_filter::LabelTest;
use super::names::EXTRACTED;
use super::{LineMatcher, Pipeline, Step};

/// What every entry holds that comes through a pipeline. It may say less than is known, never more.
///
/// ```
/// use timberline_logql::ast::Expr;
/// use timberline_logql::pipeline::{Pipeline, Wants};
///
/// let Expr::Log(log) = timberline_logql::parse(r#"{app="a"} |= "timeout" | trace_id="4bf92f" | json"#).unwrap() else { panic!() };
/// let required = Pipeline::compile(&log.stages, &Wants::All).unwrap().required();
/// assert_eq!(required.lines.len(), 1);
/// assert_eq!((required.labels[0][0].name.as_str(), &*required.labels[0][0].value), ("trace_id", &b"4bf92f"[..]));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Required {
    /// Each of these matches somewhere in the line as stored. Case counts where the expression says so.
    pub lines: Vec<Hir>,
    /// Of each of these groups one label is of the entry's stream or structured metadata.
    pub labels: Vec<Vec<RequiredLabel>>,
}

/// A label and its value, which is not empty. Metadata of that name shows under it unless the stream has a label of the same
/// name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequiredLabel {
    /// Name of the label; never one that metadata of another name could show under.
    pub name: String,
    /// Its value.
    pub value: Vec<u8>,
}

impl Pipeline {
    /// What an entry must hold to come through: by the line filters that see the line as stored, and by the label filters that
    /// stand before any stage that makes labels.
    pub fn required(&self) -> Required {
        let lines = self.line_filters.iter().filter_map(LineMatcher::required);
        let mut labels = Vec::new();
        for step in self.steps.iter().take_while(|step| !step.makes_labels()) {
            if let Step::LabelFilter(test) = step {
                append_required(test, &mut labels);
            }
        }
        Required {
            lines: lines.cloned().collect(),
            labels,
        }
    }
}

impl Step {
    /// True if a label may exist behind the stage that was neither of the stream nor of the metadata, or under another name.
    fn makes_labels(&self) -> bool {
        self.is_parser() || matches!(self, Self::LabelFormat(_))
    }
}

fn append_required(test: &LabelTest, groups: &mut Vec<Vec<RequiredLabel>>) {
    match test {
        LabelTest::Text(matcher) => {
            let name = &matcher.name;
            // Marks of errors are no labels. Metadata that a label of the stream pushes aside shows under a name with a suffix.
            let is_plain = name != ERROR && name != ERROR_DETAILS && !name.as_bytes().ends_with(EXTRACTED);
            let Some(values) = matcher.required_values().filter(|_| is_plain) else {
                return;
            };
            let label = |value: &[u8]| RequiredLabel {
                name: name.clone(),
                value: value.to_vec(),
            };
            groups.push(values.into_iter().map(label).collect());
        }
        LabelTest::And(left, right) => {
            append_required(left, groups);
            append_required(right, groups);
        }
        LabelTest::Or(left, right) => {
            let (mut of_left, mut of_right) = (Vec::new(), Vec::new());
            append_required(left, &mut of_left);
            append_required(right, &mut of_right);
            // A group of each side holds one of both; which of several is taken matters little.
            if let (Some(mut group), Some(other)) = (of_left.pop(), of_right.pop()) {
                group.extend(other);
                groups.push(group);
            }
        }
        LabelTest::Number(_) | LabelTest::Duration(_) | LabelTest::Bytes(_) | LabelTest::Ip { .. } => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ast::Expr;
    use crate::pipeline::Wants;
    use regex_syntax::ParserBuilder;

    fn required(stages: &str) -> Required {
        let expression = crate::parse(&format!("{{a=\"b\"}} {stages}")).unwrap();
        let Expr::Log(log) = expression else {
            panic!("not a log query");
        };
        Pipeline::compile(&log.stages, &Wants::All).unwrap().required()
    }

    #[test]
    fn lines_hold_what_filters_ask_for() {
        let f = |stages: &str, want: &[&str]| {
            let expressions = required(stages).lines;
            let found: Vec<String> = expressions.iter().map(ToString::to_string).collect();
            let parse = |e: &&str| ParserBuilder::new().utf8(false).build().parse(e).unwrap().to_string();
            let want: Vec<String> = want.iter().map(parse).collect();
            assert_eq!(found, want, "{stages}");
        };
        f(r#"|= "ab.""#, &["ab\\."]);
        f(r#"|= "ab" |= "cd""#, &["ab", "cd"]);
        f(r#"|= "ab" or "xy""#, &["ab|xy"]);
        f(r#"|~ "ab.*c" or "xy""#, &["ab.*c|xy"]);
        f(r#"|~ "(?i)ab""#, &["(?i)ab"]);
        f(r#"|~ ".*ab.*""#, &["ab"]);
        f(r#"|~ "\\d{4}""#, &["[0-9]{4}"]);
        f(r#"|> "a <_> b""#, &["a (?s-u:.)+ b"]);
        f(r#"| json |= "ab""#, &["ab"]);
        f(r#"|= "ab" | line_format "x" |= "x""#, &["ab"]);
        for nothing in [
            "",
            r#"|= """#,
            r#"|= "ab" or """#,
            r#"!= "ab""#,
            r#"!~ "ab""#,
            r#"!> "ab <_>""#,
            r#"|= ip("10.0.0.1")"#,
            r#"|= "ab" or ip("10.0.0.1")"#,
            r#"| line_format "x" |= "ab""#,
            r#"| decolorize |= "ab""#,
            r#"| unpack |= "ab""#,
        ] {
            let says_nothing = |e: &Hir| e.properties().minimum_len() == Some(0);
            assert!(required(nothing).lines.iter().all(says_nothing), "{nothing}");
        }
    }

    #[test]
    fn labels_are_of_stream_or_metadata() {
        let f = |stages: &str, want: &str| {
            let label = |l: &RequiredLabel| format!("{}={}", l.name, String::from_utf8_lossy(&l.value));
            let group = |g: &Vec<RequiredLabel>| g.iter().map(label).collect::<Vec<_>>().join("|");
            let found: Vec<String> = required(stages).labels.iter().map(group).collect();
            assert_eq!(found.join(" & "), want, "{stages}");
        };
        f(r#"| x="1""#, "x=1");
        f(r#"| x="1" | y="2""#, "x=1 & y=2");
        f(r#"| x="1", y="2""#, "x=1 & y=2");
        f(r#"| x="1" and y!="2""#, "x=1");
        f(r#"| x="1" or y="2""#, "x=1|y=2");
        f(r#"| x="1" or x="2" or x="3""#, "x=1|x=2|x=3");
        f(r#"| x="1" or y!="2""#, "");
        f(r#"| x="1" or y > 2"#, "");
        f(r#"| x=~"1|2""#, "x=1|x=2");
        f(r#"| x=~"1|""#, "");
        f(r#"| x=~"1.*""#, "");
        f(r#"| x!~"1|2""#, "");
        f(r#"| x!="1""#, "");
        f(r#"| x="""#, "");
        f(r#"| x > 5"#, "");
        f(r#"| x=ip("10.0.0.1")"#, "");
        f(r#"| x_extracted="1""#, "");
        f(r#"| __error__="JSONParserErr""#, "");
        f(r#"| __error_details__="a""#, "");
        f(r#"| line_format "z" | drop y | keep x | decolorize | x="1""#, "x=1");
        for maker in [
            "json",
            r#"json y="z""#,
            "logfmt",
            r#"logfmt y="z""#,
            r#"regexp "(?P<y>.)""#,
            r#"pattern "<y> ""#,
            "unpack",
            "label_format x=y",
        ] {
            f(&format!(r#"| w="0" | {maker} | x="1""#), "w=0");
        }
    }
}
