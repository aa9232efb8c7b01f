// hot path: no locks, no logging, nothing allocated per entry in steady state.

//! Quoting as Go's `strconv.Quote` does, and text of any bytes in messages.

use std::fmt;

use crate::template::sink::{Sink, put};

/// True if Go holds the character for printable: letters, marks, numbers, punctuation, symbols and the space.
pub(in crate::template) fn is_printable(c: char) -> bool {
    if c.is_ascii() {
        return (' '..='~').contains(&c);
    }
    // Behind another character the standard library escapes exactly what is not printable.
    let mut text = [b'a'; 5];
    let length = 1 + c.encode_utf8(&mut text[1..]).len();
    std::str::from_utf8(&text[..length]).is_ok_and(|text| text.escape_debug().nth(1) == Some(c))
}

/// Appends a text in double quotes with its unprintable parts escaped; `ascii` escapes all beyond ASCII too.
pub(in crate::template) fn append_quoted(text: &[u8], ascii: bool, out: &mut Sink<'_>) {
    out.push_byte(b'"');
    for chunk in text.utf8_chunks() {
        for c in chunk.valid().chars() {
            append_escaped(c, '"', ascii, out);
        }
        for byte in chunk.invalid() {
            put!(out, "\\x{byte:02x}");
        }
    }
    out.push_byte(b'"');
}

/// Appends a character, escaped if it is `quote` or unprintable.
pub(in crate::template) fn append_escaped(c: char, quote: char, ascii: bool, out: &mut Sink<'_>) {
    match c {
        '\\' => out.push(b"\\\\"),
        c if c == quote => {
            out.push_byte(b'\\');
            out.push_char(c);
        }
        c if is_printable(c) && (c.is_ascii() || !ascii) => out.push_char(c),
        '\u{7}' => out.push(b"\\a"),
        '\u{8}' => out.push(b"\\b"),
        '\u{c}' => out.push(b"\\f"),
        '\n' => out.push(b"\\n"),
        '\r' => out.push(b"\\r"),
        '\t' => out.push(b"\\t"),
        '\u{b}' => out.push(b"\\v"),
        c if c.is_ascii() => put!(out, "\\x{:02x}", u32::from(c)),
        c if u32::from(c) < 0x1_0000 => put!(out, "\\u{:04x}", u32::from(c)),
        c => put!(out, "\\U{:08x}", u32::from(c)),
    }
}

/// Shows text of any bytes; what is not UTF-8 becomes U+FFFD.
pub(in crate::template) struct Shown<'a>(pub(in crate::template) &'a [u8]);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for chunk in self.0.utf8_chunks() {
            f.write_str(chunk.valid())?;
            if !chunk.invalid().is_empty() {
                f.write_str("\u{fffd}")?;
            }
        }
        Ok(())
    }
}
