//! A pull reader over one JSON text: hands out strings as slices and builds no tree.
//!
//! It exists because a push body is mostly strings that are looked at once: a borrowed slice costs a search for the closing
//! quote, nothing else. Raw control characters and invalid UTF-8 inside strings are let through: a log line is not made
//! better by being refused.

// hot path: no locks, no logging, no allocation per row.

use memchr::memchr2;
use std::ops::Range;

/// Deepest nesting that [`JsonReader::skip_value`] follows; a deeper body is hostile.
const MAX_DEPTH: usize = 128;

/// What is wrong with a JSON text, and at which byte.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message} at byte {offset}")]
pub(crate) struct JsonError {
    /// Byte of the (decompressed) body.
    pub(crate) offset: usize,
    /// What was expected or found.
    pub(crate) message: String,
}

/// The kind of the value that comes next, told by its first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Object,
    Array,
    String,
    Number,
    Bool,
    Null,
}

impl Kind {
    /// The kind's name in error messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Object => "an object",
            Self::Array => "an array",
            Self::String => "a string",
            Self::Number => "a number",
            Self::Bool => "a boolean",
            Self::Null => "null",
        }
    }
}

/// The reader: a text and a place in it.
#[derive(Clone, Debug)]
pub(crate) struct JsonReader<'a> {
    input: &'a [u8],
    at: usize,
}

impl<'a> JsonReader<'a> {
    /// Starts at the first byte.
    pub(crate) fn new(input: &'a [u8]) -> Self {
        Self { input, at: 0 }
    }

    /// The next byte to be read.
    pub(crate) fn offset(&self) -> usize {
        self.at
    }

    /// A reader over the same text at another place, to read a value that was skipped.
    pub(crate) fn at(&self, offset: usize) -> Self {
        Self {
            input: self.input,
            at: offset,
        }
    }

    /// An error at the place reached.
    pub(crate) fn error(&self, message: impl Into<String>) -> JsonError {
        JsonError {
            offset: self.at,
            message: message.into(),
        }
    }

    /// The kind of the next value, without reading it.
    pub(crate) fn kind(&mut self) -> Result<Kind, JsonError> {
        match self.next_byte() {
            Some(b'{') => Ok(Kind::Object),
            Some(b'[') => Ok(Kind::Array),
            Some(b'"') => Ok(Kind::String),
            Some(b't' | b'f') => Ok(Kind::Bool),
            Some(b'n') => Ok(Kind::Null),
            Some(b'-' | b'0'..=b'9') => Ok(Kind::Number),
            Some(other) => Err(self.error(format!("unexpected character {:?}", char::from(other)))),
            None => Err(self.error("unexpected end of the body")),
        }
    }

    /// Reads `[`.
    pub(crate) fn begin_array(&mut self) -> Result<(), JsonError> {
        self.expect(b'[', "an array")
    }

    /// True if another element follows; reads the comma before it or the `]` after the last. `first`: no element was read yet.
    pub(crate) fn next_element(&mut self, first: bool) -> Result<bool, JsonError> {
        self.next_member(first, b']')
    }

    /// Reads `{`.
    pub(crate) fn begin_object(&mut self) -> Result<(), JsonError> {
        self.expect(b'{', "an object")
    }

