// hot path: no locks, no logging, nothing allocated per entry in steady state.

//! `fmt.Sprintf`: verbs, flags, widths, argument numbers, and Go's marks where they do not fit.

use super::super::sink::{Sink, put};
use super::super::time::{MONTHS, WEEKDAYS};
use super::super::value::Value;
use super::quote::{append_escaped, append_quoted};
use super::{float, name_of, print_value};

/// Go's bound of widths and precisions.
const MAX_WIDTH: usize = 1_000_000;

/// What stands between `%` and the verb.
#[derive(Clone, Copy, Default)]
struct Flags {
    plus: bool,
    minus: bool,
    sharp: bool,
    space: bool,
    zero: bool,
    width: Option<usize>,
    precision: Option<usize>,
}

/// Appends `format` with its verbs replaced by `arguments`.
pub(in crate::template) fn print_formatted(format: &[u8], arguments: &[Value<'_>], out: &mut Sink<'_>) {
    let mut formatter = Formatter {
        format,
        at: 0,
        arguments,
        next: 0,
        reordered: false,
        good_number: true,
    };
    while !out.is_exceeded() && formatter.print_piece(out) {}
    if !formatter.reordered && formatter.next < arguments.len() {
        out.push(b"%!(EXTRA ");
        for (at, argument) in arguments[formatter.next..].iter().enumerate() {
            if at > 0 {
                out.push(b", ");
            }
            if argument.is_nil() {
                out.push(b"<nil>");
            } else {
                out.push(argument.type_name().as_bytes());
                out.push_byte(b'=');
                print_value(*argument, out);
            }
        }
        out.push_byte(b')');
    }
}

struct Formatter<'f, 'a> {
    format: &'f [u8],
    at: usize,
    arguments: &'f [Value<'a>],
    next: usize,
    /// An argument was asked for by number.
    reordered: bool,
    good_number: bool,
}

impl Formatter<'_, '_> {
    /// Text and the verb behind it. False at the end.
    fn print_piece(&mut self, out: &mut Sink<'_>) -> bool {
        let rest = &self.format[self.at..];
        let text = memchr::memchr(b'%', rest).unwrap_or(rest.len());
        out.push(&rest[..text]);
        self.at += text + 1;
        if text == rest.len() {
            return false;
        }
        self.good_number = true;
        let mut after_number = false;
        let mut flags = self.flags();
        self.argument_number(&mut after_number);
        if self.pass(b'*') {
            match self.star() {
                Some(width) => {
                    flags.minus |= width < 0;
                    flags.zero &= !flags.minus;
                    flags.width = usize::try_from(width.unsigned_abs()).ok();
                }
                None => out.push(b"%!(BADWIDTH)"),
            }
            after_number = false;
        } else {
            flags.width = self.number();
            if after_number && flags.width.is_some() {
                self.good_number = false;
            }
        }
        if self.pass(b'.') {
            if after_number {
                self.good_number = false;
            }
            self.argument_number(&mut after_number);
            if self.pass(b'*') {
                let precision = self.star();
                flags.precision = precision.and_then(|n| usize::try_from(n).ok());
                if flags.precision.is_none() {
                    out.push(b"%!(BADPREC)");
                }
                after_number = false;
            } else {
                flags.precision = Some(self.number().unwrap_or(0));
            }
        }
        if !after_number {
            self.argument_number(&mut after_number);
        }
        let Some(verb) = self.verb() else {
            out.push(b"%!(NOVERB)");
            return false;
        };
        match self.arguments.get(self.next) {
            _ if verb == '%' => out.push_byte(b'%'),
            _ if !self.good_number => put!(out, "%!{verb}(BADINDEX)"),
            None => put!(out, "%!{verb}(MISSING)"),
            Some(argument) => {
                self.next += 1;
                print_argument(*argument, verb, flags, out);
            }
        }
        true
    }

    fn flags(&mut self) -> Flags {
        let mut flags = Flags::default();
        while let Some(byte) = self.format.get(self.at) {
            match byte {
                b'#' => flags.sharp = true,
                b'0' => flags.zero = true,
                b'+' => flags.plus = true,
                b'-' => flags.minus = true,
                b' ' => flags.space = true,
                _ => break,
            }
            self.at += 1;
        }
        // Zeros never go to the right.
        flags.zero &= !flags.minus;
        flags
    }

