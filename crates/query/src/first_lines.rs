//! The last step of a log query: the newest (or oldest) lines, as many as asked for.

use crate::QueryError;
use crate::context::{QueryContext, ScanCounters, count};
use crate::memory::table_bytes;
use crate::node::{column, only_child, operator, properties};
use crate::request::{Direction, RangeRequest};
use crate::scan::{EntryColumns, HELD_ONCE, Identity, ScanOutput, TimeBound};
use arrow_array::builder::BinaryBuilder;
use arrow_array::{ArrayRef, BinaryArray, Int64Array, RecordBatch, UInt32Array, UInt64Array};
use datafusion_common::Result;
use datafusion_execution::TaskContext;
use datafusion_physical_plan::metrics::ExecutionPlanMetricsSet;
use datafusion_physical_plan::stream::RecordBatchStreamAdapter;
use datafusion_physical_plan::{ExecutionPlan, PlanProperties, SendableRecordBatchStream};
use futures::TryStreamExt;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Keeps the first lines in the direction of the query and gives them in order. As soon as it holds enough, it tells the scan which
/// times are of no more use.
pub(crate) struct FirstLinesExec {
    input: Arc<dyn ExecutionPlan>,
    pub(crate) limit: usize,
    pub(crate) direction: Direction,
    pub(crate) interval_ns: i64,
    bound: Option<Arc<TimeBound>>,
    counters: Arc<ScanCounters>,
    context: Arc<QueryContext>,
    metrics: ExecutionPlanMetricsSet,
    properties: Arc<PlanProperties>,
}

impl FirstLinesExec {
    pub(crate) fn new(
        input: Arc<dyn ExecutionPlan>,
        request: &RangeRequest,
        bound: Option<Arc<TimeBound>>,
        counters: Arc<ScanCounters>,
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
            counters,
            context,
            metrics: ExecutionPlanMetricsSet::new(),
            properties,
        }
    }

    fn run(&self, task: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let mut input = self.input.execute(0, task)?;
        let mut first = FirstLines {
            direction: self.direction,
            // With an interval, which lines are skipped is known only when all are in order.
            capacity: if self.interval_ns == 0 { self.limit } else { usize::MAX },
            bound: self.bound.clone(),
            by_time: BTreeMap::new(),
            count: 0,
            places: HashMap::default(),
            text_bytes: 0,
            repeated: 0,
        };
        let (interval_ns, limit) = (self.interval_ns, self.limit);
        let (context, counters) = (self.context.clone(), self.counters.clone());
        let meter = context.meter(&self.metrics, 0, "lines of the answer");
        let batch = async move {
            while let Some(batch) = input.try_next().await? {
                context.cancelled.check()?;
                meter.rows_in(batch.num_rows());
                let _busy = meter.busy();
                first.add(&batch)?;
                meter.hold(first.bytes() + batch.get_array_memory_size())?;
            }
            context.cancelled.check()?;
            count(&counters.duplicates, first.repeated);
            // The text once more in the batch that goes out.
            meter.hold(2 * first.bytes())?;
            let _busy = meter.busy();
            let lines = thin_out(first.into_lines(), interval_ns, limit);
            meter.rows_out(lines.len());
            to_batch(&lines)
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
        counters: this.counters.clone(),
        context: this.context.clone(),
        metrics: ExecutionPlanMetricsSet::new(),
        properties: this.properties.clone(),
    },
    execute: (this, _partition, task) => this.run(task)
);

#[derive(Debug)]
struct Line {
    identity: Identity,
    timestamp_ns: i64,
    arrival: u64,
    labels: u32,
    text: Vec<u8>,
}

/// The first lines so far, and all others of the last time among them: which of those count is known only at the end, because an earlier
/// copy of one may still come.
struct FirstLines {
    direction: Direction,
    capacity: usize,
    bound: Option<Arc<TimeBound>>,
    /// Lines by time, turned round for the backward direction.
    by_time: BTreeMap<i128, Vec<Line>>,
    count: usize,
    /// Where each line that may come again from another source stands among those of its time. The copy that arrived first counts, so that the
    /// answer does not depend on which was read first.
    places: HashMap<(i64, Identity), usize, ahash::RandomState>,
    /// Bytes of the texts.
    text_bytes: usize,
    repeated: usize,
}

