//! The structured metadata of one entry while it is decoded; reused from entry to entry.

// hot path: no locks, no logging, no allocation per row.

use std::borrow::Cow;

/// Name and value pairs in one buffer. Invalid UTF-8 becomes U+FFFD.
#[derive(Debug, Default)]
pub(crate) struct Pairs {
    text: String,
    /// End of the name and end of the value in `text`.
    ends: Vec<(usize, usize)>,
}

impl Pairs {
    /// Forgets all pairs and keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.text.clear();
        self.ends.clear();
    }

    /// Adds a pair.
    pub(crate) fn push(&mut self, name: &[u8], value: &[u8]) {
        self.text.push_str(&lossy(name));
        let name_end = self.text.len();
        self.text.push_str(&lossy(value));
        self.ends.push((name_end, self.text.len()));
    }

    /// The pairs in the order in which they were added.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> + Clone {
        let starts = std::iter::once(0).chain(self.ends.iter().map(|(_, value_end)| *value_end));
        let pair =
            |(start, (name, value)): (usize, &(usize, usize))| (&self.text[start..*name], &self.text[*name..*value]);
        starts.zip(&self.ends).map(pair)
    }
}

/// Text with U+FFFD for what is not UTF-8; borrowed when there is nothing to replace.
pub(crate) fn lossy(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_come_back_in_order_and_memory_is_reused() {
        let mut pairs = Pairs::default();
        pairs.push(b"stale", b"x");
        pairs.clear();
        pairs.push(b"a", b"1");
        pairs.push(b"", b"");
        pairs.push(b"b\xff", b"\xffz");
        let got: Vec<_> = pairs.iter().collect();
        assert_eq!(got, [("a", "1"), ("", ""), ("b\u{fffd}", "\u{fffd}z")]);
    }
}
