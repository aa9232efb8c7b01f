//! What can go wrong on the write path.

/// An error of opening, flushing or publishing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file of the data directory can't be used as intended.
    #[error("{action} {path}: {}", describe_io(source))]
    Io {
        /// What was tried: `read`, `write`, ...
        action: &'static str,
        /// On which file.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// Another process has the data directory open for writing.
    #[error("data directory {0} is in use by another process")]
    Locked(String),
    /// The write-ahead log holds something that no version of this program writes.
    #[error("corrupt: write-ahead log {segment}, record, offset {offset}: {message}")]
    Corrupt {
        /// Path of the segment.
        segment: String,
        /// Where the record starts.
        offset: u64,
        /// What is wrong.
        message: String,
    },
    /// A segment that is not yet published is missing.
    #[error("write-ahead log segment {0} is missing; if a server is running on this directory, try again")]
    MissingSegment(String),
    /// Building, storing or announcing a data object failed.
    #[error(transparent)]
    Store(#[from] timberline_store::Error),
    /// A data object could not be built.
    #[error("build data object: {0}")]
    Object(String),
    /// The engine was shut down or stopped.
    #[error("the write path is stopped")]
    Stopped,
    /// Publishing failed; what is to be published stays readable and is tried again.
    #[error("publish data object: {0}")]
    Publish(String),
}

impl Error {
    pub(crate) fn io(action: &'static str, path: &std::path::Path, source: std::io::Error) -> Self {
        Self::Io {
            action,
            path: path.display().to_string(),
            source,
        }
    }
}

/// Why a push was refused as a whole. Refusals of single entries are part of [`crate::PushOutcome`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PushError {
    /// The request names no stream.
    #[error("error at least one valid stream is required for ingestion")]
    NoStreams,
    /// The request is larger than one record of the log may be.
    #[error("request body too large: {bytes} bytes, limit: {limit} bytes")]
    TooLarge {
        /// Bytes of the request after decoding.
        bytes: usize,
        /// Most bytes of a request.
        limit: usize,
    },
    /// Nothing was stored and trying again later may succeed: full disk, full buffers, shutdown.
    #[error("push refused: {0}")]
    Unavailable(String),
}

impl PushError {
    /// The HTTP status of the answer (http-api.md 3.5).
    pub fn status(&self) -> u16 {
        match self {
            Self::NoStreams => 422,
            Self::TooLarge { .. } => 413,
            Self::Unavailable(_) => 503,
        }
    }
}

/// The text for an I/O error, in the words that operators search for.
pub(crate) fn describe_io(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => "no space left on device".to_owned(),
        _ => error.to_string(),
    }
}
