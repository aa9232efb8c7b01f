// hot path: no locks, no logging, nothing allocated per entry in steady state.

//! Text for other formats: base64, URLs, HTML, JavaScript.

use super::text_of;
use crate::template::context::{Context, Outcome};
use crate::template::print::print_all;
use crate::template::print::quote::{Shown, is_printable};
use crate::template::sink::{Sink, put};
use crate::template::value::Value;

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

pub(super) fn base64_encode<'a>(context: &mut Context<'_, 'a>, arguments: &[Value<'a>]) -> Outcome<'a> {
    let text = text_of(arguments, 0);
    context.text(|out| {
        for group in text.chunks(3) {
            let byte = |at: usize| u32::from(group.get(at).copied().unwrap_or(0));
            let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
            for at in 0..4 {
                out.push_byte(if at <= group.len() {
                    BASE64[(bits >> (18 - 6 * at) & 63) as usize]
                } else {
                    b'='
                });
            }
        }
    })
}

/// The value of wrong input is the text of the error.
pub(super) fn base64_decode<'a>(context: &mut Context<'_, 'a>, arguments: &[Value<'a>]) -> Outcome<'a> {
    let text = text_of(arguments, 0);
    context.text(|out| {
        let start = out.position();
        if let Err(at) = decode(text, out) {
            out.truncate(start);
            put!(out, "illegal base64 data at input byte {at}");
        }
    })
}

/// Decodes base64 with padding; line breaks do not count. The error is the place of the first wrong byte.
fn decode(text: &[u8], out: &mut Sink<'_>) -> Result<(), usize> {
    let mut bytes = text.iter().enumerate().filter(|(_, b)| !matches!(b, b'\r' | b'\n'));
    loop {
        let mut bits = 0;
        let mut count = 0;
        while count < 4 {
            let Some((at, byte)) = bytes.next() else {
                return if count == 0 { Ok(()) } else { Err(text.len() - count) };
            };
            let Some(value) = BASE64.iter().position(|b| b == byte) else {
                if *byte != b'=' || count < 2 {
                    return Err(at);
                }
                if count == 2 {
                    match bytes.next() {
                        Some((_, b'=')) => {}
                        Some((at, _)) => return Err(at),
                        None => return Err(text.len()),
                    }
                }
                if let Some((at, _)) = bytes.next() {
                    return Err(at);
                }
                break;
            };
            bits |= (value as u32) << (18 - 6 * count);
            count += 1;
        }
        // Two digits are one byte, three are two.
        out.push(&bits.to_be_bytes()[1..count.max(1)]);
        if count < 4 {
            return Ok(());
        }
    }
}

pub(super) fn url_encode<'a>(context: &mut Context<'_, 'a>, arguments: &[Value<'a>]) -> Outcome<'a> {
    let text = text_of(arguments, 0);
    context.text(|out| append_url_encoded(text, out))
}

fn append_url_encoded(text: &[u8], out: &mut Sink<'_>) {
    for &byte in text {
        match byte {
            b' ' => out.push_byte(b'+'),
            b'-' | b'_' | b'.' | b'~' => out.push_byte(byte),
            _ if byte.is_ascii_alphanumeric() => out.push_byte(byte),
            _ => put!(out, "%{byte:02X}"),
        }
    }
}

pub(super) fn url_decode<'a>(context: &mut Context<'_, 'a>, arguments: &[Value<'a>]) -> Outcome<'a> {
    let text = text_of(arguments, 0);
    let mut wrong = None;
    let decoded = context.text(|out| {
        let mut rest = text;
        while let Some((&first, after)) = rest.split_first() {
            rest = after;
            match first {
                b'+' => out.push_byte(b' '),
                b'%' => {
                    let digit = |at: usize| after.get(at).and_then(|b| char::from(*b).to_digit(16));
                    let Some((high, low)) = digit(0).zip(digit(1)) else {
                        wrong = Some(&text[text.len() - after.len() - 1..]);
                        return;
                    };
                    out.push_byte((high * 16 + low) as u8);
                    rest = &after[2..];
                }
                byte => out.push_byte(byte),
            }
        }
    })?;
    match wrong {
        Some(escape) => {
            let escape = Shown(&escape[..escape.len().min(3)]);
            Err(context.fail(format_args!("invalid URL escape \"{escape}\"")))
        }
        None => Ok(decoded),
    }
}

/// The arguments as one text, as `print` joins them.
fn joined<'a>(
    context: &mut Context<'_, 'a>,
    arguments: &[Value<'a>],
) -> Result<&'a [u8], crate::template::context::Failure> {
    match arguments {
        [Value::Text(text)] => Ok(text),
        _ => match context.text(|out| print_all(arguments, out))? {
            Value::Text(text) => Ok(text),
            _ => Ok(b""),
        },
    }
}

pub(super) fn url_query<'a>(context: &mut Context<'_, 'a>, arguments: &[Value<'a>]) -> Outcome<'a> {
    let text = joined(context, arguments)?;
    context.text(|out| append_url_encoded(text, out))
}

pub(super) fn html<'a>(context: &mut Context<'_, 'a>, arguments: &[Value<'a>]) -> Outcome<'a> {
    let text = joined(context, arguments)?;
    context.text(|out| {
        for &byte in text {
            match byte {
                b'"' => out.push(b"&#34;"),
                b'\'' => out.push(b"&#39;"),
                b'&' => out.push(b"&amp;"),
                b'<' => out.push(b"&lt;"),
                b'>' => out.push(b"&gt;"),
                0 => out.push_char('\u{fffd}'),
                _ => out.push_byte(byte),
            }
        }
    })
}

pub(super) fn javascript<'a>(context: &mut Context<'_, 'a>, arguments: &[Value<'a>]) -> Outcome<'a> {
    let text = joined(context, arguments)?;
    context.text(|out| {
        for chunk in text.utf8_chunks() {
            chunk.valid().chars().for_each(|c| append_javascript(c, out));
            for _ in chunk.invalid() {
                out.push_char('\u{fffd}');
            }
        }
    })
}

fn append_javascript(c: char, out: &mut Sink<'_>) {
    match c {
        '\\' => out.push(b"\\\\"),
        '\'' => out.push(b"\\'"),
        '"' => out.push(b"\\\""),
        '<' | '>' | '&' | '=' => put!(out, "\\u{:04X}", u32::from(c)),
        c if c.is_ascii() && c >= ' ' => out.push_char(c),
        c if is_printable(c) => out.push_char(c),
        c => put!(out, "\\u{:04X}", u32::from(c)),
    }
}
