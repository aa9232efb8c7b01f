//! A bucket in the making.

// hot path: no lock, no logging, no allocation per sample.

use super::table::AnyState;
use super::{Aggregator, Batch, Counts, STATE_WORDS, Surroundings};

/// How many bytes [`Bucket::append_bytes`] appends.
pub const BUCKET_BYTES: usize = 1 + 8 * (2 + STATE_WORDS);

/// The samples that one aggregator has seen of a bucket, in as few numbers as it needs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bucket {
    counts: Counts,
    state: AnyState,
}

impl Bucket {
    /// An empty bucket.
    pub fn new(aggregator: Aggregator) -> Bucket {
        Bucket {
            counts: Counts::default(),
            state: AnyState::new(aggregator),
        }
    }

    /// What is made of the samples.
    pub fn aggregator(&self) -> Aggregator {
        self.state.aggregator()
    }

    /// Adds a sample that is newer than those before it.
    pub fn add(&mut self, timestamp: i64, value: f64) {
        if value.is_nan() {
            self.counts.nans += 1;
            return;
        }
        self.add_batch(&Batch {
            timestamps: &[timestamp],
            values: &[value],
            nans: 0,
            descending: false,
        });
    }

    /// Adds samples.
    pub fn add_batch(&mut self, batch: &Batch<'_>) {
        debug_assert!(!self.aggregator().needs_timestamps() || batch.timestamps.len() == batch.values.len());
        self.counts.numbers += batch.values.len() as u64;
        self.counts.nans += batch.nans;
        if !batch.values.is_empty() {
            self.state.add(batch);
        }
    }

    /// Whether no sample was added, NaN or not.
    pub fn is_empty(&self) -> bool {
        self.counts == Counts::default()
    }

    /// The aggregate, if there was a sample of the kind that the aggregator looks for; else its [`Aggregator::empty_value`] is shown,
    /// or nothing.
    pub fn value(&self, surroundings: &Surroundings) -> Option<f64> {
        let found = self.aggregator().is_found(self.counts);
        found.then(|| self.state.value(self.counts, surroundings))
    }

    /// Appends [`BUCKET_BYTES`] bytes for a snapshot: the code of the aggregator, then numbers of 8 bytes, little-endian: how many
    /// samples are not NaN, how many are, and the words of the state.
    pub fn append_bytes(&self, out: &mut Vec<u8>) {
        out.push(self.aggregator().code());
        out.extend_from_slice(&self.counts.numbers.to_le_bytes());
        out.extend_from_slice(&self.counts.nans.to_le_bytes());
        for word in self.state.to_words() {
            out.extend_from_slice(&word.to_le_bytes());
        }
    }

    /// Reads what [`Bucket::append_bytes`] wrote; nothing if the bytes are others.
    pub fn from_bytes(bytes: &[u8]) -> Option<Bucket> {
        let (&code, rest) = bytes.split_first()?;
        let aggregator = Aggregator::from_code(code)?;
        let (words, []) = rest.as_chunks::<8>() else {
            return None;
        };
        let &[numbers, nans, ref state @ ..] = words else {
            return None;
        };
        let state: &[[u8; 8]; STATE_WORDS] = state.try_into().ok()?;
        Some(Bucket {
            counts: Counts {
                numbers: u64::from_le_bytes(numbers),
                nans: u64::from_le_bytes(nans),
            },
            state: AnyState::from_words(aggregator, state.map(u64::from_le_bytes)),
        })
    }

    /// The state of twa, for queries that know the neighbours of a bucket later than the bucket.
    pub(crate) fn area(&self) -> Option<super::twa::State> {
        match self.state {
            AnyState::Twa(state) if self.counts.numbers > 0 => Some(state),
            _ => None,
        }
    }
}
