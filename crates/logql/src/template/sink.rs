// hot path: no locks, no logging, nothing allocated per entry in steady state.

//! Where text is written, within a bound.

use std::fmt;

use super::limits::MAX_TEXT_BYTES;

/// The end of a buffer, to which at most [`MAX_TEXT_BYTES`] are appended. What goes beyond is left out and remembered, so that
/// writers need not look after each piece.
pub(super) struct Sink<'b> {
    bytes: &'b mut Vec<u8>,
    end: usize,
    exceeded: bool,
}

impl<'b> Sink<'b> {
    /// Appends to `bytes`.
    pub(super) fn new(bytes: &'b mut Vec<u8>) -> Self {
        let end = bytes.len().saturating_add(MAX_TEXT_BYTES);
        Self {
            bytes,
            end,
            exceeded: false,
        }
    }

    /// True if something was left out.
    pub(super) fn is_exceeded(&self) -> bool {
        self.exceeded
    }

    /// Length of the buffer, a place for [`Sink::since`].
    pub(super) fn position(&self) -> usize {
        self.bytes.len()
    }

    /// What was written from `position` on.
    pub(super) fn since(&mut self, position: usize) -> &mut [u8] {
        &mut self.bytes[position..]
    }

    /// Takes back what was written from `position` on.
    pub(super) fn truncate(&mut self, position: usize) {
        self.bytes.truncate(position);
    }

    /// Appends bytes.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        if self.exceeded || bytes.len() > self.end - self.bytes.len() {
            self.exceeded = true;
        } else {
            self.bytes.extend_from_slice(bytes);
        }
    }

    /// Appends a byte.
    pub(super) fn push_byte(&mut self, byte: u8) {
        self.push(&[byte]);
    }

    /// Appends a character as UTF-8.
    pub(super) fn push_char(&mut self, c: char) {
        self.push(c.encode_utf8(&mut [0; 4]).as_bytes());
    }

    /// Appends `piece` `count` times.
    pub(super) fn push_repeated(&mut self, piece: &[u8], count: usize) {
        let fits = piece
            .len()
            .checked_mul(count)
            .is_some_and(|n| n <= self.end - self.bytes.len());
        if self.exceeded || !fits {
            self.exceeded = true;
            return;
        }
        if let [byte] = piece {
            self.bytes.resize(self.bytes.len() + count, *byte);
        } else if !piece.is_empty() {
            for _ in 0..count {
                self.bytes.extend_from_slice(piece);
            }
        }
    }

    /// Puts `count` bytes before what was written from `position` on.
    pub(super) fn insert(&mut self, position: usize, byte: u8, count: usize) {
        let length = self.bytes.len();
        self.push_repeated(&[byte], count);
        if !self.exceeded {
            self.bytes.copy_within(position..length, position + count);
            self.bytes[position..position + count].fill(byte);
        }
    }
}

impl fmt::Write for Sink<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.push(text.as_bytes());
        Ok(())
    }
}

/// Writes formatted text to a sink.
macro_rules! put {
    ($sink:expr, $($text:tt)*) => {{
        use std::fmt::Write as _;
        // A sink takes everything.
        let _ = write!($sink, $($text)*);
    }};
}

pub(super) use put;
