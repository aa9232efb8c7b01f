//! A sample, and samples in columns.

/// One sample: milliseconds (specification, chapter 1: 0 to 2^63-1) and a double.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Milliseconds; the unit is the writer's choice and never checked.
    pub timestamp: i64,
    /// Any double, NaN included.
    pub value: f64,
}

/// Samples in columns of equal length, timestamps strictly ascending.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    /// Milliseconds, strictly ascending.
    pub timestamps: Vec<i64>,
    /// The value at the same place of `timestamps`.
    pub values: Vec<f64>,
}

impl Samples {
    /// How many samples there are.
    pub fn len(&self) -> usize {
        self.timestamps.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.timestamps.is_empty()
    }

    /// Forgets all samples and keeps the memory.
    pub fn clear(&mut self) {
        self.timestamps.clear();
        self.values.clear();
    }

    /// Adds a sample that is newer than all others.
    pub fn push(&mut self, timestamp: i64, value: f64) {
        debug_assert!(self.timestamps.last().is_none_or(|last| *last < timestamp));
        self.timestamps.push(timestamp);
        self.values.push(value);
    }
}
