// hot path: no locks shared between cores, no logging above debug, no allocation per command.
//! Finds the commands in the bytes of a client: arrays of bulk strings, and lines of words for people.

use super::arguments::Word;
use super::{Arguments, Limits, ProtocolError, inline};

/// Reads commands one by one. A command that is not complete yet is gone on with from where the bytes ended, so that a large one
/// that comes in small pieces is looked at once.
#[derive(Debug, Default)]
pub struct RequestParser {
    words: Vec<Word>,
    /// Words of an inline command without quotes and escapes.
    unquoted: Vec<u8>,
    is_inline: bool,
    /// Words that the command in progress still lacks; 0 between commands.
    missing: usize,
    /// Length of the word whose bytes are due next.
    word_len: Option<usize>,
    /// Where to go on within the command in progress.
    position: usize,
    /// How far the line in progress was searched for its end.
    searched: usize,
}

impl RequestParser {
    /// Looks for one command at the beginning of `bytes`: those that no command took yet, the same ones as last time plus what came
    /// since. Gives the number of bytes that it takes; nothing if it is not complete. Then [`RequestParser::arguments`] are its words,
    /// none for an empty line or an empty array.
    pub fn next(&mut self, bytes: &[u8], limits: &Limits) -> Result<Option<usize>, ProtocolError> {
        if self.missing == 0 && self.position == 0 {
            self.words.clear();
            match bytes.first() {
                None => return Ok(None),
                Some(b'*') => {}
                Some(_) => return self.inline(bytes, limits),
            }
            self.is_inline = false;
            let Some((count, end)) = self.number(bytes, 1, ProtocolError::TooBigMultibulkCount)? else {
                return Ok(None);
            };
            let count = count.ok_or(ProtocolError::InvalidMultibulkLength)?;
            if count <= 0 {
                return Ok(Some(end));
            }
            let count = usize::try_from(count).map_err(|_| ProtocolError::InvalidMultibulkLength)?;
            if count > limits.max_words {
                return Err(ProtocolError::InvalidMultibulkLength);
            }
            if !limits.authenticated && count > Limits::UNAUTHENTICATED_WORDS {
                return Err(ProtocolError::UnauthenticatedMultibulkLength);
            }
            self.missing = count;
            self.position = end;
        }
        while self.missing > 0 {
            let Some(len) = self.bulk_length(bytes, limits)? else {
                return Ok(None);
            };
            let end = self.position + len;
            if end + 2 > Limits::MAX_REQUEST_BYTES {
                return Err(ProtocolError::TooBigRequest);
            }
            if bytes.len() < end + 2 {
                return Ok(None);
            }
            self.words.push(Word {
                start: self.position as u32,
                len: len as u32,
            });
            self.word_len = None;
            self.missing -= 1;
            self.position = end + 2;
        }
        let taken = self.position;
        self.position = 0;
        Ok(Some(taken))
    }

    /// The words of the command that [`RequestParser::next`] found in these bytes.
    pub fn arguments<'a>(&'a self, bytes: &'a [u8]) -> Arguments<'a> {
        Arguments::new(if self.is_inline { &self.unquoted } else { bytes }, &self.words)
    }

    /// How many bytes the command in progress is known to need, so that a long word is received with few reads.
    pub fn expected_bytes(&self) -> usize {
        self.word_len.map_or(0, |len| self.position + len + 2)
    }

    /// Gives back the memory that a large command took.
    pub fn shrink(&mut self) {
        if self.missing == 0 {
            self.words.clear();
            self.words.shrink_to(32);
            self.unquoted = Vec::new();
        }
    }

    fn bulk_length(&mut self, bytes: &[u8], limits: &Limits) -> Result<Option<usize>, ProtocolError> {
        if let Some(len) = self.word_len {
            return Ok(Some(len));
        }
        match bytes.get(self.position) {
            None => return Ok(None),
            Some(b'$') => {}
            Some(other) => return Err(ProtocolError::ExpectedBulk(*other)),
        }
        let Some((len, end)) = self.number(bytes, self.position + 1, ProtocolError::TooBigBulkCount)? else {
            return Ok(None);
        };
        let len = len
            .and_then(|len| usize::try_from(len).ok())
            .filter(|len| *len <= limits.max_word_bytes)
            .ok_or(ProtocolError::InvalidBulkLength)?;
        if !limits.authenticated && len > Limits::UNAUTHENTICATED_WORD_BYTES {
            return Err(ProtocolError::UnauthenticatedBulkLength);
        }
        self.word_len = Some(len);
        self.position = end;
        Ok(Some(len))
    }

    /// The number from a place to the end of its line, and where the next line begins; nothing if the line is not complete.
    fn number(
        &mut self,
        bytes: &[u8],
        start: usize,
        too_long: ProtocolError,
    ) -> Result<Option<(Option<i64>, usize)>, ProtocolError> {
        // Nearly every number has one to three digits.
        let mut value = 0i64;
        for (place, byte) in bytes.iter().enumerate().skip(start).take(9) {
            match byte {
                // A leading zero is no number, unless it is all of it.
                b'0'..=b'9' if place == start || value > 0 => value = value * 10 + i64::from(byte - b'0'),
                b'\r' if place > start && bytes.get(place + 1).is_some() => {
                    // The byte behind the carriage return is not looked at, as in the peer.
                    self.searched = 0;
                    return Ok(Some((Some(value), place + 2)));
                }
                _ => break,
            }
        }
        let from = start.max(self.searched);
        let Some(end) = memchr::memchr(b'\r', bytes.get(from..).unwrap_or_default()).map(|found| from + found) else {
            if bytes.len() - start > Limits::MAX_LINE_BYTES {
                return Err(too_long);
            }
            self.searched = bytes.len();
            return Ok(None);
        };
        if bytes.len() < end + 2 {
            return Ok(None);
        }
        self.searched = 0;
        Ok(Some((strict_integer(&bytes[start..end]), end + 2)))
    }

    fn inline(&mut self, bytes: &[u8], limits: &Limits) -> Result<Option<usize>, ProtocolError> {
        let from = self.searched.min(bytes.len());
        let Some(end) = memchr::memchr(b'\n', &bytes[from..]).map(|found| from + found) else {
            if bytes.len() > Limits::MAX_LINE_BYTES {
                return Err(ProtocolError::TooBigInline);
            }
            self.searched = bytes.len();
            return Ok(None);
        };
        self.searched = 0;
        if end > Limits::MAX_LINE_BYTES {
            return Err(ProtocolError::TooBigInline);
        }
        let line = &bytes[..end];
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        self.is_inline = true;
        self.unquoted.clear();
        inline::split(line, &mut self.unquoted, &mut self.words)?;
        if !limits.authenticated && self.words.len() > Limits::UNAUTHENTICATED_WORDS {
            return Err(ProtocolError::UnauthenticatedMultibulkLength);
        }
        Ok(Some(end + 1))
    }
}

/// An integer as the server reads them: an optional minus, no plus, no leading zeros (specification, chapter 2).
pub(crate) fn strict_integer(text: &[u8]) -> Option<i64> {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    let well_formed = match digits {
        [b'0'] => text.len() == 1,
        [b'1'..=b'9', rest @ ..] => rest.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    if !well_formed {
        return None;
    }
    std::str::from_utf8(text).ok()?.parse().ok()
}