    fn pass(&mut self, byte: u8) -> bool {
        let passed = self.format.get(self.at) == Some(&byte);
        self.at += usize::from(passed);
        passed
    }

    /// A width or precision in digits. One that is too large counts as none.
    fn number(&mut self) -> Option<usize> {
        let mut number = None;
        while let Some(digit) = self.format.get(self.at).filter(|b| b.is_ascii_digit()) {
            let shorter = number.unwrap_or(0);
            if shorter > MAX_WIDTH {
                // Nothing behind it is read.
                self.at = self.format.len();
                return None;
            }
            number = Some(shorter * 10 + usize::from(digit - b'0'));
            self.at += 1;
        }
        number
    }

    /// A width or precision from the arguments.
    fn star(&mut self) -> Option<i64> {
        let argument = self.arguments.get(self.next)?;
        self.next += 1;
        let number = match argument {
            Value::Int(n) | Value::Int64(n) => *n,
            Value::Byte(n) => i64::from(*n),
            _ => return None,
        };
        (number.unsigned_abs() <= MAX_WIDTH as u64).then_some(number)
    }

    /// `[3]`: which argument is next.
    fn argument_number(&mut self, after_number: &mut bool) {
        if self.format.get(self.at) != Some(&b'[') {
            *after_number = false;
            return;
        }
        self.reordered = true;
        *after_number = true;
        let rest = &self.format[self.at + 1..];
        let Some(end) = memchr::memchr(b']', rest) else {
            self.good_number = false;
            self.at += 1;
            return;
        };
        self.at += end + 2;
        let number = std::str::from_utf8(&rest[..end])
            .ok()
            .and_then(|t| t.parse::<usize>().ok());
        match number {
            Some(number) if (1..=self.arguments.len()).contains(&number) => self.next = number - 1,
            _ => self.good_number = false,
        }
    }

    fn verb(&mut self) -> Option<char> {
        let rest = self.format.get(self.at..)?;
        let chunk = rest.utf8_chunks().next()?;
        let verb = chunk.valid().chars().next();
        self.at += verb.map_or(1, char::len_utf8);
        Some(verb.unwrap_or('\u{fffd}'))
    }
}

fn print_argument(argument: Value<'_>, verb: char, flags: Flags, out: &mut Sink<'_>) {
    match verb {
        'T' if argument.is_nil() => padded(flags, out, |out| out.push(b"<nil>")),
        'T' => padded(flags, out, |out| out.push(argument.type_name().as_bytes())),
        'v' if argument.is_nil() => padded(flags, out, |out| out.push(b"<nil>")),
        _ if argument.is_nil() => put!(out, "%!{verb}(<nil>)"),
        'v' if flags.sharp => print_go_syntax(argument, flags, out),
        'v' => {
            // `%+v` only adds names of fields, of which our values have none.
            let flags = Flags { plus: false, ..flags };
            print_verb(argument, verb, flags, out);
        }
        'p' => bad_verb(argument, verb, out),
        _ => print_verb(argument, verb, flags, out),
    }
}

