// hot path: no locks, no logging, nothing allocated per entry in steady state.

//! The labels of the entry in hand: three categories, their precedence, and the error mark (logql.md 10 and 11).
//!
//! Names are numbers (`names.rs`), and each name knows the slot of its label, so that no operation looks through the labels. All values
//! lie in one arena: those of the stream at its start, where they stay until the next stream; metadata and parsed labels follow and are
//! cut off again before the next entry. A parser that makes many labels of a line has the line copied there once (`taken.rs`), and the
//! values that need no unescaping are parts of the copy.

use std::cell::RefCell;

use super::key::{END, append_label, append_number};
use super::names::{KeyId, METADATA_NAMES, NameId, Names, QUERY_NAMES, STREAM_NAMES};
use super::needs::Needed;
use super::order::Orders;
use super::span::Span;
use super::taken::TakenLine;
use crate::labels::LabelSet;

/// Name of the label that says which stage failed.
pub(super) const ERROR: &str = "__error__";
/// Name of the label that says why it failed.
pub(super) const ERROR_DETAILS: &str = "__error_details__";

/// Bound of the text that the labels of one entry may take. Deeply nested JSON and templates that double a label would
/// otherwise grow without limit; spans are 32 bits wide.
const MAX_TEXT_BYTES: usize = 64 << 20;

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
pub(super) struct Slot {
    pub(super) name: NameId,
    pub(super) value: Span,
    pub(super) category: Category,
    /// Removed or overridden. The slot stays, because the name still counts for collisions with later parsers.
    pub(super) hidden: bool,
    /// Metadata that got the suffix: its name does not push parsed labels aside.
    suffixed: bool,
}

/// A parsed label whose value is being written.
pub(super) struct OpenLabel {
    name: NameId,
    replaces: bool,
    /// Where its value begins in the arena.
    start: usize,
}

/// A place to go back to, see [`Labels::mark`].
pub(super) struct Mark {
    slots: usize,
    text: usize,
    used: usize,
}

/// The labels of one entry.
pub(super) struct Labels {
    pub(super) names: Names,
    stream: LabelSet,
    text: Vec<u8>,
    /// Stream, then metadata, then parsed.
    slots: Vec<Slot>,
    stream_slots: usize,
    stream_text: usize,
    /// Slots of the stream and the metadata.
    base_slots: usize,
    /// Bytes of the names and values of the entry's labels.
    used: usize,
    /// Counts streams and entries: what is known of a name holds in the round it was noted in.
    round: u64,
    stream_round: u64,
    /// Names that stages give come in the same order for each entry.
    last_query_name: KeyId,
    /// The labels of the stream as a list of a key.
    stream_key: Vec<u8>,
    error: Option<ErrorKind>,
    error_details: Vec<u8>,
    orders: RefCell<Orders>,
}

impl Default for Labels {
    fn default() -> Self {
        Self {
            names: Names::default(),
            stream: LabelSet::default(),
            text: Vec::new(),
            slots: Vec::new(),
            stream_slots: 0,
            stream_text: 0,
            base_slots: 0,
            used: 0,
            // Nothing is known of any name in round 0.
            round: 1,
            stream_round: 1,
            last_query_name: QUERY_NAMES,
            stream_key: Vec::new(),
            error: None,
            error_details: Vec::new(),
            orders: RefCell::default(),
        }
    }
}

impl Labels {
    /// Starts with the labels of a stream.
    pub(super) fn start_stream(&mut self, labels: &LabelSet) {
        self.stream = labels.clone();
        if self.names.are_many() {
            self.names.forget();
            self.orders.get_mut().forget();
            self.last_query_name = QUERY_NAMES;
        }
        self.text.clear();
        self.slots.clear();
        self.round += 1;
        self.stream_round = self.round;
        let mut before = STREAM_NAMES;
        for (name, value) in labels.iter() {
            let name = self.names.plain(STREAM_NAMES, &mut before, name.as_bytes());
            self.names.get_mut(name).stream_round = self.round;
            self.slots.push(Slot {
                name,
                value: Span::push(value.as_bytes(), &mut self.text),
                category: Category::Stream,
                hidden: false,
                suffixed: false,
            });
        }
        let mut key = std::mem::take(&mut self.stream_key);
        key.clear();
        self.slots.iter().for_each(|slot| self.append(slot, &mut key));
        self.stream_key = key;
        self.stream_slots = self.slots.len();
        self.base_slots = self.slots.len();
        self.stream_text = self.text.len();
    }

