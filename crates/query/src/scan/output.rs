//! What the scan hands on for each entry that passed the pipeline: a log line, or a sample for a range aggregation.

use super::identity::Identity;
use crate::QueryError;
use crate::context::{KeyCache, QueryContext};
use crate::node::schema;
use crate::range::Grid;
use arrow_array::builder::BinaryBuilder;
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, UInt32Array, UInt64Array};
use arrow_schema::{DataType, SchemaRef};
use datafusion_common::Result;
use std::sync::Arc;
use timberline_logql::ast::Grouping;
use timberline_logql::pipeline::{CompiledUnwrap, GroupLabels, Processed, decode_group_key, decode_labels_key};

/// Positions of the columns of log lines.
pub(crate) struct EntryColumns;

impl EntryColumns {
    /// Int64, nanoseconds.
    pub(crate) const TIMESTAMP: usize = 0;
    /// UInt64; larger for entries that arrived later, within one stream and timestamp.
    pub(crate) const ARRIVAL: usize = 1;
    /// UInt32, number in the query's table of label sets.
    pub(crate) const LABELS: usize = 2;
    /// Binary.
    pub(crate) const LINE: usize = 3;
    /// UInt64 and, in the next column, UInt64: the [`Identity`] of an entry that may come twice, else [`HELD_ONCE`].
    pub(crate) const IDENTITY: usize = 4;
}

/// Number of an entry in a sample.
#[derive(Clone, Debug)]
pub(crate) enum SampleValue {
    /// 1.
    One,
    /// Bytes of the line as it is after the pipeline.
    LineBytes,
    /// The number in a label.
    Unwrapped(Arc<CompiledUnwrap>),
}

/// Which labels make the series of a sample.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SeriesLabels {
    /// All labels after the pipeline.
    All,
    /// Those of a grouping.
    Grouped(Grouping),
}

impl SeriesLabels {
    fn compile(&self) -> GroupLabels {
        match self {
            SeriesLabels::All => GroupLabels::all(),
            SeriesLabels::Grouped(g) if g.without => GroupLabels::without(g.labels.iter().map(String::as_str)),
            SeriesLabels::Grouped(g) => GroupLabels::by(g.labels.iter().map(String::as_str)),
        }
    }

    /// True if entries with errors are series of their own instead of failing the query (logql.md 11).
    fn shows_errors(&self) -> bool {
        matches!(self, SeriesLabels::Grouped(g) if !g.without && g.labels.iter().any(|l| l == "__error__"))
    }
}

/// What the scan hands on.
#[derive(Clone, Debug)]
pub(crate) enum ScanOutput {
    /// Log lines; see [`EntryColumns`].
    Entries,
    /// `timestamp`, `series`, `amount`, of the entries that a window of the grid holds.
    Samples(SampleValue, SeriesLabels, Grid),
}

impl ScanOutput {
    /// Columns of the batches.
    pub(crate) fn schema(&self) -> SchemaRef {
        match self {
            ScanOutput::Entries => schema(&[
                ("timestamp", DataType::Int64),
                ("arrival", DataType::UInt64),
                ("labels", DataType::UInt32),
                ("line", DataType::Binary),
                ("identity_a", DataType::UInt64),
                ("identity_b", DataType::UInt64),
            ]),
            ScanOutput::Samples(..) => schema(&[
                ("timestamp", DataType::Int64),
                ("series", DataType::UInt32),
                ("amount", DataType::Float64),
            ]),
        }
    }

    /// True if the line is part of the output.
    pub(crate) fn reads_line(&self) -> bool {
        matches!(
            self,
            ScanOutput::Entries | ScanOutput::Samples(SampleValue::LineBytes, ..)
        )
    }

    /// True if what an entry gives depends on its line alone once its series is known.
    pub(crate) fn by_line(&self) -> bool {
        matches!(self, ScanOutput::Samples(SampleValue::One | SampleValue::LineBytes, ..))
    }

    /// The grid if windows leave gaps: an entry between two windows counts nowhere, so it can't fail the query either.
    pub(crate) fn gaps(&self) -> Option<&Grid> {
        match self {
            ScanOutput::Samples(.., grid) if grid.has_gaps() => Some(grid),
            _ => None,
        }
    }
}

/// Collects the output of one worker.
pub(crate) struct OutputBuilder {
    output: ScanOutput,
    context: Arc<QueryContext>,
    timestamps: Vec<i64>,
    arrivals: Vec<u64>,
    numbers: Vec<u32>,
    amounts: Vec<f64>,
    lines: BinaryBuilder,
    identities: (Vec<u64>, Vec<u64>),
    key: Vec<u8>,
    cache: KeyCache,
    /// Labels of a series.
    group: GroupLabels,
    shows_errors: bool,
}

impl OutputBuilder {
    pub(crate) fn new(output: ScanOutput, context: Arc<QueryContext>) -> Self {
        let (group, shows_errors) = match &output {
            ScanOutput::Samples(_, labels, _) => (labels.compile(), labels.shows_errors()),
            ScanOutput::Entries => (GroupLabels::all(), true),
        };
        Self {
            group,
            shows_errors,
            output,
            context,
            timestamps: Vec::new(),
            arrivals: Vec::new(),
            numbers: Vec::new(),
            amounts: Vec::new(),
            lines: BinaryBuilder::new(),
            identities: (Vec::new(), Vec::new()),
            key: Vec::new(),
            cache: KeyCache::default(),
        }
    }

