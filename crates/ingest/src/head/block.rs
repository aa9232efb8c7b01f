// hot path: no locks shared between cores, no logging above debug, no allocation per row.
//! A stretch of rows in order of arrival. Rows are added to an [`OpenBlock`]; a full one becomes a [`Block`], which never
//! changes and is shared with readers.

use arrow_array::builder::BinaryBuilder;
use arrow_array::{Array, BinaryArray, Int64Array};
use arrow_buffer::{Buffer, OffsetBuffer, ScalarBuffer};
use std::sync::Arc;
use timberline_store::source::{Keys, MetadataColumn, RunInfo, Selection, TimeSpan};

/// Rows of a full block; as many as in a page of a data object would make the copy of the open block dear.
const MAX_ROWS: usize = 4096;
/// Bytes of lines and metadata values of a full block: bounds what a reader copies. Far below the 2 GiB of Arrow's offsets.
const MAX_BYTES: usize = 512 << 10;

/// A block that grows.
#[derive(Clone, Debug)]
pub(crate) struct OpenBlock {
    streams: Vec<i64>,
    timestamps_ns: Vec<i64>,
    lines: Vec<u8>,
    /// One more than rows: where each line starts, and where the last one ends.
    line_offsets: Vec<i32>,
    pairs: Pairs,
}

/// Structured metadata, row after row.
#[derive(Clone, Debug, Default)]
struct Pairs {
    /// Where each row's pairs end.
    row_ends: Vec<u32>,
    /// The tenant's number of each pair's name.
    names: Vec<u32>,
    /// Where each pair's value ends.
    value_ends: Vec<u32>,
    values: Vec<u8>,
}

/// A block that is complete.
#[derive(Debug)]
pub(crate) struct Block {
    keys: Keys,
    lines: BinaryArray,
    pairs: Pairs,
    info: RunInfo,
}

impl Default for OpenBlock {
    fn default() -> Self {
        Self {
            streams: Vec::new(),
            timestamps_ns: Vec::new(),
            lines: Vec::new(),
            line_offsets: vec![0],
            pairs: Pairs::default(),
        }
    }
}

impl OpenBlock {
    /// Begins a row; its pairs follow, then [`OpenBlock::end_row`].
    pub(super) fn begin_row(&mut self, stream: i64, timestamp_ns: i64, line: &[u8]) {
        self.streams.push(stream);
        self.timestamps_ns.push(timestamp_ns);
        self.lines.extend_from_slice(line);
        self.line_offsets.push(self.lines.len() as i32);
    }

    pub(super) fn pair(&mut self, name: u32, value: &[u8]) {
        self.pairs.names.push(name);
        self.pairs.values.extend_from_slice(value);
        self.pairs.value_ends.push(self.pairs.values.len() as u32);
    }

    pub(super) fn end_row(&mut self) {
        self.pairs.row_ends.push(self.pairs.names.len() as u32);
    }

    /// True if the block is to be sealed.
    pub(super) fn is_full(&self) -> bool {
        self.streams.len() >= MAX_ROWS || self.lines.len() + self.pairs.values.len() >= MAX_BYTES
    }

    /// The rows as a block; `None` if there are none.
    pub(super) fn seal(self) -> Option<Block> {
        fn bounds(values: &[i64]) -> Option<(i64, i64)> {
            Some((values.iter().copied().min()?, values.iter().copied().max()?))
        }
        let (min_ns, max_ns) = bounds(&self.timestamps_ns)?;
        let info = RunInfo {
            rows: self.streams.len(),
            streams: bounds(&self.streams)?,
            span: TimeSpan { min_ns, max_ns },
        };
        let offsets = OffsetBuffer::new(ScalarBuffer::from(self.line_offsets));
        Some(Block {
            keys: Keys {
                streams: Int64Array::from(self.streams),
                timestamps: Int64Array::from(self.timestamps_ns),
            },
            lines: BinaryArray::new(offsets, Buffer::from_vec(self.lines), None),
            pairs: self.pairs,
            info,
        })
    }
}

impl Block {
    pub(crate) fn info(&self) -> RunInfo {
        self.info
    }

    pub(crate) fn keys(&self) -> &Keys {
        &self.keys
    }

    pub(crate) fn line(&self, row: usize) -> &[u8] {
        self.lines.value(row)
    }

    /// Name numbers and values of a row's metadata, in order of the names.
    pub(crate) fn pairs(&self, row: usize) -> impl Iterator<Item = (u32, &[u8])> {
        let pairs = &self.pairs;
        let first = if row == 0 { 0 } else { pairs.row_ends[row - 1] };
        (first as usize..pairs.row_ends[row] as usize).map(move |pair| {
            let start = if pair == 0 { 0 } else { pairs.value_ends[pair - 1] };
            (
                pairs.names[pair],
                &pairs.values[start as usize..pairs.value_ends[pair] as usize],
            )
        })
    }

    /// Lines of the selected rows; all of them cost no copy.
    pub(crate) fn lines(&self, rows: &Selection) -> BinaryArray {
        let Selection::Rows(rows) = rows else {
            return self.lines.clone();
        };
        let bytes = rows.iter().map(|&row| self.line(row as usize).len()).sum();
        let mut lines = BinaryBuilder::with_capacity(rows.len(), bytes);
        for &row in rows {
            lines.append_value(self.line(row as usize));
        }
        lines.finish()
    }

    /// Metadata columns of the selected rows, in order of their names. `names` are the tenant's names by number.
    pub(crate) fn metadata(
        &self,
        rows: &Selection,
        names: &[Arc<str>],
        only: Option<&[String]>,
    ) -> Vec<MetadataColumn> {
        let all: Vec<u32>;
        let rows: &[u32] = match rows {
            Selection::Rows(rows) => rows,
            Selection::All => {
                all = (0..self.info.rows as u32).collect();
                &all
            }
        };
        let wanted = |name: &str| only.is_none_or(|only| only.iter().any(|wanted| wanted == name));
        let mut columns: Vec<Option<BinaryBuilder>> = Vec::new();
        columns.resize_with(names.len(), || None);
        let skipped: Vec<bool> = names.iter().map(|name| !wanted(name)).collect();
        for (at, &row) in rows.iter().enumerate() {
            for (name, value) in self.pairs(row as usize) {
                if skipped[name as usize] {
                    continue;
                }
                let column = columns[name as usize].get_or_insert_with(BinaryBuilder::new);
                column.append_nulls(at - arrow_array::builder::ArrayBuilder::len(column));
                column.append_value(value);
            }
        }
        let finished = names.iter().zip(columns).filter_map(|(name, column)| {
            let mut column = column?;
            column.append_nulls(rows.len() - arrow_array::builder::ArrayBuilder::len(&column));
            Some(MetadataColumn {
                name: name.clone(),
                values: column.finish(),
            })
        });
        let mut finished: Vec<MetadataColumn> = finished.collect();
        finished.sort_by(|a, b| a.name.cmp(&b.name));
        debug_assert!(finished.iter().all(|column| column.values.len() == rows.len()));
        finished
    }
}