fn print_verb(value: Value<'_>, verb: char, flags: Flags, out: &mut Sink<'_>) {
    match value {
        Value::Nothing | Value::Null if verb == 'v' => padded(flags, out, |out| out.push(b"<nil>")),
        Value::Nothing | Value::Null => put!(out, "%!{verb}(<nil>)"),
        Value::Bool(_) if matches!(verb, 't' | 'v') => padded(flags, out, |out| print_value(value, out)),
        Value::Int(n) | Value::Int64(n) => print_integer(n, value, verb, flags, out),
        Value::Byte(n) => print_integer(i64::from(n), value, verb, flags, out),
        Value::Float(n) => print_float(n, value, verb, flags, out),
        Value::Text(text) => print_text(text, value, verb, flags, out),
        Value::Time(time) if flags.precision.is_none() && matches!(verb, 'v' | 's') => {
            padded(flags, out, |out| time.print(out));
        }
        Value::Month(_) | Value::Weekday(_) | Value::Time(_) if matches!(verb, 'v' | 's' | 'x' | 'X' | 'q') => {
            let mut buffer = NameBuffer::default();
            let text = match value {
                Value::Month(n) => name_of(&MONTHS, usize::from(n).wrapping_sub(1)).as_bytes(),
                Value::Weekday(n) => name_of(&WEEKDAYS, usize::from(n)).as_bytes(),
                Value::Time(time) => {
                    put!(buffer, "{time}");
                    &buffer.text[..buffer.length]
                }
                _ => b"",
            };
            print_text(text, value, verb, flags, out);
        }
        Value::Month(n) | Value::Weekday(n) => print_integer(i64::from(n), value, verb, flags, out),
        Value::List(items) => {
            out.push_byte(b'[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push_byte(b' ');
                }
                print_verb(*item, verb, flags, out);
            }
            out.push_byte(b']');
        }
        Value::Map(entries) => print_map(entries.iter().copied(), verb, flags, out),
        Value::Labels(entries) => {
            let entries = entries.iter().map(|(key, value)| (*key, Value::Text(value)));
            print_map(entries, verb, flags, out);
        }
        Value::Bool(_) | Value::Time(_) => bad_verb(value, verb, out),
    }
}

fn print_map<'a>(entries: impl Iterator<Item = (&'a [u8], Value<'a>)>, verb: char, flags: Flags, out: &mut Sink<'_>) {
    out.push(b"map[");
    for (at, (key, value)) in entries.enumerate() {
        if at > 0 {
            out.push_byte(b' ');
        }
        print_verb(Value::Text(key), verb, flags, out);
        out.push_byte(b':');
        print_verb(value, verb, flags, out);
    }
    out.push_byte(b']');
}

/// `%!d(string=x)`
fn bad_verb(value: Value<'_>, verb: char, out: &mut Sink<'_>) {
    put!(out, "%!{verb}({}=", value.type_name());
    print_value(value, out);
    out.push_byte(b')');
}

/// Pads what `write` writes to the width, which counts characters.
fn padded(flags: Flags, out: &mut Sink<'_>, write: impl FnOnce(&mut Sink<'_>)) {
    let start = out.position();
    write(out);
    let Some(width) = flags.width else { return };
    let is_start = |b: &&u8| **b & 0xc0 != 0x80;
    let length = out.since(start).iter().filter(is_start).count();
    let missing = width.saturating_sub(length);
    if flags.minus {
        out.push_repeated(b" ", missing);
    } else {
        out.insert(start, if flags.zero { b'0' } else { b' ' }, missing);
    }
}

fn print_text(text: &[u8], value: Value<'_>, verb: char, flags: Flags, out: &mut Sink<'_>) {
    match verb {
        'v' | 's' => padded(flags, out, |out| out.push(cut(text, flags.precision))),
        'q' => {
            let text = cut(text, flags.precision);
            let is_raw = |text: &[u8]| std::str::from_utf8(text).is_ok_and(can_be_raw);
            padded(flags, out, |out| {
                if flags.sharp && is_raw(text) {
                    out.push_byte(b'`');
                    out.push(text);
                    out.push_byte(b'`');
                } else {
                    append_quoted(text, flags.plus, out);
                }
            });
        }
        'x' | 'X' => padded(flags, out, |out| {
            let text = &text[..flags.precision.map_or(text.len(), |digits| digits.min(text.len()))];
            for (at, byte) in text.iter().enumerate() {
                if at > 0 && flags.space {
                    out.push_byte(b' ');
                }
                if flags.sharp && (at == 0 || flags.space) {
                    put!(out, "0{verb}");
                }
                if verb == 'x' {
                    put!(out, "{byte:02x}");
                } else {
                    put!(out, "{byte:02X}");
                }
            }
        }),
        _ => bad_verb(value, verb, out),
    }
}

fn can_be_raw(text: &str) -> bool {
    text.chars()
        .all(|c| c == '\t' || (c >= ' ' && !matches!(c, '`' | '\u{7f}' | '\u{feff}')))
}

/// The first `characters` of a text.
fn cut(text: &[u8], characters: Option<usize>) -> &[u8] {
    let Some(characters) = characters else { return text };
    let mut rest = text;
    for _ in 0..characters {
        if rest.is_empty() {
            break;
        }
        rest = &rest[character_length(rest)..];
    }
    &text[..text.len() - rest.len()]
}

