// hot path: no locks, no logging, nothing allocated per entry in steady state.

//! Names of labels as small numbers, so that the text of a name is looked at once and not in every line.
//!
//! A *name* is what a label is called; a *key* is what a line calls it, before sanitising (logql.md 10.3). Keys of nested objects hang
//! below the key of the object around them:
//!
//! ```text
//!   {"user-id":1,"http":{"code":200}}      keys: user-id -> name user_id
//!                                                http
//!                                                  `- code -> name http_code
//! ```
//!
//! The lines of a stream tend to have the same keys in the same order. So each key remembers which key came after it the last time, and
//! a parser compares the line with that guess before it looks for the end of the key: where the guess holds, a key costs one comparison.
//!
//! Numbers are good for one runner until [`Names::forget`].

use std::cell::Cell;

use ahash::RandomState;
use hashbrown::HashTable;

use super::needs::Needed;
use super::span::Span;

/// Suffix of a label that gives way to one of the stream or of the structured metadata.
pub(super) const EXTRACTED: &[u8] = b"_extracted";

/// From this many names or keys, or bytes of them, on all are forgotten before the next entry: keys that are never seen again, such as
/// identifiers, must not fill the memory.
const MAX_COUNT: usize = 16 << 10;
const MAX_TEXT_BYTES: usize = 1 << 20;

/// Bytes in front of each name: its length plus one, as in the keys of label sets (`key.rs`).
const PREFIX_BYTES: u32 = 4;

/// The number of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NameId(u32);

impl NameId {
    pub(super) fn number(self) -> u32 {
        self.0
    }
}

/// The number of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct KeyId(u32);

/// Stands for a name not yet looked up.
const UNKNOWN: NameId = NameId(u32::MAX);

/// Where keys of a kind begin.
pub(super) const JSON_KEYS: KeyId = KeyId(0);
pub(super) const LOGFMT_KEYS: KeyId = KeyId(1);
/// Names of the stream's labels, as they are.
pub(super) const STREAM_NAMES: KeyId = KeyId(2);
/// Names of structured metadata, as they are.
pub(super) const METADATA_NAMES: KeyId = KeyId(3);
/// Names that stand in the query, as they are.
pub(super) const QUERY_NAMES: KeyId = KeyId(4);
const ROOTS: [KeyId; 5] = [JSON_KEYS, LOGFMT_KEYS, STREAM_NAMES, METADATA_NAMES, QUERY_NAMES];

/// What is known of a name.
pub(super) struct Name {
    text: Span,
    /// The name with the suffix.
    extracted: NameId,
    /// The name that was asked for after this one the last time.
    next: Cell<NameId>,
    /// Answers of [`Needed::has`] per stage.
    needed: Answers,
    /// Where the visible parsed label of the name stands, and of which entry that is said.
    pub(super) parsed_at: u32,
    pub(super) parsed_round: u64,
    /// The stream of which one label has the name.
    pub(super) stream_round: u64,
    /// The entry of which some metadata shows under the name, with or without the suffix.
    pub(super) metadata_round: u64,
    /// The entry of which some metadata has the name without the suffix.
    pub(super) plain_metadata_round: u64,
}

struct Key {
    parent: KeyId,
    /// As in the line.
    raw: Span,
    /// What it adds to the name.
    part: Span,
    /// Bound of the length of the name.
    name_bytes: u32,
    name: NameId,
    /// What came next the last time.
    next: KeyId,
    /// Answers to a question of each stage.
    answers: Answers,
}

/// A yes or no per stage, for as many stages as a pipeline sensibly has.
#[derive(Clone, Copy, Default)]
struct Answers {
    known: u64,
    yes: u64,
}

/// The names and keys that a runner has seen.
pub(super) struct Names {
    text: Vec<u8>,
    names: Vec<Name>,
    keys: Vec<Key>,
    by_text: HashTable<NameId>,
    by_key: HashTable<KeyId>,
    hasher: RandomState,
    /// The name that was asked for last.
    last: Cell<NameId>,
    scratch: Vec<u8>,
    chain: Vec<KeyId>,
}

impl Default for Names {
    fn default() -> Self {
        let mut names = Self {
            text: Vec::new(),
            names: Vec::new(),
            keys: Vec::new(),
            by_text: HashTable::new(),
            by_key: HashTable::new(),
            hasher: RandomState::new(),
            last: Cell::new(NameId(0)),
            scratch: Vec::new(),
            chain: Vec::new(),
        };
        names.forget();
        names
    }
}

impl Names {
    /// True if it is time to [`Names::forget`].
    pub(super) fn are_many(&self) -> bool {
        self.text.len() > MAX_TEXT_BYTES || self.names.len() > MAX_COUNT || self.keys.len() > MAX_COUNT
    }

