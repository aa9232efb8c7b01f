//! Rule files of a folder: `<folder>/<tenant>/<file>` and, for the single tenant, `<folder>/<file>`.

use crate::file::{FileText, rule};
use crate::rule::Group;
use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use timberline_store::TenantId;

/// What a folder holds.
#[derive(Debug, Default)]
pub struct Loaded {
    /// Groups with at least one rule.
    pub groups: Vec<Group>,
    /// Rules, groups and files that were left out.
    pub problems: Vec<Problem>,
}

/// Why something was left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file.
    pub file: String,
    /// The group and the rule, if it is known, and what is wrong.
    pub text: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.file, self.text)
    }
}

/// Reads a file or a folder of files. What is bad in a file is left out and told; only a path that can't be read is an error.
pub fn load(path: &Path) -> io::Result<Loaded> {
    let mut loaded = Loaded::default();
    let single = TenantId::single();
    if path.is_file() {
        loaded.read(path, &single);
        return Ok(loaded);
    }
    for entry in sorted(path)? {
        if !entry.is_dir() {
            if is_yaml(&entry) {
                loaded.read(&entry, &single);
            }
            continue;
        }
        let name = entry.file_name().unwrap_or_default().to_string_lossy();
        match TenantId::new(&name) {
            Ok(tenant) => {
                for file in sorted(&entry)?.iter().filter(|file| is_yaml(file)) {
                    loaded.read(file, &tenant);
                }
            }
            Err(error) => loaded.problem(&entry, error.to_string()),
        }
    }
    Ok(loaded)
}

/// The entries of a folder in order of their names, hidden ones left out.
fn sorted(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut entries = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if !entry.file_name().to_string_lossy().starts_with('.') {
            entries.push(entry.path());
        }
    }
    entries.sort();
    Ok(entries)
}

fn is_yaml(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension == "yaml" || extension == "yml")
}

impl Loaded {
    fn problem(&mut self, path: &Path, text: String) {
        let file = path.display().to_string();
        self.problems.push(Problem { file, text });
    }

    fn read(&mut self, path: &Path, tenant: &TenantId) {
        let parsed = std::fs::read_to_string(path)
            .map_err(|error| error.to_string())
            .and_then(|text| serde_yaml::from_str::<FileText>(&text).map_err(|error| error.to_string()));
        let file = match parsed {
            Ok(file) => file,
            Err(why) => return self.problem(path, why),
        };
        let mut names = BTreeSet::new();
        for text in file.groups {
            if !names.insert(text.name.clone()) {
                self.problem(path, format!("group {:?} is there twice", text.name));
                continue;
            }
            let interval_ms = match text.interval_ms() {
                Ok(interval_ms) => interval_ms,
                Err(why) => {
                    self.problem(path, format!("group {:?}: {why}", text.name));
                    continue;
                }
            };
            let mut rules = Vec::new();
            for value in &text.rules {
                match rule(value) {
                    Ok(rule) => rules.push(rule),
                    Err(why) => self.problem(path, format!("group {:?}: {why}", text.name)),
                }
            }
            if !rules.is_empty() {
                self.groups.push(Group {
                    tenant: tenant.clone(),
                    file: path.display().to_string(),
                    name: text.name,
                    interval_ms,
                    limit: text.limit,
                    rules,
                });
            }
        }
    }
}
