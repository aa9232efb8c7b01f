// hot path: no locks, no logging, nothing allocated per entry in steady state.

//! Places in a buffer.

/// A part of a buffer that is shorter than 4 GiB.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Span {
    pub(super) start: u32,
    pub(super) end: u32,
}

impl Span {
    /// Appends `text` to a buffer.
    #[inline]
    pub(super) fn push(text: &[u8], buffer: &mut Vec<u8>) -> Self {
        let start = buffer.len();
        buffer.extend_from_slice(text);
        Self::since(start, buffer)
    }

    /// From `start`, a place in the buffer, to its end.
    #[inline]
    pub(super) fn since(start: usize, buffer: &[u8]) -> Self {
        let end = u32::try_from(buffer.len()).expect("bug: text of the labels of one entry exceeds 4 GiB");
        Self {
            start: start as u32,
            end,
        }
    }

    /// The text there.
    #[inline]
    pub(super) fn of(self, buffer: &[u8]) -> &[u8] {
        &buffer[self.start as usize..self.end as usize]
    }

    /// Appends the text there to `out`. Texts of labels are short: a copy of fixed size, cut off afterwards, is one or two
    /// instructions where a copy of any size is a call.
    #[inline]
    pub(super) fn append_to(self, buffer: &[u8], out: &mut Vec<u8>) {
        let length = self.length() as usize;
        let rest = &buffer[self.start as usize..];
        let end = out.len() + length;
        if length <= 16
            && let Some(chunk) = rest.first_chunk::<16>()
        {
            out.extend_from_slice(chunk);
            out.truncate(end);
        } else if length <= 32
            && let Some(chunk) = rest.first_chunk::<32>()
        {
            out.extend_from_slice(chunk);
            out.truncate(end);
        } else {
            out.extend_from_slice(&rest[..length]);
        }
    }

    /// True if `text` begins with the text there. Compares short texts as numbers for the same reason.
    #[inline]
    pub(super) fn is_start_of(self, buffer: &[u8], text: &[u8]) -> bool {
        let length = self.length() as usize;
        let rest = &buffer[self.start as usize..];
        if length <= 8
            && let (Some(a), Some(b)) = (rest.first_chunk::<8>(), text.first_chunk::<8>())
        {
            let differing = u64::from_le_bytes(*a) ^ u64::from_le_bytes(*b);
            return differing.trailing_zeros() as usize >= 8 * length;
        }
        if length <= 16
            && let (Some(a), Some(b)) = (rest.first_chunk::<16>(), text.first_chunk::<16>())
        {
            let differing = u128::from_le_bytes(*a) ^ u128::from_le_bytes(*b);
            return differing.trailing_zeros() as usize >= 8 * length;
        }
        text.starts_with(&rest[..length])
    }

    #[inline]
    pub(super) fn length(self) -> u32 {
        self.end - self.start
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_cuts_do_what_they_stand_for() {
        let buffer: Vec<u8> = (0..100).collect();
        for (start, end) in (0..100).flat_map(|start| (start..=100).map(move |end| (start, end))) {
            let span = Span { start, end };
            let text = &buffer[start as usize..end as usize];
            let mut out = b"before".to_vec();
            span.append_to(&buffer, &mut out);
            assert_eq!(out, [b"before", text].concat());
            for tail in [0, 1, 20] {
                let mut longer = [text, &vec![7; tail]].concat();
                assert!(span.is_start_of(&buffer, &longer), "{start}..{end}");
                if let Some(last) = text.len().checked_sub(1) {
                    longer[last] ^= 0x80;
                    assert!(!span.is_start_of(&buffer, &longer), "{start}..{end}");
                    assert!(!span.is_start_of(&buffer, &text[..last]), "{start}..{end}");
                }
            }
        }
    }
}
