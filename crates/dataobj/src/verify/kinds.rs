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
    passing(column::PATH, Binary, Always),
    kept(column::SECTION, Int64, Always),
    kept(column::POINTER_KIND, Int64, Always),
    kept(column::STREAM_ID, Int64, Optional),
    passing(column::STREAM_ID_REF, Int64, Optional),
    kept(column::MIN_TIMESTAMP, Int64, Optional),
    kept(column::MAX_TIMESTAMP, Int64, Optional),
    passing(column::ROW_COUNT, Int64, Optional),
    passing(column::UNCOMPRESSED_SIZE, Int64, Optional),
    passing(column::COLUMN_NAME, Binary, Optional),
    passing(column::COLUMN_INDEX, Int64, Optional),
    kept(column::VALUES_BLOOM_FILTER, Binary, Optional),
];

const INDEX_POINTERS: &[KindColumn] = &[
    passing(column::PATH, Binary, Always),
    kept(column::MIN_TIMESTAMP, Int64, Always),
    kept(column::MAX_TIMESTAMP, Int64, Always),
    passing(column::FILE_SIZE, Int64, Optional),
    passing(column::UNCOMPRESSED_LOGS_SIZE, Int64, Optional),
];

const POSTINGS: &[KindColumn] = &[
    kept(column::KIND, Int64, Always),
    kept(column::OBJECT_PATH, Binary, Always),
    passing(column::SHARD_BUCKETS, Int64, Optional),
    kept(column::SECTION_INDEX, Int64, Always),
    kept(column::COLUMN_NAME, Binary, Always),
    kept(column::LABEL_VALUE, Binary, Optional),
    kept(column::BLOOM_FILTER, Binary, Optional),
    kept(column::STREAM_ID_BITMAP, Binary, Optional),
    passing(column::UNCOMPRESSED_SIZE, Int64, Optional),
    kept(column::MIN_TIMESTAMP, Int64, Always),
    kept(column::MAX_TIMESTAMP, Int64, Always),
    passing(column::MIN_SHARD_BUCKET, Int64, Optional),
    passing(column::MAX_SHARD_BUCKET, Int64, Optional),
];

const STATS: &[KindColumn] = &[
    passing(column::OBJECT_PATH, Binary, Always),
    kept(column::SECTION_INDEX, Int64, Always),
    kept(column::SORT_SCHEMA, Binary, Always),
    kept(column::SHARD_BUCKET, Int64, Always),
    kept(column::MIN_TIMESTAMP, Int64, Always),
    kept(column::MAX_TIMESTAMP, Int64, Always),
    passing(column::ROW_COUNT, Int64, Always),
    passing(column::UNCOMPRESSED_SIZE, Int64, Always),
    kept(column::LABEL, Binary, Optional),
];

/// The columns of a kind; none for kinds that this version doesn't know, and for this project's own, which `extension.rs` checks.
pub(super) fn columns(kind: &SectionKind) -> &'static [KindColumn] {
    match kind {
        SectionKind::Streams => STREAMS,
        SectionKind::Logs => LOGS,
        SectionKind::Pointers => POINTERS,
        SectionKind::IndexPointers => INDEX_POINTERS,
        SectionKind::Postings => POSTINGS,
        SectionKind::Stats => STATS,
        SectionKind::TextFilter | SectionKind::ValueFilter | SectionKind::Volume | SectionKind::Unknown { .. } => &[],
    }
}
