// hot path: no locks, no logging, nothing allocated per line.

//! The stage `regexp` (logql.md 7.5).

use regex::bytes::{CaptureLocations, Regex};

use super::entry::Labels;
use super::needs::Needs;
use super::regex::compile_regex;

/// The stage `regexp`.
#[derive(Clone, Debug)]
pub(super) struct RegexpStage {
    regex: Regex,
    /// Number and name of each named group.
    groups: Vec<(usize, String)>,
    needs: Needs,
}

impl RegexpStage {
    /// Compiles the expression of the stage.
    pub(super) fn compile(text: &str, needs: Needs) -> Result<Self, String> {
        let regex = compile_regex(text, false, false)?;
        let named = regex.capture_names().enumerate();
        let groups: Vec<_> = named.filter_map(|(at, name)| Some((at, name?.to_owned()))).collect();
        if groups.is_empty() {
            return Err("at least one named capture must be supplied".to_owned());
        }
        Ok(Self { regex, groups, needs })
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
            labels.add(name.as_bytes(), value, &self.needs);
        }
    }
}