/// Bytes of the first character; one byte where the text is not UTF-8. The text is not empty.
pub(in crate::template) fn character_length(text: &[u8]) -> usize {
    let head = &text[..text.len().min(4)];
    let chunk = head.utf8_chunks().next();
    chunk
        .and_then(|chunk| chunk.valid().chars().next())
        .map_or(1, char::len_utf8)
}

fn print_integer(number: i64, value: Value<'_>, verb: char, flags: Flags, out: &mut Sink<'_>) {
    let magnitude = number.unsigned_abs();
    let mut digits = NameBuffer::default();
    match verb {
        'v' | 'd' => put!(digits, "{magnitude}"),
        'b' => put!(digits, "{magnitude:b}"),
        'o' | 'O' => put!(digits, "{magnitude:o}"),
        'x' => put!(digits, "{magnitude:x}"),
        'X' => put!(digits, "{magnitude:X}"),
        'c' => return padded(flags, out, |out| out.push_char(character(number))),
        'q' => {
            return padded(flags, out, |out| {
                out.push_byte(b'\'');
                append_escaped(character(number), '\'', flags.plus, out);
                out.push_byte(b'\'');
            });
        }
        'U' => return print_code_point(number, flags, out),
        _ => return bad_verb(value, verb, out),
    }
    let digits = &digits.text[..digits.length];
    if flags.precision == Some(0) && number == 0 {
        let blank = Flags { zero: false, ..flags };
        return padded(blank, out, |_| {});
    }
    let sign = match (number < 0, flags.plus, flags.space) {
        (true, _, _) => "-",
        (_, true, _) => "+",
        (_, _, true) => " ",
        _ => "",
    };
    let prefix = match verb {
        'O' => "0o",
        'b' if flags.sharp => "0b",
        'o' if flags.sharp => "0",
        'x' if flags.sharp => "0x",
        'X' if flags.sharp => "0X",
        _ => "",
    };
    // Zeros fill the width behind the sign, but a precision takes precedence.
    let length = match (flags.precision, flags.width) {
        (Some(precision), _) => precision,
        (None, Some(width)) if flags.zero => width.saturating_sub(sign.len()),
        _ => 0,
    };
    let spaces = Flags { zero: false, ..flags };
    padded(spaces, out, |out| {
        out.push(sign.as_bytes());
        out.push(prefix.as_bytes());
        out.push_repeated(b"0", length.saturating_sub(digits.len()));
        out.push(digits);
    });
}

fn character(number: i64) -> char {
    u32::try_from(number)
        .ok()
        .and_then(char::from_u32)
        .unwrap_or('\u{fffd}')
}

/// `U+0041`, with `#` also `U+0041 'A'`.
fn print_code_point(number: i64, flags: Flags, out: &mut Sink<'_>) {
    let digits = flags.precision.unwrap_or(4).max(4);
    let spaces = Flags { zero: false, ..flags };
    padded(spaces, out, |out| {
        out.push(b"U+");
        let start = out.position();
        put!(out, "{number:X}");
        let length = out.position() - start;
        out.insert(start, b'0', digits.saturating_sub(length));
        let shown = u32::try_from(number)
            .ok()
            .and_then(char::from_u32)
            .filter(|c| super::quote::is_printable(*c));
        if let (true, Some(c)) = (flags.sharp, shown) {
            out.push(b" '");
            out.push_char(c);
            out.push_byte(b'\'');
        }
    });
}

