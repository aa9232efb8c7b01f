//! Reading the samples of a view part by part, in either direction.

// hot path: no lock, no logging, no allocation per sample.

use super::RangeQuery;
use crate::aggregate::has_nan;
use crate::codec::Chunk;
use crate::sample::{Sample, Samples};
use crate::view::{Part, ReadError, View};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

/// What a query sees of a series: the parts of a view, those timestamps of it that FILTER_BY_TS names, and the bucket in progress where
/// LATEST adds it.
pub(super) struct Source<'a> {
    /// Ascending, without overlap.
    parts: Cow<'a, [Part]>,
    /// The bucket in progress, newer than all parts.
    latest: Option<Part>,
    /// The lowest visible timestamp.
    floor: i64,
    /// FILTER_BY_VALUE.
    values: Option<(f64, f64)>,
}

/// Samples of one part that lie within asked bounds; not empty.
pub(super) struct Piece<'a> {
    data: Data<'a>,
    range: Range<usize>,
}

enum Data<'a> {
    Chunk(Cow<'a, Arc<Chunk>>),
    Columns(&'a Samples),
}

/// Room for the samples of one part, used again for the next.
#[derive(Default)]
pub(super) struct Scratch {
    timestamps: Vec<i64>,
    values: Vec<f64>,
}

impl<'a> Source<'a> {
    /// The samples that a query may see, also outside its bounds, where EMPTY and twa look.
    pub(super) fn new(view: &'a View, query: &RangeQuery) -> Result<Source<'a>, ReadError> {
        let within = |sample: &Sample| query.from <= sample.timestamp && sample.timestamp <= query.to;
        let latest = view.latest.filter(within).map(|sample| one_sample(&sample));
        let mut source = Source {
            parts: Cow::Borrowed(&view.parts),
            latest,
            floor: view.floor,
            values: query.values,
        };
        if let Some(timestamps) = &query.timestamps {
            let samples = source.samples_at(timestamps)?;
            source.latest = None;
            source.parts = if samples.is_empty() {
                Cow::Borrowed(&[])
            } else {
                Cow::Owned(vec![Part::Columns(Arc::new(samples))])
            };
        }
        Ok(source)
    }

    /// All visible samples of a view, without the bucket in progress.
    pub(super) fn of_view(view: &'a View) -> Source<'a> {
        Source {
            parts: Cow::Borrowed(&view.parts),
            latest: None,
            floor: view.floor,
            values: None,
        }
    }

    /// FILTER_BY_VALUE.
    pub(super) fn value_bounds(&self) -> Option<(f64, f64)> {
        self.values
    }

    /// The samples within bounds, part by part; each part ascending, the parts in the asked direction.
    pub(super) fn pieces(&self, from: i64, to: i64, descending: bool) -> Pieces<'_> {
        let from = from.max(self.floor);
        let parts = self.parts_within(from, to);
        Pieces {
            source: self,
            from,
            to,
            parts,
            descending,
        }
    }

    /// The nearest sample below a timestamp that passes the filter by value; without `nan` the nearest of those that are numbers.
    pub(super) fn nearest_before(&self, timestamp: i64, nan: bool) -> Result<Option<Sample>, ReadError> {
        let Some(to) = timestamp.checked_sub(1) else {
            return Ok(None);
        };
        self.nearest(0, to, true, nan)
    }

    /// The nearest sample above a timestamp, of the same kind as that of [`Source::nearest_before`].
    pub(super) fn nearest_after(&self, timestamp: i64, nan: bool) -> Result<Option<Sample>, ReadError> {
        let Some(from) = timestamp.checked_add(1) else {
            return Ok(None);
        };
        self.nearest(from, i64::MAX, false, nan)
    }

    /// The first sample of a direction within bounds.
    fn nearest(&self, from: i64, to: i64, descending: bool, nan: bool) -> Result<Option<Sample>, ReadError> {
        let passes = |value: &f64| match self.values {
            Some((low, high)) => low <= *value && *value <= high,
            None => nan || !value.is_nan(),
        };
        let mut scratch = Scratch::default();
        for piece in self.pieces(from, to, descending) {
            let piece = piece?;
            let outermost = if descending { piece.len() - 1 } else { 0 };
            let found = if passes(&piece.value_at(outermost)) {
                Some(outermost)
            } else {
                let values = piece.values(&mut scratch.values);
                if descending {
                    values.iter().rposition(passes)
                } else {
                    values.iter().position(passes)
                }
            };
            if let Some(index) = found {
                return Ok(Some(Sample {
                    timestamp: piece.timestamp_at(index),
                    value: piece.value_at(index),
                }));
            }
        }
        Ok(None)
    }

    /// The visible samples at ascending timestamps.
    fn samples_at(&self, timestamps: &[i64]) -> Result<Samples, ReadError> {
        let mut samples = Samples::default();
        for timestamp in timestamps {
            for piece in self.pieces(*timestamp, *timestamp, false) {
                samples.push(*timestamp, piece?.value_at(0));
            }
        }
        Ok(samples)
    }

    /// The indexes of parts that reach into bounds.
    fn parts_within(&self, from: i64, to: i64) -> Range<usize> {
        if from > to {
            return 0..0;
        }
        let mut first = self.parts.partition_point(|part| part.last_timestamp() < from);
        let mut end = first + self.parts[first..].partition_point(|part| part.first_timestamp() <= to);
        if let Some(latest) = &self.latest
            && latest.first_timestamp() <= to
        {
            end = self.parts.len() + 1;
            if latest.last_timestamp() < from {
                first = end;
            }
        }
        first..end
    }

    /// A part by its index among all, the bucket in progress last.
    fn part(&self, index: usize) -> Option<&Part> {
        self.parts.get(index).or(self.latest.as_ref())
    }
}

fn one_sample(sample: &Sample) -> Part {
    let mut samples = Samples::default();
    samples.push(sample.timestamp, sample.value);
    Part::Columns(Arc::new(samples))
}

/// Iterator of [`Source::pieces`].
pub(super) struct Pieces<'a> {
    source: &'a Source<'a>,
    from: i64,
    to: i64,
    parts: Range<usize>,
    descending: bool,
}

impl<'a> Iterator for Pieces<'a> {
    type Item = Result<Piece<'a>, ReadError>;

    fn next(&mut self) -> Option<Result<Piece<'a>, ReadError>> {
        loop {
            let index = if self.descending {
                self.parts.next_back()?
            } else {
                self.parts.next()?
            };
            let part = self.source.part(index)?;
            let data = match part {
                Part::Chunk(chunk) => Data::Chunk(Cow::Borrowed(chunk)),
                Part::Columns(samples) => Data::Columns(samples),
                Part::Cold(cold) => match cold.source.fetch() {
                    Ok(chunk) => Data::Chunk(Cow::Owned(chunk)),
                    Err(error) => return Some(Err(error)),
                },
            };
            let start = if self.from <= part.first_timestamp() {
                0
            } else {
                data.lower_bound(self.from)
            };
            let end = match self.to.checked_add(1) {
                Some(above) if above <= part.last_timestamp() => data.lower_bound(above),
                _ => data.len(),
            };
            // A part that reaches over the bounds need not have a sample within them.
            if start < end {
                return Some(Ok(Piece {
                    data,
                    range: start..end,
                }));
            }
        }
    }
}

