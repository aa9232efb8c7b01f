// hot path: no locks, no logging, nothing allocated per entry in steady state.

//! The labels of the entry in hand: three categories, their precedence, and the error mark (logql.md 10 and 11).
//!
//! All text lies in one arena. The labels of the stream are copied to its start once per stream; metadata and parsed labels
//! follow and are cut off again before the next entry.

use std::cell::RefCell;

use ahash::RandomState;
use hashbrown::HashTable;

use super::needs::Needs;
use crate::labels::LabelSet;

/// Name of the label that says which stage failed.
pub(super) const ERROR: &str = "__error__";
/// Name of the label that says why it failed.
pub(super) const ERROR_DETAILS: &str = "__error_details__";
/// Appended to the name of a label that gives way to one of the stream or of the structured metadata.
pub(super) const EXTRACTED: &[u8] = b"_extracted";

/// Bound of the text that the labels of one entry may take. Deeply nested JSON and templates that double a label would
/// otherwise grow without limit; spans are 32 bits wide.
const MAX_TEXT_BYTES: usize = 64 << 20;

/// From this number of parsed labels on they are found through a hash table, so that a line with ten thousand members does not
/// take ten thousand times ten thousand comparisons.
const INDEX_FROM: usize = 24;

/// What went wrong with an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ErrorKind {
    JsonParser,
    LogfmtParser,
    LabelFilter,
    SampleExtraction,
    TemplateFormat,
}

impl ErrorKind {
    /// The value of `__error__`.
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::JsonParser => "JSONParserErr",
            Self::LogfmtParser => "LogfmtParserErr",
            Self::LabelFilter => "LabelFilterErr",
            Self::SampleExtraction => "SampleExtractionErr",
            Self::TemplateFormat => "TemplateFormatErr",
        }
    }
}

/// Where a label comes from (logql.md 10.1). The order is that of increasing precedence in a lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Category {
    Stream,
    Metadata,
    Parsed,
}

#[derive(Clone, Copy, Debug)]
struct Span {
    start: u32,
    end: u32,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    name: Span,
    value: Span,
    category: Category,
    /// Removed or overridden. The slot stays, because the name still counts for collisions with later parsers.
    hidden: bool,
    /// Metadata that got the suffix: its name does not push parsed labels aside.
    suffixed: bool,
}

/// A parsed label whose value is being written.
pub(super) struct OpenLabel {
    name: Span,
    replaces: bool,
}

/// A place to go back to, see [`Labels::mark`].
pub(super) struct Mark {
    slots: usize,
    text: usize,
}

/// The labels of one entry.
#[derive(Default)]
pub(super) struct Labels {
    text: Vec<u8>,
    /// Stream, then metadata, then parsed.
    slots: Vec<Slot>,
    stream_slots: usize,
    stream_text: usize,
    /// Slots of the stream and the metadata.
    base_slots: usize,
    error: Option<ErrorKind>,
    error_details: Vec<u8>,
    order: RefCell<Vec<u32>>,
    /// Slots of the parsed labels by name; empty while they are few.
    index: HashTable<u32>,
    hasher: RandomState,
}

impl Labels {
    /// Starts with the labels of a stream.
    pub(super) fn start_stream(&mut self, labels: &LabelSet) {
        self.text.clear();
        self.slots.clear();
        for (name, value) in labels.iter() {
            let name = self.push_text(name.as_bytes());
            let value = self.push_text(value.as_bytes());
            self.slots.push(Slot {
                name,
                value,
                category: Category::Stream,
                hidden: false,
                suffixed: false,
            });
        }
        self.stream_slots = self.slots.len();
        self.stream_text = self.text.len();
    }

