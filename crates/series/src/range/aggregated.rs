//! Ranges with AGGREGATION: samples put into buckets.
//!
//! Each piece of the source is cut into stretches that lie in one bucket, and each stretch is handed to the aggregators as one batch:
//!
//! ```text
//!  pieces    |--------------|  |-----------------|        as they lie in the parts
//!  buckets   .        .        .        .        .
//!  batches   |-------||-----|  |-------||-------||        NaN and what filters drop taken out
//! ```
//!
//! A piece within one bucket is not asked for its timestamps.

// hot path: no lock, no logging, no allocation per sample.

use super::buckets::Buckets;
use super::empty::{self, Gap};
use super::neighbours::{self, Bounds, Placed, Seen};
use super::sieve::Sieve;
use super::source::{Piece, Scratch, Source};
use super::{Aggregation, Aggregator, RangeQuery, Rows};
use crate::aggregate::{Batch, Bucket, Surroundings, has_nan};
use crate::view::ReadError;
use std::ops::Range;

/// The buckets of the query's bounds, over the samples that pass its filters. For twa they end at `cut` at the latest.
pub(super) fn run(
    source: &Source<'_>,
    query: &RangeQuery,
    aggregation: &Aggregation,
    cut: i64,
) -> Result<Rows, ReadError> {
    let mut maker = Maker::new(source, query, aggregation);
    if query.from <= query.to {
        maker.make()?;
    }
    let Maker {
        buckets, mut placed, ..
    } = maker;
    let bounds = Bounds {
        from: query.from,
        to: query.to,
        cut,
        reverse: query.reverse,
    };
    neighbours::resolve(source, &bounds, aggregation, &buckets, &mut placed)?;
    let mut timestamps = placed.starts;
    for timestamp in &mut timestamps {
        *timestamp = buckets.shown(*timestamp, aggregation.bucket_timestamp);
    }
    Ok(Rows {
        timestamps,
        width: aggregation.aggregators.len(),
        values: placed.values,
    })
}

/// Fewer buckets in a piece than this are found one by one, which decodes few of an encoded piece's timestamps.
const FEW_BUCKETS: u64 = 4;

/// Makes rows of buckets, in the order of visit.
struct Maker<'a> {
    source: &'a Source<'a>,
    query: &'a RangeQuery,
    aggregators: &'a [Aggregator],
    buckets: Buckets,
    /// EMPTY: buckets without samples are rows too.
    fills: bool,
    /// COUNT.
    limit: usize,
    needs_timestamps: bool,
    /// The start of the bucket in the making.
    current: Option<i64>,
    /// The bucket in the making, for each aggregator.
    making: Vec<Bucket>,
    /// Whether the oldest of its samples is NaN.
    begins_with_nan: bool,
    /// Where the next row is due under EMPTY, once that is known.
    due: Option<i64>,
    /// What EMPTY has made so far.
    empty_cells: u64,
    /// The samples of a stretch that are left of it where some are taken out.
    sieve: Sieve,
    placed: Placed,
}

