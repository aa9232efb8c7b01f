//! twa: average weighted by time, the area under straight lines between neighbouring samples by its length.
//!
//! ```text
//!  before
//!    o . . | . .           the bucket is cut to [from, to]; its lines reach to the nearest
//!          |     `o---o    samples outside, and end at the first or the last sample where
//!          |          \    there is none
//!          |  area     o . . | . . o
//!         from               to    after
//! ```

// hot path: no lock, no logging, no allocation per sample.

use super::{Batch, Counts, STATE_WORDS, Surroundings};
use crate::sample::Sample;

/// The stretch from the first to the last sample, and the area under it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct State {
    first: Sample,
    last: Sample,
    area: f64,
    is_empty: bool,
}

impl Default for State {
    fn default() -> State {
        let nothing = Sample {
            timestamp: 0,
            value: 0.0,
        };
        State {
            first: nothing,
            last: nothing,
            area: 0.0,
            is_empty: true,
        }
    }
}

impl super::State for State {
    fn add(&mut self, batch: &Batch<'_>) {
        let Some(stretch) = State::of_batch(batch) else {
            return;
        };
        *self = if self.is_empty {
            stretch
        } else if batch.descending {
            stretch.then(self)
        } else {
            self.then(&stretch)
        };
    }

    fn value(&self, _counts: Counts, surroundings: &Surroundings) -> f64 {
        self.average(surroundings)
    }

    fn to_words(self) -> [u64; STATE_WORDS] {
        if self.is_empty {
            // No timestamp is negative.
            return [u64::MAX; STATE_WORDS];
        }
        [
            self.first.timestamp as u64,
            self.first.value.to_bits(),
            self.last.timestamp as u64,
            self.last.value.to_bits(),
            self.area.to_bits(),
        ]
    }

    fn from_words([first_timestamp, first_value, last_timestamp, last_value, area]: [u64; STATE_WORDS]) -> State {
        if first_timestamp == u64::MAX {
            return State::default();
        }
        State {
            first: Sample {
                timestamp: first_timestamp as i64,
                value: f64::from_bits(first_value),
            },
            last: Sample {
                timestamp: last_timestamp as i64,
                value: f64::from_bits(last_value),
            },
            area: f64::from_bits(area),
            is_empty: false,
        }
    }
}

impl State {
    /// The oldest sample.
    pub(crate) fn first(&self) -> Sample {
        self.first
    }

    /// The newest sample.
    pub(crate) fn last(&self) -> Sample {
        self.last
    }

    /// The average of a bucket with these samples.
    pub(crate) fn average(&self, surroundings: &Surroundings) -> f64 {
        let mut from = self.first.timestamp;
        let mut to = self.last.timestamp;
        let mut area = self.area;
        if let Some(before) = surroundings.before
            && surroundings.from < from
        {
            from = surroundings.from;
            area += trapezoid(
                Sample {
                    timestamp: from,
                    value: line(before, self.first, from),
                },
                self.first,
            );
        }
        if let Some(after) = surroundings.after
            && to < surroundings.to
        {
            to = surroundings.to;
            area += trapezoid(
                self.last,
                Sample {
                    timestamp: to,
                    value: line(self.last, after, to),
                },
            );
        }
        if from == to {
            self.first.value
        } else {
            area / distance(from, to)
        }
    }

    fn of_batch(batch: &Batch<'_>) -> Option<State> {
        let (&first_timestamp, &last_timestamp) = (batch.timestamps.first()?, batch.timestamps.last()?);
        let (&first_value, &last_value) = (batch.values.first()?, batch.values.last()?);
        let mut area = 0.0;
        for (timestamps, values) in batch.timestamps.windows(2).zip(batch.values.windows(2)) {
            area += (values[0] * 0.5 + values[1] * 0.5) * distance(timestamps[0], timestamps[1]);
        }
        Some(State {
            first: Sample {
                timestamp: first_timestamp,
                value: first_value,
            },
            last: Sample {
                timestamp: last_timestamp,
                value: last_value,
            },
            area,
            is_empty: false,
        })
    }

    /// This stretch, a line to the next one, and that.
    fn then(&self, next: &State) -> State {
        State {
            first: self.first,
            last: next.last,
            area: self.area + trapezoid(self.last, next.first) + next.area,
            is_empty: false,
        }
    }
}

/// The average of a bucket without samples: the mean of the line's values at both ends. Nothing without a sample on both sides.
pub(crate) fn between(surroundings: &Surroundings) -> Option<f64> {
    let (before, after) = (surroundings.before?, surroundings.after?);
    Some(line(before, after, surroundings.from) * 0.5 + line(before, after, surroundings.to) * 0.5)
}

/// The area under the line between two samples.
fn trapezoid(one: Sample, other: Sample) -> f64 {
    (one.value * 0.5 + other.value * 0.5) * distance(one.timestamp, other.timestamp)
}

/// The value at a timestamp on the line through two samples, which lie on both sides of it.
fn line(one: Sample, other: Sample, timestamp: i64) -> f64 {
    let (part, whole) = (
        distance(one.timestamp, timestamp),
        distance(one.timestamp, other.timestamp),
    );
    let rise = other.value - one.value;
    // Multiplied first, as the last digits of the peer's answers tell.
    let product = rise * part;
    if product.is_finite() {
        one.value + product / whole
    } else {
        one.value + rise * (part / whole)
    }
}

/// How far it is from a timestamp to a later one; a bucket may begin below zero, so that this may be more than 2^63.
fn distance(from: i64, to: i64) -> f64 {
    to.wrapping_sub(from) as u64 as f64
}
