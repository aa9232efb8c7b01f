//! Scans: the rows of a section that meet a predicate, with as little read and decoded as that takes.
//!
//! ```text
//!  predicate ── statistics of pages ──► rows that may meet it          nothing read yet
//!                                          │  window by window
//!  cheapest condition ── its pages ──► rows that are left
//!  next condition ── its pages with rows left ──► rows that are left   ... until none is left or all are asked
//!  projection ── its pages with rows left ──► batches
//! ```
//!
//! A window is a stretch of rows whose pages fit a number of bytes, so that memory is bounded however large the section is. Pages that end
//! behind a window stay for the next one.
//!
//! The scan does no I/O: [`Scan::step`] says which ranges to fetch, [`Scan::supply`] takes them. [`Scan::next_batch`] does both over
//! anything that implements [`ReadRanges`].

mod batch;
mod column;
mod counters;
mod evaluate;
mod filter;
mod matcher;
mod plan;
mod predicate;
mod prune;
mod read;
mod rows;
mod values;
mod window;

pub use batch::Batch;
pub use counters::{PageCount, ScanCounters};
pub use predicate::{ColumnName, Predicate, Test};
pub use read::ReadRanges;
pub use rows::RowRanges;
pub use values::ColumnValues;

use crate::error::{Damage, Error};
use crate::pool::BufferPool;
use crate::read::{CoalesceOptions, Fetch, Scratch, SectionMeta, coalesce, scatter};
use arrow_buffer::Buffer;
use batch::Emitter;
use bytes::Bytes;
use filter::{Filter, Filtered};
use plan::Plan;
use std::ops::Range;
use window::window_end;

/// How a scan works.
#[derive(Clone, Debug)]
pub struct ScanOptions {
    /// Most rows of a batch, at least 1. Batches also end where a page of the projection ends.
    pub batch_rows: usize,
    /// Bytes of the pages that are worked on at a time, raw or stored, whatever is more; at least one page of each column is. With what is fetched, a scan takes about
    /// twice this.
    pub window_bytes: u64,
    /// Which ranges are fetched in one request.
    pub coalesce: CoalesceOptions,
    /// Where decoded values get their memory from.
    pub pool: BufferPool,
}

impl Default for ScanOptions {
    fn default() -> ScanOptions {
        ScanOptions {
            batch_rows: 8192,
            window_bytes: 16 << 20,
            coalesce: CoalesceOptions::default(),
            pool: BufferPool::default(),
        }
    }
}

/// What a scan needs or has.
#[derive(Clone, Debug)]
pub enum Step {
    /// These ranges of the object must be given to [`Scan::supply`]. They ascend and don't overlap.
    Fetch(Vec<Range<u64>>),
    /// The next rows.
    Batch(Batch),
    /// There are no more rows.
    Done,
}

/// A running scan of a section.
///
/// ```
/// # use timberline_dataobj::*;
/// # let options = WriterOptions::default();
/// # let mut logs = LogsWriter::new("t", SortOrder::StreamAscending, &options);
/// # for (i, line) in ["GET /a", "POST /b", "GET /c"].into_iter().enumerate() {
/// #     logs.append(&LogRow { stream_id: 1, timestamp_ns: 9 - i as i64, line: line.as_bytes(), metadata: &[] })?;
/// # }
/// # let mut object = ObjectWriter::new();
/// # object.push_section(logs.finish()?);
/// # let object = object.finish()?;
/// # let whole = WholeObject::parse(&object)?;
/// # let meta = whole.meta(&whole.sections()[0])?;
/// // The times of the lines of stream 1 that hold "GET".
/// let predicate = Predicate::equal(column::STREAM_ID, 1).and(Predicate::contains(column::MESSAGE, "GET"));
/// let options = ScanOptions { coalesce: CoalesceOptions::in_memory(), ..ScanOptions::default() };
/// let mut scan = Scan::new(&meta, &predicate, &[column::TIMESTAMP.into()], options)?;
/// let mut object = object.as_slice();
/// let mut times = Vec::new();
/// while let Some(batch) = scan.next_batch(&mut object)? {
///     times.extend((0..batch.len()).filter_map(|i| batch.columns[0].int64(i)));
/// }
/// assert_eq!(times, [9, 7]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug)]
pub struct Scan<'a> {
    plan: Plan<'a>,
    /// Columns of the plan.
    projection: Vec<usize>,
    options: ScanOptions,
    section: &'a SectionMeta,
    scratch: Scratch,
    counters: ScanCounters,
    stage: Stage,
    /// The first row behind the window at hand.
    window_end: u64,
    wanted: Option<Wanted>,
}

/// What is being done in the window at hand.
#[derive(Debug)]
enum Stage {
    /// Nothing: the next one is to be chosen.
    Between,
    /// Finding the rows that meet the predicate.
    Filter(Filter),
    /// Fetching the projection for these rows.
    Fill(RowRanges),
    /// Handing them out.
    Emit(Emitter),
}

/// Pages to be fetched.
#[derive(Debug)]
struct Wanted {
    /// Columns of the plan, pages of these.
    pages: Vec<(usize, usize)>,
    ranges: Vec<Range<u64>>,
    fetches: Vec<Fetch>,
}