impl<'a> Maker<'a> {
    fn new(source: &'a Source<'a>, query: &'a RangeQuery, aggregation: &'a Aggregation) -> Maker<'a> {
        let aggregators = &aggregation.aggregators;
        Maker {
            source,
            query,
            aggregators,
            buckets: Buckets::new(aggregation.bucket, aggregation.align),
            fills: aggregation.empty,
            limit: query
                .count
                .map_or(usize::MAX, |count| usize::try_from(count).unwrap_or(usize::MAX)),
            needs_timestamps: aggregators.iter().any(|aggregator| aggregator.needs_timestamps()),
            current: None,
            making: aggregators.iter().map(|aggregator| Bucket::new(*aggregator)).collect(),
            begins_with_nan: false,
            due: None,
            empty_cells: 0,
            sieve: Sieve::default(),
            placed: Placed::default(),
        }
    }

    fn make(&mut self) -> Result<(), ReadError> {
        let source = self.source;
        let (from, to) = (self.query.from.max(0), self.query.to);
        // Under EMPTY rows reach up to a bound of the query if there is a sample beyond it.
        let mut near = None;
        let mut far = None;
        if self.fills {
            near = source.nearest_before(from, true)?.map(|_| self.buckets.start_of(from));
            far = source.nearest_after(to, true)?.map(|_| self.buckets.start_of(to));
            if self.query.reverse {
                (near, far) = (far, near);
            }
        }
        self.due = near;
        let mut scratch = Scratch::default();
        for piece in source.pieces(from, to, self.query.reverse) {
            self.add_piece(&piece?, &mut scratch)?;
            if self.is_full() {
                return Ok(());
            }
        }
        self.finish_bucket();
        match (self.due, far) {
            (Some(due), Some(far)) => self.fill(due, far, true),
            _ => Ok(()),
        }
    }

    fn add_piece(&mut self, piece: &Piece<'_>, scratch: &mut Scratch) -> Result<(), ReadError> {
        let (first, last) = (piece.first_timestamp(), piece.last_timestamp());
        let (timestamp_buffer, value_buffer) = scratch.buffers();
        let values = piece.values(value_buffer);
        let is_clean = self.source.value_bounds().is_none() && !has_nan(values);
        let start = self.buckets.start_of(first);
        let between = self.buckets.count_between(start, self.buckets.start_of(last));
        if between == 0 {
            let timestamps = if self.needs_timestamps {
                piece.timestamps(timestamp_buffer)
            } else {
                &[]
            };
            return self.add_stretch(start, timestamps, values, is_clean);
        }
        if between < FEW_BUCKETS && !self.needs_timestamps {
            let columns = Columns {
                first,
                last,
                len: piece.len(),
                timestamp_at: |index| piece.timestamp_at(index),
                lower_bound: |timestamp, _, _| piece.lower_bound(timestamp),
            };
            return self.add_stretches(&columns, &[], values, is_clean);
        }
        let timestamps = piece.timestamps(timestamp_buffer);
        let columns = Columns {
            first,
            last,
            len: timestamps.len(),
            timestamp_at: |index: usize| timestamps[index],
            lower_bound: |timestamp, within: Range<usize>, guess| {
                within.start + lower_bound_near(&timestamps[within], timestamp, guess)
            },
        };
        let batch_timestamps = if self.needs_timestamps { timestamps } else { &[] };
        self.add_stretches(&columns, batch_timestamps, values, is_clean)
    }

    /// Cuts a piece at the borders of buckets.
    fn add_stretches<A, B>(
        &mut self,
        columns: &Columns<A, B>,
        timestamps: &[i64],
        values: &[f64],
        is_clean: bool,
    ) -> Result<(), ReadError>
    where
        A: Fn(usize) -> i64,
        B: Fn(i64, Range<usize>, usize) -> usize,
    {
        let buckets = self.buckets;
        let mut left = 0..columns.len;
        // How long the last stretch was: the next one is likely to be as long.
        let mut length = 1;
        let mut start = buckets.start_of(if self.query.reverse {
            columns.last
        } else {
            columns.first
        });
        while !left.is_empty() {
            let next = buckets.next_start(start).filter(|next| *next <= columns.last);
            let stretch = if self.query.reverse {
                let begin = if start <= columns.first {
                    0
                } else {
                    (columns.lower_bound)(start, left.clone(), left.len().saturating_sub(length))
                };
                begin..left.end
            } else {
                let end = next.map_or(columns.len, |next| (columns.lower_bound)(next, left.clone(), length));
                left.start..end
            };
            length = stretch.len();
            let stretch_timestamps = timestamps.get(stretch.clone()).unwrap_or_default();
            self.add_stretch(start, stretch_timestamps, &values[stretch.clone()], is_clean)?;
            if self.is_full() {
                return Ok(());
            }
            // The neighbouring bucket mostly, which takes no division.
            if self.query.reverse {
                left.end = stretch.start;
                if left.end > 0 {
                    let timestamp = (columns.timestamp_at)(left.end - 1);
                    let neighbour = start - buckets.duration();
                    start = if neighbour <= timestamp {
                        neighbour
                    } else {
                        buckets.start_of(timestamp)
                    };
                }
            } else {
                left.start = stretch.end;
                if let Some(next) = next {
                    let timestamp = (columns.timestamp_at)(left.start);
                    let is_neighbour = timestamp - next < buckets.duration();
                    start = if is_neighbour {
                        next
                    } else {
                        buckets.start_of(timestamp)
                    };
                }
            }
        }
        Ok(())
    }

    /// Adds samples that lie in the bucket with this start.
    fn add_stretch(&mut self, start: i64, timestamps: &[i64], values: &[f64], is_clean: bool) -> Result<(), ReadError> {
        let (mut nans, mut begins_with_nan) = (0, false);
        if !is_clean {
            self.sieve.sift(timestamps, values, self.source.value_bounds());
            nans = self.sieve.nans();
            if nans == 0 && self.sieve.values().is_empty() {
                return Ok(());
            }
            begins_with_nan = nans > 0 && values.first().is_some_and(|value| value.is_nan());
        }
        let is_first = self.current != Some(start);
        if is_first {
            self.finish_bucket();
            if let Some(due) = self.due {
                self.fill(due, start, false)?;
            }
            if self.is_full() {
                return Ok(());
            }
            self.current = Some(start);
            for (bucket, aggregator) in self.making.iter_mut().zip(self.aggregators) {
                *bucket = Bucket::new(*aggregator);
            }
        }
        if is_first || self.query.reverse {
            self.begins_with_nan = begins_with_nan;
        }
        let (timestamps, values) = if is_clean {
            (timestamps, values)
        } else {
            (self.sieve.timestamps(), self.sieve.values())
        };
        let batch = Batch {
            timestamps,
            values,
            nans,
            descending: self.query.reverse,
        };
        for bucket in &mut self.making {
            bucket.add_batch(&batch);
        }
        Ok(())
    }

    /// Makes a row of the bucket in the making.
    fn finish_bucket(&mut self) {
        let Some(start) = self.current.take() else {
            return;
        };
        // What twa needs of its surroundings is known when all rows are made.
        let surroundings = Surroundings {
            from: start,
            to: start,
            before: None,
            after: None,
        };
        if self.fills || self.making.iter().any(|bucket| bucket.value(&surroundings).is_some()) {
            self.placed.starts.push(start);
            for bucket in &self.making {
                let value = bucket.value(&surroundings);
                self.placed
                    .values
                    .push(value.unwrap_or_else(|| bucket.aggregator().empty_value()));
            }
        }
        if self.needs_timestamps {
            self.placed.seen.push(Seen {
                start,
                area: self.making.iter().find_map(Bucket::area),
                begins_with_nan: self.begins_with_nan,
            });
        }
        if self.fills {
            self.due = if self.query.reverse {
                Some(start.saturating_sub(self.buckets.duration()))
            } else {
                self.buckets.next_start(start)
            };
        }
    }

    /// Makes rows of empty buckets from one start to another, which counts too if it is inclusive.
    fn fill(&mut self, from: i64, to: i64, inclusive: bool) -> Result<(), ReadError> {
        let gap = Gap {
            from,
            to,
            inclusive,
            descending: self.query.reverse,
        };
        let rows = gap
            .rows(&self.buckets)
            .min((self.limit - self.placed.starts.len()) as u64);
        empty::reserve(&mut self.empty_cells, rows, self.aggregators.len())?;
        self.placed.starts.reserve(rows as usize);
        self.placed.values.reserve(rows as usize * self.aggregators.len());
        for index in 0..rows {
            self.placed.starts.push(gap.start_at(&self.buckets, index));
            self.placed
                .values
                .extend(self.aggregators.iter().map(|aggregator| aggregator.empty_value()));
        }
        Ok(())
    }

    /// Whether COUNT is reached.
    fn is_full(&self) -> bool {
        self.placed.starts.len() >= self.limit
    }
}

/// How the timestamps of a piece are asked for: decoded or not.
struct Columns<A, B> {
    first: i64,
    last: i64,
    len: usize,
    /// The timestamp at an index.
    timestamp_at: A,
    /// The index of the first sample that is not below a timestamp, within a range of indexes whose first sample is below and whose last
    /// one is not, and a guess, counted from the start of that range.
    lower_bound: B,
}

/// The index of the first timestamp that is not below a target, searched for around a guess. The first timestamp is below it.
fn lower_bound_near(timestamps: &[i64], target: i64, guess: usize) -> usize {
    let mut low = 0;
    let mut high = timestamps.len();
    let mut step = 1;
    let mut probe = guess.clamp(1, high);
    // A window [low, high] is narrowed from the side of the guess by doubling steps.
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
