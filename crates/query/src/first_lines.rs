//! The last step of a log query: the newest (or oldest) lines, as many as asked for.

use crate::QueryError;
use crate::context::{QueryContext, count};
use crate::node::{column, only_child, operator, properties};
use crate::request::{Direction, RangeRequest};
use crate::scan::{EntryColumns, HELD_ONCE, Identity, ScanOutput, TimeBound};
use arrow_array::builder::BinaryBuilder;
use arrow_array::{ArrayRef, BinaryArray, Int64Array, RecordBatch, UInt32Array, UInt64Array};
use datafusion_common::Result;
use datafusion_execution::TaskContext;
use datafusion_physical_plan::stream::RecordBatchStreamAdapter;
use datafusion_physical_plan::{ExecutionPlan, PlanProperties, SendableRecordBatchStream};
use futures::TryStreamExt;
use std::collections::hash_map::Entry;
use std::collections::{BinaryHeap, HashMap};
use std::sync::Arc;

/// Keeps the first lines in the direction of the query and gives them in order. As soon as it holds enough, it tells the scan which
/// times are of no more use.
pub(crate) struct FirstLinesExec {
    input: Arc<dyn ExecutionPlan>,
    limit: usize,
    direction: Direction,
    interval_ns: i64,
    bound: Option<Arc<TimeBound>>,
    context: Arc<QueryContext>,
    properties: Arc<PlanProperties>,
}

impl FirstLinesExec {
    pub(crate) fn new(
        input: Arc<dyn ExecutionPlan>,
        request: &RangeRequest,
        bound: Option<Arc<TimeBound>>,
        context: Arc<QueryContext>,
    ) -> Self {
        let properties = properties(ScanOutput::Entries.schema(), 1);
        let (limit, direction, interval_ns) = (request.limit, request.direction, request.interval_ns);
        Self {
            input,
            limit,
            direction,
            interval_ns,
            bound,
            context,
            properties,
        }
    }

    fn run(&self, task: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let mut input = self.input.execute(0, task)?;
        let mut first = FirstLines {
            // With an interval, which lines are skipped is known only when all are in order.
            capacity: if self.interval_ns == 0 { self.limit } else { usize::MAX },
            bound: self.bound.clone(),
            heap: BinaryHeap::new(),
            stale: 0,
            places: HashMap::default(),
            bytes: 0,
            repeated: 0,
        };
        let (direction, interval_ns, limit) = (self.direction, self.interval_ns, self.limit);
        let context = self.context.clone();
        let batch = async move {
            while let Some(batch) = input.try_next().await? {
                first.add(&batch, direction)?;
                if interval_ns > 0 && first.bytes > context.limits.max_interval_bytes {
                    let limit = context.limits.max_interval_bytes;
                    let text = format!(
                        "lines of {} bytes exceed max_interval_bytes={limit}: ask for a shorter time range",
                        first.bytes
                    );
                    return Err(QueryError::Limit(text).into());
                }
            }
            count(&context.counters.duplicates, first.repeated);
            let lines = first.into_lines();
            to_batch(&thin_out(lines, interval_ns, limit))
        };
        Ok(Box::pin(RecordBatchStreamAdapter::new(
            self.schema(),
            futures::stream::once(batch),
        )))
    }
}

impl std::fmt::Debug for FirstLinesExec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "FirstLinesExec: limit={} direction={:?} interval_ns={}",
            self.limit, self.direction, self.interval_ns
        )
    }
}

operator!(
    FirstLinesExec,
    "FirstLinesExec",
    children: this => vec![&this.input],
    with_children: (this, children) => Self {
        input: only_child(children)?,
        limit: this.limit,
        direction: this.direction,
        interval_ns: this.interval_ns,
        bound: this.bound.clone(),
        context: this.context.clone(),
        properties: this.properties.clone(),
    },
    execute: (this, _partition, task) => this.run(task)
);

/// Place of a line in the answer: timestamp and arrival, turned round for the backward direction.
type Order = (i128, u64);

/// A line; the order is that of the answer, so the first in a max-heap is the one to drop.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Line {
    order: Order,
    identity: Identity,
    timestamp_ns: i64,
    arrival: u64,
    labels: u32,
    text: Vec<u8>,
}

struct FirstLines {
    capacity: usize,
    bound: Option<Arc<TimeBound>>,
    /// The lines kept, and copies of some of them that turned out to stand further back.
    heap: BinaryHeap<Line>,
    /// Copies in the heap.
    stale: usize,
    /// The place of each line kept that may come again from another source. Of several copies the first one counts, so that the answer does
    /// not depend on which was read first.
    places: HashMap<(i64, Identity), Order, ahash::RandomState>,
    bytes: usize,
    repeated: usize,
}

