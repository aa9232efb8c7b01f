// hot path: no locks shared between cores, no logging above debug, no allocation per command.
//! Replies, written straight into the bytes that go to the client.

use super::number::{append_integer, append_resp2_number, append_resp3_number};

/// The version of the protocol that a client chose with HELLO.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Protocol {
    /// RESP2, what every client begins with.
    #[default]
    Two,
    /// RESP3.
    Three,
}

impl Protocol {
    /// The number of the version.
    pub fn number(self) -> i64 {
        match self {
            Protocol::Two => 2,
            Protocol::Three => 3,
        }
    }
}

/// Replies that were written and not sent.
#[derive(Debug, Default)]
pub struct Reply {
    bytes: Vec<u8>,
    /// The version in which the next reply is written.
    pub protocol: Protocol,
}

impl Reply {
    /// No replies yet.
    pub fn new(protocol: Protocol) -> Reply {
        Reply {
            bytes: Vec::new(),
            protocol,
        }
    }

    /// Goes on behind bytes that were written before.
    pub(crate) fn appending(bytes: Vec<u8>, protocol: Protocol) -> Reply {
        Reply { bytes, protocol }
    }

    /// What was written, taken.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// What was written.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Bytes written; [`Reply::truncate`] goes back to here.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether nothing was written.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Takes back what was written since.
    pub fn truncate(&mut self, len: usize) {
        self.bytes.truncate(len);
    }

    /// The bytes, to send or to append complete replies to.
    pub fn bytes_mut(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Whether the client speaks RESP3.
    pub fn is_resp3(&self) -> bool {
        self.protocol == Protocol::Three
    }

    /// `+text`
    pub fn simple(&mut self, text: &str) {
        self.line(b'+', text.as_bytes());
    }

    /// `+OK`
    pub fn ok(&mut self) {
        self.bytes.extend_from_slice(b"+OK\r\n");
    }

    /// `-text`; the text begins with its code (`ERR ...`).
    pub fn error(&mut self, text: &str) {
        self.line(b'-', text.as_bytes());
    }

    /// `:value`
    pub fn integer(&mut self, value: i64) {
        self.head(b':', value);
    }

    /// A string of any bytes.
    pub fn bulk(&mut self, text: &[u8]) {
        self.head(b'$', text.len() as i64);
        self.bytes.extend_from_slice(text);
        self.bytes.extend_from_slice(b"\r\n");
    }

    /// A string or nothing.
    pub fn bulk_or_null(&mut self, text: Option<&[u8]>) {
        match text {
            Some(text) => self.bulk(text),
            None => self.null(),
        }
    }

    /// No string.
    pub fn null(&mut self) {
        self.bytes
            .extend_from_slice(if self.is_resp3() { b"_\r\n" } else { b"$-1\r\n" });
    }

    /// No array.
    pub fn null_array(&mut self) {
        self.bytes
            .extend_from_slice(if self.is_resp3() { b"_\r\n" } else { b"*-1\r\n" });
    }

    /// An array of so many replies, which follow.
    pub fn array(&mut self, len: usize) {
        self.head(b'*', len as i64);
    }

    /// A map of so many pairs of replies, which follow; in RESP2 an array of twice as many.
    pub fn map(&mut self, pairs: usize) {
        if self.is_resp3() {
            self.head(b'%', pairs as i64);
        } else {
            self.array(2 * pairs);
        }
    }

    /// A set of so many replies, which follow; in RESP2 an array.
    pub fn set(&mut self, len: usize) {
        self.head(if self.is_resp3() { b'~' } else { b'*' }, len as i64);
    }

    /// A message that is no reply, of so many parts, which follow; in RESP2 an array.
    pub fn push(&mut self, len: usize) {
        self.head(if self.is_resp3() { b'>' } else { b'*' }, len as i64);
    }

    /// A double; in RESP2 a bulk string of the text that RESP3 would have.
    pub fn double(&mut self, value: f64) {
        if self.is_resp3() {
            self.bytes.push(b',');
            append_resp3_number(&mut self.bytes, value);
            self.bytes.extend_from_slice(b"\r\n");
        } else {
            let mut text = Vec::with_capacity(24);
            append_resp3_number(&mut text, value);
            self.bulk(&text);
        }
    }

    /// The value of a sample: a double; in RESP2 a simple string (specification, chapter 14).
    pub fn sample_value(&mut self, value: f64) {
        if self.is_resp3() {
            self.bytes.push(b',');
            append_resp3_number(&mut self.bytes, value);
        } else {
            self.bytes.push(b'+');
            append_resp2_number(&mut self.bytes, value);
        }
        self.bytes.extend_from_slice(b"\r\n");
    }

    /// A text for people: verbatim in RESP3, a bulk string in RESP2.
    pub fn verbatim(&mut self, text: &str) {
        if self.is_resp3() {
            self.head(b'=', text.len() as i64 + 4);
            self.bytes.extend_from_slice(b"txt:");
            self.bytes.extend_from_slice(text.as_bytes());
            self.bytes.extend_from_slice(b"\r\n");
        } else {
            self.bulk(text.as_bytes());
        }
    }

    fn head(&mut self, tag: u8, number: i64) {
        self.bytes.push(tag);
        append_integer(&mut self.bytes, number);
        self.bytes.extend_from_slice(b"\r\n");
    }

    /// A line; what would end it early becomes a blank.
    fn line(&mut self, tag: u8, text: &[u8]) {
        self.bytes.push(tag);
        let start = self.bytes.len();
        self.bytes.extend_from_slice(text);
        for byte in &mut self.bytes[start..] {
            if matches!(byte, b'\r' | b'\n') {
                *byte = b' ';
            }
        }
        self.bytes.extend_from_slice(b"\r\n");
    }
}
