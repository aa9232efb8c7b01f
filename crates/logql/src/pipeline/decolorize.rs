// hot path: no locks, no logging, nothing allocated per line in steady state.

//! The stage `decolorize` (logql.md 8).

use memchr::memchr;

const ESCAPE: u8 = 0x1b;
const BELL: u8 = 0x07;

/// Writes the line without its ANSI escape sequences to `out`. False if there are none and the line stays.
pub(super) fn decolorize(line: &[u8], out: &mut Vec<u8>) -> bool {
    let mut rest = line;
    let Some(mut at) = memchr(ESCAPE, rest) else {
        return false;
    };
    out.clear();
    loop {
        out.extend_from_slice(&rest[..at]);
        rest = &rest[at..];
        let length = sequence_length(rest);
        if length == 0 {
            out.push(ESCAPE);
        }
        rest = &rest[length.max(1)..];
        let Some(next) = memchr(ESCAPE, rest) else {
            break;
        };
        at = next;
    }
    out.extend_from_slice(rest);
    true
}

/// Length of the escape sequence at the start of `text`; 0 if it is not one.
fn sequence_length(text: &[u8]) -> usize {
    match text.get(1) {
        // Control sequences: parameters, intermediate bytes, a final byte.
        Some(b'[') => {
            let parameters = text[2..].iter().position(|b| !(0x20..0x40).contains(b));
            match parameters {
                Some(length) if (0x40..0x7f).contains(&text[2 + length]) => 3 + length,
                _ => 0,
            }
        }
        // Operating system commands such as titles and links, ended by a bell or `ESC \`.
        Some(b']') => {
            let end = text[2..].iter().position(|b| *b == BELL || *b == ESCAPE);
            match end {
                Some(length) if text[2 + length] == BELL => 3 + length,
                Some(length) if text.get(3 + length) == Some(&b'\\') => 4 + length,
                _ => 0,
            }
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use crate::ast::Stage;
    use crate::pipeline::testing::{entry, line_after};

    #[test]
    fn escape_sequences_go() {
        let f = |line: &str, want: &str| assert_eq!(line_after(&[Stage::Decolorize], &entry(line)), want, "{line:?}");
        f("plain", "plain");
        f("\x1b[31mERROR\x1b[0m step \x1b[1;4mdone\x1b[m", "ERROR step done");
        f("a\x1b[2Kb\x1b[10;5Hc\x1b[?25l", "abc");
        f("\x1b]8;;http://x\x07link\x1b]8;;\x1b\\!", "link!");
        f("lone \x1b and \x1b[31", "lone \x1b and \x1b[31");
        f("\x1b", "\x1b");
    }
}
