//! The append log.

/// The append log; of an engine in memory it keeps nothing.
#[derive(Debug)]
pub struct Journal {}

impl Journal {
    /// A journal that keeps nothing.
    pub fn none() -> Journal {
        Journal {}
    }

    /// Appends a frame of records and gives its sequence number.
    pub fn append(&self, _records: &[u8]) -> u64 {
        0
    }

    /// The sequence number of the next frame.
    pub fn next_sequence(&self) -> u64 {
        0
    }

    /// Keeps a warning for the operator.
    pub fn warn(&self, _text: String) {}
}
