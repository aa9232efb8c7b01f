// hot path: no locks, no logging, nothing allocated per entry in steady state.

//! Canonical bytes of label sets: equal sets have equal bytes, so that label sets can be interned without building them.
//!
//! A key of all labels is three lists (stream, metadata, parsed), each closed by [`END`]; a key of a group is one list.
//! A list is `[length of name + 1, name, length of value, value]*`, lengths as 32-bit little-endian numbers, in order of name.

use super::entry::Labels;
use crate::ast::Grouping;
use crate::labels::LabelSet;

/// Stands where the length of a name would stand.
pub(super) const END: u32 = 0;

/// The labels of an entry by their category (logql.md 10.1).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct EntryLabels {
    /// Labels of the stream.
    pub stream: LabelSet,
    /// Structured metadata.
    pub metadata: LabelSet,
    /// Labels made by parsers and formatting stages, and error marks.
    pub parsed: LabelSet,
}

impl EntryLabels {
    /// All labels as one set; parsed ones hide metadata, metadata hides the stream.
    pub fn merged(&self) -> LabelSet {
        LabelSet::from_pairs(self.parsed.iter().chain(self.metadata.iter()).chain(self.stream.iter()))
    }
}

/// Which labels make up the identity of a series.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupLabels {
    without: bool,
    /// Sorted, unique.
    names: Vec<Box<str>>,
}

impl GroupLabels {
    /// Only these labels.
    pub fn by<N: Into<Box<str>>>(names: impl IntoIterator<Item = N>) -> Self {
        Self::new(false, names)
    }

    /// All labels but these.
    pub fn without<N: Into<Box<str>>>(names: impl IntoIterator<Item = N>) -> Self {
        Self::new(true, names)
    }

    /// All labels.
    pub fn all() -> Self {
        Self {
            without: true,
            names: Vec::new(),
        }
    }

    fn new<N: Into<Box<str>>>(without: bool, names: impl IntoIterator<Item = N>) -> Self {
        let mut names: Vec<Box<str>> = names.into_iter().map(Into::into).collect();
        names.sort_unstable();
        names.dedup();
        Self { without, names }
    }
}

impl From<&Grouping> for GroupLabels {
    fn from(grouping: &Grouping) -> Self {
        Self::new(grouping.without, grouping.labels.iter().map(String::as_str))
    }
}

/// Appends the key of all labels.
pub(super) fn append_labels_key(labels: &Labels, out: &mut Vec<u8>) {
    labels.append_by_category(out);
}

/// Appends the key of the labels that a grouping keeps. An absent label is left out.
pub(super) fn append_group_key(labels: &Labels, group: &GroupLabels, out: &mut Vec<u8>) {
    if group.without {
        labels.append_by_name(|name| !group.names.iter().any(|n| n.as_bytes() == name), out);
    } else {
        for name in &group.names {
            if let Some(value) = labels.get(name.as_bytes()) {
                append_label(name.as_bytes(), value, out);
            }
        }
    }
}

/// The labels behind the bytes of [`Processed::labels_key`](super::Processed::labels_key). Invalid UTF-8 is replaced.
///
/// # Panics
/// If the bytes were not made by `labels_key`.
pub fn decode_labels_key(key: &[u8]) -> EntryLabels {
    let mut reader = Reader(key);
    EntryLabels {
        stream: reader.list(),
        metadata: reader.list(),
        parsed: reader.list(),
    }
}

/// The labels behind the bytes of [`Processed::group_key`](super::Processed::group_key). Invalid UTF-8 is replaced.
///
/// # Panics
/// If the bytes were not made by `group_key`.
pub fn decode_group_key(key: &[u8]) -> LabelSet {
    Reader(key).list()
}

/// Appends a label as it stands in a list.
pub(super) fn append_label(name: &[u8], value: &[u8], out: &mut Vec<u8>) {
    append_number(length(name) + 1, out);
    out.extend_from_slice(name);
    append_number(length(value), out);
    out.extend_from_slice(value);
}

/// Appends a length.
pub(super) fn append_number(number: u32, out: &mut Vec<u8>) {
    out.extend_from_slice(&number.to_le_bytes());
}

fn length(text: &[u8]) -> u32 {
    u32::try_from(text.len()).expect("bug: label text exceeds 4 GiB")
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    /// Reads up to the end of a list or of the key.
    fn list(&mut self) -> LabelSet {
        let mut pairs: Vec<(String, String)> = Vec::new();
        while !self.0.is_empty() {
            let length = self.number();
            if length == END {
                break;
            }
            let name = self.text(length - 1);
            let length = self.number();
            pairs.push((name, self.text(length)));
        }
        LabelSet::from_pairs(pairs)
    }

    fn number(&mut self) -> u32 {
        let (number, rest) = self.0.split_first_chunk().expect("bug: damaged label key");
        self.0 = rest;
        u32::from_le_bytes(*number)
    }

    fn text(&mut self, length: u32) -> String {
        let (text, rest) = self
            .0
            .split_at_checked(length as usize)
            .expect("bug: damaged label key");
        self.0 = rest;
        String::from_utf8_lossy(text).into_owned()
    }
}