    /// Forgets the last entry and takes the metadata of the next one.
    pub(super) fn start_entry(&mut self, metadata: &[(&str, &[u8])]) {
        self.text.truncate(self.stream_text);
        self.slots.truncate(self.stream_slots);
        for slot in &mut self.slots {
            slot.hidden = false;
        }
        self.index.clear();
        self.error = None;
        self.error_details.clear();
        for (name, value) in metadata {
            let mut span = self.push_text(name.as_bytes());
            let suffixed = self.slots[..self.stream_slots]
                .iter()
                .any(|s| self.text_of(s.name) == name.as_bytes());
            if suffixed {
                self.text.extend_from_slice(EXTRACTED);
                span.end = position(&self.text);
            }
            let value = self.push_text(value);
            self.slots.push(Slot {
                name: span,
                value,
                category: Category::Metadata,
                hidden: false,
                suffixed,
            });
        }
        self.base_slots = self.slots.len();
    }

    /// The effective value of a label.
    pub(super) fn get(&self, name: &[u8]) -> Option<&[u8]> {
        if name.starts_with(b"__error") {
            if name == ERROR.as_bytes() {
                return self.error.map(|kind| kind.text().as_bytes());
            }
            if name == ERROR_DETAILS.as_bytes() {
                return (!self.error_details.is_empty()).then_some(self.error_details.as_slice());
            }
        }
        self.find(name).map(|at| self.text_of(self.slots[at].value))
    }

    /// Marks the entry as failed. The first error stays. The details are written by `details`.
    pub(super) fn fail(&mut self, kind: ErrorKind, details: impl FnOnce(&mut Vec<u8>)) {
        if self.error.is_none() {
            self.error = Some(kind);
            self.error_details.clear();
            details(&mut self.error_details);
        }
    }

    /// Marks the entry as failed because the value of a label does not convert. The first error stays. The details are
    /// written by `details`, which gets the value.
    pub(super) fn fail_conversion(&mut self, kind: ErrorKind, name: &[u8], details: impl FnOnce(&[u8], &mut Vec<u8>)) {
        if self.error.is_some() {
            return;
        }
        self.error = Some(kind);
        self.error_details.clear();
        if let Some(at) = self.find(name) {
            let value = self.slots[at].value;
            details(
                &self.text[value.start as usize..value.end as usize],
                &mut self.error_details,
            );
        }
    }

    /// True if some stage failed on the entry.
    pub(super) fn has_error(&self) -> bool {
        self.error.is_some()
    }

    /// Begins a label that a parser found, unless nobody needs it or its name is taken (logql.md 7, rules 3 and 4). The
    /// value is what is written to [`Labels::value`] until [`Labels::close`].
    pub(super) fn open(&mut self, name: &[u8], needs: &Needs) -> Option<OpenLabel> {
        let start = position(&self.text);
        self.text.extend_from_slice(name);
        let replaces = self.is_base(name);
        if replaces {
            self.text.extend_from_slice(EXTRACTED);
        }
        let span = Span {
            start,
            end: position(&self.text),
        };
        if self.text.len() < MAX_TEXT_BYTES
            && needs.has(self.text_of(span))
            && self.find_parsed(self.text_of(span)).is_none()
        {
            return Some(OpenLabel { name: span, replaces });
        }
        self.text.truncate(start as usize);
        None
    }

    /// The end of the arena, where the value of an open label is written.
    pub(super) fn value(&mut self) -> &mut Vec<u8> {
        &mut self.text
    }

    /// Ends a label.
    pub(super) fn close(&mut self, open: &OpenLabel) {
        let value = Span {
            start: open.name.end,
            end: position(&self.text),
        };
        if open.replaces {
            self.hide_base(open.name);
        }
        self.slots.push(Slot {
            name: open.name,
            value,
            category: Category::Parsed,
            hidden: false,
            suffixed: false,
        });
        match self.slots.len() - self.base_slots {
            INDEX_FROM => self.index_from(self.base_slots),
            count if count > INDEX_FROM => self.index_from(self.slots.len() - 1),
            _ => {}
        }
    }

