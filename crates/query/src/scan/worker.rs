// hot path: no locks shared between cores, no logging above debug, no allocation per row.
//! Reads one run after another and runs the pipeline over its rows.

use super::exec::ScanSpec;
use super::identity::{HELD_ONCE, Identity};
use super::output::{OutputBuilder, ScanOutput};
use super::queue::RunTask;
use crate::QueryError;
use crate::cancel::{BYTES_PER_LOOK, Cancelled};
use crate::context::count;
use crate::memory::table_bytes;
use crate::meter::Meter;
use crate::select::{NOT_SELECTED, SelectedSource};
use arrow_array::{Array, BinaryArray, RecordBatch};
use std::sync::Arc;
use timberline_logql::pipeline::{LineMatcher, Runner};
use timberline_store::source::{Exclusion, Keys, MetadataColumn, Selection, TimeSpan};

/// Rows of a batch, about; a run is never split over two batches.
const BATCH_ROWS: usize = 8192;

/// Bytes of lines of a batch, about.
const BATCH_BYTES: usize = 4 << 20;

/// One partition of a scan.
pub(crate) struct Worker {
    spec: Arc<ScanSpec>,
    runner: Runner,
    output: OutputBuilder,
    /// The query's number of the stream that `runner` is set to.
    current: u32,
    /// Series of each stream's entries, where all entries of a stream have the same; [`NOT_SELECTED`]: not known yet.
    series: Vec<u32>,
    rows: Vec<u32>,
    meter: Meter,
    /// Bytes of what this worker has put into [`super::identity::SeenEntries`], and of its own buffers.
    seen_bytes: usize,
}

impl Worker {
    pub(crate) fn new(spec: Arc<ScanSpec>, meter: Meter) -> Self {
        let runner = Runner::new(spec.pipeline.clone());
        let output = OutputBuilder::new(spec.output.clone(), spec.context.clone());
        let series = vec![NOT_SELECTED; spec.streams.len()];
        Self {
            spec,
            runner,
            output,
            current: NOT_SELECTED,
            series,
            rows: Vec::new(),
            meter,
            seen_bytes: 0,
        }
    }

    /// The next entries; `None` when all runs are read.
    pub(crate) async fn next_batch(&mut self) -> Result<Option<RecordBatch>, QueryError> {
        let spec = self.spec.clone();
        while let Some(task) = spec.queue.draw() {
            spec.context.cancelled.check()?;
            if spec.bound.as_ref().is_some_and(|bound| bound.excludes(&task.info.span)) {
                count(&spec.counters.runs_skipped_by_limit, 1);
                continue;
            }
            // Reading and decompressing are work of this thread too.
            let busy = self.meter.busy();
            if is_excluded(&spec, &task).await? {
                continue;
            }
            self.read(&spec, task).await?;
            drop(busy);
            // A search for few lines hands on what it has at once, so that the bound tightens early.
            let is_full = self.output.len() >= BATCH_ROWS || self.output.line_bytes() >= BATCH_BYTES;
            if is_full || (spec.bound.is_some() && self.output.len() > 0) {
                break;
            }
            // Lets other queries of the same thread on, and a cancelled query end.
            tokio::task::consume_budget().await;
        }
        if self.output.len() == 0 {
            return Ok(None);
        }
        let _busy = self.meter.busy();
        let batch = self.output.finish()?;
        self.meter.rows_out(batch.num_rows());
        self.meter.hold(self.bytes())?;
        Ok(Some(batch))
    }

    /// Bytes held between two runs.
    fn bytes(&self) -> usize {
        self.output.bytes() + self.seen_bytes + (self.series.len() + self.rows.capacity()) * 4
    }

