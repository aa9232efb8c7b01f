// hot path: no locks, no logging, nothing allocated per line.

//! Reading JSON text piece by piece, tolerant of what comes after the piece.

use memchr::{memchr, memchr3};

use super::block::find_byte;

/// First byte of U+FFFD, and of its neighbours.
const REPLACEMENT_START: u8 = 0xef;

/// Most strings end within so many bytes; only in longer ones a searcher for long texts pays.
const NEAR_BYTES: usize = 64;

/// The text is not JSON at this place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Malformed;

/// A string as it stands in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Text<'a> {
    /// What is between the quotes, escapes not yet undone.
    pub(super) raw: &'a [u8],
    /// True if this is the string's value as well: it has neither escapes nor, maybe, U+FFFD.
    pub(super) is_plain: bool,
}

/// A value as it stands in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value<'a> {
    String(Text<'a>),
    /// Number, `true` or `false`, as written.
    Literal(&'a [u8]),
    Null,
    /// `{` or `[`: the cursor stands behind it.
    Object,
    Array,
}

/// A place in JSON text.
#[derive(Clone, Copy)]
pub(super) struct Cursor<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a [u8]) -> Self {
        Self { text, at: 0 }
    }

    /// The text from `start`, an earlier place, up to here.
    pub(super) fn since(&self, start: usize) -> &'a [u8] {
        &self.text[start..self.at]
    }

    pub(super) fn position(&self) -> usize {
        self.at
    }

    /// The next byte that is not white space, without passing it.
    #[inline]
    pub(super) fn peek(&mut self) -> Option<u8> {
        while let Some(&byte) = self.text.get(self.at) {
            if !matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
                return Some(byte);
            }
            self.at += 1;
        }
        None
    }

    /// Passes `byte`, if it is next.
    #[inline]
    pub(super) fn pass(&mut self, byte: u8) -> bool {
        let passed = self.peek() == Some(byte);
        self.at += usize::from(passed);
        passed
    }

    /// A string with its quotes.
    #[inline]
    pub(super) fn string(&mut self) -> Result<Text<'a>, Malformed> {
        if !self.pass(b'"') {
            return Err(Malformed);
        }
        let start = self.at;
        let mut is_plain = true;
        loop {
            let at = find_special(self.text, self.at).ok_or(Malformed)?;
            match self.text[at] {
                b'"' => {
                    self.at = at + 1;
                    return Ok(Text {
                        raw: &self.text[start..at],
                        is_plain,
                    });
                }
                b'\\' => {
                    self.at = at + 2;
                    if self.at > self.text.len() {
                        return Err(Malformed);
                    }
                }
                _ => self.at = at + 1,
            }
            is_plain = false;
        }
    }

    /// Passes a string, quotes included, if it is the one that `guess` makes of the text behind the first quote: the guess and its
    /// length. What is guessed must have been the whole text between the quotes of a string before.
    #[inline]
    pub(super) fn pass_string<T>(&mut self, guess: impl FnOnce(&[u8]) -> Option<(T, usize)>) -> Option<T> {
        if self.peek() != Some(b'"') {
            return None;
        }
        let rest = &self.text[self.at + 1..];
        let (guess, length) = guess(rest)?;
        if rest.get(length) != Some(&b'"') {
            return None;
        }
        self.at += length + 2;
        Some(guess)
    }

    /// The key of a member and its colon.
    #[inline]
    pub(super) fn key(&mut self) -> Result<&'a [u8], Malformed> {
        let key = self.string()?.raw;
        if self.pass(b':') { Ok(key) } else { Err(Malformed) }
    }

    /// A value; objects and arrays are only entered.
    #[inline]
    pub(super) fn value(&mut self) -> Result<Value<'a>, Malformed> {
        match self.peek().ok_or(Malformed)? {
            b'"' => self.string().map(Value::String),
            b'{' => {
                self.at += 1;
                Ok(Value::Object)
            }
            b'[' => {
                self.at += 1;
                Ok(Value::Array)
            }
            b'-' | b'0'..=b'9' => Ok(Value::Literal(self.word())),
            _ => match self.word() {
                b"null" => Ok(Value::Null),
                word @ (b"true" | b"false") => Ok(Value::Literal(word)),
                _ => Err(Malformed),
            },
        }
    }

    fn word(&mut self) -> &'a [u8] {
        let rest = &self.text[self.at..];
        let is_end = |b: &u8| {
            matches!(
                b,
                b',' | b'}' | b']' | b' ' | b'\t' | b'\n' | b'\r' | b'{' | b'[' | b'"' | b':'
            )
        };
        let word = &rest[..rest.iter().position(is_end).unwrap_or(rest.len())];
        self.at += word.len();
        word
    }

    /// Passes to behind the bracket that closes the object or array just entered. Brackets of the other kind are not looked
    /// at, so damage inside goes unnoticed as long as the block ends.
    pub(super) fn skip_block(&mut self, open: u8, close: u8) -> Result<(), Malformed> {
        let mut depth = 1usize;
        loop {
            let at = self.at + memchr3(b'"', open, close, &self.text[self.at..]).ok_or(Malformed)?;
            self.at = at;
            match self.text[at] {
                b'"' => {
                    self.string()?;
                }
                byte if byte == close => {
                    self.at += 1;
                    depth -= 1;
                    if depth == 0 {
                        return Ok(());
                    }
                }
                _ => {
                    self.at += 1;
                    depth += 1;
                }
            }
        }
    }

    /// Passes the rest of a value that [`Cursor::value`] answered.
    #[inline]
    pub(super) fn skip_rest(&mut self, value: Value<'_>) -> Result<(), Malformed> {
        match value {
            Value::Object => self.skip_block(b'{', b'}'),
            Value::Array => self.skip_block(b'[', b']'),
            _ => Ok(()),
        }
    }
}

