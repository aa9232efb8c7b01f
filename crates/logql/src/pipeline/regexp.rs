// hot path: no locks, no logging, nothing allocated per line.

//! The stage `regexp` (logql.md 7.5).

use regex::bytes::{CaptureLocations, Regex};

use super::entry::Labels;
use super::needs::Needed;
use crate::regexp::{RegexError, compile_regex};

/// The stage `regexp`.
#[derive(Clone, Debug)]
pub(super) struct RegexpStage {
    regex: Regex,
    /// Number and name of each named group.
    groups: Vec<(usize, String)>,
    needed: Needed,
}

impl RegexpStage {
    /// Compiles the expression of the stage.
    pub(super) fn compile(text: &str, needed: Needed) -> Result<Self, String> {
        let regex = compile_regex(text, false, false).map_err(|error| match error {
            RegexError::DuplicateName(name) => format!("duplicate extracted label name '{name}'"),
            other => other.to_string(),
        })?;
        let named = regex.capture_names().enumerate();
        let groups: Vec<_> = named.filter_map(|(at, name)| Some((at, name?.to_owned()))).collect();
        if groups.is_empty() {
            return Err("at least one named capture must be supplied".to_owned());
        }
        Ok(Self { regex, groups, needed })
    }

    /// Room for the groups of a match, reused from line to line.
    pub(super) fn scratch(&self) -> CaptureLocations {
        self.regex.capture_locations()
    }

    /// Adds the named groups of the first match. A group that took no part is empty.
    pub(super) fn run(&self, line: &[u8], labels: &mut Labels, locations: &mut CaptureLocations) {
        if self.regex.captures_read(locations, line).is_none() {
            return;
        }
        for (group, name) in &self.groups {
            let value = locations.get(*group).map_or(&b""[..], |(start, end)| &line[start..end]);
            labels.add(name.as_bytes(), value, &self.needed);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::ast::Stage;
    use crate::pipeline::testing::{TestEntry, compile_error, entry, labels_after};

    #[test]
    fn named_groups_become_labels() {
        let f = |regex: &str, line: &str, want: &str| {
            let entry = TestEntry {
                stream: &[("host", "h")],
                ..entry(line)
            };
            assert_eq!(
                labels_after(&[Stage::Regexp(regex.to_owned())], &entry),
                want,
                "{regex} on {line}"
            );
        };
        f(
            r"(?P<user>\w+) from (?P<ip>[0-9.]+)",
            "root from 1.2.3.4",
            r#"host="h", ip="1.2.3.4", user="root""#,
        );
        f(r"(\w+) (?P<b>\w+)", "x y z", r#"b="y", host="h""#);
        f(r"(?P<a>q)", "x", r#"host="h""#);
        f(r"^(?P<opt>zzz)?Failed", "Failed", r#"host="h", opt="""#);
        f(r"(?P<host>\w+)", "x", r#"host="h", host_extracted="x""#);
    }

    #[test]
    fn refuses_expressions_without_use() {
        let f = |regex: &str, want: &str| {
            let message = compile_error(Stage::Regexp(regex.to_owned()));
            assert!(
                message.starts_with("invalid regexp parser: ") && message.contains(want),
                "{message}"
            );
        };
        f("(no names)", "at least one named capture must be supplied");
        f("[", "error parsing regexp");
        f("(?P<a>.)(?P<a>.)", "duplicate extracted label name 'a'");
    }
}
