//! Rows that came through, some at a time.
// hot path: no locks, no logging, no allocation per row, two per batch.

use super::column::{Decoded, Segment};
use super::counters::ScanCounters;
use super::plan::Plan;
use super::rows::{RowCursor, RowRanges};
use super::values::ColumnValues;
use crate::error::Error;
use crate::read::Scratch;

/// Rows that meet the predicate, in the order of the section.
#[derive(Clone, Debug)]
pub struct Batch {
    /// Where they stand in the section.
    pub rows: RowRanges,
    /// Their values, by the columns of the projection. A column may be without values in one batch and have some in the next.
    pub columns: Vec<ColumnValues>,
}

impl Batch {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.rows.count() as usize
    }

    /// True if there are no rows; a scan gives no such batch.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

/// Cuts the kept rows of a window into batches.
#[derive(Debug)]
pub(super) struct Emitter {
    rows: RowRanges,
    left: RowCursor,
    /// By the columns of the projection.
    columns: Vec<OpenSegment>,
    positions: RowRanges,
}

/// Where a column stands.
#[derive(Debug)]
struct OpenSegment {
    segment: Segment,
    /// `None` if the segment has no values.
    decoded: Option<Decoded>,
    /// Where, among what was decoded, the rows stand that are still to come.
    positions: RowCursor,
}

impl Emitter {
    /// All pages of the projection that hold one of these rows must be held.
    pub(super) fn new(rows: RowRanges) -> Emitter {
        Emitter {
            left: RowCursor::new(rows.clone()),
            rows,
            columns: Vec::new(),
            positions: RowRanges::default(),
        }
    }

    /// At most `max_rows` rows. A batch ends where a page of the projection ends, so that nothing has to be joined.
    pub(super) fn next(
        &mut self,
        plan: &mut Plan<'_>,
        projection: &[usize],
        max_rows: usize,
        scratch: &mut Scratch,
        counters: &mut ScanCounters,
    ) -> Result<Option<Batch>, Error> {
        let Some(first) = self.left.peek() else {
            return Ok(None);
        };
        let mut end = u64::MAX;
        for (i, column) in projection.iter().enumerate() {
            if self.columns.get(i).is_none_or(|open| open.segment.rows.end <= first) {
                let open = self.open_segment(plan, *column, first, scratch, counters)?;
                match self.columns.get_mut(i) {
                    Some(place) => *place = open,
                    None => self.columns.push(open),
                }
            }
            end = end.min(self.columns[i].segment.rows.end);
        }
        let mut rows = RowRanges::default();
        let count = self.left.take_into(max_rows.max(1) as u64, end, &mut rows);
        let mut columns = Vec::with_capacity(projection.len());
        for open in &mut self.columns {
            columns.push(match &open.decoded {
                Some(decoded) => {
                    self.positions.clear();
                    open.positions.take_into(count, u64::MAX, &mut self.positions);
                    decoded.values.pick(&self.positions)
                }
                None => ColumnValues::Null(count as usize),
            });
        }
        counters.rows_kept += count;
        Ok(Some(Batch { rows, columns }))
    }

    fn open_segment(
        &self,
        plan: &mut Plan<'_>,
        column: usize,
        row: u64,
        scratch: &mut Scratch,
        counters: &mut ScanCounters,
    ) -> Result<OpenSegment, Error> {
        let column = &mut plan.columns[column];
        column.release_before(row, counters);
        let segment = column.segment(row);
        let Some(page) = segment.page else {
            return Ok(OpenSegment {
                segment,
                decoded: None,
                positions: RowCursor::default(),
            });
        };
        let rows = self.rows.clip(&segment.rows);
        let decoded = column.decode(page, &rows, scratch, counters)?;
        Ok(OpenSegment {
            segment,
            positions: RowCursor::new(decoded.rows.positions_of(&rows)),
            decoded: Some(decoded),
        })
    }
}
