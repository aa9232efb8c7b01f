// hot path: no locks, no logging, no allocation per sample.
//! How timestamps are kept. Each encoding has its file of the same shape: encode, check bytes, open them, read.
//!
//! | number | encoding | holds | file |
//! |---|---|---|---|
//! | 0 | raw | anything | `../raw.rs` |
//! | 1 | regular | equal distances; no bytes | `regular.rs` |
//! | 2 | irregular | anything: what distances, or distances to a line, have in common is left out | `irregular.rs` |

mod irregular;
mod regular;

use super::column::Column;
use super::{CodecError, Encoding, raw};
use std::cmp::Ordering;

/// What the header of a chunk knows of its timestamps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// The lowest timestamp.
    pub(crate) first: i64,
    /// The highest timestamp.
    pub(crate) last: i64,
    /// How many; at least one.
    pub(crate) len: usize,
}

/// Number of an encoding of timestamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Raw = 0,
    Regular = 1,
    Irregular = 2,
}

impl Kind {
    /// By its number in the format.
    pub(crate) fn from_number(number: u8) -> Result<Kind, CodecError> {
        Ok(match number {
            0 => Kind::Raw,
            1 => Kind::Regular,
            2 => Kind::Irregular,
            _ => return Err(CodecError::Corrupt("unknown encoding of timestamps")),
        })
    }
}

/// Appends a column in the smallest encoding and tells which.
pub(crate) fn append(timestamps: &[i64], encoding: Encoding, out: &mut Vec<u8>) -> Kind {
    match encoding {
        Encoding::Uncompressed => {
            raw::append(timestamps, out);
            Kind::Raw
        }
        Encoding::Compressed if regular::step(timestamps).is_some() => Kind::Regular,
        Encoding::Compressed => {
            irregular::append(timestamps, out);
            Kind::Irregular
        }
    }
}

/// Checks the bytes of a column, also that its timestamps ascend and keep to the bounds.
pub(crate) fn check(kind: Kind, bytes: &[u8], bounds: &Bounds) -> Result<(), CodecError> {
    match kind {
        Kind::Raw => raw::check(bytes, bounds.len)?,
        Kind::Regular => return regular::check(bytes, bounds),
        Kind::Irregular => irregular::check(bytes, bounds.len)?,
    }
    let timestamps = open(kind, bytes, bounds);
    let mut buffer = [0; super::BLOCK];
    let mut before = None;
    for start in (0..bounds.len).step_by(super::BLOCK) {
        let buffer = &mut buffer[..super::BLOCK.min(bounds.len - start)];
        timestamps.fill(start, buffer);
        for timestamp in buffer {
            if before.is_some_and(|before| before >= *timestamp) {
                return Err(CodecError::Corrupt("timestamps do not ascend"));
            }
            before = Some(*timestamp);
        }
    }
    if timestamps.at(0) != bounds.first || before != Some(bounds.last) {
        return Err(CodecError::Corrupt("timestamps do not keep to their bounds"));
    }
    Ok(())
}

/// Timestamps of a chunk.
pub(crate) enum Timestamps<'a> {
    Raw(raw::Raw<'a, i64>),
    Regular(regular::Regular),
    Irregular(irregular::Irregular<'a>),
}

/// Opens checked bytes.
#[inline]
pub(crate) fn open<'a>(kind: Kind, bytes: &'a [u8], bounds: &Bounds) -> Timestamps<'a> {
    match kind {
        Kind::Raw => Timestamps::Raw(raw::open(bytes)),
        Kind::Regular => Timestamps::Regular(regular::open(bounds)),
        Kind::Irregular => Timestamps::Irregular(irregular::open(bytes, bounds.len)),
    }
}

impl Timestamps<'_> {
    /// First timestamp and distance, if all distances are equal.
    pub(crate) fn regular(&self) -> Option<(i64, i64)> {
        match self {
            Timestamps::Regular(regular) => Some((regular.first, regular.step)),
            _ => None,
        }
    }

    /// The index of a timestamp, or the index at which it would be inserted.
    pub(crate) fn find(&self, timestamp: i64, bounds: &Bounds) -> Result<usize, usize> {
        if timestamp < bounds.first {
            return Err(0);
        }
        if timestamp >= bounds.last {
            return match timestamp.cmp(&bounds.last) {
                Ordering::Equal => Ok(bounds.len - 1),
                _ => Err(bounds.len),
            };
        }
        match self {
            Timestamps::Raw(column) => search(column, 0, bounds.len, timestamp),
            Timestamps::Regular(column) => column.find(timestamp),
            Timestamps::Irregular(column) => column.find(timestamp),
        }
    }
}

impl Column for Timestamps<'_> {
    type Item = i64;

    fn fill(&self, start: usize, out: &mut [i64]) {
        match self {
            Timestamps::Raw(column) => column.fill(start, out),
            Timestamps::Regular(column) => column.fill(start, out),
            Timestamps::Irregular(column) => column.fill(start, out),
        }
    }

    #[inline]
    fn at(&self, index: usize) -> i64 {
        match self {
            Timestamps::Raw(column) => column.at(index),
            Timestamps::Regular(column) => column.at(index),
            Timestamps::Irregular(column) => column.at(index),
        }
    }
}

/// Binary search between two indexes of a column whose items are read at little cost.
pub(crate) fn search(
    column: &impl Column<Item = i64>,
    mut low: usize,
    mut high: usize,
    timestamp: i64,
) -> Result<usize, usize> {
    while low < high {
        let middle = (low + high) / 2;
        match column.at(middle).cmp(&timestamp) {
            Ordering::Less => low = middle + 1,
            Ordering::Greater => high = middle,
            Ordering::Equal => return Ok(middle),
        }
    }
    Err(low)
}