impl Data<'_> {
    fn len(&self) -> usize {
        match self {
            Data::Chunk(chunk) => chunk.len(),
            Data::Columns(samples) => samples.len(),
        }
    }

    /// The index of the first sample that is not below a timestamp.
    fn lower_bound(&self, timestamp: i64) -> usize {
        let found = match self {
            Data::Chunk(chunk) => chunk.find(timestamp),
            Data::Columns(samples) => samples.timestamps.binary_search(&timestamp),
        };
        found.unwrap_or_else(|index| index)
    }
}

impl Piece<'_> {
    /// How many samples; at least one.
    pub(super) fn len(&self) -> usize {
        self.range.len()
    }

    /// The timestamp at an index below [`Piece::len`].
    pub(super) fn timestamp_at(&self, index: usize) -> i64 {
        match &self.data {
            Data::Chunk(chunk) => chunk.timestamp_at(self.range.start + index),
            Data::Columns(samples) => samples.timestamps[self.range.start + index],
        }
    }

    /// The value at an index below [`Piece::len`].
    pub(super) fn value_at(&self, index: usize) -> f64 {
        match &self.data {
            Data::Chunk(chunk) => chunk.value_at(self.range.start + index),
            Data::Columns(samples) => samples.values[self.range.start + index],
        }
    }

    /// The index of the first sample that is not below a timestamp, which is above the first and at most the last one of the piece.
    pub(super) fn lower_bound(&self, timestamp: i64) -> usize {
        self.data.lower_bound(timestamp) - self.range.start
    }

    /// The lowest timestamp.
    pub(super) fn first_timestamp(&self) -> i64 {
        match &self.data {
            Data::Chunk(chunk) if self.range.start == 0 => chunk.first_timestamp(),
            _ => self.timestamp_at(0),
        }
    }

    /// The highest timestamp.
    pub(super) fn last_timestamp(&self) -> i64 {
        match &self.data {
            Data::Chunk(chunk) if self.range.end == chunk.len() => chunk.last_timestamp(),
            _ => self.timestamp_at(self.len() - 1),
        }
    }

    /// The values, decoded into a buffer where need be.
    pub(super) fn values<'b>(&'b self, buffer: &'b mut Vec<f64>) -> &'b [f64] {
        match &self.data {
            Data::Chunk(chunk) => {
                buffer.clear();
                chunk.append_values(self.range.clone(), buffer);
                buffer
            }
            Data::Columns(samples) => &samples.values[self.range.clone()],
        }
    }

    /// The timestamps, decoded into a buffer where need be.
    pub(super) fn timestamps<'b>(&'b self, buffer: &'b mut Vec<i64>) -> &'b [i64] {
        match &self.data {
            Data::Chunk(chunk) => {
                buffer.clear();
                chunk.append_timestamps(self.range.clone(), buffer);
                buffer
            }
            Data::Columns(samples) => &samples.timestamps[self.range.clone()],
        }
    }

    /// First timestamp and distance, if all timestamps are at equal distances and that is known without decoding.
    pub(super) fn regular(&self) -> Option<(i64, i64)> {
        match &self.data {
            Data::Chunk(chunk) => chunk.regular().map(|(_, step)| (self.first_timestamp(), step)),
            Data::Columns(_) => None,
        }
    }

    /// Whether there is a NaN among the values, which are given decoded.
    pub(super) fn has_nan(&self, values: &[f64]) -> bool {
        match &self.data {
            Data::Chunk(chunk) if chunk.is_known_free_of_nan() => false,
            Data::Chunk(_) | Data::Columns(_) => has_nan(values),
        }
    }

    /// Appends the samples at a range of indexes of the piece.
    pub(super) fn append(&self, range: Range<usize>, timestamps: &mut Vec<i64>, values: &mut Vec<f64>) {
        let range = self.range.start + range.start..self.range.start + range.end;
        match &self.data {
            Data::Chunk(chunk) => {
                chunk.append_timestamps(range.clone(), timestamps);
                chunk.append_values(range, values);
            }
            Data::Columns(samples) => {
                timestamps.extend_from_slice(&samples.timestamps[range.clone()]);
                values.extend_from_slice(&samples.values[range]);
            }
        }
    }
}

impl Scratch {
    /// Its two buffers.
    pub(super) fn buffers(&mut self) -> (&mut Vec<i64>, &mut Vec<f64>) {
        (&mut self.timestamps, &mut self.values)
    }
}
