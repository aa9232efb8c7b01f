//! Ranges with AGGREGATION: samples put into buckets.
//!
//! Each piece of the source is cut into stretches that lie in one bucket, and each stretch is handed to the aggregators as one batch:
//!
//! ```text
//!  pieces    |--------------|  |-----------------|        as they lie in the parts
//!  buckets   .        .        .        .        .
//!  batches   |-------||-----|  |-------||-------||        NaN and what filters drop taken out
//! ```

// hot path: no lock, no logging, no allocation per sample.

use super::buckets::Buckets;
use super::empty::{self, Gap};
use super::neighbours::{self, Bounds, Placed, Seen};
use super::sieve::Sieve;
use super::source::{Piece, Scratch, Source};
use super::stretches::Stretches;
use super::{Aggregation, Aggregator, RangeQuery, Rows};
use crate::aggregate::{Batch, Bucket, Surroundings};
use crate::view::ReadError;

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
        let (timestamp_buffer, value_buffer) = scratch.buffers();
        let values = piece.values(value_buffer);
        let is_clean = self.source.value_bounds().is_none() && !piece.has_nan(values);
        let needs_timestamps = self.needs_timestamps;
        let mut stretches = Stretches::new(
            piece,
            self.buckets,
            self.query.reverse,
            needs_timestamps,
            timestamp_buffer,
        );
        while let Some((start, stretch)) = stretches.next() {
            let timestamps = if needs_timestamps {
                stretches.timestamps(stretch.clone())
            } else {
                &[]
            };
            self.add_stretch(start, timestamps, &values[stretch], is_clean)?;
            if self.is_full() {
                break;
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