    /// Forgets the last entry and takes the metadata of the next one.
    pub(super) fn start_entry(&mut self, metadata: &[(&str, &[u8])]) {
        if self.names.are_many() {
            let stream = self.stream.clone();
            self.start_stream(&stream);
        }
        self.round += 1;
        self.text.truncate(self.stream_text);
        self.slots.truncate(self.stream_slots);
        for slot in &mut self.slots {
            slot.hidden = false;
        }
        self.used = 0;
        self.error = None;
        self.error_details.clear();
        let mut before = METADATA_NAMES;
        for (name, value) in metadata {
            let mut name = self.names.plain(METADATA_NAMES, &mut before, name.as_bytes());
            let suffixed = self.names.get(name).stream_round == self.stream_round;
            if suffixed {
                name = self.names.extracted(name);
            }
            let known = self.names.get_mut(name);
            known.metadata_round = self.round;
            if !suffixed {
                known.plain_metadata_round = self.round;
            }
            self.slots.push(Slot {
                name,
                value: Span::push(value, &mut self.text),
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
        let at = self.find(self.names.find(name)?)?;
        Some(self.slots[at].value.of(&self.text))
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
        if let Some(at) = self.names.find(name).and_then(|name| self.find(name)) {
            details(self.slots[at].value.of(&self.text), &mut self.error_details);
        }
    }

    /// True if some stage failed on the entry.
    pub(super) fn has_error(&self) -> bool {
        self.error.is_some()
    }

    /// Begins a label that a parser found under a key of the line, unless nobody needs it or its name is taken (logql.md 7, rules 3
    /// and 4). The value is what is written to [`Labels::value`] until [`Labels::close`].
    #[inline]
    pub(super) fn open_key(&mut self, key: KeyId, needed: &Needed) -> Option<OpenLabel> {
        let name = self.names.name_of(key);
        self.open_name(name, needed)
    }

    /// Begins a label of this name, which stands in the query, as [`Labels::open_key`] does.
    pub(super) fn open(&mut self, name: &[u8], needed: &Needed) -> Option<OpenLabel> {
        let name = self.names.plain(QUERY_NAMES, &mut self.last_query_name, name);
        self.open_name(name, needed)
    }

    #[inline]
    fn open_name(&mut self, mut name: NameId, needed: &Needed) -> Option<OpenLabel> {
        let known = self.names.get(name);
        let replaces = known.stream_round == self.stream_round || known.plain_metadata_round == self.round;
        if replaces {
            name = self.names.extracted(name);
        }
        let is_taken = self.names.get(name).parsed_round == self.round;
        if is_taken || !self.names.is_needed(name, needed) || !self.has_room_for(self.names.text(name).len()) {
            return None;
        }
        Some(OpenLabel {
            name,
            replaces,
            start: self.text.len(),
        })
    }

    /// The end of the arena, where the value of an open label is written.
    pub(super) fn value(&mut self) -> &mut Vec<u8> {
        &mut self.text
    }

    /// Ends a label whose value was written to the arena.
    pub(super) fn close(&mut self, open: &OpenLabel) {
        let value = Span::since(open.start, &self.text);
        self.close_with(open, value);
    }

    /// Ends a label whose value is a part of the line.
    #[inline]
    pub(super) fn close_with_part(&mut self, open: &OpenLabel, line: &mut TakenLine<'_>, part: &[u8]) {
        let value = line.part(part, &mut self.text);
        self.close_with(open, value);
    }

    #[inline]
    fn close_with(&mut self, open: &OpenLabel, value: Span) {
        if open.replaces {
            self.hide_base(open.name);
        }
        self.used += self.names.text(open.name).len() + value.length() as usize;
        let known = self.names.get_mut(open.name);
        known.parsed_at = self.slots.len() as u32;
        known.parsed_round = self.round;
        self.slots.push(Slot {
            name: open.name,
            value,
            category: Category::Parsed,
            hidden: false,
            suffixed: false,
        });
    }

    /// Adds a label that a parser found. True if it was taken.
    pub(super) fn add(&mut self, name: &[u8], value: &[u8], needed: &Needed) -> bool {
        let Some(open) = self.open(name, needed) else {
            return false;
        };
        self.text.extend_from_slice(value);
        self.close(&open);
        true
    }

    /// True if a label of the stream or the metadata has this name, so that a parsed one gets the suffix.
    pub(super) fn is_base(&self, name: &[u8]) -> bool {
        self.names.find(name).is_some_and(|name| {
            let known = self.names.get(name);
            known.stream_round == self.stream_round || known.plain_metadata_round == self.round
        })
    }

    /// True while labels may still be added.
    #[inline]
    pub(super) fn has_room_for(&self, bytes: usize) -> bool {
        self.used + bytes < MAX_TEXT_BYTES
    }

    /// Begins a label that overrides all others of its name.
    pub(super) fn open_override(&mut self, name: &[u8]) -> OpenLabel {
        OpenLabel {
            name: self.names.number(name),
            replaces: true,
            start: self.text.len(),
        }
    }

    /// Ends a label begun by [`Labels::open_override`].
    pub(super) fn close_override(&mut self, open: &OpenLabel) {
        self.hide_parsed(open.name);
        self.close(open);
    }

    /// Gives `to` the value of `from` and removes `from`. Nothing happens if there is no `from`.
    pub(super) fn rename(&mut self, to: &[u8], from: &[u8]) {
        let Some(from) = self.names.find(from) else {
            return;
        };
        let Some(at) = self.find(from) else {
            return;
        };
        let value = self.slots[at].value;
        let open = self.open_override(to);
        self.hide_parsed(open.name);
        self.close_with(&open, value);
        self.remove_name(from);
    }

    /// Removes a label, whatever its category; `__error__` clears the error.
    pub(super) fn remove(&mut self, name: &[u8]) {
        if name == ERROR.as_bytes() {
            self.error = None;
            self.error_details.clear();
        } else if name == ERROR_DETAILS.as_bytes() {
            self.error_details.clear();
        }
        if let Some(name) = self.names.find(name) {
            self.remove_name(name);
        }
    }

    fn remove_name(&mut self, name: NameId) {
        self.hide_parsed(name);
        self.hide_base(name);
    }

    /// Removes the labels for which `keep` says no. Error marks stay.
    pub(super) fn retain(&mut self, keep: impl Fn(&[u8], &[u8]) -> bool) {
        for at in 0..self.slots.len() {
            let slot = self.slots[at];
            if slot.hidden || keep(self.names.text(slot.name), slot.value.of(&self.text)) {
                continue;
            }
            if slot.category == Category::Parsed {
                self.hide_parsed(slot.name);
            } else {
                self.slots[at].hidden = true;
            }
        }
    }

    /// The present place, to undo what a stage added after it.
    pub(super) fn mark(&self) -> Mark {
        Mark {
            slots: self.slots.len(),
            text: self.text.len(),
            used: self.used,
        }
    }

    /// Forgets the labels that parsers added since the mark.
    pub(super) fn undo(&mut self, mark: &Mark) {
        for at in mark.slots..self.slots.len() {
            let name = self.slots[at].name;
            self.names.get_mut(name).parsed_round = 0;
            self.show_suffixed(name);
        }
        self.slots.truncate(mark.slots);
        self.text.truncate(mark.text);
        self.used = mark.used;
    }

    /// Appends the visible labels as the three lists of a key (`key.rs`), in order of name. Errors count as parsed labels.
    pub(super) fn append_by_category(&self, out: &mut Vec<u8>) {
        let mut slots = self.slots.as_slice();
        let mut category = Category::Stream;
        if self.slots[..self.stream_slots].iter().all(|slot| !slot.hidden) {
            out.extend_from_slice(&self.stream_key);
            slots = &self.slots[self.stream_slots..];
        }
        let mut orders = self.orders.borrow_mut();
        let end_lists = |from: Category, to: Category, out: &mut Vec<u8>| {
            (from as u8..to as u8).for_each(|_| append_number(END, out));
        };
        let mut marks = self.error_marks();
        for &at in orders.sorted(slots, &self.names, |category| category) {
            let slot = &slots[at as usize];
            end_lists(category, slot.category, out);
            category = slot.category;
            if category == Category::Parsed {
                marks.append_before(self.names.text(slot.name), out);
            }
            self.append(slot, out);
        }
        end_lists(category, Category::Parsed, out);
        marks.append_rest(out);
        append_number(END, out);
    }

    /// Appends those visible labels whose name passes `keep` as a list of a key, in order of name.
    pub(super) fn append_by_name(&self, keep: impl Fn(&[u8]) -> bool, out: &mut Vec<u8>) {
        let mut orders = self.orders.borrow_mut();
        let mut marks = self.error_marks();
        marks.retain(&keep);
        for &at in orders.sorted(&self.slots, &self.names, |_| Category::Parsed) {
            let slot = &self.slots[at as usize];
            let name = self.names.text(slot.name);
            marks.append_before(name, out);
            if keep(name) {
                self.append(slot, out);
            }
        }
        marks.append_rest(out);
    }

    /// Calls `visit` with name and value of each visible label, in order of name.
    pub(super) fn visit_by_name(&self, visit: &mut dyn FnMut(&[u8], &[u8])) {
        let mut orders = self.orders.borrow_mut();
        let mut marks = self.error_marks();
        for &at in orders.sorted(&self.slots, &self.names, |_| Category::Parsed) {
            let slot = &self.slots[at as usize];
            let name = self.names.text(slot.name);
            marks.take_before(name, |name, value| visit(name, value));
            visit(name, slot.value.of(&self.text));
        }
        for (name, value) in marks.0.into_iter().flatten() {
            visit(name, value);
        }
    }

    #[inline]
    fn append(&self, slot: &Slot, out: &mut Vec<u8>) {
        self.names.append_prefixed(slot.name, out);
        append_number(slot.value.length(), out);
        slot.value.append_to(&self.text, out);
    }

    fn error_marks(&self) -> ErrorMarks<'_> {
        let details = (!self.error_details.is_empty()).then_some(self.error_details.as_slice());
        ErrorMarks([
            self.error.map(|kind| (ERROR.as_bytes(), kind.text().as_bytes())),
            details.map(|details| (ERROR_DETAILS.as_bytes(), details)),
        ])
    }

    fn find(&self, name: NameId) -> Option<usize> {
        let known = self.names.get(name);
        if known.parsed_round == self.round {
            return Some(known.parsed_at as usize);
        }
        if !self.is_in_base(name) {
            return None;
        }
        let is_it = |slot: &Slot| slot.name == name && !slot.hidden;
        self.slots[..self.base_slots].iter().rposition(is_it)
    }

    /// True if a label of the stream or the metadata shows under the name, or did before it was hidden.
    fn is_in_base(&self, name: NameId) -> bool {
        let known = self.names.get(name);
        known.stream_round == self.stream_round || known.metadata_round == self.round
    }

    fn hide_parsed(&mut self, name: NameId) {
        let known = self.names.get_mut(name);
        if known.parsed_round == self.round {
            known.parsed_round = 0;
            self.slots[known.parsed_at as usize].hidden = true;
        }
    }

    fn hide_base(&mut self, name: NameId) {
        if self.is_in_base(name) {
            for slot in &mut self.slots[..self.base_slots] {
                slot.hidden |= slot.name == name;
            }
        }
    }

    /// Shows metadata again that gave its suffixed name to a parsed label.
    fn show_suffixed(&mut self, name: NameId) {
        for slot in &mut self.slots[self.stream_slots..self.base_slots] {
            if slot.suffixed && slot.name == name {
                slot.hidden = false;
            }
        }
    }
}

/// Name and value of the labels that tell of an error, in order of name, as far as they are not yet written.
struct ErrorMarks<'a>([Option<(&'a [u8], &'a [u8])>; 2]);

impl ErrorMarks<'_> {
    fn retain(&mut self, keep: impl Fn(&[u8]) -> bool) {
        for mark in &mut self.0 {
            *mark = mark.filter(|(name, _)| keep(name));
        }
    }

    /// Takes out those in front of a name.
    #[inline]
    fn take_before(&mut self, name: &[u8], mut taken: impl FnMut(&[u8], &[u8])) {
        for mark in &mut self.0 {
            if let Some((name, value)) = mark.take_if(|(mark, _)| *mark < name) {
                taken(name, value);
            }
        }
    }

    /// Appends those in front of a name.
    #[inline]
    fn append_before(&mut self, name: &[u8], out: &mut Vec<u8>) {
        self.take_before(name, |name, value| append_label(name, value, out));
    }

    /// Appends those that are left.
    fn append_rest(self, out: &mut Vec<u8>) {
        for (name, value) in self.0.into_iter().flatten() {
            append_label(name, value, out);
        }
    }
}

#[cfg(test)]
mod tests;
