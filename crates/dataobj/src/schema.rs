//! Names that sections and columns carry (specification chapter 8).

use std::fmt;

/// The namespace of all section kinds that Loki defines.
pub const LOKI_NAMESPACE: &str = "github.com/grafana/loki";

/// What a section holds.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum SectionKind {
    /// One row per stream of a tenant.
    Streams,
    /// One row per log record.
    Logs,
    /// Index objects: where streams and column values are.
    Pointers,
    /// Tables of contents: which index objects cover a window.
    IndexPointers,
    /// Index objects: bitmaps of streams per label value, blooms per metadata key.
    Postings,
    /// Index objects: aggregates per logs section.
    Stats,
    /// Anything else, to be passed over.
    Unknown {
        /// Who defines the kind.
        namespace: String,
        /// Its name.
        kind: String,
    },
}

/// Every known kind with its name and the section versions that this crate reads.
const KINDS: [(SectionKind, &str, &[u32]); 6] = [
    (SectionKind::Streams, "streams", &[2]),
    (SectionKind::Logs, "logs", &[2, 3]),
    (SectionKind::Pointers, "pointers", &[2]),
    (SectionKind::IndexPointers, "indexpointers", &[2]),
    (SectionKind::Postings, "postings", &[2]),
    (SectionKind::Stats, "stats", &[2]),
];

impl SectionKind {
    pub(crate) fn from_names(namespace: &str, kind: &str) -> SectionKind {
        let known = KINDS
            .iter()
            .find(|(_, name, _)| namespace == LOKI_NAMESPACE && *name == kind);
        match known {
            Some((known, ..)) => known.clone(),
            None => SectionKind::Unknown {
                namespace: namespace.to_owned(),
                kind: kind.to_owned(),
            },
        }
    }

    /// Who defines the kind.
    pub fn namespace(&self) -> &str {
        match self {
            SectionKind::Unknown { namespace, .. } => namespace,
            _ => LOKI_NAMESPACE,
        }
    }

    /// The kind's name within its namespace.
    pub fn name(&self) -> &str {
        match self {
            SectionKind::Streams => "streams",
            SectionKind::Logs => "logs",
            SectionKind::Pointers => "pointers",
            SectionKind::IndexPointers => "indexpointers",
            SectionKind::Postings => "postings",
            SectionKind::Stats => "stats",
            SectionKind::Unknown { kind, .. } => kind,
        }
    }

    /// True if this crate reads that version of the kind; unknown kinds are never checked.
    pub(crate) fn reads_version(&self, version: u32) -> bool {
        KINDS
            .iter()
            .all(|(kind, _, versions)| kind != self || versions.contains(&version))
    }
}

impl fmt::Display for SectionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SectionKind::Unknown { namespace, kind } => write!(f, "{namespace}/{kind}"),
            known => f.write_str(known.name()),
        }
    }
}

/// Logical column names of streams and logs sections.
pub mod column {
    /// Number of a stream within its tenant and object; streams and logs sections.
    pub const STREAM_ID: &str = "stream_id";
    /// Streams: earliest record, nanoseconds.
    pub const MIN_TIMESTAMP: &str = "min_timestamp";
    /// Streams: latest record, nanoseconds.
    pub const MAX_TIMESTAMP: &str = "max_timestamp";
    /// Streams: records seen.
    pub const ROWS: &str = "rows";
    /// Streams: bytes of lines and metadata values.
    pub const UNCOMPRESSED_SIZE: &str = "uncompressed_size";
    /// Streams: one column per label name, which is the tag.
    pub const LABEL: &str = "label";
    /// Streams: hash bucket of the labels, 0 to 31.
    pub const SHARD_BUCKET: &str = "__shard_bucket__";
    /// Logs: time of the record, nanoseconds.
    pub const TIMESTAMP: &str = "timestamp";
    /// Logs: one column per structured-metadata key, which is the tag.
    pub const METADATA: &str = "metadata";
    /// Logs: the line.
    pub const MESSAGE: &str = "message";
}
