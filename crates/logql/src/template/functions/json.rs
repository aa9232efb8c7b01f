// hot path: no locks, no logging, nothing allocated per entry in steady state.

//! `fromJson`: strict JSON to values in the arena.

use bumpalo::collections::Vec as ArenaVec;

use super::text_of;
use crate::template::context::{Context, Failure, Outcome};
use crate::template::limits::MAX_JSON_DEPTH;
use crate::template::value::Value;

/// Text that is not JSON is `nil`.
pub(super) fn decode<'a>(context: &mut Context<'_, 'a>, arguments: &[Value<'a>]) -> Outcome<'a> {
    let mut decoder = Decoder {
        text: text_of(arguments, 0),
        at: 0,
        context,
    };
    let value = decoder.value(0);
    decoder.skip_space();
    let is_whole = decoder.at == decoder.text.len();
    match value {
        Ok(value) if is_whole => Ok(value),
        Ok(_) | Err(Problem::Malformed) => Ok(Value::Null),
        Err(Problem::Limit(failure)) => Err(failure),
    }
}

enum Problem {
    Malformed,
    Limit(Failure),
}

impl From<Failure> for Problem {
    fn from(failure: Failure) -> Self {
        Self::Limit(failure)
    }
}

struct Decoder<'c, 's, 'a> {
    text: &'a [u8],
    at: usize,
    context: &'c mut Context<'s, 'a>,
}

/// A member with its place, so that of equal keys the last one can be told.
type Member<'a> = (&'a [u8], usize, Value<'a>);