    /// Entries collected since the last batch.
    pub(crate) fn len(&self) -> usize {
        self.timestamps.len()
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        let rows = self.timestamps.capacity() * 8 + self.numbers.capacity() * 4 + self.amounts.capacity() * 8;
        let entries = (self.arrivals.capacity() + 2 * self.identities.0.capacity()) * 8;
        rows + entries + self.line_bytes() + self.cache.bytes()
    }

    /// Bytes of the lines since the last batch.
    pub(crate) fn line_bytes(&self) -> usize {
        self.lines.values_slice().len()
    }

    /// Adds an entry and returns the number of its label set or series; `None` if the entry gives no sample.
    pub(crate) fn push(
        &mut self,
        timestamp_ns: i64,
        arrival: u64,
        identity: Identity,
        mut entry: Processed<'_>,
    ) -> Result<Option<u32>, QueryError> {
        self.key.clear();
        let ScanOutput::Samples(value, ..) = &self.output else {
            entry.labels_key(&mut self.key);
            let (key, table) = (&self.key, &self.context.entry_labels);
            let number = self.cache.get(key, || table.intern(Arc::new(decode_labels_key(key))))?;
            self.push_known(timestamp_ns, arrival, identity, number, entry.line)?;
            return Ok(Some(number));
        };
        let unwrapped = match value {
            SampleValue::Unwrapped(unwrap) => {
                let Some(amount) = unwrap.value(&mut entry) else {
                    return Ok(None);
                };
                Some(amount)
            }
            SampleValue::One | SampleValue::LineBytes => None,
        };
        if !self.shows_errors && entry.has_error() {
            return Err(pipeline_error(&entry));
        }
        entry.group_key(&self.group, &mut self.key);
        let (key, table) = (&self.key, &self.context.series);
        let number = self.cache.get(key, || table.intern(decode_group_key(key)))?;
        match unwrapped {
            Some(amount) => self.push_sample(timestamp_ns, number, amount),
            None => self.push_known(timestamp_ns, arrival, identity, number, entry.line)?,
        }
        Ok(Some(number))
    }

    /// Adds an entry whose number is known and whose amount, if it is a sample, depends on its line alone.
    #[inline]
    pub(crate) fn push_known(
        &mut self,
        timestamp_ns: i64,
        arrival: u64,
        identity: Identity,
        number: u32,
        line: &[u8],
    ) -> Result<(), QueryError> {
        match self.output {
            ScanOutput::Entries => {
                self.make_room(line.len())?;
                self.timestamps.push(timestamp_ns);
                self.numbers.push(number);
                self.arrivals.push(arrival);
                self.lines.append_value(line);
                self.identities.0.push(identity.0);
                self.identities.1.push(identity.1);
            }
            ScanOutput::Samples(SampleValue::LineBytes, ..) => {
                self.push_sample(timestamp_ns, number, line.len() as f64);
            }
            ScanOutput::Samples(..) => self.push_sample(timestamp_ns, number, 1.0),
        }
        Ok(())
    }

    /// Refuses lines that formatting has blown up within one run: before the memory is taken, and before their offsets leave 32 bits.
    fn make_room(&self, more: usize) -> Result<(), QueryError> {
        let limit = self.context.limits.max_query_memory_bytes;
        let wanted = self.line_bytes().saturating_add(more);
        if wanted > limit {
            let text = format!("lines of {wanted} bytes in one run of rows exceed max_query_memory_bytes={limit}");
            return Err(QueryError::Limit(text));
        }
        if i32::try_from(wanted).is_err() {
            let text = format!(
                "lines of {wanted} bytes in one run of rows are more than a batch holds, {} bytes",
                i32::MAX
            );
            return Err(QueryError::Limit(text));
        }
        Ok(())
    }

    #[inline]
    fn push_sample(&mut self, timestamp_ns: i64, series: u32, amount: f64) {
        self.timestamps.push(timestamp_ns);
        self.numbers.push(series);
        self.amounts.push(amount);
    }

    /// The entries collected since the last call as a batch.
    pub(crate) fn finish(&mut self) -> Result<RecordBatch> {
        use std::mem::take;
        let mut columns: Vec<ArrayRef> = vec![Arc::new(Int64Array::from(take(&mut self.timestamps)))];
        let numbers = Arc::new(UInt32Array::from(take(&mut self.numbers)));
        match self.output {
            ScanOutput::Entries => {
                columns.push(Arc::new(UInt64Array::from(take(&mut self.arrivals))));
                columns.push(numbers);
                columns.push(Arc::new(self.lines.finish()));
                columns.push(Arc::new(UInt64Array::from(take(&mut self.identities.0))));
                columns.push(Arc::new(UInt64Array::from(take(&mut self.identities.1))));
            }
            ScanOutput::Samples(..) => {
                columns.push(numbers);
                columns.push(Arc::new(Float64Array::from(take(&mut self.amounts))));
            }
        }
        Ok(RecordBatch::try_new(self.output.schema(), columns)?)
    }
}

/// A metric query fails as a whole on an entry with an error (logql.md 11).
fn pipeline_error(entry: &Processed<'_>) -> QueryError {
    let mut key = Vec::new();
    entry.labels_key(&mut key);
    let labels = decode_labels_key(&key).merged();
    let error = labels.get("__error__").unwrap_or_default();
    QueryError::BadRequest(format!(
        "pipeline error: '{error}' for series: '{labels}'.\n\
         Use a label filter to intentionally skip this error. (e.g | __error__!=\"{error}\").\n\
         To skip all potential errors you can match empty errors.(e.g __error__=\"\")\n\
         The label filter can also be specified after unwrap. (e.g | unwrap latency | __error__=\"\" )\n"
    ))
}