impl FirstLines {
    fn add(&mut self, batch: &RecordBatch) -> Result<()> {
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
            let order = match self.direction {
                Direction::Forward => i128::from(timestamp_ns),
                Direction::Backward => -i128::from(timestamp_ns),
            };
            if self.is_full() && self.last_time().is_none_or(|last| last < order) {
                continue;
            }
            let group = self.by_time.entry(order).or_default();
            let identity = (identities[0][row], identities[1][row]);
            if identity != HELD_ONCE {
                match self.places.entry((timestamp_ns, identity)) {
                    Entry::Occupied(place) => {
                        self.repeated += 1;
                        let first = &mut group[*place.get()];
                        first.arrival = first.arrival.min(arrival);
                        continue;
                    }
                    Entry::Vacant(place) => {
                        place.insert(group.len());
                    }
                }
            }
            let text = lines.value(row).to_vec();
            self.text_bytes += text.len();
            self.count += 1;
            group.push(Line {
                identity,
                timestamp_ns,
                arrival,
                labels: labels[row],
                text,
            });
            self.drop_last_times();
        }
        if let (Some(bound), true) = (&self.bound, self.is_full())
            && let Some(line) = self.by_time.last_key_value().and_then(|(_, group)| group.first())
        {
            bound.tighten(line.timestamp_ns);
        }
        Ok(())
    }

    /// Bytes held at most: lines of one time, mostly few, lie in a vector of their own.
    fn bytes(&self) -> usize {
        let groups = self.by_time.len() * 2 * (size_of::<(i128, Vec<Line>)>() + 4 * size_of::<Line>());
        let places = table_bytes::<((i64, Identity), usize)>(self.places.capacity());
        self.text_bytes + 2 * self.count * size_of::<Line>() + groups + places
    }

    fn is_full(&self) -> bool {
        self.count >= self.capacity
    }

    fn last_time(&self) -> Option<i128> {
        self.by_time.last_key_value().map(|(order, _)| *order)
    }

    /// Drops the lines of the last time while there are enough before it, and bounds how many lines of one time are held.
    fn drop_last_times(&mut self) {
        while let Some(mut last) = self.by_time.last_entry() {
            let group = last.get_mut();
            let before = self.count - group.len();
            if before >= self.capacity {
                self.count = before;
                for line in last.remove() {
                    self.text_bytes -= line.text.len();
                    self.places.remove(&(line.timestamp_ns, line.identity));
                }
                continue;
            }
            let most = (self.capacity - before).saturating_mul(2).max(TIES_KEPT);
            if group.len() > most && group.iter().all(|line| line.identity == HELD_ONCE) {
                sort_ties(group, self.direction);
                for line in group.drain(self.capacity - before..) {
                    self.text_bytes -= line.text.len();
                }
                self.count = before + group.len();
            }
            return;
        }
    }

    /// The first lines in order.
    fn into_lines(self) -> Vec<Line> {
        let mut lines = Vec::with_capacity(self.count);
        for mut group in self.by_time.into_values() {
            sort_ties(&mut group, self.direction);
            lines.append(&mut group);
        }
        lines.truncate(self.capacity);
        lines
    }
}

/// Lines of one time are held up to this number before those that are too many are looked for.
const TIES_KEPT: usize = 1024;

/// Lines of one time in order of arrival or its reverse.
fn sort_ties(lines: &mut [Line], direction: Direction) {
    match direction {
        Direction::Forward => lines.sort_unstable_by_key(|line| line.arrival),
        Direction::Backward => lines.sort_unstable_by_key(|line| std::cmp::Reverse(line.arrival)),
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
    let bytes = lines.iter().map(|l| l.text.len()).sum();
    if i32::try_from(bytes).is_err() {
        let text = format!(
            "lines of {bytes} bytes are more than an answer holds, {}: ask for fewer lines",
            i32::MAX
        );
        return Err(QueryError::Limit(text).into());
    }
    let mut text = BinaryBuilder::with_capacity(lines.len(), bytes);
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
