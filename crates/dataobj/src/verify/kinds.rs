//! The columns of each section kind (specification chapter 8).

use crate::schema::{SectionKind, column};
use crate::stats::Physical;

/// A column that a kind defines.
pub(super) struct KindColumn {
    pub(super) logical: &'static str,
    pub(super) physical: Physical,
    pub(super) need: Need,
    /// Decoded pages are kept for checks that compare rows.
    pub(super) keep: bool,
}

/// Whether a column may be missing from a section with rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Need {
    /// It is there and has a value in each row.
    Always,
    /// It may be missing, and null.
    Optional,
}

use Need::{Always, Optional};
use Physical::{Binary, Int64};

const fn kept(logical: &'static str, physical: Physical, need: Need) -> KindColumn {
    KindColumn {
        logical,
        physical,
        need,
        keep: true,
    }
}

const fn passing(logical: &'static str, physical: Physical, need: Need) -> KindColumn {
    KindColumn {
        logical,
        physical,
        need,
        keep: false,
    }
}

const STREAMS: &[KindColumn] = &[
    kept(column::STREAM_ID, Int64, Always),
    kept(column::MIN_TIMESTAMP, Int64, Always),
    kept(column::MAX_TIMESTAMP, Int64, Always),
    kept(column::ROWS, Int64, Always),
    passing(column::UNCOMPRESSED_SIZE, Int64, Optional),
    kept(column::LABEL, Binary, Optional),
    kept(column::SHARD_BUCKET, Int64, Optional),
];

const LOGS: &[KindColumn] = &[
    kept(column::STREAM_ID, Int64, Always),
    kept(column::TIMESTAMP, Int64, Always),
    passing(column::METADATA, Binary, Optional),
    passing(column::MESSAGE, Binary, Optional),
];

const POINTERS: &[KindColumn] = &[
    passing("path", Binary, Always),
    kept("section", Int64, Always),
    kept("pointer_kind", Int64, Always),
    kept(column::STREAM_ID, Int64, Optional),
    passing("stream_id_ref", Int64, Optional),
    kept(column::MIN_TIMESTAMP, Int64, Optional),
    kept(column::MAX_TIMESTAMP, Int64, Optional),
    passing("row_count", Int64, Optional),
    passing(column::UNCOMPRESSED_SIZE, Int64, Optional),
    passing("column_name", Binary, Optional),
    passing("column_index", Int64, Optional),
    kept("values_bloom_filter", Binary, Optional),
];

const INDEX_POINTERS: &[KindColumn] = &[
    passing("path", Binary, Always),
    kept(column::MIN_TIMESTAMP, Int64, Always),
    kept(column::MAX_TIMESTAMP, Int64, Always),
    passing("file_size", Int64, Optional),
    passing("uncompressed_logs_size", Int64, Optional),
];

const POSTINGS: &[KindColumn] = &[
    kept("kind", Int64, Always),
    kept("object_path", Binary, Always),
    passing("shard_buckets", Int64, Optional),
    kept("section_index", Int64, Always),
    kept("column_name", Binary, Always),
    kept("label_value", Binary, Optional),
    kept("bloom_filter", Binary, Optional),
    kept("stream_id_bitmap", Binary, Optional),
    passing(column::UNCOMPRESSED_SIZE, Int64, Optional),
    kept(column::MIN_TIMESTAMP, Int64, Always),
    kept(column::MAX_TIMESTAMP, Int64, Always),
    passing("min_shard_bucket", Int64, Optional),
    passing("max_shard_bucket", Int64, Optional),
];

const STATS: &[KindColumn] = &[
    passing("object_path", Binary, Always),
    kept("section_index", Int64, Always),
    kept("sort_schema", Binary, Always),
    kept(column::SHARD_BUCKET, Int64, Always),
    kept(column::MIN_TIMESTAMP, Int64, Always),
    kept(column::MAX_TIMESTAMP, Int64, Always),
    passing("row_count", Int64, Always),
    passing(column::UNCOMPRESSED_SIZE, Int64, Always),
    kept(column::LABEL, Binary, Optional),
];

/// The columns of a kind; none for kinds that this version doesn't know.
pub(super) fn columns(kind: &SectionKind) -> &'static [KindColumn] {
    match kind {
        SectionKind::Streams => STREAMS,
        SectionKind::Logs => LOGS,
        SectionKind::Pointers => POINTERS,
        SectionKind::IndexPointers => INDEX_POINTERS,
        SectionKind::Postings => POSTINGS,
        SectionKind::Stats => STATS,
        SectionKind::Unknown { .. } => &[],
    }
}
