//! Counts answers, without making anything of them.

/// Counts the answers to a batch as their bytes come in: integers, errors, and arrays of both.
#[derive(Default)]
pub(super) struct Replies {
    /// Lines that are still to come.
    due: usize,
    /// Lines that were errors.
    pub(super) errors: u64,
    /// The beginning of a line whose end has not come.
    partial: Vec<u8>,
}

/// Of a line only its beginning matters; an error's text may be as long as it likes.
const KEPT_BYTES: usize = 32;

impl Replies {
    /// Expects the answers to so many commands.
    pub(super) fn expect(&mut self, commands: usize) {
        self.due += commands;
    }

    /// Takes what was received; true when nothing is due any more.
    pub(super) fn take(&mut self, mut bytes: &[u8]) -> bool {
        while let Some(end) = memchr::memchr(b'\n', bytes) {
            let (line, rest) = bytes.split_at(end + 1);
            bytes = rest;
            if self.partial.is_empty() {
                self.line(line);
            } else {
                let mut whole = std::mem::take(&mut self.partial);
                whole.extend_from_slice(line);
                self.line(&whole);
            }
        }
        let room = KEPT_BYTES.saturating_sub(self.partial.len());
        self.partial.extend_from_slice(&bytes[..bytes.len().min(room)]);
        self.due == 0
    }

    fn line(&mut self, line: &[u8]) {
        self.due = self.due.saturating_sub(1);
        match line.first() {
            Some(b'-') => self.errors += 1,
            Some(b'*') => {
                let count = std::str::from_utf8(&line[1..])
                    .ok()
                    .and_then(|text| text.trim().parse().ok());
                self.due += count.unwrap_or(0_usize);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_counted_however_they_are_cut() {
        let answers = b":1\r\n-ERR TSDB: a rather long text that is longer than what is kept of a line\r\n*3\r\n:1\r\n-ERR x\r\n:3\r\n:4\r\n";
        for size in 1..answers.len() {
            let mut replies = Replies::default();
            replies.expect(4);
            let pieces: Vec<&[u8]> = answers.chunks(size).collect();
            for (number, piece) in pieces.iter().enumerate() {
                assert_eq!(
                    replies.take(piece),
                    number + 1 == pieces.len(),
                    "pieces of {size}, {number}"
                );
            }
            assert_eq!(replies.errors, 2);
        }
    }
}
