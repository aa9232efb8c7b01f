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

    #[inline]
    pub(super) fn length(self) -> u32 {
        self.end - self.start
    }
}
