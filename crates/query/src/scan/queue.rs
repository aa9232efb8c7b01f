//! Which run of which source is read next: all partitions draw from one queue, in the order in which the answer wants the runs, so that
//! no partition idles and a search for the last lines can stop early.

use crate::QueryError;
use crate::context::{ScanCounters, count};
use crate::request::Direction;
use crate::select::SelectedSource;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering::Relaxed};
use timberline_store::source::{RunInfo, TimeSpan};

/// One run to read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunTask {
    /// Index into the selected sources.
    pub(crate) source: usize,
    /// Run of the source.
    pub(crate) run: usize,
    /// Rows of the source before the run.
    pub(crate) first_row: u64,
    pub(crate) info: RunInfo,
}

/// The runs of a query, drawn by the partitions.
#[derive(Debug)]
pub(crate) struct RunQueue {
    tasks: Vec<RunTask>,
    next: AtomicUsize,
}

impl RunQueue {
    /// The runs that may hold rows of the chosen streams in `span`; the others are skipped and counted.
    pub(crate) async fn plan(
        sources: &[SelectedSource],
        span: TimeSpan,
        direction: Direction,
        counters: &ScanCounters,
    ) -> Result<Self, QueryError> {
        let mut tasks = Vec::new();
        for (index, selected) in sources.iter().enumerate() {
            let mut first_row = 0;
            let runs = selected.source.runs().await?;
            count(&counters.runs, runs.len());
            for (run, info) in runs.iter().enumerate() {
                if !info.span.overlaps(&span) {
                    count(&counters.runs_skipped_by_time, 1);
                } else if !selected.any_between(info.streams) {
                    count(&counters.runs_skipped_by_stream, 1);
                } else {
                    tasks.push(RunTask {
                        source: index,
                        run,
                        first_row,
                        info: *info,
                    });
                }
                first_row += info.rows as u64;
            }
        }
        match direction {
            Direction::Backward => tasks.sort_by_key(|t| std::cmp::Reverse(t.info.span.max_ns)),
            Direction::Forward => tasks.sort_by_key(|t| t.info.span.min_ns),
        }
        Ok(Self {
            tasks,
            next: AtomicUsize::new(0),
        })
    }

    /// The next run.
    pub(crate) fn draw(&self) -> Option<RunTask> {
        self.tasks.get(self.next.fetch_add(1, Relaxed)).copied()
    }

    /// Number of runs.
    pub(crate) fn len(&self) -> usize {
        self.tasks.len()
    }
}

/// The worst timestamp that can still enter the answer of a query with a limit; whoever collects lines moves it, the scan skips
/// runs and rows behind it.
#[derive(Debug)]
pub(crate) struct TimeBound {
    direction: Direction,
    worst_ns: AtomicI64,
}

impl TimeBound {
    /// Excludes nothing yet.
    pub(crate) fn new(direction: Direction) -> Self {
        let worst = match direction {
            Direction::Backward => i64::MIN,
            Direction::Forward => i64::MAX,
        };
        Self {
            direction,
            worst_ns: AtomicI64::new(worst),
        }
    }

    /// From now on, lines behind `timestamp_ns` are of no use.
    pub(crate) fn tighten(&self, timestamp_ns: i64) {
        self.worst_ns.store(timestamp_ns, Relaxed);
    }

    /// True if no entry of the span is of use. Equal times are: which of two entries counts is decided by their arrival.
    pub(crate) fn excludes(&self, span: &TimeSpan) -> bool {
        let worst = self.worst_ns.load(Relaxed);
        match self.direction {
            Direction::Backward => span.max_ns < worst,
            Direction::Forward => span.min_ns > worst,
        }
    }

    /// `span` without the times that are of no use.
    pub(crate) fn clip(&self, span: TimeSpan) -> TimeSpan {
        let worst = self.worst_ns.load(Relaxed);
        match self.direction {
            Direction::Backward => TimeSpan {
                min_ns: span.min_ns.max(worst),
                ..span
            },
            Direction::Forward => TimeSpan {
                max_ns: span.max_ns.min(worst),
                ..span
            },
        }
    }
}