    /// Adds a label that a parser found. True if it was taken.
    pub(super) fn add(&mut self, name: &[u8], value: &[u8], needs: &Needs) -> bool {
        let Some(open) = self.open(name, needs) else {
            return false;
        };
        self.text.extend_from_slice(value);
        self.close(&open);
        true
    }

    /// True if a label of the stream or the metadata has this name, so that a parsed one gets the suffix.
    pub(super) fn is_base(&self, name: &[u8]) -> bool {
        self.slots[..self.base_slots]
            .iter()
            .any(|s| !s.suffixed && self.text_of(s.name) == name)
    }

    /// True while labels may still be added.
    pub(super) fn has_room_for(&self, bytes: usize) -> bool {
        self.text.len() + bytes < MAX_TEXT_BYTES
    }

    /// Begins a label that overrides all others of its name.
    pub(super) fn open_override(&mut self, name: &[u8]) -> OpenLabel {
        OpenLabel {
            name: self.push_text(name),
            replaces: true,
        }
    }

    /// Ends a label begun by [`Labels::open_override`].
    pub(super) fn close_override(&mut self, open: &OpenLabel) {
        let name = self.text_of(open.name);
        if let Some(at) = self.find_parsed(name) {
            self.slots[at].hidden = true;
        }
        self.close(open);
    }

    /// Gives `to` the value of `from` and removes `from`. Nothing happens if there is no `from`.
    pub(super) fn rename(&mut self, to: &[u8], from: &[u8]) {
        let Some(at) = self.find(from) else {
            return;
        };
        let value = self.slots[at].value;
        let open = self.open_override(to);
        self.text.extend_from_within(value.start as usize..value.end as usize);
        self.close_override(&open);
        self.remove(from);
    }

    /// Removes a label, whatever its category; `__error__` clears the error.
    pub(super) fn remove(&mut self, name: &[u8]) {
        if name == ERROR.as_bytes() {
            self.error = None;
            self.error_details.clear();
        } else if name == ERROR_DETAILS.as_bytes() {
            self.error_details.clear();
        }
        for at in 0..self.slots.len() {
            if self.text_of(self.slots[at].name) == name {
                self.slots[at].hidden = true;
            }
        }
    }

    /// Removes the labels for which `keep` says no. Error marks stay.
    pub(super) fn retain(&mut self, keep: impl Fn(&[u8], &[u8]) -> bool) {
        for at in 0..self.slots.len() {
            let slot = self.slots[at];
            if !slot.hidden && !keep(self.text_of(slot.name), self.text_of(slot.value)) {
                self.slots[at].hidden = true;
            }
        }
    }

    /// The present place, to undo what a stage added after it.
    pub(super) fn mark(&self) -> Mark {
        Mark {
            slots: self.slots.len(),
            text: self.text.len(),
        }
    }

    /// Forgets the labels that parsers added since the mark.
    pub(super) fn undo(&mut self, mark: &Mark) {
        for at in mark.slots..self.slots.len() {
            self.show_suffixed(self.slots[at].name);
        }
        self.slots.truncate(mark.slots);
        self.text.truncate(mark.text);
        self.index.clear();
        if self.slots.len() - self.base_slots >= INDEX_FROM {
            self.index_from(self.base_slots);
        }
    }

    /// Calls `visit` for each visible label, in order of category and name. Errors count as parsed labels.
    pub(super) fn visit_by_category(&self, visit: impl FnMut(Category, &[u8], &[u8])) {
        self.visit_in_order(|category| category, visit);
    }

    /// Calls `visit` for each visible label, in order of name.
    pub(super) fn visit_by_name(&self, mut visit: impl FnMut(&[u8], &[u8])) {
        self.visit_in_order(|_| Category::Parsed, |_, name, value| visit(name, value));
    }

