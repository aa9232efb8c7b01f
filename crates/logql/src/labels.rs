//! Label sets: the identity of a stream, of a result stream and of a series.

use std::fmt;
use std::sync::Arc;

/// One label: a name and its value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Label {
    /// Name; `[a-zA-Z_][a-zA-Z0-9_]*` for labels of streams.
    pub name: Box<str>,
    /// Value; any text. An absent label and one with an empty value are equal for matchers.
    pub value: Box<str>,
}

/// A set of labels, sorted by name, each name at most once. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LabelSet(Arc<[Label]>);

impl Default for LabelSet {
    fn default() -> Self {
        Self(Arc::from([]))
    }
}

impl LabelSet {
    /// The set of these labels. Where a name is given twice, the first value stays.
    pub fn from_labels(mut labels: Vec<Label>) -> Self {
        labels.sort_by(|a, b| a.name.cmp(&b.name));
        labels.dedup_by(|later, first| later.name == first.name);
        Self(labels.into())
    }

    /// The set of these name and value pairs. Where a name is given twice, the first value stays.
    pub fn from_pairs<N: Into<Box<str>>, V: Into<Box<str>>>(pairs: impl IntoIterator<Item = (N, V)>) -> Self {
        let label = |(name, value): (N, V)| Label {
            name: name.into(),
            value: value.into(),
        };
        Self::from_labels(pairs.into_iter().map(label).collect())
    }

    /// The value of `name`, if the set has it.
    pub fn get(&self, name: &str) -> Option<&str> {
        let at = self.0.binary_search_by(|l| l.name.as_ref().cmp(name)).ok()?;
        Some(&self.0[at].value)
    }

    /// The labels in order of their names.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &str)> + Clone {
        self.0.iter().map(|l| (l.name.as_ref(), l.value.as_ref()))
    }

    /// The labels in order of their names.
    pub fn as_slice(&self) -> &[Label] {
        &self.0
    }

    /// Number of labels.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True for the set without labels.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Prints `{a="b", c="d"}`, values quoted as in a selector.
impl fmt::Display for LabelSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{")?;
        for (i, (name, value)) in self.iter().enumerate() {
            if i > 0 {
                f.write_str(", ")?;
            }
            write!(f, "{name}=")?;
            write_quoted(f, value)?;
        }
        f.write_str("}")
    }
}

/// Writes `text` as a double-quoted string of the language (logql.md 2.4), such that lexing gives `text` back.
pub fn write_quoted(f: &mut impl fmt::Write, text: &str) -> fmt::Result {
    f.write_char('"')?;
    for c in text.chars() {
        match c {
            '"' => f.write_str("\\\"")?,
            '\\' => f.write_str("\\\\")?,
            '\n' => f.write_str("\\n")?,
            '\r' => f.write_str("\\r")?,
            '\t' => f.write_str("\\t")?,
            c if (c as u32) < 0x20 || c as u32 == 0x7f => write!(f, "\\x{:02x}", c as u32)?,
            c => f.write_char(c)?,
        }
    }
    f.write_char('"')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorted_unique_and_printed_as_a_selector() {
        let set = LabelSet::from_pairs([("b", "2"), ("a", "x\"\n"), ("b", "3")]);
        assert_eq!(set.to_string(), r#"{a="x\"\n", b="2"}"#);
        assert_eq!((set.get("b"), set.get("c"), set.len()), (Some("2"), None, 2));
    }
}
