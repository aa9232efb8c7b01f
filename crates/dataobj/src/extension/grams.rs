//! Which stretches of a line a text filter keeps (docs/extension-sections.md chapter 4).
//!
//! All of it happens on bytes with ASCII letters in lower case, and whether a stretch is kept depends on itself and a
//! few bytes around it alone. So a needle tells by itself which of its stretches every line that contains it has kept.
//!
//! * **Words**: every four bytes in a row without a digit among them. Log lines repeat their words, so that a page has few.
//! * **Ids**: in runs of letters, digits, dots and hyphens, six bytes in a row with a digit among them, of which those are
//!   kept whose hash is smaller than that of the six bytes that begin one earlier: one in two. Six digits, as in
//!   timestamps, must be smaller than the six that begin one later as well: one in three.
//!
//! ```text
//! line    ... traceid=4bf92f3577b34da6 ...          needle  2f3577b3
//! words       trac race acei ceid eid=              (none: every four bytes have a digit)
//! hashes      4bf92f: 7  bf92f3: 2  f92f35: 9 ...   2f3577: ?  f3577b: 5  3577b3: 1
//! kept        4bf92f     bf92f3             ...     f3577b if 2f3577 > 5, 3577b3; of 2f3577 the needle can't know
//! ```
// hot path: no locks, no logging, no allocation per row.

use std::ops::Range;

/// Bytes of a word gram.
const WORD_BYTES: usize = 4;

/// Bytes of an id gram.
const ID_BYTES: usize = 6;

/// Word grams are told apart by so many bits of their hash: a set of bits of 128 KiB, which drops repeats while lines are
/// added. With 18 bits, pages of much text let three times as many fragments of six letters pass.
const WORD_BITS: u32 = 20;

/// The bits of a word key below those.
pub(crate) const WORD_SHIFT: u32 = 32 - WORD_BITS;

/// Places for id keys that came last.
const RECENT_BITS: u32 = 12;

/// What stands in a place for id keys where none has been: the lowest bits of keys are zero.
const NO_KEY: u32 = u32::MAX;

/// Places for stretches without digits.
const SEEN_BITS: u32 = 10;

/// In the order of id grams, one that is none stands behind all others.
const NO_GRAM: u64 = u64::MAX;

/// Before the first gram of a run that may have begun before the needle, stands one that may be smaller.
const UNKNOWN: u64 = 0;

const RUN: u8 = 1;
const DIGIT: u8 = 2;

/// Byte with ASCII folded, and what it is.
const BYTES: [(u8, u8); 256] = {
    let mut table = [(0, 0); 256];
    let mut byte = 0usize;
    while byte < 256 {
        let folded = (byte as u8).to_ascii_lowercase();
        let class = match folded {
            b'0'..=b'9' => RUN | DIGIT,
            b'a'..=b'z' | b'.' | b'-' => RUN,
            _ => 0,
        };
        table[byte] = (folded, class);
        byte += 1;
    }
    table
};

/// What stands around a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Around {
    /// Nothing: it is a whole line.
    Nothing,
    /// Any bytes: it is a needle.
    Anything,
}

/// The grams of the lines of a page.
#[derive(Debug)]
pub struct PageGrams {
    words: Vec<u64>,
    seen: SeenStretches,
    ids: Vec<u32>,
    /// Id keys that came last, each in the place that its upper bits say: neighbouring lines have grams in common.
    recent: Vec<u32>,
}

/// The grams that every line that contains some text has kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextNeedle {
    pub(crate) words: Vec<u32>,
    pub(crate) ids: Vec<u32>,
}

impl Default for PageGrams {
    fn default() -> PageGrams {
        PageGrams {
            words: vec![0; 1 << (WORD_BITS - 6)],
            seen: SeenStretches::default(),
            ids: Vec::new(),
            recent: vec![NO_KEY; 1 << RECENT_BITS],
        }
    }
}

impl PageGrams {
    /// Adds a line.
    pub fn add_line(&mut self, line: &[u8]) {
        let PageGrams {
            words,
            seen,
            ids,
            recent,
        } = self;
        let stretch = |stretch: &[u8]| {
            if seen.insert(stretch) {
                words_of(stretch, |key| {
                    let bit = key >> WORD_SHIFT;
                    words[(bit >> 6) as usize] |= 1 << (bit & 63);
                });
            }
        };
        let start = ids.len();
        scan(line, Around::Nothing, stretch, ids);
        let mut kept = start;
        for at in start..ids.len() {
            let key = ids[at];
            let place = &mut recent[(key >> (32 - RECENT_BITS)) as usize];
            ids[kept] = key;
            kept += usize::from(*place != key);
            *place = key;
        }
        ids.truncate(kept);
    }