impl<'a> Scan<'a> {
    /// A scan that gives the columns of `projection` for the rows that meet `predicate`. Columns that the section lacks are null.
    ///
    /// Fails if a test does not fit its column's type, or if a column is of a type without a codec.
    pub fn new(
        section: &'a SectionMeta,
        predicate: &Predicate,
        projection: &[ColumnName],
        options: ScanOptions,
    ) -> Result<Scan<'a>, Error> {
        let mut plan = Plan::new(section, predicate)?;
        let columns = projection.iter().map(|name| plan.column(section, name));
        let projection: Vec<usize> = columns.collect::<Result<_, _>>()?;
        plan.note_needed(&projection);

        let mut counters = ScanCounters {
            rows: section.rows,
            rows_pruned: section.rows - plan.possible().count(),
            ..ScanCounters::default()
        };
        for column in &plan.columns {
            for (i, (_, page)) in column.pages().enumerate() {
                let bytes = page.range.end - page.range.start;
                counters.considered.add(bytes);
                if !column.is_needed(i) {
                    counters.pruned.add(bytes);
                }
            }
        }
        Ok(Scan {
            plan,
            projection,
            scratch: Scratch::with_pool(options.pool.clone()),
            options,
            section,
            counters,
            stage: Stage::Between,
            window_end: 0,
            wanted: None,
        })
    }

    /// What was done so far.
    pub fn counters(&self) -> &ScanCounters {
        &self.counters
    }

    /// Goes on until rows are there or something must be fetched first. Asked again before that was supplied, it says the same again.
    pub fn step(&mut self) -> Result<Step, Error> {
        loop {
            if let Some(wanted) = &self.wanted {
                return Ok(Step::Fetch(
                    wanted.fetches.iter().map(|fetch| fetch.range.clone()).collect(),
                ));
            }
            match &mut self.stage {
                Stage::Between => {
                    let Some(start) = self.plan.possible().first_from(self.window_end) else {
                        self.release_before(u64::MAX);
                        return Ok(Step::Done);
                    };
                    self.release_before(start);
                    let (columns, bytes) = (&self.plan.columns, self.options.window_bytes);
                    self.window_end = window_end(columns, start, self.section.rows, bytes);
                    let rows = self.plan.possible().clip(&(start..self.window_end));
                    self.stage = Stage::Filter(Filter::new(&self.plan, &rows));
                }
                Stage::Filter(filter) => match filter.run(&mut self.plan, &mut self.scratch, &mut self.counters)? {
                    Filtered::Missing { column, pages } => {
                        self.want(pages.into_iter().map(|page| (column, page)).collect());
                    }
                    Filtered::Rows(rows) => self.stage = Stage::Fill(rows),
                },
                Stage::Fill(rows) => {
                    let rows = std::mem::take(rows);
                    let missing = self.missing_of_projection(&rows);
                    if missing.is_empty() {
                        self.stage = Stage::Emit(Emitter::new(rows));
                    } else {
                        self.stage = Stage::Fill(rows);
                        self.want(missing);
                    }
                }
                Stage::Emit(emitter) => {
                    let max_rows = self.options.batch_rows;
                    let (scratch, counters) = (&mut self.scratch, &mut self.counters);
                    match emitter.next(&mut self.plan, &self.projection, max_rows, scratch, counters)? {
                        Some(batch) => return Ok(Step::Batch(batch)),
                        None => self.stage = Stage::Between,
                    }
                }
            }
        }
    }

    /// Takes what [`Step::Fetch`] asked for: the bytes of each range, in their order.
    pub fn supply(&mut self, bodies: &[Bytes]) -> Result<(), Error> {
        let Some(wanted) = &self.wanted else {
            return Ok(());
        };
        let Some(parts) = scatter(&wanted.ranges, &wanted.fetches, bodies) else {
            let sizes: Vec<usize> = bodies.iter().map(Bytes::len).collect();
            let start = wanted.fetches.first().map_or(0, |fetch| fetch.range.start);
            let reason = format!("pages were read as {sizes:?} bytes, which is not what was asked for");
            return Err(Damage::new(reason).at(Some(self.section.index), start));
        };
        for ((column, page), bytes) in wanted.pages.iter().zip(parts) {
            self.counters.fetched.add(bytes.len() as u64);
            self.plan.columns[*column].hold(*page, Buffer::from(bytes));
        }
        self.counters.requests += bodies.len() as u64;
        self.counters.requested_bytes += bodies.iter().map(|body| body.len() as u64).sum::<u64>();
        self.wanted = None;
        Ok(())
    }

    fn want(&mut self, pages: Vec<(usize, usize)>) {
        let range = |&(column, page): &(usize, usize)| {
            let meta = self.plan.columns[column].page(page);
            meta.map_or(0..0, |meta| meta.range.clone())
        };
        let ranges: Vec<Range<u64>> = pages.iter().map(range).collect();
        let fetches = coalesce(&ranges, &self.options.coalesce);
        self.wanted = Some(Wanted { pages, ranges, fetches });
    }

    fn missing_of_projection(&self, rows: &RowRanges) -> Vec<(usize, usize)> {
        let mut missing = Vec::new();
        for (i, column) in self.projection.iter().enumerate() {
            if self.projection[..i].contains(column) {
                continue;
            }
            let held = &self.plan.columns[*column];
            let pages = held.pages_with(rows).into_iter().filter(|page| !held.is_held(*page));
            missing.extend(pages.map(|page| (*column, page)));
        }
        missing
    }

    fn release_before(&mut self, row: u64) {
        for column in &mut self.plan.columns {
            column.release_before(row, &mut self.counters);
        }
    }
}
