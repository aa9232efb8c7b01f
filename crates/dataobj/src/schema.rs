//! Names that sections and columns carry (specification chapter 8).

use crate::extension::{NAMESPACE, TEXT_FILTER, VALUE_FILTER, VOLUME};
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
    /// Of this project, [`crate::extension::TextFilters`]: which pages can't hold a text.
    TextFilter,
    /// Of this project, [`crate::extension::ValueFilters`]: which pages can't hold a value of structured metadata.
    ValueFilter,
    /// Of this project, [`crate::extension::Volume`]: rows and bytes per stream, level and minute.
    Volume,
    /// Anything else, to be passed over.
    Unknown {
        /// Who defines the kind.
        namespace: String,
        /// Its name.
        kind: String,
    },
}

/// Every known kind with its namespace, its name, and the section versions that an object may have without being refused; none are
/// given for kinds that readers can do without.
const KINDS: [(SectionKind, &str, &str, Option<&[u32]>); 9] = [
    (SectionKind::Streams, LOKI_NAMESPACE, "streams", Some(&[2])),
    (SectionKind::Logs, LOKI_NAMESPACE, "logs", Some(&[2, 3])),
    (SectionKind::Pointers, LOKI_NAMESPACE, "pointers", Some(&[2])),
    (SectionKind::IndexPointers, LOKI_NAMESPACE, "indexpointers", Some(&[2])),
    (SectionKind::Postings, LOKI_NAMESPACE, "postings", Some(&[2])),
    (SectionKind::Stats, LOKI_NAMESPACE, "stats", Some(&[2])),
    (SectionKind::TextFilter, NAMESPACE, TEXT_FILTER, None),
    (SectionKind::ValueFilter, NAMESPACE, VALUE_FILTER, None),
    (SectionKind::Volume, NAMESPACE, VOLUME, None),
];

impl SectionKind {
    pub(crate) fn from_names(namespace: &str, kind: &str) -> SectionKind {
        let known = KINDS
            .iter()
            .find(|(_, known_namespace, name, _)| (*known_namespace, *name) == (namespace, kind));
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
            SectionKind::TextFilter | SectionKind::ValueFilter | SectionKind::Volume => NAMESPACE,
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
            SectionKind::TextFilter => TEXT_FILTER,
            SectionKind::ValueFilter => VALUE_FILTER,
            SectionKind::Volume => VOLUME,
            SectionKind::Unknown { kind, .. } => kind,
        }
    }

    /// False if an object with that version of the kind must be refused.
    pub(crate) fn reads_version(&self, version: u32) -> bool {
        let refuses = |versions: &[u32]| !versions.contains(&version);
        !KINDS
            .iter()
            .any(|(kind, .., versions)| kind == self && versions.is_some_and(refuses))
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

/// Logical column names, in the order of specification chapter 8.
pub mod column {
    /// Number of a stream within its tenant and object; streams, logs and pointers sections.
    pub const STREAM_ID: &str = "stream_id";
    /// Earliest record, nanoseconds; all kinds but logs.
    pub const MIN_TIMESTAMP: &str = "min_timestamp";
    /// Latest record, nanoseconds; all kinds but logs.
    pub const MAX_TIMESTAMP: &str = "max_timestamp";
    /// Streams: records seen.
    pub const ROWS: &str = "rows";
    /// Bytes of lines (and of metadata values, but for pointers and bloom postings).
    pub const UNCOMPRESSED_SIZE: &str = "uncompressed_size";
    /// Streams and stats: one column per label name, which is the tag.
    pub const LABEL: &str = "label";
    /// Streams and stats: hash bucket of the labels, 0 to 31.
    pub const SHARD_BUCKET: &str = "__shard_bucket__";

    /// Logs: time of the record, nanoseconds.
    pub const TIMESTAMP: &str = "timestamp";
    /// Logs: one column per structured-metadata key, which is the tag.
    pub const METADATA: &str = "metadata";
    /// Logs: the line.
    pub const MESSAGE: &str = "message";

    /// Pointers: key of a log object. Index pointers: key of an index object.
    pub const PATH: &str = "path";
    /// Pointers: position among the logs sections of that object.
    pub const SECTION: &str = "section";
    /// Pointers: 1 for a stream, 2 for a column.
    pub const POINTER_KIND: &str = "pointer_kind";
    /// Pointers: number of the stream in the log object.
    pub const STREAM_ID_REF: &str = "stream_id_ref";
    /// Pointers and stats: records.
    pub const ROW_COUNT: &str = "row_count";
    /// Pointers and postings: metadata key or label name.
    pub const COLUMN_NAME: &str = "column_name";
    /// Pointers: position of the column among those of its section.
    pub const COLUMN_INDEX: &str = "column_index";
    /// Pointers: bloom filter over the values of a column.
    pub const VALUES_BLOOM_FILTER: &str = "values_bloom_filter";

    /// Index pointers: stored bytes of an index object.
    pub const FILE_SIZE: &str = "file_size";
    /// Index pointers: bytes of the records behind an index object.
    pub const UNCOMPRESSED_LOGS_SIZE: &str = "uncompressed_logs_size";

    /// Postings: 0 for a bloom filter, 1 for a label value.
    pub const KIND: &str = "kind";
    /// Postings and stats: key of a log object.
    pub const OBJECT_PATH: &str = "object_path";
    /// Postings: number of hash buckets.
    pub const SHARD_BUCKETS: &str = "shard_buckets";
    /// Postings and stats: position among the logs sections of that object.
    pub const SECTION_INDEX: &str = "section_index";
    /// Postings: value of a label.
    pub const LABEL_VALUE: &str = "label_value";
    /// Postings: bloom filter over the values of a metadata key.
    pub const BLOOM_FILTER: &str = "bloom_filter";
    /// Postings: which streams have the key or the label value, a bit for each number.
    pub const STREAM_ID_BITMAP: &str = "stream_id_bitmap";
    /// Postings: lowest hash bucket of these streams.
    pub const MIN_SHARD_BUCKET: &str = "min_shard_bucket";
    /// Postings: highest hash bucket of these streams.
    pub const MAX_SHARD_BUCKET: &str = "max_shard_bucket";

    /// Stats: the labels that the logs section is sorted by.
    pub const SORT_SCHEMA: &str = "sort_schema";
}
