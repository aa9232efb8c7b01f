//! The one trait behind which rows are read: a data object and the in-memory head both offer streams, runs (page-sized
//! stretches of rows), statistics, and the decoding of columns under a selection. Nothing above it knows which it reads.

use crate::Error;
use arrow_array::{BinaryArray, Int64Array};
use async_trait::async_trait;
use std::fmt::Debug;
use std::sync::Arc;
use timberline_dataobj::extension::TextCondition;
use timberline_logql::labels::LabelSet;

/// The latest time that a query may ask for, and that entries must be before, in nanoseconds since 1970 (2116-02-20). The earliest is
/// as far on the other side. Half of what 64 bits hold, which leaves room for ranges, offsets and alignment. The write path
/// and queries both refuse what is beyond, so that nothing is stored that can't be found.
pub const MAX_TIMESTAMP_NS: i64 = i64::MAX / 2;

/// A time span in nanoseconds since 1970, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeSpan {
    /// First nanosecond.
    pub min_ns: i64,
    /// Last nanosecond; never before the first.
    pub max_ns: i64,
}

impl TimeSpan {
    /// True if both spans have a nanosecond in common.
    pub fn overlaps(&self, other: &TimeSpan) -> bool {
        self.min_ns <= other.max_ns && other.min_ns <= self.max_ns
    }
}

/// A stream as one source holds it.
#[derive(Clone, Debug)]
pub struct StreamInfo {
    /// The source's own number of the stream; unique within the source, at least 1.
    pub id: i64,
    /// Its labels.
    pub labels: LabelSet,
    /// From its earliest to its latest entry in this source.
    pub span: TimeSpan,
    /// Entries in this source; an upper bound where duplicates are not yet removed.
    pub rows: u64,
    /// Bytes of lines and metadata values.
    pub bytes: u64,
    /// Where this source itself may hold an entry twice; `None` where it can't.
    pub duplicates: Option<TimeSpan>,
}

/// A page-sized stretch of rows.
#[derive(Clone, Copy, Debug)]
pub struct RunInfo {
    /// Rows in the run; at least 1.
    pub rows: usize,
    /// Smallest and largest stream number.
    pub streams: (i64, i64),
    /// Earliest and latest entry.
    pub span: TimeSpan,
}

/// The two columns that every row has.
#[derive(Clone, Debug)]
pub struct Keys {
    /// Stream numbers, one per row of the run, no nulls.
    pub streams: Int64Array,
    /// Timestamps in nanoseconds, one per row of the run, no nulls.
    pub timestamps: Int64Array,
}

/// Which rows of a run are wanted.
#[derive(Clone, Debug)]
pub enum Selection {
    /// All of them.
    All,
    /// These, ascending, without repeats.
    Rows(Vec<u32>),
}

/// One structured-metadata column of some rows.
#[derive(Clone, Debug)]
pub struct MetadataColumn {
    /// Metadata name.
    pub name: Arc<str>,
    /// One value per selected row; null where the entry has no such name.
    pub values: BinaryArray,
}

/// What every row holds that a reader wants; see [`RowSource::excluded_runs`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Its line meets each of these.
    pub texts: Vec<TextCondition>,
    /// Of each of these groups it has one value in its structured metadata.
    pub values: Vec<Vec<WantedValue>>,
}

/// A value of structured metadata.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WantedValue {
    /// Metadata name.
    pub name: String,
    /// Its value; an empty one may be absent as well, and excludes nothing.
    pub value: Vec<u8>,
}

impl Wanted {
    /// True if no run can be excluded.
    pub fn tells_nothing(&self) -> bool {
        let may_be_absent = |group: &Vec<WantedValue>| group.iter().any(|wanted| wanted.value.is_empty());
        self.texts.iter().all(TextCondition::tells_nothing) && self.values.iter().all(may_be_absent)
    }
}

/// Why a run holds no wanted row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exclusion {
    /// No line meets all of [`Wanted::texts`].
    Text,
    /// No row has a value of each group of [`Wanted::values`].
    Value,
}

/// Runs that hold no wanted row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExcludedRuns(Vec<Option<Exclusion>>);

impl ExcludedRuns {
    /// Why a run is excluded; `None` if it may hold a wanted row.
    pub fn get(&self, run: usize) -> Option<Exclusion> {
        self.0.get(run).copied().flatten()
    }
}

impl FromIterator<Option<Exclusion>> for ExcludedRuns {
    /// One item per run, from the first.
    fn from_iter<I: IntoIterator<Item = Option<Exclusion>>>(runs: I) -> Self {
        Self(runs.into_iter().collect())
    }
}

/// What was read through one handle of a source, for a query's statistics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScanStats {
    /// Objects whose metadata had to be read; it was cached for the others.
    pub objects_opened: u64,
    /// Column pages read from the store or from an object that is held whole.
    pub pages_fetched: u64,
    /// Their bytes as stored.
    pub bytes_fetched: u64,
    /// Bytes of decoded pages after decompression.
    pub bytes_decompressed: u64,
    /// Filter sections read from the store or from an object that is held whole; others were kept.
    pub filters_fetched: u64,
    /// Their bytes as stored.
    pub filter_bytes_fetched: u64,
    /// Of them, those that are damaged or not understood: the answer is the same, but takes longer.
    pub filters_unusable: u64,
}

/// A source of rows of one tenant. Rows never change once the source is handed out.
///
/// Rows within a run are in the source's own order; rows of one stream with equal timestamps are ordered so that
/// [`RowSource::newest_first`] tells whether the later arrival stands first.
#[async_trait]
pub trait RowSource: Send + Sync + Debug {
    /// Object key, or `head`, for messages and counters.
    fn name(&self) -> &str;

    /// From the earliest to the latest entry.
    fn span(&self) -> TimeSpan;

    /// True if of entries with the same stream and timestamp the later arrival stands first (data objects); false if the
    /// earlier one does (head).
    fn newest_first(&self) -> bool;

    /// The streams, in order of their numbers.
    async fn streams(&self) -> Result<Arc<[StreamInfo]>, Error>;

    /// The runs, in the order of the rows.
    async fn runs(&self) -> Result<Arc<[RunInfo]>, Error>;

    /// Stream numbers and timestamps of a run.
    async fn keys(&self, run: usize) -> Result<Keys, Error>;

    /// Lines of the selected rows of a run.
    async fn lines(&self, run: usize, rows: &Selection) -> Result<BinaryArray, Error>;

    /// Structured metadata of the selected rows of a run. `names`: only these columns; `None`: all that hold a value.
    /// Columns that are null in all these rows are left out.
    async fn metadata(
        &self,
        run: usize,
        rows: &Selection,
        names: Option<&[String]>,
    ) -> Result<Vec<MetadataColumn>, Error>;

    /// The runs that certainly hold no wanted row, by what the source knows without reading rows. A source may only ever exclude:
    /// one that knows nothing, or can't read what it knew, excludes none.
    async fn excluded_runs(&self, _wanted: &Wanted) -> Result<ExcludedRuns, Error> {
        Ok(ExcludedRuns::default())
    }

    /// What was read through this handle so far; nothing for a source in memory.
    fn scan_stats(&self) -> ScanStats {
        ScanStats::default()
    }
}

/// Hands out all sources that hold entries of a tenant in a time span, each entry in exactly one of them, as of one moment.
#[async_trait]
pub trait SourceProvider: Send + Sync + Debug {
    /// The sources, in order of arrival: an entry in a later source arrived after the entries of earlier ones.
    async fn sources(&self, tenant: &crate::TenantId, span: TimeSpan) -> Result<Vec<Arc<dyn RowSource>>, Error>;
}
