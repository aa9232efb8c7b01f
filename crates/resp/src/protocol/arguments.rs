// hot path: no locks shared between cores, no logging above debug, no allocation per command.
//! The words of one command, borrowed from the bytes that came in.

use std::ops::Index;

/// Where a word lies in the bytes of its command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    pub(crate) start: u32,
    pub(crate) len: u32,
}

/// The words of one command; the first one is its name.
#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    bytes: &'a [u8],
    words: &'a [Word],
}

impl<'a> Arguments<'a> {
    /// Words that lie within `bytes`.
    pub(crate) fn new(bytes: &'a [u8], words: &'a [Word]) -> Arguments<'a> {
        debug_assert!(
            words
                .iter()
                .all(|word| word.start as usize + word.len as usize <= bytes.len())
        );
        Arguments { bytes, words }
    }

    /// How many words there are, the name included.
    pub fn len(&self) -> usize {
        self.words.len()
    }

    /// Whether there is no word.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// The word at a place.
    pub fn get(&self, place: usize) -> Option<&'a [u8]> {
        self.words.get(place).map(|word| self.word(*word))
    }

    /// The words from a place on; none if there are fewer.
    pub fn from(&self, place: usize) -> Arguments<'a> {
        Arguments {
            bytes: self.bytes,
            words: self.words.get(place..).unwrap_or_default(),
        }
    }

    /// The first words; all if there are fewer.
    pub fn first(&self, count: usize) -> Arguments<'a> {
        Arguments {
            bytes: self.bytes,
            words: self.words.get(..count).unwrap_or(self.words),
        }
    }

    /// All words in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &'a [u8]> + ExactSizeIterator + Clone + use<'a> {
        let bytes = self.bytes;
        self.words
            .iter()
            .map(move |word| &bytes[word.start as usize..][..word.len as usize])
    }

    /// Whether the word at a place is this one, in any case.
    pub fn is(&self, place: usize, word: &str) -> bool {
        self.get(place)
            .is_some_and(|found| found.eq_ignore_ascii_case(word.as_bytes()))
    }

    fn word(&self, word: Word) -> &'a [u8] {
        &self.bytes[word.start as usize..][..word.len as usize]
    }
}

/// The word at a place that the arity of the command guarantees.
impl Index<usize> for Arguments<'_> {
    type Output = [u8];

    fn index(&self, place: usize) -> &[u8] {
        self.word(self.words[place])
    }
}

/// The words of a command that is run later: queued by MULTI, or made by a script.
#[derive(Clone, Debug, Default)]
pub struct OwnedArguments {
    bytes: Vec<u8>,
    words: Vec<Word>,
}

impl OwnedArguments {
    /// Forgets all words and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.words.clear();
    }

    /// Adds a word. Says whether it fits: all words together stay below 4 GiB.
    pub fn push(&mut self, word: &[u8]) -> bool {
        let (Ok(start), Ok(len)) = (u32::try_from(self.bytes.len()), u32::try_from(word.len())) else {
            return false;
        };
        if start.checked_add(len).is_none() {
            return false;
        }
        self.bytes.extend_from_slice(word);
        self.words.push(Word { start, len });
        true
    }

    /// The words.
    pub fn borrow(&self) -> Arguments<'_> {
        Arguments::new(&self.bytes, &self.words)
    }

    /// Bytes of all words.
    pub fn byte_len(&self) -> usize {
        self.bytes.len()
    }
}

impl<'a> FromIterator<&'a [u8]> for OwnedArguments {
    fn from_iter<T: IntoIterator<Item = &'a [u8]>>(words: T) -> OwnedArguments {
        let mut owned = OwnedArguments::default();
        for word in words {
            owned.push(word);
        }
        owned
    }
}

impl From<Arguments<'_>> for OwnedArguments {
    fn from(arguments: Arguments<'_>) -> OwnedArguments {
        arguments.iter().collect()
    }
}