    /// Reads one run: keys, then lines of the rows that are left, then metadata of those whose line passed.
    async fn read(&mut self, spec: &ScanSpec, task: RunTask) -> Result<(), QueryError> {
        let (counters, cancelled) = (&spec.counters, &spec.context.cancelled);
        let selected = &spec.sources[task.source];
        let keys = selected.source.keys(task.run).await?;
        let mut page_bytes = keys.streams.len() * 16;
        self.meter.hold(self.bytes() + page_bytes)?;
        let span = spec.bound.as_ref().map_or(spec.span, |bound| bound.clip(spec.span));
        let mut rows = std::mem::take(&mut self.rows);
        let may_repeat = choose_rows(spec, selected, &keys, span, &mut rows);
        count(&counters.rows_scanned, keys.streams.len());
        count(&counters.lines_processed, rows.len());
        self.meter.rows_in(rows.len());

        let filters = spec.pipeline.line_filters();
        let reads_line = may_repeat || spec.output.reads_line() || spec.pipeline.needs_line() || !filters.is_empty();
        let mut lines = None;
        // Positions in `rows`, and so in `lines`, that are left.
        let mut kept: Vec<u32> = Vec::new();
        if !rows.is_empty() && reads_line {
            let column = selected
                .source
                .lines(task.run, &selection(&rows, keys.streams.len()))
                .await?;
            count(&counters.lines_decoded, column.len());
            count(&counters.bytes_processed, column.value_data().len());
            page_bytes += column.value_data().len() + column.value_offsets().len() * 4;
            self.meter.hold(self.bytes() + page_bytes)?;
            if !filters.is_empty() {
                filter_lines(filters, &column, &mut kept, cancelled)?;
                for (to, &from) in kept.iter().enumerate() {
                    rows[to] = rows[from as usize];
                }
                rows.truncate(kept.len());
            }
            lines = Some(column);
        }
        let mut metadata = Vec::new();
        if !rows.is_empty() {
            // To tell whether two entries are the same takes all their metadata.
            let names = if may_repeat {
                None
            } else {
                spec.pipeline.metadata_names()
            };
            if names.as_ref().is_none_or(|names| !names.is_empty()) {
                let selection = selection(&rows, keys.streams.len());
                metadata = selected.source.metadata(task.run, &selection, names.as_deref()).await?;
                metadata.sort_by(|a, b| a.name.cmp(&b.name));
                let bytes: usize = metadata.iter().map(|c| c.values.value_data().len()).sum();
                count(&counters.metadata_bytes_processed, bytes);
                let per_row = rows.len() * 4 * metadata.len();
                self.meter.hold(self.bytes() + page_bytes + bytes + per_row)?;
            }
            let filtered = !filters.is_empty();
            let lines = Lines {
                column: lines.as_ref(),
                kept: filtered.then_some(kept.as_slice()),
            };
            self.run_pipeline(spec, task, &keys, &rows, &lines, &metadata)?;
        }
        self.rows = rows;
        self.meter.hold(self.bytes())?;
        Ok(())
    }

    /// Runs the pipeline over rows; their lines have passed the leading filters.
    fn run_pipeline(
        &mut self,
        spec: &ScanSpec,
        task: RunTask,
        keys: &Keys,
        rows: &[u32],
        lines: &Lines<'_>,
        metadata: &[MetadataColumn],
    ) -> Result<(), QueryError> {
        let selected = &spec.sources[task.source];
        let newest_first = selected.source.newest_first();
        let (streams, timestamps) = (keys.streams.values(), keys.timestamps.values());
        let is_entries = matches!(spec.output, ScanOutput::Entries);
        let one_series_per_stream = spec.keeps_labels && metadata.is_empty() && spec.output.by_line();
        let cancelled = &spec.context.cancelled;
        let mut pairs: Vec<(&str, &[u8])> = Vec::with_capacity(metadata.len());
        let (mut passed, mut repeated) = (0, 0);
        for (position, &row) in rows.iter().enumerate() {
            let (id, timestamp_ns) = (streams[row as usize], timestamps[row as usize]);
            let stream = selected.stream(id);
            let line = lines.get(position);
            pairs.clear();
            for column in metadata {
                if column.values.is_valid(position) {
                    pairs.push((&column.name, column.values.value(position)));
                }
            }
            let known = if one_series_per_stream {
                self.series[stream as usize]
            } else {
                NOT_SELECTED
            };
            let arrival = arrival(selected.arrival, task.first_row + u64::from(row), newest_first);
            let identity = match &spec.seen {
                Some(seen) if seen.may_repeat(stream, timestamp_ns) => seen.identity(stream, line, &pairs),
                _ => HELD_ONCE,
            };
            // Whoever collects lines finds copies: which of them counts depends on arrival. Samples are all the same.
            let is_repeat = || {
                let seen = spec.seen.as_ref().filter(|_| identity != HELD_ONCE && !is_entries);
                seen.is_some_and(|seen| !seen.insert(stream, timestamp_ns, identity))
            };
            if known != NOT_SELECTED {
                if is_repeat() {
                    repeated += 1;
                    continue;
                }
                self.output.push_known(timestamp_ns, arrival, identity, known, line)?;
                passed += 1;
                continue;
            }
            // A single line may take long: many stages, large templates.
            cancelled.check()?;
            if stream != self.current {
                self.runner.start_stream(&spec.streams[stream as usize].labels);
                self.current = stream;
            }
            let Some(entry) = self.runner.process(timestamp_ns, line, &pairs, true) else {
                continue;
            };
            if is_repeat() {
                repeated += 1;
                continue;
            }
            let Some(number) = self.output.push(timestamp_ns, arrival, identity, entry)? else {
                continue;
            };
            passed += 1;
            if one_series_per_stream {
                self.series[stream as usize] = number;
            }
        }
        count(&spec.counters.lines_after_filter, passed);
        count(&spec.counters.duplicates, repeated);
        if spec.seen.is_some() && !is_entries {
            self.seen_bytes += table_bytes::<(i64, Identity)>(passed);
        }
        Ok(())
    }
}