    /// How many names are known.
    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.names.len()
    }

    /// Forgets all; numbers handed out before mean nothing any more.
    pub(super) fn forget(&mut self) {
        // What one entry with very many names took is given back.
        if self.text.capacity() > 4 * MAX_TEXT_BYTES {
            self.text = Vec::new();
        }
        self.text.clear();
        self.names.clear();
        self.last.set(NameId(0));
        self.names.shrink_to(2 * MAX_COUNT);
        self.keys.clear();
        self.keys.shrink_to(2 * MAX_COUNT);
        self.by_text.clear();
        self.by_text.shrink_to(2 * MAX_COUNT, |_| 0);
        self.by_key.clear();
        self.by_key.shrink_to(2 * MAX_COUNT, |_| 0);
        for root in ROOTS {
            self.keys.push(Key {
                parent: root,
                raw: Span::default(),
                part: Span::default(),
                name_bytes: 0,
                name: UNKNOWN,
                next: root,
                answers: Answers::default(),
            });
        }
    }

    /// The text of a name.
    #[inline]
    pub(super) fn text(&self, name: NameId) -> &[u8] {
        self.names[name.0 as usize].text.of(&self.text)
    }

    /// Appends the text of a name behind its length plus one, four bytes, little-endian.
    #[inline]
    pub(super) fn append_prefixed(&self, name: NameId, out: &mut Vec<u8>) {
        let Span { start, end } = self.names[name.0 as usize].text;
        let start = start - PREFIX_BYTES;
        Span { start, end }.append_to(&self.text, out);
    }

    #[inline]
    pub(super) fn get(&self, name: NameId) -> &Name {
        &self.names[name.0 as usize]
    }

    #[inline]
    pub(super) fn get_mut(&mut self, name: NameId) -> &mut Name {
        &mut self.names[name.0 as usize]
    }

    /// The number of a name, if it has one. Stages ask for the same names in the same order in each entry, so that here, too, a guess
    /// comes first.
    #[inline]
    pub(super) fn find(&self, text: &[u8]) -> Option<NameId> {
        let last = self.names.get(self.last.get().0 as usize)?;
        let guess = last.next.get();
        let span = self.names[guess.0 as usize].text;
        if span.length() as usize == text.len() && span.is_start_of(&self.text, text) {
            self.last.set(guess);
            return Some(guess);
        }
        let found = self.look_up(text)?;
        last.next.set(found);
        self.last.set(found);
        Some(found)
    }

    fn look_up(&self, text: &[u8]) -> Option<NameId> {
        let is_it = |&name: &NameId| self.text(name) == text;
        self.by_text.find(self.hasher.hash_one(text), is_it).copied()
    }

    /// The number of a name.
    pub(super) fn number(&mut self, text: &[u8]) -> NameId {
        if let Some(name) = self.look_up(text) {
            return name;
        }
        let length = u32::try_from(text.len() + 1).expect("bug: name of a label exceeds 4 GiB");
        self.text.extend_from_slice(&length.to_le_bytes());
        let text = Span::push(text, &mut self.text);
        let name = NameId(self.names.len() as u32);
        self.names.push(Name {
            text,
            extracted: UNKNOWN,
            next: Cell::new(NameId(0)),
            needed: Answers::default(),
            parsed_at: 0,
            parsed_round: 0,
            stream_round: 0,
            metadata_round: 0,
            plain_metadata_round: 0,
        });
        let Self {
            by_text,
            hasher,
            names,
            text: all,
            ..
        } = self;
        let hash = |name: &NameId| hasher.hash_one(names[name.0 as usize].text.of(all));
        by_text.insert_unique(hash(&name), name, hash);
        name
    }

    /// The name with the suffix.
    pub(super) fn extracted(&mut self, name: NameId) -> NameId {
        let known = self.get(name).extracted;
        if known != UNKNOWN {
            return known;
        }
        let mut text = std::mem::take(&mut self.scratch);
        text.clear();
        text.extend_from_slice(self.text(name));
        text.extend_from_slice(EXTRACTED);
        let extracted = self.number(&text);
        self.scratch = text;
        self.get_mut(name).extracted = extracted;
        extracted
    }

    /// True if somebody behind the stage needs the name.
    #[inline]
    pub(super) fn is_needed(&mut self, name: NameId, needed: &Needed) -> bool {
        if needed.are_all() {
            return true;
        }
        let Self { names, text, .. } = self;
        let name = &mut names[name.0 as usize];
        let span = name.text;
        name.needed.answer(needed.stage(), || needed.has(span.of(text)))
    }

    /// The key that came after `before` the last time, and its length, if it hangs below `parent` and `text` begins with it.
    #[inline]
    pub(super) fn guess(&self, before: KeyId, parent: KeyId, text: &[u8]) -> Option<(KeyId, usize)> {
        let guess = self.keys[before.0 as usize].next;
        let key = &self.keys[guess.0 as usize];
        let is_it = key.parent == parent && guess.0 >= ROOTS.len() as u32 && key.raw.is_start_of(&self.text, text);
        is_it.then(|| (guess, key.raw.length() as usize))
    }

    /// The number of a key below `parent` that stands in the line behind the key `before`. `append_part` makes of it its part of the
    /// name.
    pub(super) fn key(
        &mut self,
        before: KeyId,
        parent: KeyId,
        raw: &[u8],
        append_part: impl FnOnce(&[u8], &mut Vec<u8>),
    ) -> KeyId {
        if let Some((guess, length)) = self.guess(before, parent, raw)
            && length == raw.len()
        {
            return guess;
        }
        let hash = self.hasher.hash_one((parent.0, raw));
        let is_it = |&key: &KeyId| {
            let key = &self.keys[key.0 as usize];
            key.parent == parent && key.raw.of(&self.text) == raw
        };
        let known = self.by_key.find(hash, is_it).copied();
        let key = known.unwrap_or_else(|| self.add_key(hash, parent, raw, append_part));
        self.keys[before.0 as usize].next = key;
        key
    }

    fn add_key(
        &mut self,
        hash: u64,
        parent: KeyId,
        raw: &[u8],
        append_part: impl FnOnce(&[u8], &mut Vec<u8>),
    ) -> KeyId {
        let raw = Span::push(raw, &mut self.text);
        let mut part = std::mem::take(&mut self.scratch);
        part.clear();
        append_part(raw.of(&self.text), &mut part);
        let span = Span::push(&part, &mut self.text);
        self.scratch = part;
        let key = KeyId(self.keys.len() as u32);
        let around = self.keys[parent.0 as usize].name_bytes;
        self.keys.push(Key {
            parent,
            raw,
            part: span,
            name_bytes: around.saturating_add(span.length()).saturating_add(1),
            name: UNKNOWN,
            next: JSON_KEYS,
            answers: Answers::default(),
        });
        let Self {
            by_key,
            keys,
            text,
            hasher,
            ..
        } = self;
        by_key.insert_unique(hash, key, |key| {
            let key = &keys[key.0 as usize];
            hasher.hash_one((key.parent.0, key.raw.of(text)))
        });
        key
    }

    /// The key as it stands in the line.
    pub(super) fn raw(&self, key: KeyId) -> &[u8] {
        self.keys[key.0 as usize].raw.of(&self.text)
    }

    /// False if nothing is left of a key once it is sanitised.
    #[inline]
    pub(super) fn is_named(&self, key: KeyId) -> bool {
        self.keys[key.0 as usize].part.length() > 0
    }

    /// A bound of the length of the key's name.
    #[inline]
    pub(super) fn name_bytes(&self, key: KeyId) -> usize {
        self.keys[key.0 as usize].name_bytes as usize
    }

    /// The number of a name that is taken as it is, and follows `before`.
    #[inline]
    pub(super) fn plain(&mut self, kind: KeyId, before: &mut KeyId, text: &[u8]) -> NameId {
        *before = self.key(*before, kind, text, |raw, part| part.extend_from_slice(raw));
        self.name_of(*before)
    }

    /// What the key adds to the name.
    pub(super) fn part(&self, key: KeyId) -> &[u8] {
        self.keys[key.0 as usize].part.of(&self.text)
    }

    /// The name of a label under this key. The caller has seen to it that there is room for [`Names::name_bytes`].
    #[inline]
    pub(super) fn name_of(&mut self, key: KeyId) -> NameId {
        let known = self.keys[key.0 as usize].name;
        if known != UNKNOWN {
            return known;
        }
        let mut path = std::mem::take(&mut self.scratch);
        path.clear();
        self.append_path(key, &mut path);
        let name = self.number(&path);
        self.scratch = path;
        self.keys[key.0 as usize].name = name;
        name
    }

    /// Appends the parts of the keys from the root to this one, joined by underscores.
    fn append_path(&mut self, key: KeyId, path: &mut Vec<u8>) {
        let mut chain = std::mem::take(&mut self.chain);
        chain.clear();
        let mut at = key;
        while !ROOTS.contains(&at) {
            chain.push(at);
            at = self.keys[at.0 as usize].parent;
        }
        for (depth, &key) in chain.iter().rev().enumerate() {
            if depth > 0 {
                path.push(b'_');
            }
            path.extend_from_slice(self.part(key));
        }
        self.chain = chain;
    }

    /// The answer to a yes-or-no question that the stage asks of the key; of each key it asks only one. The question gets the path.
    pub(super) fn answer(&mut self, key: KeyId, stage: usize, question: impl FnOnce(&[u8]) -> bool) -> bool {
        if let Some(answer) = self.keys[key.0 as usize].answers.get(stage) {
            return answer;
        }
        let mut path = std::mem::take(&mut self.scratch);
        path.clear();
        self.append_path(key, &mut path);
        let answer = self.keys[key.0 as usize].answers.answer(stage, || question(&path));
        self.scratch = path;
        answer
    }
}

impl Answers {
    #[inline]
    fn get(self, stage: usize) -> Option<bool> {
        let bit = 1u64.checked_shl(stage as u32).unwrap_or(0);
        (self.known & bit != 0).then_some(self.yes & bit != 0)
    }

    #[inline]
    fn answer(&mut self, stage: usize, question: impl FnOnce() -> bool) -> bool {
        if let Some(answer) = self.get(stage) {
            return answer;
        }
        let bit = 1u64.checked_shl(stage as u32).unwrap_or(0);
        let answer = question();
        self.known |= bit;
        self.yes |= if answer { bit } else { 0 };
        answer
    }
}