impl FirstLines {
    fn add(&mut self, batch: &RecordBatch, direction: Direction) -> Result<()> {
        let timestamps = column::<Int64Array>(batch, EntryColumns::TIMESTAMP)?.values();
        let arrivals = column::<UInt64Array>(batch, EntryColumns::ARRIVAL)?.values();
        let labels = column::<UInt32Array>(batch, EntryColumns::LABELS)?.values();
        let lines = column::<BinaryArray>(batch, EntryColumns::LINE)?;
        let identities = [
            column::<UInt64Array>(batch, EntryColumns::IDENTITY)?.values(),
            column::<UInt64Array>(batch, EntryColumns::IDENTITY + 1)?.values(),
        ];
        for row in 0..batch.num_rows() {
            let (timestamp_ns, arrival) = (timestamps[row], arrivals[row]);
            let order = match direction {
                Direction::Forward => (i128::from(timestamp_ns), arrival),
                Direction::Backward => (-i128::from(timestamp_ns), u64::MAX - arrival),
            };
            let identity = (identities[0][row], identities[1][row]);
            let is_full = self.heap.len() - self.stale >= self.capacity;
            if is_full && self.heap.peek().is_none_or(|worst| worst.order <= order) {
                continue;
            }
            let mut replaces = false;
            if identity != HELD_ONCE {
                match self.places.entry((timestamp_ns, identity)) {
                    Entry::Occupied(place) if *place.get() <= order => {
                        self.repeated += 1;
                        continue;
                    }
                    Entry::Occupied(mut place) => {
                        place.insert(order);
                        self.repeated += 1;
                        self.stale += 1;
                        replaces = true;
                    }
                    Entry::Vacant(place) => {
                        place.insert(order);
                    }
                }
            }
            let text = lines.value(row).to_vec();
            self.bytes += size_of::<Line>() + text.len();
            self.heap.push(Line {
                order,
                identity,
                timestamp_ns,
                arrival,
                labels: labels[row],
                text,
            });
            if is_full && !replaces {
                self.drop_stale();
                if let Some(worst) = self.heap.pop()
                    && worst.identity != HELD_ONCE
                {
                    self.places.remove(&(worst.timestamp_ns, worst.identity));
                }
            }
            self.drop_stale();
        }
        if let (Some(bound), Some(worst)) = (&self.bound, self.heap.peek())
            && self.heap.len() - self.stale >= self.capacity
        {
            bound.tighten(worst.timestamp_ns);
        }
        Ok(())
    }

    /// Drops copies until the first in the heap is a line that is kept.
    fn drop_stale(&mut self) {
        while self.stale > 0
            && let Some(worst) = self.heap.peek()
            && self.is_stale(worst)
        {
            self.heap.pop();
            self.stale -= 1;
        }
    }

    fn is_stale(&self, line: &Line) -> bool {
        line.identity != HELD_ONCE && self.places.get(&(line.timestamp_ns, line.identity)) != Some(&line.order)
    }

    /// The lines kept, in order.
    fn into_lines(mut self) -> Vec<Line> {
        let mut lines = std::mem::take(&mut self.heap).into_sorted_vec();
        lines.retain(|line| !self.is_stale(line));
        lines
    }
}

/// After a line was taken, those less than `interval_ns` away from it are skipped; one clock for the whole answer (logql.md 12).
fn thin_out(lines: Vec<Line>, interval_ns: i64, limit: usize) -> Vec<Line> {
    if interval_ns == 0 {
        return lines;
    }
    let mut last: Option<i64> = None;
    let near = |last: i64, now: i64| now.abs_diff(last) < interval_ns.unsigned_abs();
    let mut kept = Vec::new();
    for line in lines {
        if last.is_some_and(|last| near(last, line.timestamp_ns)) {
            continue;
        }
        last = Some(line.timestamp_ns);
        kept.push(line);
        if kept.len() == limit {
            break;
        }
    }
    kept
}

fn to_batch(lines: &[Line]) -> Result<RecordBatch> {
    let mut text = BinaryBuilder::with_capacity(lines.len(), lines.iter().map(|l| l.text.len()).sum());
    for line in lines {
        text.append_value(&line.text);
    }
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from_iter_values(lines.iter().map(|l| l.timestamp_ns))),
        Arc::new(UInt64Array::from_iter_values(lines.iter().map(|l| l.arrival))),
        Arc::new(UInt32Array::from_iter_values(lines.iter().map(|l| l.labels))),
        Arc::new(text.finish()),
        Arc::new(UInt64Array::from_iter_values(lines.iter().map(|l| l.identity.0))),
        Arc::new(UInt64Array::from_iter_values(lines.iter().map(|l| l.identity.1))),
    ];
    Ok(RecordBatch::try_new(ScanOutput::Entries.schema(), columns)?)
}