impl<'a> Decoder<'_, '_, 'a> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn pass(&mut self, byte: u8) -> Result<(), Problem> {
        self.skip_space();
        if self.peek() != Some(byte) {
            return Err(Problem::Malformed);
        }
        self.at += 1;
        Ok(())
    }

    fn passes(&mut self, byte: u8) -> bool {
        self.pass(byte).is_ok()
    }

    fn word(&mut self, word: &[u8], value: Value<'a>) -> Result<Value<'a>, Problem> {
        if !self.text[self.at..].starts_with(word) {
            return Err(Problem::Malformed);
        }
        self.at += word.len();
        Ok(value)
    }

    fn value(&mut self, depth: usize) -> Result<Value<'a>, Problem> {
        self.skip_space();
        match self.peek() {
            Some(b'{' | b'[') if depth == MAX_JSON_DEPTH => {
                let message = format_args!("JSON nests deeper than {MAX_JSON_DEPTH} levels");
                Err(Problem::Limit(self.context.fail(message)))
            }
            Some(b'{') => self.object(depth + 1),
            Some(b'[') => self.array(depth + 1),
            Some(b'"') => Ok(Value::Text(self.string()?)),
            Some(b't') => self.word(b"true", Value::Bool(true)),
            Some(b'f') => self.word(b"false", Value::Bool(false)),
            Some(b'n') => self.word(b"null", Value::Null),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => Err(Problem::Malformed),
        }
    }

    fn array(&mut self, depth: usize) -> Result<Value<'a>, Problem> {
        self.at += 1;
        let mut items = ArenaVec::new_in(self.context.arena);
        if self.passes(b']') {
            return Ok(Value::List(&[]));
        }
        loop {
            self.context.reserve(2 * size_of::<Value<'a>>())?;
            items.push(self.value(depth)?);
            if self.passes(b']') {
                return Ok(Value::List(items.into_bump_slice()));
            }
            self.pass(b',')?;
        }
    }

    fn object(&mut self, depth: usize) -> Result<Value<'a>, Problem> {
        self.at += 1;
        let mut members: ArenaVec<'a, Member<'a>> = ArenaVec::new_in(self.context.arena);
        if self.passes(b'}') {
            return Ok(Value::Map(&[]));
        }
        loop {
            self.context.reserve(3 * size_of::<Member<'a>>())?;
            self.skip_space();
            let key = self.string()?;
            self.pass(b':')?;
            let value = self.value(depth)?;
            members.push((key, members.len(), value));
            if self.passes(b'}') {
                break;
            }
            self.pass(b',')?;
        }
        members.sort_unstable_by_key(|(key, place, _)| (*key, *place));
        let mut entries: ArenaVec<'a, (&'a [u8], Value<'a>)> =
            ArenaVec::with_capacity_in(members.len(), self.context.arena);
        for (key, _, value) in &members {
            match entries.last_mut() {
                Some(last) if last.0 == *key => last.1 = *value,
                _ => entries.push((*key, *value)),
            }
        }
        Ok(Value::Map(entries.into_bump_slice()))
    }

    fn number(&mut self) -> Result<Value<'a>, Problem> {
        let start = self.at;
        self.at += usize::from(self.peek() == Some(b'-'));
        match self.peek() {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits()?,
            _ => return Err(Problem::Malformed),
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            self.at += usize::from(matches!(self.peek(), Some(b'+' | b'-')));
            self.digits()?;
        }
        let text = std::str::from_utf8(&self.text[start..self.at]).map_err(|_| Problem::Malformed)?;
        let number: f64 = text.parse().map_err(|_| Problem::Malformed)?;
        // Go leaves a number that does not fit out.
        Ok(if number.is_finite() {
            Value::Float(number)
        } else {
            Value::Null
        })
    }

    fn digits(&mut self) -> Result<(), Problem> {
        let start = self.at;
        while self.peek().is_some_and(|b| b.is_ascii_digit()) {
            self.at += 1;
        }
        if self.at == start {
            Err(Problem::Malformed)
        } else {
            Ok(())
        }
    }

    /// A string. One without escapes is a part of the text.
    fn string(&mut self) -> Result<&'a [u8], Problem> {
        if self.peek() != Some(b'"') {
            return Err(Problem::Malformed);
        }
        let start = self.at + 1;
        let mut at = start;
        let mut is_plain = true;
        loop {
            match self.text.get(at) {
                Some(b'"') => break,
                Some(b'\\') => {
                    is_plain = false;
                    at += 2;
                }
                None | Some(0..0x20) => return Err(Problem::Malformed),
                Some(_) => at += 1,
            }
        }
        self.at = at + 1;
        let inner = &self.text[start..at];
        if is_plain && std::str::from_utf8(inner).is_ok() {
            return Ok(inner);
        }
        let mut is_well_formed = true;
        let text = self.context.text(|out| {
            let mut rest = inner;
            while let Some((&first, after)) = rest.split_first() {
                if first == b'\\' {
                    let Some((c, after)) = unescaped(after) else {
                        is_well_formed = false;
                        return;
                    };
                    out.push_char(c);
                    rest = after;
                } else {
                    // Up to the next escape; what is not UTF-8 becomes U+FFFD.
                    let length = memchr::memchr(b'\\', rest).unwrap_or(rest.len());
                    for chunk in rest[..length].utf8_chunks() {
                        out.push(chunk.valid().as_bytes());
                        chunk.invalid().iter().for_each(|_| out.push_char('\u{fffd}'));
                    }
                    rest = &rest[length..];
                }
            }
        })?;
        match text {
            Value::Text(text) if is_well_formed => Ok(text),
            _ => Err(Problem::Malformed),
        }
    }
}

/// The character of an escape, and what follows it. Half of a pair is U+FFFD.
fn unescaped(text: &[u8]) -> Option<(char, &[u8])> {
    let (first, rest) = text.split_first()?;
    Some(match first {
        b'"' | b'\\' | b'/' => (char::from(*first), rest),
        b'b' => ('\u{8}', rest),
        b'f' => ('\u{c}', rest),
        b'n' => ('\n', rest),
        b'r' => ('\r', rest),
        b't' => ('\t', rest),
        b'u' => {
            let unit = four_digits(rest)?;
            let rest = &rest[4..];
            if let Some(c) = char::from_u32(unit) {
                return Some((c, rest));
            }
            let low = rest.strip_prefix(b"\\u").and_then(four_digits);
            match low {
                Some(low @ 0xdc00..=0xdfff) if unit < 0xdc00 => {
                    let code = 0x1_0000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
                    (char::from_u32(code).unwrap_or('\u{fffd}'), &rest[6..])
                }
                _ => ('\u{fffd}', rest),
            }
        }
        _ => return None,
    })
}

fn four_digits(text: &[u8]) -> Option<u32> {
    let digits = text.get(..4)?;
    digits
        .iter()
        .try_fold(0, |number, b| Some(number * 16 + char::from(*b).to_digit(16)?))
}
