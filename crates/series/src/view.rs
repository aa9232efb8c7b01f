//! A picture of one series at one moment, to be read without holding its lock.

use crate::codec::Chunk;
use crate::cold::ColdReference;
use crate::sample::{Sample, Samples};
use std::sync::Arc;

/// A stretch of samples of a view.
#[derive(Clone, Debug)]
pub enum Part {
    /// Encoded samples.
    Chunk(Arc<Chunk>),
    /// Samples as they are: the newest ones, which no chunk holds yet.
    Columns(Arc<Samples>),
    /// Encoded samples in the object store, fetched when read.
    Cold(ColdPart),
}

/// Where a chunk lies that is not in memory, and what is known of it without fetching it.
#[derive(Clone, Debug)]
pub struct ColdPart {
    /// The lowest timestamp.
    pub first_timestamp: i64,
    /// The highest timestamp.
    pub last_timestamp: i64,
    /// How many samples.
    pub len: usize,
    /// Fetches the chunk, perhaps from a cache.
    pub source: Arc<dyn ColdChunk>,
}

/// A chunk that lies in the object store.
pub trait ColdChunk: std::fmt::Debug + Send + Sync {
    /// The chunk, fetched and checked; blocks.
    fn fetch(&self) -> Result<Arc<Chunk>, ReadError>;

    /// Where it lies; nothing if only fetching it tells.
    fn reference(&self) -> Option<&ColdReference> {
        None
    }
}

/// Why a view can't be read: a chunk in the object store is missing or damaged.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{0}")]
pub struct ReadError(pub String);

/// A picture of one series: parts in ascending order without overlap, and what of them can be seen.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// Ascending, without overlap, none of them empty.
    pub parts: Vec<Part>,
    /// The lowest visible timestamp: older samples are outside of the retention (specification, chapter 5).
    pub floor: i64,
    /// The bucket in progress of a destination, if the reader asked for LATEST and there is one (specification, 7.8). It is newer
    /// than every sample of the parts.
    pub latest: Option<Sample>,
}

impl Part {
    /// The lowest timestamp.
    pub fn first_timestamp(&self) -> i64 {
        match self {
            Part::Chunk(chunk) => chunk.first_timestamp(),
            Part::Columns(samples) => samples.timestamps[0],
            Part::Cold(cold) => cold.first_timestamp,
        }
    }

    /// The highest timestamp.
    pub fn last_timestamp(&self) -> i64 {
        match self {
            Part::Chunk(chunk) => chunk.last_timestamp(),
            Part::Columns(samples) => samples.timestamps[samples.len() - 1],
            Part::Cold(cold) => cold.last_timestamp,
        }
    }
}