    /// The next key of an object with its colon; `None` after the last, with the `}` read. `first`: no member was read yet.
    pub(crate) fn next_key<'s>(&mut self, first: bool, scratch: &'s mut Vec<u8>) -> Result<Option<&'s [u8]>, JsonError>
    where
        'a: 's,
    {
        if !self.next_member(first, b'}')? {
            return Ok(None);
        }
        let key = self.string(scratch)?;
        self.expect(b':', "':'")?;
        Ok(Some(key))
    }

    /// Reads a string: a slice of the text itself, or of `scratch` if it holds escapes.
    pub(crate) fn string<'s>(&mut self, scratch: &'s mut Vec<u8>) -> Result<&'s [u8], JsonError>
    where
        'a: 's,
    {
        self.expect(b'"', "a string")?;
        let start = self.at;
        let rest = self.input.get(start..).unwrap_or_default();
        match memchr2(b'"', b'\\', rest) {
            Some(length) if rest[length] == b'"' => {
                self.at = start + length + 1;
                Ok(&rest[..length])
            }
            Some(_) => {
                scratch.clear();
                self.unescape(scratch)?;
                Ok(scratch)
            }
            None => Err(self.error("string without an end")),
        }
    }

    /// Reads a number or a boolean and returns its text as written.
    pub(crate) fn literal(&mut self) -> Result<&'a str, JsonError> {
        let range = self.literal_range()?;
        // The range holds ASCII only.
        Ok(std::str::from_utf8(&self.input[range]).unwrap_or_default())
    }

    /// Reads `null` if that is what comes next.
    pub(crate) fn null(&mut self) -> Result<bool, JsonError> {
        if self.kind()? != Kind::Null {
            return Ok(false);
        }
        self.literal_range()?;
        Ok(true)
    }

    /// Reads any value and forgets it.
    pub(crate) fn skip_value(&mut self) -> Result<(), JsonError> {
        self.skip_nested(0)
    }

    /// Fails unless only white space is left.
    pub(crate) fn end(&mut self) -> Result<(), JsonError> {
        match self.next_byte() {
            None => Ok(()),
            Some(_) => Err(self.error("text after the end of the JSON value")),
        }
    }

    fn skip_nested(&mut self, depth: usize) -> Result<(), JsonError> {
        if depth > MAX_DEPTH {
            return Err(self.error(format!("nested deeper than {MAX_DEPTH} levels")));
        }
        match self.kind()? {
            Kind::String => self.skip_string(),
            Kind::Array => {
                self.begin_array()?;
                let mut first = true;
                while self.next_element(first)? {
                    self.skip_nested(depth + 1)?;
                    first = false;
                }
                Ok(())
            }
            Kind::Object => {
                self.begin_object()?;
                let mut first = true;
                while self.next_member(first, b'}')? {
                    self.skip_string()?;
                    self.expect(b':', "':'")?;
                    self.skip_nested(depth + 1)?;
                    first = false;
                }
                Ok(())
            }
            Kind::Number | Kind::Bool | Kind::Null => self.literal_range().map(drop),
        }
    }

    fn skip_string(&mut self) -> Result<(), JsonError> {
        self.expect(b'"', "a string")?;
        loop {
            let rest = self.input.get(self.at..).unwrap_or_default();
            let Some(length) = memchr2(b'"', b'\\', rest) else {
                return Err(self.error("string without an end"));
            };
            if rest[length] == b'"' {
                self.at += length + 1;
                return Ok(());
            }
            self.at += length + 2;
        }
    }

    fn next_member(&mut self, first: bool, close: u8) -> Result<bool, JsonError> {
        match self.next_byte() {
            Some(byte) if byte == close => {
                self.at += 1;
                Ok(false)
            }
            Some(b',') if !first => {
                self.at += 1;
                if self.next_byte() == Some(close) {
                    return Err(self.error(format!("a value was expected, {:?} found", char::from(close))));
                }
                Ok(true)
            }
            Some(_) if first => Ok(true),
            Some(other) => {
                let (close, other) = (char::from(close), char::from(other));
                Err(self.error(format!("',' or {close:?} was expected, {other:?} found")))
            }
            None => Err(self.error("unexpected end of the body")),
        }
    }

    fn next_byte(&mut self) -> Option<u8> {
        while let Some(byte) = self.input.get(self.at) {
            if !matches!(byte, b' ' | b'\t' | b'\r' | b'\n') {
                return Some(*byte);
            }
            self.at += 1;
        }
        None
    }

    fn expect(&mut self, wanted: u8, name: &str) -> Result<(), JsonError> {
        match self.next_byte() {
            Some(byte) if byte == wanted => {
                self.at += 1;
                Ok(())
            }
            Some(_) => {
                let found = self
                    .kind()
                    .map_or_else(|e| e.message, |kind| format!("{} was found", kind.name()));
                Err(self.error(format!("{name} was expected, {found}")))
            }
            None => Err(self.error(format!("{name} was expected, the body ends"))),
        }
    }

    fn literal_range(&mut self) -> Result<Range<usize>, JsonError> {
        let kind = self.kind()?;
        let start = self.at;
        let is_part = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'+' | b'.');
        let length = self.input[start..].iter().take_while(|b| is_part(b)).count();
        let text = &self.input[start..start + length];
        let good = match kind {
            Kind::Bool => text == b"true" || text == b"false",
            Kind::Null => text == b"null",
            _ => is_number(text),
        };
        if !good {
            return Err(self.error("invalid literal"));
        }
        self.at = start + length;
        Ok(start..start + length)
    }

    /// Reads the rest of a string, whose opening quote was read, into `out`.
    fn unescape(&mut self, out: &mut Vec<u8>) -> Result<(), JsonError> {
        loop {
            let rest = self.input.get(self.at..).unwrap_or_default();
            let Some(length) = memchr2(b'"', b'\\', rest) else {
                return Err(self.error("string without an end"));
            };
            out.extend_from_slice(&rest[..length]);
            self.at += length + 1;
            if rest[length] == b'"' {
                return Ok(());
            }
            let Some(escape) = self.input.get(self.at).copied() else {
                return Err(self.error("string without an end"));
            };
            self.at += 1;
            let plain = match escape {
                b'"' | b'\\' | b'/' => escape,
                b'b' => 8,
                b'f' => 12,
                b'n' => b'\n',
                b'r' => b'\r',
                b't' => b'\t',
                b'u' => {
                    let c = self.unicode_escape()?;
                    out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                    continue;
                }
                other => return Err(self.error(format!("invalid escape \\{}", char::from(other).escape_debug()))),
            };
            out.push(plain);
        }
    }

    /// The character of `\uXXXX`, with `\u` read; two escapes where they are a surrogate pair, U+FFFD for half a pair.
    fn unicode_escape(&mut self) -> Result<char, JsonError> {
        let high = self.hex4()?;
        if !(0xd800..0xe000).contains(&high) {
            return Ok(char::from_u32(high).unwrap_or(char::REPLACEMENT_CHARACTER));
        }
        let before = self.at;
        if high < 0xdc00 && self.input.get(self.at..self.at + 2) == Some(b"\\u") {
            self.at += 2;
            let low = self.hex4()?;
            if (0xdc00..0xe000).contains(&low) {
                let code = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
                return Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            self.at = before;
        }
        Ok(char::REPLACEMENT_CHARACTER)
    }

    fn hex4(&mut self) -> Result<u32, JsonError> {
        let digits = self.input.get(self.at..self.at + 4).unwrap_or_default();
        let value = digits
            .iter()
            .try_fold(0, |value, digit| Some(value * 16 + char::from(*digit).to_digit(16)?));
        match value {
            Some(value) if digits.len() == 4 => {
                self.at += 4;
                Ok(value)
            }
            _ => Err(self.error("invalid \\u escape")),
        }
    }
}

