// hot path: no locks shared between cores, no logging above debug, no allocation per sample.
//! The newest samples of a series as they are, before a chunk takes them.

use crate::sample::{Sample, Samples};

/// How many samples the head holds before they are encoded.
pub(crate) const HEAD_SAMPLES: usize = 256;

/// The newest samples, sorted.
#[derive(Debug, Default)]
pub(crate) struct Head {
    samples: Samples,
}

impl Head {
    pub(crate) fn samples(&self) -> &Samples {
        &self.samples
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.samples.is_empty()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.samples.len() >= HEAD_SAMPLES
    }

    /// Whether late samples filled it far beyond its size: the next append seals a full head, but there may be none.
    pub(crate) fn is_overfull(&self) -> bool {
        self.samples.len() >= 2 * HEAD_SAMPLES
    }

    /// The lowest timestamp, if there is a sample.
    pub(crate) fn first_timestamp(&self) -> Option<i64> {
        self.samples.timestamps.first().copied()
    }

    /// Adds a sample newer than all.
    pub(crate) fn push(&mut self, timestamp: i64, value: f64) {
        self.samples.push(timestamp, value);
    }

    /// The place of a timestamp, or where it would be inserted.
    pub(crate) fn find(&self, timestamp: i64) -> Result<usize, usize> {
        self.samples.timestamps.binary_search(&timestamp)
    }

    pub(crate) fn value(&self, index: usize) -> f64 {
        self.samples.values[index]
    }

    pub(crate) fn set_value(&mut self, index: usize, value: f64) {
        self.samples.values[index] = value;
    }

    pub(crate) fn insert(&mut self, index: usize, timestamp: i64, value: f64) {
        self.samples.timestamps.insert(index, timestamp);
        self.samples.values.insert(index, value);
    }

    /// Removes the samples of a range of places.
    pub(crate) fn remove(&mut self, from: usize, to: usize) {
        self.samples.timestamps.drain(from..to);
        self.samples.values.drain(from..to);
    }

    pub(crate) fn last(&self) -> Option<Sample> {
        let timestamp = *self.samples.timestamps.last()?;
        Some(Sample {
            timestamp,
            value: *self.samples.values.last()?,
        })
    }

    /// Forgets the samples; keeps the memory if more are to be expected.
    pub(crate) fn clear(&mut self, keep_memory: bool) {
        if keep_memory {
            self.samples.clear();
        } else {
            self.samples = Samples::default();
        }
    }

    /// Bytes of memory behind the head.
    pub(crate) fn heap_bytes(&self) -> usize {
        (self.samples.timestamps.capacity() + self.samples.values.capacity()) * 8
    }
}
