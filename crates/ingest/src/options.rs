//! How the write path is set up.

use crate::limits::Limits;
use crate::wal::DirectoryLock;
use std::path::PathBuf;
use std::time::Duration;

/// Where an engine keeps its log, and how much it holds in memory.
#[derive(Clone, Debug)]
pub struct EngineOptions {
    /// Data directory; the log lies in `wal/` below it, beside a file `lock`.
    pub data_dir: PathBuf,
    /// The lock of the data directory, if the caller took it already; else opening the engine takes it.
    pub lock: Option<DirectoryLock>,
    /// Limits of every tenant.
    pub limits: Limits,
    /// The head is cut into a data object when its rows take this much memory.
    pub head_max_bytes: usize,
    /// The head is cut when it holds rows of this many tenants: each takes a place in the header of the data object, which
    /// can't grow beyond 16 MiB.
    pub head_max_tenants: usize,
    /// The head is cut when its first row is this old.
    pub head_max_age: Duration,
    /// Pushes are refused while rows that are in no data object yet take this much memory. More than `head_max_bytes`,
    /// so that the head can grow while its last part is being published.
    pub max_unflushed_bytes: usize,
    /// Bytes of requests that may wait for the log. A push waits for room at most `queue_wait`.
    pub queue_max_bytes: usize,
    /// How long a push waits for room in the queue before it is refused.
    pub queue_wait: Duration,
    /// Largest request after decoding.
    pub max_request_bytes: usize,
}

impl EngineOptions {
    /// The defaults, with this data directory.
    pub fn new(data_dir: impl Into<PathBuf>) -> Self {
        Self {
            data_dir: data_dir.into(),
            lock: None,
            limits: Limits::default(),
            head_max_bytes: 64 << 20,
            head_max_tenants: 10_000,
            head_max_age: Duration::from_secs(3600),
            max_unflushed_bytes: 256 << 20,
            queue_max_bytes: 32 << 20,
            queue_wait: Duration::from_secs(10),
            max_request_bytes: 64 << 20,
        }
    }
}