/// True for a number of RFC 8259.
fn is_number(text: &[u8]) -> bool {
    let digits = |text: &[u8]| text.iter().take_while(|b| b.is_ascii_digit()).count();
    let text = text.strip_prefix(b"-").unwrap_or(text);
    let whole = digits(text);
    if whole == 0 || (whole > 1 && text[0] == b'0') {
        return false;
    }
    let mut rest = &text[whole..];
    if let Some(fraction) = rest.strip_prefix(b".") {
        let length = digits(fraction);
        if length == 0 {
            return false;
        }
        rest = &fraction[length..];
    }
    let Some((b'e' | b'E', exponent)) = rest.split_first() else {
        return rest.is_empty();
    };
    let exponent = exponent
        .strip_prefix(b"+")
        .or(exponent.strip_prefix(b"-"))
        .unwrap_or(exponent);
    !exponent.is_empty() && digits(exponent) == exponent.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn strings() {
        let f = |text: &str, want: Result<&str, &str>| {
            let mut scratch = Vec::new();
            let got = JsonReader::new(text.as_bytes())
                .string(&mut scratch)
                .map(|s| String::from_utf8(s.into()).unwrap());
            assert_eq!(
                got.map_err(|e| e.to_string()),
                want.map(str::to_owned).map_err(str::to_owned),
                "{text}"
            );
        };
        f(r#" "plain" "#, Ok("plain"));
        f(r#""""#, Ok(""));
        f(r#""a\"b\\c\/d\b\f\n\r\te""#, Ok("a\"b\\c/d\u{8}\u{c}\n\r\te"));
        f(r#""\u00e9\ud83d\ude00""#, Ok("é😀"));
        f(r#""\ud83d x""#, Ok("\u{fffd} x"));
        f(r#""\ud83d\u0041""#, Ok("\u{fffd}A"));
        f(r#""\udc00""#, Ok("\u{fffd}"));
        f("\"tab\there\"", Ok("tab\there"));
        f(r#""open"#, Err("string without an end at byte 1"));
        f(r#""open\"#, Err("string without an end at byte 6"));
        f(r#""\x""#, Err("invalid escape \\x at byte 3"));
        f(r#""\u12g4""#, Err("invalid \\u escape at byte 3"));
        f(r#""\u+123""#, Err("invalid \\u escape at byte 3"));
        f("12", Err("a string was expected, a number was found at byte 0"));
        f("", Err("a string was expected, the body ends at byte 0"));
    }

    #[test]
    fn numbers_of_the_standard_only() {
        for good in ["0", "-0", "12", "1.5", "1e9", "-1.25E-7", "1e+2"] {
            assert!(is_number(good.as_bytes()), "{good}");
        }
        for bad in ["", "-", "01", "1.", ".5", "1e", "1e+", "+1", "0x1", "NaN", "1-2"] {
            assert!(!is_number(bad.as_bytes()), "{bad}");
        }
    }

    #[test]
    fn deep_nesting_is_refused() {
        let text = "[".repeat(100_000);
        assert!(JsonReader::new(text.as_bytes()).skip_value().is_err());
    }

    proptest! {
        /// `serde_json` is the oracle: what it takes, we take; what it refuses, we refuse.
        #[test]
        fn skipping_agrees_with_serde_json(text in r#"([\[\]{}:,"\\ ]|true|null|1|-|0\.5|e|\\u00e9|"a"|"a":|[a-f]){0,24}"#) {
            let mut reader = JsonReader::new(text.as_bytes());
            let ours = reader.skip_value().and_then(|()| reader.end());
            // Skipped strings are not checked for bad escapes, so only the other direction holds for them.
            let theirs = serde_json::from_str::<serde_json::Value>(&text);
            if theirs.is_ok() || !text.contains('\\') {
                prop_assert_eq!(ours.is_ok(), theirs.is_ok(), "{:?} {:?}", ours, theirs);
            }
        }

        #[test]
        fn strings_agree_with_serde_json(value: String) {
            let text = serde_json::to_string(&value).unwrap();
            let mut scratch = Vec::new();
            let got = JsonReader::new(text.as_bytes()).string(&mut scratch).unwrap();
            prop_assert_eq!(got, value.as_bytes());
        }
    }
}
