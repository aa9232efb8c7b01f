//! What a query answers.

use bytes::Bytes;
use std::sync::Arc;
use timberline_logql::labels::LabelSet;
pub use timberline_logql::pipeline::EntryLabels;

/// The answer to a query.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The rows, by the type of the expression (logql.md 1).
    pub result: QueryResult,
    /// What it cost.
    pub stats: QueryStats,
    /// Remarks for the person who asked.
    pub warnings: Vec<String>,
}

impl From<QueryResult> for Answer {
    /// An answer for which nothing was read.
    fn from(result: QueryResult) -> Self {
        Self {
            result,
            stats: QueryStats::default(),
            warnings: Vec::new(),
        }
    }
}

/// Rows of an answer.
#[derive(Clone, Debug)]
pub enum QueryResult {
    /// Log lines, grouped by their final labels, in order of the labels as text; entries in the requested direction.
    Streams(Vec<StreamResult>),
    /// Series over time, in order of their labels as text.
    Matrix(Vec<Series>),
    /// Series at one time; in order of their labels as text unless the query sorts.
    Vector(Vec<Sample>),
    /// A number without labels.
    Scalar {
        /// Evaluation time, nanoseconds.
        time_ns: i64,
        /// The number.
        value: f64,
    },
}

/// Log lines with one set of final labels.
#[derive(Clone, Debug)]
pub struct StreamResult {
    /// Stream labels, structured metadata and parsed labels together.
    pub labels: LabelSet,
    /// Lines in the requested direction.
    pub entries: Vec<Entry>,
}

/// One log line of an answer.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Nanoseconds since 1970.
    pub timestamp_ns: i64,
    /// Place among all lines of the answer, whatever their stream: in the requested direction, and of lines of one stored stream at the
    /// same time in order of arrival.
    pub position: usize,
    /// The line after the pipeline; normally UTF-8.
    pub line: Bytes,
    /// Its labels by category.
    pub labels: Arc<EntryLabels>,
}

/// A series over time.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Its labels.
    pub labels: LabelSet,
    /// Evaluation time in nanoseconds and value, ascending.
    pub points: Vec<(i64, f64)>,
}

/// A series at one time.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Its labels.
    pub labels: LabelSet,
    /// Evaluation time, nanoseconds.
    pub time_ns: i64,
    /// Its value.
    pub value: f64,
}

/// What a query considered, read and kept (style: each query can explain itself).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueryStats {
    /// Wall time of planning and execution, seconds.
    pub exec_seconds: f64,
    /// Data objects and head parts that may hold rows of the query.
    pub sources: u64,
    /// Of them, those in memory.
    pub head_sources: u64,
    /// Streams that the selector chose.
    pub streams: u64,
    /// Runs (page-sized stretches of rows) in those sources.
    pub runs: u64,
    /// Runs skipped because none of their streams is chosen.
    pub runs_skipped_by_stream: u64,
    /// Runs skipped because they lie outside the time span.
    pub runs_skipped_by_time: u64,
    /// Runs skipped because enough newer (or older) lines were found already.
    pub runs_skipped_by_limit: u64,
    /// Runs skipped because filters tell that no line there holds a text that is asked for.
    pub runs_skipped_by_text: u64,
    /// Runs skipped because filters, or columns without values, tell that no entry there has the structured metadata asked for.
    pub runs_skipped_by_value: u64,
    /// Data objects whose metadata had to be read; it was cached for the others.
    pub objects_opened: u64,
    /// Column pages read from data objects.
    pub pages_fetched: u64,
    /// Their bytes as stored.
    pub bytes_fetched: u64,
    /// Bytes of those pages after decompression.
    pub bytes_decompressed: u64,
    /// Filter sections read from data objects; others were kept in memory.
    pub filters_fetched: u64,
    /// Their bytes as stored.
    pub filter_bytes_fetched: u64,
    /// Of them, those that can't be used because they are damaged or not understood.
    pub filters_unusable: u64,
    /// Rows whose stream and time were looked at.
    pub rows_scanned: u64,
    /// Rows of chosen streams in the time span.
    pub lines_processed: u64,
    /// Lines whose text was decoded.
    pub lines_decoded: u64,
    /// Bytes of those lines.
    pub bytes_processed: u64,
    /// Bytes of structured metadata decoded.
    pub metadata_bytes_processed: u64,
    /// Lines that passed the pipeline.
    pub lines_after_filter: u64,
    /// Lines dropped because another source holds the same entry.
    pub duplicates: u64,
    /// Log lines in the answer.
    pub entries_returned: u64,
    /// The most bytes that the query held at one time: labels, states, points, lines, pages.
    pub memory_peak_bytes: u64,
}
