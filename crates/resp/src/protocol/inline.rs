//! Lines of words, as people type them: `SET key "a value\n"`.

use super::ProtocolError;
use super::arguments::Word;

/// Splits a line into words. Words in double quotes know `\n \r \t \b \a \xHH` and escaped characters, those in single quotes `\'`.
pub(super) fn split(line: &[u8], unquoted: &mut Vec<u8>, words: &mut Vec<Word>) -> Result<(), ProtocolError> {
    let mut rest = line.trim_ascii_start();
    while !rest.is_empty() {
        let start = unquoted.len();
        rest = word(rest, unquoted)?;
        words.push(Word {
            start: start as u32,
            len: (unquoted.len() - start) as u32,
        });
        rest = rest.trim_ascii_start();
    }
    Ok(())
}

/// Takes one word from the beginning of a line, and gives the rest.
fn word<'a>(mut rest: &'a [u8], unquoted: &mut Vec<u8>) -> Result<&'a [u8], ProtocolError> {
    loop {
        match rest {
            [] => return Ok(rest),
            [byte, ..] if byte.is_ascii_whitespace() || *byte == 0 => return Ok(&rest[1..]),
            [b'"', quoted @ ..] => return double_quoted(quoted, unquoted),
            [b'\'', quoted @ ..] => return single_quoted(quoted, unquoted),
            [byte, behind @ ..] => {
                unquoted.push(*byte);
                rest = behind;
            }
        }
    }
}

fn double_quoted<'a>(mut rest: &'a [u8], unquoted: &mut Vec<u8>) -> Result<&'a [u8], ProtocolError> {
    loop {
        rest = match rest {
            [] => return Err(ProtocolError::UnbalancedQuotes),
            [b'\\', b'x', high, low, behind @ ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                unquoted.push(digit(*high) << 4 | digit(*low));
                behind
            }
            [b'\\', byte, behind @ ..] => {
                unquoted.push(match byte {
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    b'b' => 8,
                    b'a' => 7,
                    other => *other,
                });
                behind
            }
            [b'"', behind @ ..] => return after_quote(behind),
            [byte, behind @ ..] => {
                unquoted.push(*byte);
                behind
            }
        };
    }
}

fn single_quoted<'a>(mut rest: &'a [u8], unquoted: &mut Vec<u8>) -> Result<&'a [u8], ProtocolError> {
    loop {
        rest = match rest {
            [] => return Err(ProtocolError::UnbalancedQuotes),
            [b'\\', b'\'', behind @ ..] => {
                unquoted.push(b'\'');
                behind
            }
            [b'\'', behind @ ..] => return after_quote(behind),
            [byte, behind @ ..] => {
                unquoted.push(*byte);
                behind
            }
        };
    }
}

/// A closing quote ends its word.
fn after_quote(rest: &[u8]) -> Result<&[u8], ProtocolError> {
    match rest {
        [] => Ok(rest),
        [byte, ..] if byte.is_ascii_whitespace() => Ok(rest),
        _ => Err(ProtocolError::UnbalancedQuotes),
    }
}

fn digit(hex: u8) -> u8 {
    char::from(hex).to_digit(16).unwrap_or(0) as u8
}
