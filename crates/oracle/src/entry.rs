//! Stored rows, and entries on their way through a pipeline: labels in three categories (logql.md 10).

use std::collections::{BTreeMap, BTreeSet};

/// Names and values, by name.
pub type Labels = BTreeMap<String, String>;

/// Label of the kind of a failure.
pub(crate) const ERROR: &str = "__error__";
/// Label of its text.
pub(crate) const DETAILS: &str = "__error_details__";

/// One stored entry.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Labels of its stream.
    pub labels: Labels,
    /// Nanoseconds since 1970.
    pub timestamp_ns: i64,
    /// The line.
    pub line: String,
    /// Structured metadata; each name once.
    pub metadata: Vec<(String, String)>,
}

/// The rows without exact repetitions; the first copy stays (logql.md 12).
pub(crate) fn stored_once(rows: &[Row]) -> Vec<Row> {
    let mut seen = BTreeSet::new();
    let new = |row: &&Row| {
        let mut metadata = row.metadata.clone();
        metadata.sort();
        seen.insert((row.timestamp_ns, row.line.clone(), row.labels.clone(), metadata))
    };
    rows.iter().filter(new).cloned().collect()
}

/// Labels as a selector: the text by which answers are ordered.
pub fn labels_text(labels: &Labels) -> String {
    let mut text = String::from("{");
    for (name, value) in labels {
        if text.len() > 1 {
            text.push_str(", ");
        }
        text.push_str(&format!("{name}=\"{}\"", escape(value)));
    }
    text + "}"
}

fn escape(value: &str) -> String {
    let escaped = |c: char| match c {
        '"' => "\\\"".to_owned(),
        '\\' => "\\\\".to_owned(),
        '\n' => "\\n".to_owned(),
        '\r' => "\\r".to_owned(),
        '\t' => "\\t".to_owned(),
        c if c.is_ascii_control() => format!("\\x{:02x}", c as u32),
        c => c.to_string(),
    };
    value.chars().map(escaped).collect()
}

/// An entry between two stages.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) timestamp_ns: i64,
    pub(crate) line: String,
    /// Labels of the stream.
    stream: Labels,
    /// Structured metadata, under the names they show as.
    metadata: Labels,
    /// What parsers and `label_format` made.
    parsed: Labels,
    /// Names of the labels the entry came with: parsed ones stay apart from them even where they were removed since.
    given: BTreeSet<String>,
    /// Kind, and whether there are details: their words are free.
    error: Option<(String, bool)>,
}

impl Entry {
    pub(crate) fn new(row: &Row) -> Self {
        let mut metadata = Labels::new();
        for (name, value) in &row.metadata {
            let taken = row.labels.contains_key(name);
            let name = if taken {
                format!("{name}_extracted")
            } else {
                name.clone()
            };
            metadata.insert(name, value.clone());
        }
        Self {
            given: row.labels.keys().chain(metadata.keys()).cloned().collect(),
            timestamp_ns: row.timestamp_ns,
            line: row.line.clone(),
            stream: row.labels.clone(),
            metadata,
            parsed: Labels::new(),
            error: None,
        }
    }

    /// The value of a label as stages see it.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        if name == ERROR {
            return self.error.as_ref().map(|e| e.0.as_str());
        }
        let found = self
            .parsed
            .get(name)
            .or(self.metadata.get(name))
            .or(self.stream.get(name));
        found.map(String::as_str)
    }

    /// All labels but those of the failure.
    pub(crate) fn labels(&self) -> Labels {
        let mut all = self.stream.clone();
        all.extend(self.metadata.clone());
        all.extend(self.parsed.clone());
        all
    }

    /// All labels of the answer to a log query.
    pub(crate) fn labels_with_error(&self) -> Labels {
        let mut all = self.labels();
        if let Some((kind, details)) = &self.error {
            all.insert(ERROR.into(), kind.clone());
            if *details {
                all.insert(DETAILS.into(), String::new());
            }
        }
        all
    }

    /// Adds what a parser found (logql.md 7, common rules 2 to 4); the name is sanitised already.
    pub(crate) fn extract(&mut self, name: &str, value: &str) {
        if let Some(name) = self.free_name(name) {
            self.parsed.insert(name, value.to_owned());
        }
    }

    /// Adds the empty label that stands for something a parser was asked for and did not find; one that collides is left out.
    pub(crate) fn extract_nothing(&mut self, name: &str) {
        if self.free_name(name).is_some_and(|free| free == name) {
            self.extract(name, "");
        }
    }

    /// The name under which an extracted label goes, if it goes anywhere.
    fn free_name(&self, name: &str) -> Option<String> {
        let mut name = name.to_owned();
        if self.given.contains(&name) {
            name.push_str("_extracted");
        }
        (!name.is_empty() && !self.parsed.contains_key(&name)).then_some(name)
    }

    /// Sets a label, whatever had its name before.
    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.parsed.insert(name.to_owned(), value.to_owned());
    }

    pub(crate) fn remove(&mut self, name: &str) {
        match (name, &mut self.error) {
            (ERROR, _) => self.error = None,
            (DETAILS, Some((_, details))) => *details = false,
            _ => {
                self.stream.remove(name);
                self.metadata.remove(name);
                self.parsed.remove(name);
            }
        }
    }

    /// Marks the entry as failed; only the first failure is kept (logql.md 11).
    pub(crate) fn fail(&mut self, kind: &str, details: bool) {
        if self.error.is_none() {
            self.error = Some((kind.into(), details));
        }
    }

    pub(crate) fn error(&self) -> Option<&str> {
        self.get(ERROR)
    }
}