    /// Moves the word keys to `keys`, ascending, and forgets them.
    pub fn take_words(&mut self, keys: &mut Vec<u32>) {
        keys.clear();
        self.seen.clear();
        self.recent.fill(NO_KEY);
        for (at, word) in self.words.iter_mut().enumerate() {
            let mut bits = std::mem::take(word);
            while bits != 0 {
                keys.push(((at as u32) << 6 | bits.trailing_zeros()) << WORD_SHIFT);
                bits &= bits - 1;
            }
        }
    }

    /// The id keys as they came, for the caller to sort and to clear.
    pub fn ids_mut(&mut self) -> &mut Vec<u32> {
        &mut self.ids
    }
}

impl TextNeedle {
    /// For lines that contain `text`, in whatever case its ASCII letters are.
    pub fn new(text: &[u8]) -> TextNeedle {
        let mut needle = TextNeedle::default();
        let TextNeedle { words, ids } = &mut needle;
        let mut word = |key: u32| words.push(key >> WORD_SHIFT << WORD_SHIFT);
        scan(text, Around::Anything, |stretch| words_of(stretch, &mut word), ids);
        for keys in [words, ids] {
            keys.sort_unstable();
            keys.dedup();
        }
        needle
    }

    /// Keys of its word grams, ascending.
    pub fn words(&self) -> &[u32] {
        &self.words
    }

    /// Keys of its id grams, ascending.
    pub fn ids(&self) -> &[u32] {
        &self.ids
    }

    /// True if the text is too short, or of such bytes, that every page may contain it.
    pub fn tells_nothing(&self) -> bool {
        self.words.is_empty() && self.ids.is_empty()
    }
}

/// Stretches without digits, some of those that a page has had: most lines consist of the same ones.
#[derive(Debug, Default)]
struct SeenStretches {
    /// Where in `bytes` they lie, each in the place that a hash of it says.
    places: Vec<(u32, u32)>,
    bytes: Vec<u8>,
}

impl SeenStretches {
    fn clear(&mut self) {
        self.places.clear();
        self.bytes.clear();
    }

    /// False if the stretch is known to have been there.
    fn insert(&mut self, stretch: &[u8]) -> bool {
        if self.places.is_empty() {
            self.places.resize(1 << SEEN_BITS, (0, 0));
        }
        let word = |at: usize| stretch.get(at..).and_then(|rest| rest.first_chunk::<4>());
        let word = |at: usize| word(at).map_or(0, |bytes| u64::from(u32::from_le_bytes(*bytes)));
        let ends = word(0) << 32 | word(stretch.len() - WORD_BYTES);
        let hash = (ends ^ word(stretch.len() / 2))
            .wrapping_add(stretch.len() as u64)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let place = &mut self.places[(hash >> (64 - SEEN_BITS)) as usize];
        let (start, end) = *place;
        if self.bytes.get(start as usize..end as usize) == Some(stretch) {
            return false;
        }
        // Past 4 GiB nothing is remembered any more.
        let start = self.bytes.len();
        if let Ok(end) = u32::try_from(start + stretch.len()) {
            *place = (start as u32, end);
            self.bytes.extend_from_slice(stretch);
        }
        true
    }
}

/// Hands out the stretches without digits that are long enough for a gram, and appends the keys of id grams.
#[inline(always)]
fn scan(text: &[u8], around: Around, mut stretch: impl FnMut(&[u8]), ids: &mut Vec<u32>) {
    let mut long_stretch = |from: usize, to: usize| {
        if to - from >= WORD_BYTES {
            stretch(&text[from..to]);
        }
    };
    let edge = |is_known: bool| {
        if is_known || around == Around::Nothing {
            NO_GRAM
        } else {
            UNKNOWN
        }
    };
    let is_run = |at: usize| BYTES[usize::from(text[at])].1 & RUN != 0;
    // Behind the last digit, and behind the run that it was in.
    let (mut behind_digit, mut behind_run) = (0, 0);
    loop {
        let digit = next_digit(text, behind_run);
        long_stretch(behind_digit, digit);
        if digit == text.len() {
            return;
        }
        let mut start = digit;
        while start > behind_run && is_run(start - 1) {
            start -= 1;
        }
        let mut end = digit + 1;
        while end < text.len() && is_run(end) {
            end += 1;
        }
        if end - start >= ID_BYTES {
            let edges = (edge(start > 0), edge(end < text.len()));
            behind_digit = id_run(text, start..end, digit, edges, &mut long_stretch, ids);
        } else {
            behind_digit = end;
            while !text[behind_digit - 1].is_ascii_digit() {
                behind_digit -= 1;
            }
        }
        behind_run = end;
    }
}

