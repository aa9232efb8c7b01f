//! Taking samples out by their value.

// hot path: no lock, no logging, no allocation per sample.

/// The samples that are left of a stretch. Its memory is used again for the next.
#[derive(Default)]
pub(super) struct Sieve {
    timestamps: Vec<i64>,
    values: Vec<f64>,
    kept: usize,
    kept_timestamps: usize,
    nans: u64,
}

impl Sieve {
    /// Keeps the numbers within inclusive bounds, all numbers without bounds. Timestamps may be left out as a whole.
    pub(super) fn sift(&mut self, timestamps: &[i64], values: &[f64], bounds: Option<(f64, f64)>) {
        let (low, high) = bounds.unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
        if self.values.len() < values.len() {
            self.values.resize(values.len(), 0.0);
        }
        if self.timestamps.len() < timestamps.len() {
            self.timestamps.resize(timestamps.len(), 0);
        }
        // Each sample is written, and overwritten by the next one unless it passes: there is no branch to guess wrong.
        self.kept = 0;
        for value in values {
            self.values[self.kept] = *value;
            self.kept += usize::from(low <= *value && *value <= high);
        }
        self.kept_timestamps = 0;
        for (timestamp, value) in timestamps.iter().zip(values) {
            self.timestamps[self.kept_timestamps] = *timestamp;
            self.kept_timestamps += usize::from(low <= *value && *value <= high);
        }
        self.nans = match bounds {
            Some(_) => 0,
            None => (values.len() - self.kept) as u64,
        };
    }

    /// The values kept.
    pub(super) fn values(&self) -> &[f64] {
        &self.values[..self.kept]
    }

    /// Their timestamps; none if none were given.
    pub(super) fn timestamps(&self) -> &[i64] {
        &self.timestamps[..self.kept_timestamps]
    }

    /// How many NaN there were besides; they pass no bounds.
    pub(super) fn nans(&self) -> u64 {
        self.nans
    }
}
