// hot path: no locks, no logging, nothing allocated per entry in steady state.

//! The line that a parser reads, and its copy in the arena of the labels.
//!
//! One copy of 300 bytes is cheaper than fifteen of twenty, and a value that is a part of it takes no writing at all:
//!
//! ```text
//!   line    level=info msg="all is well" took=3ms
//!                 ---- |    -----------       --- |     parts of the line
//!   arena   ...|level=info msg="all is well" took=3ms|
//!              start
//! ```

use super::needs::Needed;
use super::span::Span;

/// Longer lines are not copied as a whole: most of such a line rarely becomes labels.
const MAX_LINE_BYTES: usize = 64 << 10;

/// A line from which a parser takes parts as values.
pub(super) struct TakenLine<'a> {
    line: &'a [u8],
    /// Where the copy begins, if there is one.
    start: Option<u32>,
    is_worth_copying: bool,
}

impl<'a> TakenLine<'a> {
    /// A line of which nothing is copied yet.
    pub(super) fn new(line: &'a [u8], needed: &Needed) -> Self {
        Self {
            line,
            start: None,
            is_worth_copying: needed.are_all() && line.len() <= MAX_LINE_BYTES,
        }
    }

    /// Where in the arena the text of a part of the line stands.
    #[inline]
    pub(super) fn part(&mut self, part: &[u8], arena: &mut Vec<u8>) -> Span {
        if !self.is_worth_copying {
            return Span::push(part, arena);
        }
        let start = match self.start {
            Some(start) => start,
            None => self.copy(arena),
        };
        let offset = part.as_ptr() as usize - self.line.as_ptr() as usize;
        debug_assert!(offset + part.len() <= self.line.len(), "a part of another text");
        let start = start + offset as u32;
        Span {
            start,
            end: start + part.len() as u32,
        }
    }

    #[cold]
    fn copy(&mut self, arena: &mut Vec<u8>) -> u32 {
        let start = Span::push(self.line, arena).start;
        self.start = Some(start);
        start
    }
}
