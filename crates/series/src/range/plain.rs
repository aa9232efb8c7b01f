//! Ranges without aggregation: the samples themselves.

// hot path: no lock, no logging, no allocation per sample.

use super::sieve::Sieve;
use super::source::{Scratch, Source};
use super::{RangeQuery, Rows};
use crate::view::ReadError;

/// The samples of the query's bounds that pass its filters.
pub(super) fn run(source: &Source<'_>, query: &RangeQuery) -> Result<Rows, ReadError> {
    let mut rows = Rows {
        width: 1,
        ..Rows::default()
    };
    let mut scratch = Scratch::default();
    let mut sieve = Sieve::default();
    let limit = query
        .count
        .map_or(usize::MAX, |count| usize::try_from(count).unwrap_or(usize::MAX));
    for piece in source.pieces(query.from, query.to, query.reverse) {
        let piece = piece?;
        let before = rows.len();
        let missing = limit - before;
        if missing == 0 {
            break;
        }
        match source.value_bounds() {
            None => {
                let taken = piece.len().min(missing);
                let range = if query.reverse {
                    piece.len() - taken..piece.len()
                } else {
                    0..taken
                };
                piece.append(range, &mut rows.timestamps, &mut rows.values);
                if query.reverse {
                    rows.timestamps[before..].reverse();
                    rows.values[before..].reverse();
                }
            }
            Some(bounds) => {
                let (timestamps, values) = scratch.buffers();
                sieve.sift(piece.timestamps(timestamps), piece.values(values), Some(bounds));
                let kept = sieve.timestamps().iter().zip(sieve.values());
                if query.reverse {
                    extend(&mut rows, kept.rev().take(missing));
                } else {
                    extend(&mut rows, kept.take(missing));
                }
            }
        }
    }
    Ok(rows)
}

fn extend<'a>(rows: &mut Rows, samples: impl Iterator<Item = (&'a i64, &'a f64)>) {
    for (timestamp, value) in samples {
        rows.timestamps.push(*timestamp);
        rows.values.push(*value);
    }
}