/// Where from `start` on the next quote, backslash, or first byte of a character like U+FFFD stands.
#[inline]
fn find_special(text: &[u8], start: usize) -> Option<usize> {
    let near = text.len().min(start + NEAR_BYTES);
    let found = find_byte(&text[..near], start, |block| {
        block.equal(b'"') | block.equal(b'\\') | block.equal(REPLACEMENT_START)
    });
    found.or_else(|| Some(near + memchr3(b'"', b'\\', REPLACEMENT_START, &text[near..])?))
}

/// Appends the value of a string: escapes undone, U+FFFD replaced by a space. A string with an escape that cannot be undone is empty.
pub(super) fn append_string(text: Text<'_>, out: &mut Vec<u8>) {
    let start = out.len();
    if text.is_plain {
        out.extend_from_slice(text.raw);
        return;
    }
    if !unescape(text.raw, out) {
        out.truncate(start);
        return;
    }
    if memchr(REPLACEMENT_START, &out[start..]).is_some() {
        blank_replacement_characters(out, start);
    }
}

/// Appends `raw` with its JSON escapes undone. False if one of them cannot be.
pub(super) fn unescape(raw: &[u8], out: &mut Vec<u8>) -> bool {
    let mut rest = raw;
    while let Some(at) = memchr(b'\\', rest) {
        out.extend_from_slice(&rest[..at]);
        let Some(&kind) = rest.get(at + 1) else {
            return false;
        };
        rest = &rest[at + 2..];
        let byte = match kind {
            b'"' | b'\\' | b'/' => kind,
            b'b' => 0x08,
            b'f' => 0x0c,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'u' => {
                let Some((c, after)) = unicode_escape(rest) else {
                    return false;
                };
                out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                rest = after;
                continue;
            }
            _ => return false,
        };
        out.push(byte);
    }
    out.extend_from_slice(rest);
    true
}

/// The character of `XXXX` or of a surrogate pair `XXXX\uXXXX`, and the text behind it.
fn unicode_escape(text: &[u8]) -> Option<(char, &[u8])> {
    let (high, rest) = hex4(text)?;
    if let Some(c) = char::from_u32(high) {
        return Some((c, rest));
    }
    let (low, rest) = hex4(rest.strip_prefix(b"\\u")?)?;
    if !(0xd800..0xdc00).contains(&high) || !(0xdc00..0xe000).contains(&low) {
        return None;
    }
    Some((
        char::from_u32(0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00))?,
        rest,
    ))
}

fn hex4(text: &[u8]) -> Option<(u32, &[u8])> {
    let (digits, rest) = text.split_at_checked(4)?;
    let digit = |number: u32, byte: &u8| Some(number << 4 | char::from(*byte).to_digit(16)?);
    Some((digits.iter().try_fold(0, digit)?, rest))
}

fn blank_replacement_characters(out: &mut Vec<u8>, start: usize) {
    let (mut from, mut to) = (start, start);
    while from < out.len() {
        if out[from..].starts_with("\u{fffd}".as_bytes()) {
            out[to] = b' ';
            from += 3;
        } else {
            out[to] = out[from];
            from += 1;
        }
        to += 1;
    }
    out.truncate(to);
}