    fn visit_in_order(&self, rank: impl Fn(Category) -> Category, mut visit: impl FnMut(Category, &[u8], &[u8])) {
        let mut order = self.order.borrow_mut();
        order.clear();
        order.extend(
            (0u32..)
                .zip(&self.slots)
                .filter(|(_, slot)| !slot.hidden)
                .map(|(at, _)| at),
        );
        order.sort_unstable_by_key(|&at| {
            let slot = &self.slots[at as usize];
            (rank(slot.category), self.text_of(slot.name))
        });
        let error = self.error.map(|kind| (ERROR.as_bytes(), kind.text().as_bytes()));
        let details = (!self.error_details.is_empty()).then_some((ERROR_DETAILS.as_bytes(), &*self.error_details));
        let mut errors = error.into_iter().chain(details).peekable();
        for &at in order.iter() {
            let slot = &self.slots[at as usize];
            let place = (rank(slot.category), self.text_of(slot.name));
            while let Some((name, value)) = errors.next_if(|(name, _)| (Category::Parsed, *name) < place) {
                visit(Category::Parsed, name, value);
            }
            visit(slot.category, place.1, self.text_of(slot.value));
        }
        for (name, value) in errors {
            visit(Category::Parsed, name, value);
        }
    }

    fn find(&self, name: &[u8]) -> Option<usize> {
        let is_it = |s: &Slot| !s.hidden && self.text_of(s.name) == name;
        self.find_parsed(name)
            .or_else(|| self.slots[..self.base_slots].iter().rposition(is_it))
    }

    fn find_parsed(&self, name: &[u8]) -> Option<usize> {
        let is_it = |s: &Slot| !s.hidden && self.text_of(s.name) == name;
        if self.index.is_empty() {
            let parsed = &self.slots[self.base_slots..];
            return parsed.iter().position(is_it).map(|at| self.base_slots + at);
        }
        let found = self
            .index
            .find(self.hasher.hash_one(name), |&at| is_it(&self.slots[at as usize]));
        found.map(|&at| at as usize)
    }

    /// Takes the slots from `start` on into the index.
    fn index_from(&mut self, start: usize) {
        let Self {
            index,
            slots,
            text,
            hasher,
            ..
        } = self;
        let hash = |at: u32| {
            let name = slots[at as usize].name;
            hasher.hash_one(&text[name.start as usize..name.end as usize])
        };
        for at in start as u32..slots.len() as u32 {
            index.insert_unique(hash(at), at, |&at| hash(at));
        }
    }

    fn hide_base(&mut self, name: Span) {
        for at in 0..self.base_slots {
            if self.text_of(self.slots[at].name) == self.text_of(name) {
                self.slots[at].hidden = true;
            }
        }
    }

    /// Shows metadata again that gave its suffixed name to a parsed label.
    fn show_suffixed(&mut self, name: Span) {
        for at in self.stream_slots..self.base_slots {
            if self.slots[at].suffixed && self.text_of(self.slots[at].name) == self.text_of(name) {
                self.slots[at].hidden = false;
            }
        }
    }

    fn push_text(&mut self, text: &[u8]) -> Span {
        let start = position(&self.text);
        self.text.extend_from_slice(text);
        Span {
            start,
            end: position(&self.text),
        }
    }

    fn text_of(&self, span: Span) -> &[u8] {
        &self.text[span.start as usize..span.end as usize]
    }
}

fn position(text: &[u8]) -> u32 {
    u32::try_from(text.len()).expect("bug: label text of one entry exceeds 4 GiB")
}

/// Appends `key` as the name of a label (logql.md 10.3). Appends nothing if nothing is left.
pub(super) fn sanitize(key: &[u8], first_part: bool, out: &mut Vec<u8>) {
    let key = key.trim_ascii();
    if first_part && key.first().is_some_and(u8::is_ascii_digit) {
        out.push(b'_');
    }
    let start = out.len();
    out.extend_from_slice(key);
    if key.iter().all(|&b| is_name_byte(b)) {
        return;
    }
    out.truncate(start);
    let is_continuation = |b: u8| b & 0xc0 == 0x80;
    out.extend(
        key.iter()
            .filter(|&&b| !is_continuation(b))
            .map(|&b| if is_name_byte(b) { b } else { b'_' }),
    );
}