fn print_float(number: f64, value: Value<'_>, verb: char, flags: Flags, out: &mut Sink<'_>) {
    let (form, default_precision) = match verb {
        'v' | 'g' => (b'g', None),
        'G' => (b'G', None),
        'e' => (b'e', Some(6)),
        'E' => (b'E', Some(6)),
        'f' | 'F' => (b'f', Some(6)),
        _ => return bad_verb(value, verb, out),
    };
    let precision = flags.precision.or(default_precision);
    let is_finite = number.is_finite();
    // Zeros go between sign and digits, and never before `Inf`.
    let zeros = flags.zero && is_finite;
    let start = out.position();
    let negative = number.is_sign_negative() && !number.is_nan();
    match (negative, flags.plus, flags.space) {
        (true, _, _) => out.push_byte(b'-'),
        (_, true, _) => out.push_byte(b'+'),
        (_, _, true) => out.push_byte(b' '),
        _ if number.is_infinite() => out.push_byte(b'+'),
        _ => {}
    }
    let digits = out.position();
    if is_finite {
        float::append(number.abs(), form, precision, out);
        if flags.sharp {
            keep_point(digits, verb, precision, out);
        }
    } else {
        out.push(if number.is_nan() { b"NaN" } else { b"Inf" });
    }
    let length = out.position() - start;
    let missing = flags.width.unwrap_or(0).saturating_sub(length);
    if flags.minus {
        out.push_repeated(b" ", missing);
    } else if zeros {
        out.insert(digits, b'0', missing);
    } else {
        out.insert(start, b' ', missing);
    }
}

/// The flag `#`: the point stays, and with `%g` so do the zeros behind it.
fn keep_point(digits: usize, verb: char, precision: Option<usize>, out: &mut Sink<'_>) {
    let mut tail = NameBuffer::default();
    let text = out.since(digits);
    let end = text.iter().position(|b| matches!(b, b'e' | b'E')).unwrap_or(text.len());
    put!(tail, "{}", std::str::from_utf8(&text[end..]).unwrap_or_default());
    let has_point = text[..end].contains(&b'.');
    // Leading zeros are no significant digits.
    let leading = text[..end].iter().take_while(|b| matches!(b, b'0' | b'.')).count();
    let significant = text[leading.min(end)..end]
        .iter()
        .filter(|b| b.is_ascii_digit())
        .count();
    out.truncate(digits + end);
    if !has_point {
        out.push_byte(b'.');
    }
    if matches!(verb, 'v' | 'g' | 'G') {
        let wanted = precision.unwrap_or(6);
        out.push_repeated(b"0", wanted.saturating_sub(significant.max(1)));
    }
    out.push(&tail.text[..tail.length]);
}

/// `%#v`: the value as Go source.
fn print_go_syntax(value: Value<'_>, flags: Flags, out: &mut Sink<'_>) {
    let plain = Flags {
        sharp: false,
        plus: false,
        ..flags
    };
    match value {
        Value::Text(text) => padded(plain, out, |out| append_quoted(text, false, out)),
        Value::Byte(n) => padded(plain, out, |out| put!(out, "0x{n:x}")),
        Value::Nothing | Value::Null => out.push(b"interface {}(nil)"),
        Value::List(items) => {
            out.push(b"[]interface {}{");
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(b", ");
                }
                print_go_syntax(*item, flags, out);
            }
            out.push_byte(b'}');
        }
        Value::Map(entries) => print_go_map(value, entries.iter().copied(), flags, out),
        Value::Labels(entries) => {
            let entries = entries.iter().map(|(key, value)| (*key, Value::Text(value)));
            print_go_map(value, entries, flags, out);
        }
        Value::Month(n) | Value::Weekday(n) => print_integer(i64::from(n), value, 'd', plain, out),
        _ => print_verb(value, 'v', plain, out),
    }
}

fn print_go_map<'a>(
    map: Value<'_>,
    entries: impl Iterator<Item = (&'a [u8], Value<'a>)>,
    flags: Flags,
    out: &mut Sink<'_>,
) {
    put!(out, "{}{{", map.type_name());
    for (at, (key, value)) in entries.enumerate() {
        if at > 0 {
            out.push(b", ");
        }
        append_quoted(key, false, out);
        out.push_byte(b':');
        print_go_syntax(value, flags, out);
    }
    out.push_byte(b'}');
}

/// Room for a number in binary or a time.
struct NameBuffer {
    text: [u8; 96],
    length: usize,
}

impl Default for NameBuffer {
    fn default() -> Self {
        Self {
            text: [0; 96],
            length: 0,
        }
    }
}

impl std::fmt::Write for NameBuffer {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let end = self.length + text.len();
        let place = self.text.get_mut(self.length..end).ok_or(std::fmt::Error)?;
        place.copy_from_slice(text.as_bytes());
        self.length = end;
        Ok(())
    }
}