/// Fills `kept` with the positions of the lines that pass the filters; looks now and then whether anybody still waits.
fn filter_lines(
    filters: &[LineMatcher],
    lines: &BinaryArray,
    kept: &mut Vec<u32>,
    cancelled: &Cancelled,
) -> Result<(), QueryError> {
    let (offsets, data) = (lines.value_offsets(), lines.value_data());
    let mut from = 0;
    let mut some: Vec<u32> = Vec::new();
    while from < lines.len() {
        cancelled.check()?;
        let most = offsets[from].saturating_add(BYTES_PER_LOOK as i32);
        // At least one line, however long.
        let to = offsets
            .partition_point(|&end| end <= most)
            .clamp(from + 2, lines.len() + 1)
            - 1;
        some.clear();
        some.extend(0..(to - from) as u32);
        for filter in filters {
            filter.filter(&offsets[from..=to], data, &mut some);
        }
        kept.extend(some.iter().map(|&position| position + from as u32));
        from = to;
    }
    Ok(())
}

/// True if the source knows that nothing in the run comes through the pipeline.
async fn is_excluded(spec: &ScanSpec, task: &RunTask) -> Result<bool, QueryError> {
    let Some(pruning) = &spec.pruning else {
        return Ok(false);
    };
    let counters = &spec.counters;
    let exclusion = pruning.exclusion(spec, task).await?;
    match exclusion {
        Some(Exclusion::Text) => count(&counters.runs_skipped_by_text, 1),
        Some(Exclusion::Value) => count(&counters.runs_skipped_by_value, 1),
        None => {}
    }
    Ok(exclusion.is_some())
}

/// Finds the rows of chosen streams within the span; true if one of them may be held twice.
fn choose_rows(spec: &ScanSpec, source: &SelectedSource, keys: &Keys, span: TimeSpan, rows: &mut Vec<u32>) -> bool {
    rows.clear();
    let mut may_repeat = false;
    let gaps = spec.output.gaps();
    for (row, (&id, &timestamp_ns)) in keys.streams.values().iter().zip(keys.timestamps.values()).enumerate() {
        let stream = source.stream(id);
        if stream == NOT_SELECTED || timestamp_ns < span.min_ns || timestamp_ns > span.max_ns {
            continue;
        }
        if gaps.is_some_and(|grid| grid.cell(timestamp_ns).is_none()) {
            continue;
        }
        rows.push(row as u32);
        if let Some(seen) = &spec.seen
            && !may_repeat
        {
            may_repeat = seen.may_repeat(stream, timestamp_ns);
        }
    }
    may_repeat
}

/// Rows of a run as a selection.
fn selection(rows: &[u32], run_rows: usize) -> Selection {
    if rows.len() == run_rows {
        Selection::All
    } else {
        Selection::Rows(rows.to_vec())
    }
}

/// A number that is larger for entries that arrived later: sources in order of arrival, rows within.
fn arrival(source: usize, row: u64, newest_first: bool) -> u64 {
    const ROW_BITS: u32 = 40;
    const ROWS: u64 = (1 << ROW_BITS) - 1;
    let row = row.min(ROWS);
    ((source as u64) << ROW_BITS) | if newest_first { ROWS - row } else { row }
}

/// Lines of the rows that are left.
struct Lines<'a> {
    /// `None` if nothing reads lines.
    column: Option<&'a BinaryArray>,
    /// Where each row left stands in the column; `None`: at its own position.
    kept: Option<&'a [u32]>,
}

impl<'a> Lines<'a> {
    #[inline]
    fn get(&self, position: usize) -> &'a [u8] {
        match (self.column, self.kept) {
            (None, _) => &[],
            (Some(column), None) => column.value(position),
            (Some(column), Some(kept)) => column.value(kept[position] as usize),
        }
    }
}