fn is_name_byte(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'_'
}

#[cfg(test)]
mod tests {
    use crate::ast::Stage;
    use crate::labels::LabelSet;
    use crate::pipeline::Wants;
    use crate::pipeline::testing::{TestEntry, entry, json, label_format, labels_after, logfmt, names, run};

    #[test]
    fn categories_are_told_apart() {
        let entry = TestEntry {
            stream: &[("app", "api"), ("env", "e")],
            metadata: &[("trace_id", "t1")],
            line: br#"{"app":"in","a":1}"#,
        };
        let labels = run(&[json(), label_format(&[("env", "x")])], &Wants::All, &entry)
            .unwrap()
            .labels;
        assert_eq!(labels.stream, LabelSet::from_pairs([("app", "api")]));
        assert_eq!(labels.metadata, LabelSet::from_pairs([("trace_id", "t1")]));
        assert_eq!(
            labels.parsed,
            LabelSet::from_pairs([("a", "1"), ("app_extracted", "in"), ("env", "x")])
        );
        let failed = run(&[json()], &Wants::All, &TestEntry { line: b"x", ..entry })
            .unwrap()
            .labels;
        assert_eq!(failed.parsed.get("__error__"), Some("JSONParserErr"));
    }

    #[test]
    fn one_name_in_all_categories() {
        let f = |stages: &[Stage], want: &str| {
            let entry = TestEntry {
                stream: &[("app", "a")],
                metadata: &[("app", "b")],
                line: br#"{"app":"c"}"#,
            };
            assert_eq!(labels_after(stages, &entry), want);
        };
        f(&[], r#"app="a", app_extracted="b""#);
        f(&[Stage::Unpack], r#"app="a", app_extracted="b""#);
        f(&[json()], r#"app="a", app_extracted="c""#);
    }

    #[test]
    fn the_first_parser_wins() {
        let line = r#"{"a":"json","msg":"a=logfmt b=2"}"#;
        let stages = [json(), Stage::LineFormat("{{.msg}}".to_owned()), logfmt(&[], &[])];
        assert_eq!(
            labels_after(&stages, &entry(line)),
            r#"a="json", b="2", msg="a=logfmt b=2""#
        );
    }

    #[test]
    fn wide_entries_behave_as_narrow_ones() {
        let members = |from: usize, to: usize| {
            (from..to)
                .map(|n| format!("\"k{n}\":{n}"))
                .collect::<Vec<_>>()
                .join(",")
        };
        for count in [1, 23, 24, 25, 26, 3000] {
            // Each member twice: the first value stays. The object that does not end takes its members with it.
            let line = format!(
                "{{{},{},\"o\":{{{}",
                members(0, count),
                members(0, count),
                members(count, 2 * count)
            );
            let mut stages = vec![
                json(),
                label_format(&[("k0", "new"), ("x", "@k1")]),
                label_format(&[("k1", "@k2")]),
            ];
            stages.push(Stage::Drop(names(&["__error__"])));
            stages.push(json());
            stages.push(Stage::Drop(names(&["__error__"])));
            let labels = run(&stages, &Wants::All, &entry(&line)).unwrap().labels.parsed;
            let mut want: Vec<(String, String)> = (0..count).map(|n| (format!("k{n}"), n.to_string())).collect();
            want[0].1 = "new".to_owned();
            if count > 2 {
                want[1].1 = "2".to_owned();
                want.push(("x".to_owned(), "1".to_owned()));
            }
            assert_eq!(labels, LabelSet::from_pairs(want), "{count}");
        }
    }

    #[test]
    fn the_first_error_stays() {
        let stages = [json(), logfmt(&["strict"], &[])];
        assert!(labels_after(&stages, &entry("=x")).starts_with(r#"__error__="JSONParserErr""#));
    }
}
