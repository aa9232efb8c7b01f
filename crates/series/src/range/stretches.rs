//! Cutting a piece at the borders of buckets.

// hot path: no lock, no logging, no allocation per sample.

use super::buckets::Buckets;
use super::source::Piece;
use std::ops::Range;

/// Fewer buckets in a piece than this are found one by one, which decodes few of its timestamps.
const FEW_BUCKETS: u64 = 4;

/// The stretches of a piece that lie in one bucket each: the bucket's start and indexes of the piece, in the order of visit.
pub(super) struct Stretches<'a> {
    times: Times<'a>,
    buckets: Buckets,
    descending: bool,
    first: i64,
    last: i64,
    left: Range<usize>,
    /// The start of the next bucket to visit.
    start: i64,
    /// How long the last stretch was: the next one is likely to be as long.
    length: usize,
}

/// How the timestamps of a piece are known.
enum Times<'a> {
    Regular { first: i64, step: i64 },
    Decoded(&'a [i64]),
    Encoded(&'a Piece<'a>),
}

impl<'a> Stretches<'a> {
    /// Decodes the timestamps of a piece into a buffer if they are needed in any case, or if that is the fastest way to cut it.
    pub(super) fn new(
        piece: &'a Piece<'_>,
        buckets: Buckets,
        descending: bool,
        needs_timestamps: bool,
        buffer: &'a mut Vec<i64>,
    ) -> Stretches<'a> {
        let (first, last) = (piece.first_timestamp(), piece.last_timestamp());
        let (lowest, highest) = (buckets.start_of(first), buckets.start_of(last));
        let times = if needs_timestamps {
            Times::Decoded(piece.timestamps(buffer))
        } else if let Some((first, step)) = piece.regular() {
            Times::Regular { first, step }
        } else if buckets.count_between(lowest, highest) < FEW_BUCKETS {
            Times::Encoded(piece)
        } else {
            Times::Decoded(piece.timestamps(buffer))
        };
        Stretches {
            times,
            buckets,
            descending,
            first,
            last,
            left: 0..piece.len(),
            start: if descending { highest } else { lowest },
            length: 1,
        }
    }

    /// The decoded timestamps of a stretch; none unless they were needed.
    pub(super) fn timestamps(&self, range: Range<usize>) -> &'a [i64] {
        match self.times {
            Times::Decoded(timestamps) => &timestamps[range],
            Times::Regular { .. } | Times::Encoded(_) => &[],
        }
    }

    fn next_ascending(&mut self) -> (i64, Range<usize>) {
        let start = self.start;
        let Some(next) = self.buckets.next_start(start).filter(|next| *next <= self.last) else {
            return (start, std::mem::take(&mut self.left));
        };
        let end = self.times.lower_bound(next, &self.left, self.length);
        let stretch = self.left.start..end;
        self.left.start = end;
        // The next bucket mostly, which takes no division.
        let timestamp = self.times.at(end);
        let is_next = timestamp - next < self.buckets.duration();
        self.start = if is_next {
            next
        } else {
            self.buckets.start_of(timestamp)
        };
        (start, stretch)
    }

    fn next_descending(&mut self) -> (i64, Range<usize>) {
        let start = self.start;
        if start <= self.first {
            return (start, std::mem::take(&mut self.left));
        }
        let guess = self.left.len().saturating_sub(self.length);
        let begin = self.times.lower_bound(start, &self.left, guess);
        let stretch = begin..self.left.end;
        self.left.end = begin;
        let timestamp = self.times.at(begin - 1);
        let next = start - self.buckets.duration();
        let is_next = next <= timestamp;
        self.start = if is_next {
            next
        } else {
            self.buckets.start_of(timestamp)
        };
        (start, stretch)
    }
}

impl Iterator for Stretches<'_> {
    type Item = (i64, Range<usize>);

    fn next(&mut self) -> Option<(i64, Range<usize>)> {
        if self.left.is_empty() {
            return None;
        }
        let stretch = if self.descending {
            self.next_descending()
        } else {
            self.next_ascending()
        };
        self.length = stretch.1.len();
        Some(stretch)
    }
}

impl Times<'_> {
    /// The timestamp at an index.
    fn at(&self, index: usize) -> i64 {
        match self {
            Times::Regular { first, step } => first + step * index as i64,
            Times::Decoded(timestamps) => timestamps[index],
            Times::Encoded(piece) => piece.timestamp_at(index),
        }
    }

    /// The index of the first timestamp that is not below another, within indexes of which the first has a timestamp below it and not
    /// all have, and with a guess, counted from the first.
    fn lower_bound(&self, timestamp: i64, within: &Range<usize>, guess: usize) -> usize {
        match self {
            Times::Regular { first, step } => ((timestamp - first) as u64).div_ceil(*step as u64) as usize,
            Times::Decoded(timestamps) => {
                within.start + lower_bound_near(&timestamps[within.clone()], timestamp, guess)
            }
            Times::Encoded(piece) => piece.lower_bound(timestamp),
        }
    }
}

/// The index of the first timestamp that is not below a target, searched for around a guess. The first timestamp is below it.
fn lower_bound_near(timestamps: &[i64], target: i64, guess: usize) -> usize {
    let mut low = 0;
    let mut high = timestamps.len();
    let mut step = 1;
    let mut probe = guess.clamp(1, high);
    // A window from `low` to `high` is narrowed from the side of the guess by doubling steps.
    if timestamps[probe - 1] < target {
        low = probe - 1;
        while probe < high {
            if timestamps[probe] >= target {
                high = probe;
                break;
            }
            low = probe;
            probe += step;
            step *= 2;
        }
    } else {
        high = probe - 1;
        while high > step {
            probe = high - step;
            if timestamps[probe] < target {
                low = probe;
                break;
            }
            high = probe;
            step *= 2;
        }
    }
    low + timestamps[low..high].partition_point(|timestamp| *timestamp < target)
}