/// Appends the keys of a run's id grams and hands out stretches between its digits; returns where its last digit ends.
/// `edges` stand for the grams before and behind it.
#[inline(always)]
fn id_run(
    text: &[u8],
    run: Range<usize>,
    first_digit: usize,
    edges: (u64, u64),
    stretch: &mut impl FnMut(usize, usize),
    ids: &mut Vec<u32>,
) -> usize {
    let (mut window, mut digits, mut behind_digit) = (0u64, 0usize, first_digit);
    let mut last = edges.0;
    // A gram of digits alone that is smaller than the one before; kept unless the next one is smaller still.
    let mut candidate = NO_GRAM;
    // All keys are written, kept or not: which ones are is a coin toss, which no processor predicts.
    let mut length = ids.len();
    ids.resize(length + run.len() + 1, 0);
    let first_gram = run.start + ID_BYTES - 1;
    for at in run {
        let (folded, class) = BYTES[usize::from(text[at])];
        window = window << 8 | u64::from(folded);
        digits += 1;
        if class & DIGIT == 0 {
            digits = 0;
        } else {
            if at - behind_digit >= WORD_BYTES {
                stretch(behind_digit, at);
            }
            behind_digit = at + 1;
        }
        if at < first_gram {
            continue;
        }
        let has_digit = behind_digit + ID_BYTES > at + 1 && at >= first_digit;
        let next = if has_digit { id_order(window) } else { NO_GRAM };
        let is_smaller = next < last;
        let is_candidate = is_smaller & (digits >= ID_BYTES);
        let is_kept = (is_smaller & !is_candidate) | (!is_smaller & (candidate != NO_GRAM));
        ids[length] = id_key(if is_smaller { next } else { candidate });
        length += usize::from(is_kept);
        candidate = if is_candidate { next } else { NO_GRAM };
        last = next;
    }
    ids[length] = id_key(candidate);
    length += usize::from(candidate != NO_GRAM && edges.1 != UNKNOWN);
    ids.truncate(length);
    behind_digit
}

/// Position of the first digit from `from` on, or the length of the text.
#[inline]
fn next_digit(text: &[u8], mut from: usize) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    while let Some(chunk) = text.get(from..).and_then(|rest| rest.first_chunk::<8>()) {
        // The high bit of each byte that is less than 10 once the bits of '0' are flipped.
        let value = u64::from_le_bytes(*chunk) ^ (ONES * u64::from(b'0'));
        let large = (value & (ONES * 0x7f)) + ONES * 0x76;
        let digits = !(large | value) & (ONES * 0x80);
        if digits != 0 {
            return from + digits.trailing_zeros() as usize / 8;
        }
        from += 8;
    }
    let rest = text.get(from..).unwrap_or_default();
    let digit = rest.iter().position(u8::is_ascii_digit);
    digit.map_or(text.len(), |at| from + at)
}

/// The keys of the word grams of a stretch without digits.
#[inline(always)]
fn words_of(stretch: &[u8], mut word: impl FnMut(u32)) {
    let mut window = 0u32;
    for (at, byte) in stretch.iter().enumerate() {
        window = window << 8 | u32::from(byte.to_ascii_lowercase());
        if at + 1 >= WORD_BYTES {
            word(word_key(window));
        }
    }
}

#[inline]
fn word_key(window: u32) -> u32 {
    window.wrapping_mul(0x9e37_79b1)
}

/// By what neighbouring id grams are compared.
#[inline]
fn id_order(window: u64) -> u64 {
    (window << (64 - 8 * ID_BYTES)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// The key of an id gram, independent of its order: kept ones are small in that. 24 bits, the upper ones, tell apart the
/// some hundred thousand grams of a page well enough, and are sorted faster than 32.
#[inline]
fn id_key(order: u64) -> u32 {
    ((order ^ (order >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93) >> 32) as u32 & !0xff
}
