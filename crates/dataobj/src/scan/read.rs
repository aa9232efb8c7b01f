//! A scan together with something that reads ranges and waits for them.

use super::Scan;
use super::Step;
use super::batch::Batch;
use crate::error::{Damage, Error};
use bytes::Bytes;
use std::ops::Range;

/// Reads ranges of one object.
pub trait ReadRanges {
    /// What reading fails with; a scan's own errors must fit in as well.
    type Error: From<Error>;

    /// The bytes of each range, in their order. The ranges ascend and don't overlap; they are requests, already joined and cut, and may
    /// be read side by side.
    fn read(&mut self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>, Self::Error>;
}

impl Scan<'_> {
    /// The next rows, with everything read that it takes; `None` at the end. For callers that may wait; others use [`Scan::step`].
    pub fn next_batch<R: ReadRanges>(&mut self, reader: &mut R) -> Result<Option<Batch>, R::Error> {
        loop {
            match self.step()? {
                Step::Fetch(ranges) => {
                    let bodies = reader.read(&ranges)?;
                    self.supply(&bodies)?;
                }
                Step::Batch(batch) => return Ok(Some(batch)),
                Step::Done => return Ok(None),
            }
        }
    }
}

/// An object in memory, of which ranges are shared and not copied.
impl ReadRanges for Bytes {
    type Error = Error;

    fn read(&mut self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>, Error> {
        let cut = |range: &Range<u64>| Ok(self.slice(within(range, self.len())?));
        ranges.iter().map(cut).collect()
    }
}

/// An object in borrowed memory, of which ranges are copied.
impl ReadRanges for &[u8] {
    type Error = Error;

    fn read(&mut self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>, Error> {
        let copy = |range: &Range<u64>| Ok(Bytes::copy_from_slice(&self[within(range, self.len())?]));
        ranges.iter().map(copy).collect()
    }
}

fn within(range: &Range<u64>, length: usize) -> Result<Range<usize>, Error> {
    if range.start <= range.end && range.end <= length as u64 {
        return Ok(range.start as usize..range.end as usize);
    }
    let reason = format!("range {range:?} is outside of an object of {length} bytes");
    Err(Damage::new(reason).at(None, range.start))
}
